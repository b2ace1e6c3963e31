package pb

import (
	"fmt"

	"github.com/loamdb/loam/internal/fail"
)

// ArrayKind is the alternative of an ArrayEncoding, the page encoding of format
// 2.0; the numbers are the message's field numbers.
type ArrayKind uint8

// The array encodings that Loam reads.
const (
	ArrayFlat          ArrayKind = 1
	ArrayNullable      ArrayKind = 2
	ArrayFixedSizeList ArrayKind = 3
	ArrayList          ArrayKind = 4
	ArrayStruct        ArrayKind = 5
	ArrayBinary        ArrayKind = 6
	ArrayDictionary    ArrayKind = 7
	ArrayFsst          ArrayKind = 8
	ArrayPackedStruct  ArrayKind = 9
)

var arrayNames = map[ArrayKind]string{
	ArrayFlat: "flat", ArrayNullable: "nullable", ArrayFixedSizeList: "fixed size list", ArrayList: "list",
	ArrayStruct: "struct", ArrayBinary: "binary", ArrayDictionary: "dictionary", ArrayFsst: "fsst",
	ArrayPackedStruct: "packed struct", 10: "bitpacked", 11: "fixed size binary", 12: "bitpacked for non-negatives",
	13: "constant",
}

// String is the encoding's name in errors.
func (k ArrayKind) String() string {
	if s, ok := arrayNames[k]; ok {
		return s
	}
	return fmt.Sprintf("array encoding %d", uint8(k))
}

// ArrayEncoding is one node of the tree that says how the values of a 2.0 page
// became buffers.
type ArrayEncoding struct {
	Kind ArrayKind
	// Bits, Buffer and Scheme describe a Flat: the width of a value, the number of
	// its buffer in the page, its compression ("", "zstd", "lz4", "fsst").
	Bits   uint64
	Buffer int
	Scheme string
	// Inner is the values (Nullable, FixedSizeList), bytes (Binary), strings (Fsst),
	// items (Dictionary) or offsets (List). Nil in a Nullable means all null.
	Inner *ArrayEncoding
	// Second is the validity (Nullable; nil when no value is null) or the indices
	// (Binary, Dictionary).
	Second *ArrayEncoding
	// Members are those of a packed struct.
	Members []*ArrayEncoding
	// Adjust is added to the offsets of nulls (Binary, List).
	Adjust uint64
	// Items is the dimension, the items of a dictionary, or those of the page's lists.
	Items uint64
	// Table is the symbol table of Fsst.
	Table []byte
}

// DecodeArrayEncoding reads an ArrayEncoding.
func DecodeArrayEncoding(buf []byte) (*ArrayEncoding, error) { return decodeArray(buf, 0) }

func decodeArray(buf []byte, depth int) (*ArrayEncoding, error) {
	if depth > maxEncodingDepth {
		return nil, fail.New(fail.Corrupt, "array encoding tree is deeper than %d", maxEncodingDepth)
	}
	var e *ArrayEncoding
	d := NewDecoder("ArrayEncoding", buf)
	for d.Next() {
		e = &ArrayEncoding{Kind: ArrayKind(min(d.Num(), 255))}
		d.nested(e.decodeBody(d.Bytes(), depth+1))
	}
	if d.Err() == nil && e == nil {
		return nil, fail.New(fail.Corrupt, "array encoding message is empty")
	}
	return e, d.Err()
}

// arrayField says what a field of an encoding's message is.
type arrayField uint8

const (
	isInner arrayField = iota + 1
	isSecond
	isMember
	isBuffer
	isBits
	isAdjust
	isItems
	isTable
	isScheme
	isNullability
)

// arrayFields are the fields of each message, by their numbers.
var arrayFields = map[ArrayKind]map[int]arrayField{
	ArrayFlat:          {1: isBits, 2: isBuffer, 3: isScheme},
	ArrayNullable:      {1: isNullability, 2: isNullability},
	ArrayFixedSizeList: {1: isItems, 2: isInner},
	ArrayList:          {1: isInner, 2: isAdjust, 3: isItems},
	ArrayBinary:        {1: isSecond, 2: isInner, 3: isAdjust},
	ArrayDictionary:    {1: isSecond, 2: isInner, 3: isItems},
	ArrayFsst:          {1: isInner, 2: isTable},
	ArrayPackedStruct:  {1: isMember, 2: isBuffer},
}

func (e *ArrayEncoding) decodeBody(buf []byte, depth int) error {
	d := NewDecoder(e.Kind.String()+" array encoding", buf)
	child := func() *ArrayEncoding {
		c, err := decodeArray(d.Bytes(), depth)
		d.nested(err)
		return c
	}
	for d.Next() {
		switch arrayFields[e.Kind][d.Num()] {
		case isInner:
			e.Inner = child()
		case isSecond:
			e.Second = child()
		case isMember:
			e.Members = append(e.Members, child())
		case isBuffer:
			e.Buffer = d.pageBuffer()
		case isBits:
			e.Bits = d.Uint64()
		case isAdjust:
			e.Adjust = d.Uint64()
		case isItems:
			e.Items = d.Uint64()
		case isTable:
			e.Table = d.Bytes()
		case isScheme:
			e.Scheme = d.schemeName()
		case isNullability:
			d.nested(e.decodeNullability(d.Bytes(), d.Num(), depth))
		}
	}
	return d.Err()
}

// decodeNullability reads a NoNull (alternative 1) or SomeNull (2).
func (e *ArrayEncoding) decodeNullability(buf []byte, alternative, depth int) error {
	d := NewDecoder("Nullable", buf)
	for d.Next() {
		c, err := decodeArray(d.Bytes(), depth)
		d.nested(err)
		if alternative == 2 && d.Num() == 1 {
			e.Second = c
		} else {
			e.Inner = c
		}
	}
	if d.Err() == nil && e.Inner == nil {
		return fail.New(fail.Corrupt, "nullable array encoding without values")
	}
	return d.Err()
}

// pageBuffer reads a Buffer message, which must name a buffer of the page.
func (d *Decoder) pageBuffer() int {
	b := NewDecoder("Buffer", d.Bytes())
	index := uint32(0)
	for b.Next() {
		switch b.Num() {
		case 1:
			index = b.Uint32()
		case 2:
			if b.Uint64() != 0 {
				b.failf("a buffer outside of the page")
			}
		}
	}
	d.nested(b.Err())
	return int(min(index, 1<<16))
}

// schemeName reads a Compression message.
func (d *Decoder) schemeName() string {
	c := NewDecoder("Compression", d.Bytes())
	name := ""
	for c.Next() {
		if c.Num() == 1 {
			name = c.String()
		}
	}
	d.nested(c.Err())
	return name
}
