package column

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// cursor reads a chunk; short reads set bad and return zeros.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.bad = true
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// maxListRows bounds the elements of one chunk of lists.
const maxListRows = 1 << 28

// head is the start of a chunk: its encoding, its rows, and which of them are valid.
type head struct {
	enc  byte
	rows int
	// words are the validity bitmap's bytes; nil when all rows are valid.
	words []byte
}

// valid reports whether row i is not NULL.
func (h *head) valid(i int) bool { return h.words == nil || h.words[i>>3]>>(i&7)&1 == 1 }

// readHead reads the head of a chunk that must have want rows: the caller knows
// the number, so that nothing is allocated by what a damaged head says.
func readHead(b []byte, want int) (head, *cursor, error) {
	c := &cursor{b: b}
	first := c.take(4)
	h := head{rows: int(c.u32())}
	if c.bad || first[1]&^flagValidity != 0 || first[2] != 0 || first[3] != 0 {
		return h, c, corrupt("chunk header")
	}
	if h.rows != want || h.rows > maxListRows {
		return h, c, corrupt("chunk of %d rows, want %d", h.rows, want)
	}
	h.enc = first[0]
	if first[1]&flagValidity != 0 {
		if h.words = c.take((h.rows + 63) / 64 * 8); c.bad {
			return h, c, corrupt("validity")
		}
	}
	return h, c, nil
}

func decodeChunk(b []byte, t types.Type, want int) (*vec.Vector, *cursor, error) {
	h, c, err := readHead(b, want)
	if err != nil {
		return nil, c, err
	}
	v := &vec.Vector{Type: t, N: h.rows}
	if h.words != nil {
		v.Valid = make(vec.Bitmap, len(h.words)/8)
		for i := range v.Valid {
			v.Valid[i] = binary.LittleEndian.Uint64(h.words[8*i:])
		}
	}
	if err := decodeValues(c, v, h.enc); err != nil {
		return nil, c, err
	}
	if c.bad {
		return nil, c, corrupt("values of %s are cut short", t)
	}
	return v, c, nil
}

func decodeValues(c *cursor, v *vec.Vector, enc byte) error {
	n := v.N
	switch v.Type.Kind {
	case types.Boolean:
		b := c.take((n + 7) / 8)
		if c.bad {
			return nil
		}
		v.Bools = make([]bool, n)
		for i := range v.Bools {
			v.Bools[i] = b[i/8]>>(i&7)&1 == 1
		}
	case types.Int32, types.Date:
		var err error
		v.Int32s, err = decodeInts[int32](c, n)
		return err
	case types.Int64, types.Timestamp, types.Time:
		var err error
		v.Int64s, err = decodeInts[int64](c, n)
		return err
	case types.Double:
		if b := c.take(8 * n); b != nil {
			v.Float64s = castSlice[float64](b, n)
		}
	case types.Decimal, types.UUID:
		if b := c.take(16 * n); b != nil {
			v.Decimals = make([]decimal128.Num, n)
			for i := range v.Decimals {
				v.Decimals[i] = decimal128.New(int64(binary.LittleEndian.Uint64(b[16*i+8:])), binary.LittleEndian.Uint64(b[16*i:]))
			}
		}
	case types.Interval:
		if b := c.take(16 * n); b != nil {
			v.Spans = make([]vec.Span, n)
			for i := range v.Spans {
				r := b[16*i:]
				v.Spans[i] = vec.Span{Months: int32(binary.LittleEndian.Uint32(r)), Days: int32(binary.LittleEndian.Uint32(r[4:])), Nanos: int64(binary.LittleEndian.Uint64(r[8:]))}
			}
		}
	case types.Vector:
		if b := c.take(4 * n * int(v.Type.Dim)); b != nil {
			v.Float32s = castSlice[float32](b, len(b)/4)
		}
	case types.Sparse:
		decodeSparse(c, v)
	case types.List, types.Map:
		return decodeList(c, v)
	case types.Struct:
		return decodeStruct(c, v)
	default:
		if enc != encFlat && enc != encDict && enc != encZstd {
			return corrupt("unknown encoding %d", enc)
		}
		return decodeStrings(c, v, enc)
	}
	return nil
}

// castSlice views little-endian bytes as numbers, or copies them where they do
// not lie as numbers must. Capacity ends with the numbers: an append copies.
func castSlice[T any](b []byte, n int) []T {
	if n == 0 {
		return nil
	}
	if uintptr(unsafe.Pointer(&b[0]))%unsafe.Alignof(*new(T)) != 0 {
		b = append(make([]byte, 0, len(b)), b...)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), n)
}

func decodeInts[T int32 | int64](c *cursor, n int) ([]T, error) {
	p, err := packedInts(c, n)
	if err != nil {
		return nil, err
	}
	return unpack[T](p), nil
}

func decodeStrings(c *cursor, v *vec.Vector, enc byte) error {
	if enc == encDict {
		return decodeDict(c, v)
	}
	s, err := readStrings(c, v.N, enc == encZstd)
	if err == nil {
		v.Strings, err = s.all()
	}
	return err
}

// dictHead reads the head of a dictionary chunk and takes its codes.
func dictHead(c *cursor, n int) (size int, codes packed, err error) {
	size, width := int(c.u32()), int(c.u32())
	if c.bad || width > 32 || size > n || n > 0 && size == 0 {
		return 0, packed{}, corrupt("dictionary header")
	}
	codes, err = packedBits(c, n, width, 0)
	return size, codes, err
}

func decodeDict(c *cursor, v *vec.Vector) error {
	size, codes, err := dictHead(c, v.N)
	if err != nil {
		return err
	}
	v.Codes = unpack[int32](codes)
	for _, k := range v.Codes {
		if uint32(k) >= uint32(size) {
			return corrupt("dictionary code %d of %d", uint32(k), size)
		}
	}
	s, err := readStrings(c, size, false)
	if err != nil {
		return err
	}
	dict := &vec.Vector{Type: v.Type, N: size}
	if dict.Strings, err = s.all(); err != nil {
		return err
	}
	v.Encoding, v.Dict = vec.Dictionary, dict
	return nil
}

func decodeSparse(c *cursor, v *vec.Vector) {
	v.SparseRows = make([]vec.SparseRow, v.N)
	for i := range v.SparseRows {
		n := int(c.u32())
		b := c.take(8 * n)
		if c.bad {
			return
		}
		r := vec.SparseRow{Indices: make([]uint32, n), Values: make([]float32, n)}
		for j := range n {
			r.Indices[j] = binary.LittleEndian.Uint32(b[4*j:])
			r.Values[j] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*(n+j):]))
		}
		v.SparseRows[i] = r
	}
}

func decodeStruct(c *cursor, v *vec.Vector) error {
	for _, f := range v.Type.Fields {
		field, rest, err := decodeChunk(c.b, f.Type, v.N)
		if err != nil {
			return err
		}
		c.b = rest.b
		v.Fields = append(v.Fields, field.Flatten())
	}
	return nil
}

func decodeList(c *cursor, v *vec.Vector) error {
	b := c.take(4 * (v.N + 1))
	if c.bad {
		return corrupt("list offsets are cut short")
	}
	v.Offsets = append(make([]int32, 0, v.N+1), castSlice[int32](b, v.N+1)...)
	last := int32(0)
	for _, o := range v.Offsets {
		if o < last {
			return corrupt("list offsets are not ascending")
		}
		last = o
	}
	child, rest, err := decodeChunk(c.b, *v.Type.Elem, int(last))
	if err != nil {
		return err
	}
	c.b = rest.b
	v.Child = child.Flatten()
	return nil
}
