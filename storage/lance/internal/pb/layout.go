package pb

import "github.com/loamdb/loam/internal/fail"

// Layer is lance.encodings21.RepDefLayer: what one nesting layer of a page
// contains. Layers run from the leaf outwards.
type Layer uint8

// The layers.
const (
	AllValidItem     Layer = 1
	AllValidList     Layer = 2
	NullableItem     Layer = 3
	NullableList     Layer = 4
	EmptyableList    Layer = 5
	NullAndEmptyList Layer = 6
)

// PageLayout is the structural layout of a page; exactly one pointer is set.
type PageLayout struct {
	MiniBlock *MiniBlockLayout
	Constant  *ConstantLayout
	FullZip   *FullZipLayout
	Blob      *BlobLayout
	// Other is the field number of a layout that this codec does not know.
	Other int
}

// MiniBlockLayout: values in chunks of a few KiB that are decoded whole.
type MiniBlockLayout struct {
	Rep, Def, Value, Dictionary *Encoding
	DictionaryItems             uint64
	Layers                      []Layer
	// Buffers counts the value buffers of a chunk; levels are not counted.
	Buffers       uint64
	RepIndexDepth uint32
	// Items counts the values of the page (entries that have a value slot).
	Items       uint64
	LargeChunks bool
}

// FullZipLayout: values one behind the other, each with its control word.
type FullZipLayout struct {
	BitsRep, BitsDef uint32
	// BitsPerValue is set for fixed-width values, BitsPerOffset for variable ones.
	BitsPerValue, BitsPerOffset uint32
	Items, VisibleItems         uint32
	Value                       *Encoding
	Layers                      []Layer
}

// BlobLayout: values lie in the file one by one; the page holds their places.
type BlobLayout struct {
	// Inner lays out the places: structs of position and size.
	Inner  *PageLayout
	Layers []Layer
}

// ConstantLayout: every visible value is the same, or null.
type ConstantLayout struct {
	Layers               []Layer
	Inline               []byte // nil: all null
	Rep, Def             *Encoding
	RepValues, DefValues uint64
}

func appendLayers(b []byte, field int, layers []Layer) []byte {
	vs := make([]uint64, len(layers))
	for i, l := range layers {
		vs[i] = uint64(l)
	}
	return AppendPacked(b, field, vs)
}

func (d *Decoder) layers(to []Layer) []Layer {
	for _, v := range d.Uint64s(nil) {
		if v < uint64(AllValidItem) || v > uint64(NullAndEmptyList) {
			d.failf("unknown layer kind %d", v)
			return to
		}
		to = append(to, Layer(v))
	}
	return to
}

// Append appends the message's bytes to b.
func (p *PageLayout) Append(b []byte) []byte {
	switch {
	case p.MiniBlock != nil:
		return AppendMessage(b, 1, p.MiniBlock.append(nil))
	case p.Constant != nil:
		return AppendMessage(b, 2, p.Constant.append(nil))
	default:
		return AppendMessage(b, 3, p.FullZip.append(nil))
	}
}

func appendEncoding(b []byte, field int, e *Encoding) []byte {
	if e == nil {
		return b
	}
	return AppendMessage(b, field, e.Append(nil))
}

func (m *MiniBlockLayout) append(b []byte) []byte {
	b = appendEncoding(b, 1, m.Rep)
	b = appendEncoding(b, 2, m.Def)
	b = appendEncoding(b, 3, m.Value)
	b = appendEncoding(b, 4, m.Dictionary)
	b = AppendVarint(b, 5, m.DictionaryItems)
	b = appendLayers(b, 6, m.Layers)
	b = AppendVarint(b, 7, m.Buffers)
	b = AppendVarint(b, 8, uint64(m.RepIndexDepth))
	b = AppendVarint(b, 9, m.Items)
	return AppendBool(b, 10, m.LargeChunks)
}

func (f *FullZipLayout) append(b []byte) []byte {
	b = AppendVarint(b, 1, uint64(f.BitsRep))
	b = AppendVarint(b, 2, uint64(f.BitsDef))
	if f.BitsPerValue > 0 {
		b = AppendVarint(b, 3, uint64(f.BitsPerValue))
	} else {
		b = AppendVarint(b, 4, uint64(f.BitsPerOffset))
	}
	b = AppendVarint(b, 5, uint64(f.Items))
	b = AppendVarint(b, 6, uint64(f.VisibleItems))
	b = appendEncoding(b, 7, f.Value)
	return appendLayers(b, 8, f.Layers)
}

func (c *ConstantLayout) append(b []byte) []byte {
	b = appendLayers(b, 5, c.Layers)
	if c.Inline != nil {
		b = AppendMessage(b, 6, c.Inline)
	}
	b = appendEncoding(b, 7, c.Rep)
	b = appendEncoding(b, 8, c.Def)
	b = AppendVarint(b, 9, c.RepValues)
	return AppendVarint(b, 10, c.DefValues)
}

// DecodePageLayout reads a PageLayout.
func DecodePageLayout(buf []byte) (PageLayout, error) { return decodePageLayout(buf, false) }

// decodePageLayout reads a layout, within a blob layout or not.
func decodePageLayout(buf []byte, inBlob bool) (PageLayout, error) {
	var p PageLayout
	d := NewDecoder("PageLayout", buf)
	for d.Next() {
		var err error
		p = PageLayout{}
		switch d.Num() {
		case 1:
			p.MiniBlock, err = decodeMiniBlock(d.Bytes())
		case 2:
			p.Constant, err = decodeConstant(d.Bytes())
		case 3:
			p.FullZip, err = decodeFullZip(d.Bytes())
		case 4:
			if inBlob {
				return p, fail.New(fail.Corrupt, "a blob layout within a blob layout")
			}
			p.Blob, err = decodeBlob(d.Bytes())
		default:
			p.Other = d.Num()
		}
		d.nested(err)
	}
	if d.err == nil && p == (PageLayout{}) {
		return p, fail.New(fail.Corrupt, "page layout message is empty")
	}
	return p, d.Err()
}

func (d *Decoder) encoding() *Encoding {
	e, err := DecodeEncoding(d.Bytes())
	d.nested(err)
	return e
}

func decodeMiniBlock(buf []byte) (*MiniBlockLayout, error) {
	m := &MiniBlockLayout{}
	d := NewDecoder("MiniBlockLayout", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			m.Rep = d.encoding()
		case 2:
			m.Def = d.encoding()
		case 3:
			m.Value = d.encoding()
		case 4:
			m.Dictionary = d.encoding()
		case 5:
			m.DictionaryItems = d.Uint64()
		case 6:
			m.Layers = d.layers(m.Layers)
		case 7:
			m.Buffers = d.Uint64()
		case 8:
			m.RepIndexDepth = d.Uint32()
		case 9:
			m.Items = d.Uint64()
		case 10:
			m.LargeChunks = d.Bool()
		}
	}
	return m, d.Err()
}

func decodeBlob(buf []byte) (*BlobLayout, error) {
	b := &BlobLayout{}
	d := NewDecoder("BlobLayout", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			inner, err := decodePageLayout(d.Bytes(), true)
			d.nested(err)
			b.Inner = &inner
		case 2:
			b.Layers = d.layers(b.Layers)
		}
	}
	return b, d.Err()
}

func decodeFullZip(buf []byte) (*FullZipLayout, error) {
	f := &FullZipLayout{}
	d := NewDecoder("FullZipLayout", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			f.BitsRep = d.Uint32()
		case 2:
			f.BitsDef = d.Uint32()
		case 3:
			f.BitsPerValue, f.BitsPerOffset = d.Uint32(), 0
		case 4:
			f.BitsPerOffset, f.BitsPerValue = d.Uint32(), 0
		case 5:
			f.Items = d.Uint32()
		case 6:
			f.VisibleItems = d.Uint32()
		case 7:
			f.Value = d.encoding()
		case 8:
			f.Layers = d.layers(f.Layers)
		}
	}
	return f, d.Err()
}

func decodeConstant(buf []byte) (*ConstantLayout, error) {
	c := &ConstantLayout{}
	d := NewDecoder("ConstantLayout", buf)
	for d.Next() {
		switch d.Num() {
		case 5:
			c.Layers = d.layers(c.Layers)
		case 6:
			c.Inline = append([]byte{}, d.Bytes()...)
		case 7:
			c.Rep = d.encoding()
		case 8:
			c.Def = d.encoding()
		case 9:
			c.RepValues = d.Uint64()
		case 10:
			c.DefValues = d.Uint64()
		}
	}
	return c, d.Err()
}
