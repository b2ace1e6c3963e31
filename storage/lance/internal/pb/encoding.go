package pb

import (
	"fmt"

	"github.com/loamdb/loam/internal/fail"
)

// EncodingKind is the alternative of a CompressiveEncoding; the numbers are the
// message's field numbers.
type EncodingKind uint8

// The encodings.
const (
	Flat             EncodingKind = 1
	Variable         EncodingKind = 2
	Constant         EncodingKind = 3
	OutOfLinePacking EncodingKind = 4
	InlinePacking    EncodingKind = 5
	Fsst             EncodingKind = 6
	Dictionary       EncodingKind = 7
	Rle              EncodingKind = 8
	ByteStreamSplit  EncodingKind = 9
	General          EncodingKind = 10
	FixedSizeList    EncodingKind = 11
	PackedStruct     EncodingKind = 12
	VariablePacked   EncodingKind = 13
)

var encodingNames = map[EncodingKind]string{
	Flat: "flat", Variable: "variable", Constant: "constant", OutOfLinePacking: "out-of-line bitpacking",
	InlinePacking: "inline bitpacking", Fsst: "fsst", Dictionary: "dictionary", Rle: "run lengths",
	ByteStreamSplit: "byte stream split", General: "general", FixedSizeList: "fixed size list",
	PackedStruct: "packed struct", VariablePacked: "variable packed struct",
}

// String is the encoding's name in errors.
func (k EncodingKind) String() string {
	if s, ok := encodingNames[k]; ok {
		return s
	}
	return fmt.Sprintf("encoding %d", uint8(k))
}

// Schemes of general compression.
const (
	LZ4  = 1
	Zstd = 2
)

// Encoding is one node of the tree that says how values became buffers.
type Encoding struct {
	Kind EncodingKind
	// Bits is the width of a value: Flat, and the unpacked width of bitpackings.
	Bits uint64
	// Inner encodes the offsets (Variable) or the values of any other wrapper.
	Inner *Encoding
	// Second encodes run lengths (Rle) or items (Dictionary).
	Second *Encoding
	// Items is the dimension of a FixedSizeList.
	Items uint64
	// HasValidity: the items of a FixedSizeList have a validity buffer.
	HasValidity bool
	// Scheme is the compression of General, or of a leaf's own buffer.
	Scheme uint64
	// Bytes is the symbol table of Fsst or the value of Constant.
	Bytes []byte
	// Members are the fields of a packed struct, in its order.
	Members []Member
}

// Member is one field of a packed struct: the encoding of its values and the bits
// of each, or of the length before each.
type Member struct {
	Value *Encoding // nil in a struct of fixed width, whose Inner encodes whole rows
	Bits  uint64
	// Variable: Bits is the width of lengths.
	Variable bool
}

// FlatEncoding is uncompressed values of the width.
func FlatEncoding(bits uint64) *Encoding { return &Encoding{Kind: Flat, Bits: bits} }

// VariableEncoding is uncompressed variable-width values with offsets of the width.
func VariableEncoding(offsetBits uint64) *Encoding {
	return &Encoding{Kind: Variable, Inner: FlatEncoding(offsetBits)}
}

// VectorEncoding is vectors of dim values of the width, without null items.
func VectorEncoding(dim, bits uint64) *Encoding {
	return &Encoding{Kind: FixedSizeList, Items: dim, Inner: FlatEncoding(bits)}
}

// Append appends the message's bytes to b. Only the encodings that Loam writes
// (Flat, Variable, FixedSizeList, the bitpackings, General) are supported.
func (e *Encoding) Append(b []byte) []byte {
	var body []byte
	switch e.Kind {
	case Flat:
		body = AppendVarint(body, 1, e.Bits)
	case Variable:
		body = appendEncoding(body, 1, e.Inner)
	case InlinePacking:
		body = AppendVarint(body, 1, e.Bits)
	case OutOfLinePacking:
		body = AppendVarint(body, 1, e.Bits)
		body = appendEncoding(body, 3, e.Inner)
	case General:
		body = AppendMessage(body, 1, AppendVarint(nil, 1, e.Scheme))
		body = appendEncoding(body, 3, e.Inner)
	case FixedSizeList:
		body = AppendVarint(body, 1, e.Items)
		body = appendEncoding(body, 2, e.Inner)
		body = AppendBool(body, 3, e.HasValidity)
	}
	return AppendMessage(b, int(e.Kind), body)
}

// maxEncodingDepth bounds the recursion on hostile input; real trees have four levels.
const maxEncodingDepth = 12

// DecodeEncoding reads a CompressiveEncoding.
func DecodeEncoding(buf []byte) (*Encoding, error) { return decodeEncoding(buf, 0) }

func decodeEncoding(buf []byte, depth int) (*Encoding, error) {
	if depth > maxEncodingDepth {
		return nil, fail.New(fail.Corrupt, "encoding tree is deeper than %d", maxEncodingDepth)
	}
	var e *Encoding
	d := NewDecoder("CompressiveEncoding", buf)
	for d.Next() {
		e = &Encoding{Kind: EncodingKind(min(d.Num(), 255))}
		d.nested(e.decodeBody(d.Bytes(), depth))
	}
	if d.Err() == nil && e == nil {
		return nil, fail.New(fail.Corrupt, "encoding message is empty")
	}
	return e, d.Err()
}

func (e *Encoding) decodeBody(buf []byte, depth int) error {
	d := NewDecoder(e.Kind.String()+" encoding", buf)
	child := func() *Encoding {
		c, err := decodeEncoding(d.Bytes(), depth+1)
		d.nested(err)
		return c
	}
	for d.Next() {
		switch e.Kind {
		case Flat, InlinePacking:
			e.decodeLeaf(d)
		case Variable:
			if d.Num() == 1 {
				e.Inner = child()
			} else if d.Num() == 2 {
				e.Scheme = d.scheme()
			}
		case OutOfLinePacking:
			if d.Num() == 1 {
				e.Bits = d.Uint64()
			} else if d.Num() == 3 {
				e.Inner = child()
			}
		case Fsst:
			if d.Num() == 1 {
				e.Bytes = d.Bytes()
			} else if d.Num() == 2 {
				e.Inner = child()
			}
		case Constant:
			e.Bytes = d.Bytes()
		case Rle, Dictionary:
			if d.Num() == 1 {
				e.Inner = child()
			} else if d.Num() == 2 {
				e.Second = child()
			}
		case General:
			if d.Num() == 1 {
				e.Scheme = d.scheme()
			} else if d.Num() == 3 {
				e.Inner = child()
			}
		case FixedSizeList:
			e.decodeVector(d, child)
		case ByteStreamSplit:
			e.Inner = child()
		case PackedStruct:
			if d.Num() == 1 {
				for _, bits := range d.Uint64s(nil) {
					e.Members = append(e.Members, Member{Bits: bits})
				}
			} else if d.Num() == 2 {
				e.Inner = child()
			}
		case VariablePacked:
			m, err := decodeMember(d.Bytes(), depth)
			d.nested(err)
			e.Members = append(e.Members, m)
		}
	}
	return d.Err()
}

// decodeMember reads a VariablePackedStruct.FieldEncoding.
func decodeMember(buf []byte, depth int) (Member, error) {
	var m Member
	d := NewDecoder("FieldEncoding", buf)
	for d.Next() {
		switch d.Num() {
		case 1:
			c, err := decodeEncoding(d.Bytes(), depth+1)
			d.nested(err)
			m.Value = c
		case 2, 3:
			m.Bits, m.Variable = d.Uint64(), d.Num() == 3
		}
	}
	return m, d.Err()
}

func (e *Encoding) decodeLeaf(d *Decoder) {
	if d.Num() == 1 {
		e.Bits = d.Uint64()
	} else if d.Num() == 2 {
		e.Scheme = d.scheme()
	}
}

func (e *Encoding) decodeVector(d *Decoder, child func() *Encoding) {
	switch d.Num() {
	case 1:
		e.Items = d.Uint64()
	case 2:
		e.Inner = child()
	case 3:
		e.HasValidity = d.Bool()
	}
}

// scheme reads a BufferCompression message and returns its scheme.
func (d *Decoder) scheme() uint64 {
	c := NewDecoder("BufferCompression", d.Bytes())
	var s uint64
	for c.Next() {
		if c.Num() == 1 {
			s = c.Uint64()
		}
	}
	d.nested(c.Err())
	return s
}
