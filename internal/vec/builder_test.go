package vec_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// dirty gives memory that is not zero.
type dirty struct{ memory.Allocator }

func (d dirty) Allocate(n int) []byte {
	b := d.Allocator.Allocate(n)
	for i := range b {
		b[i] = 0xAA
	}
	return b
}

func (d dirty) Reallocate(n int, b []byte) []byte {
	out := d.Allocate(n)
	copy(out, b)
	d.Free(b)
	return out
}

var builderTypes = []types.Type{
	types.Of(types.Boolean), types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double), types.DecimalOf(10, 2),
	types.Of(types.Text), types.Of(types.Binary), types.Of(types.Interval), types.VectorOf(3), types.Of(types.Sparse),
	types.ListOf(types.Of(types.Text)), types.ListOf(types.Of(types.Boolean)),
	types.Of(types.UUID), types.Of(types.Time), nestedStruct, types.MapOf(types.Of(types.Int32), types.Of(types.Text)), types.ListOf(nestedStruct),
}

// boxed is a random value.
func boxed(t *rapid.T, typ types.Type) vec.Value {
	if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		return vec.Null(typ)
	}
	n := rapid.Int64Range(0, 1000).Draw(t, "n")
	v := vec.Value{Type: typ}
	switch typ.Kind {
	case types.Boolean:
		v.Bool = n%2 == 0
	case types.Double:
		v.Float = float64(n) / 4
	case types.Decimal:
		v.Dec = vec.Int64(n).Dec
	case types.Interval:
		v.Span = vec.Span{Months: int32(n), Days: 2, Nanos: 3}
	case types.Vector:
		v.Vec = []float32{float32(n), 1, 2}
	case types.Sparse:
		for i := range uint32(n % 4) {
			v.Sparse.Indices, v.Sparse.Values = append(v.Sparse.Indices, i), append(v.Sparse.Values, float32(n))
		}
	case types.UUID:
		v.Dec = vec.MakeUUID([16]byte{byte(n)})
	case types.Time:
		v.Int = n
	case types.Struct:
		for _, f := range typ.Fields {
			v.List = append(v.List, boxed(t, f.Type))
		}
	case types.Map: // keys are distinct and not NULL
		for i := range n % 4 {
			key := vec.Int32(int32(i))
			v.List = append(v.List, vec.Value{Type: *typ.Elem, List: []vec.Value{key, boxed(t, typ.Value())}})
		}
	case types.List:
		for range n % 4 {
			v.List = append(v.List, boxed(t, *typ.Elem))
		}
	case types.Text, types.Binary:
		v.Str = strings.Repeat("é", int(n%11)) + fmt.Sprint(n)
	default:
		v.Int = n
	}
	return v
}

// vectorOf is a random vector of n rows in a random encoding.
func vectorOf(t *rapid.T, typ types.Type, n int) *vec.Vector {
	if n > 0 && rapid.IntRange(0, 3).Draw(t, "constant") == 0 {
		return vec.Const(typ, boxed(t, typ), n)
	}
	flat := func(n int) *vec.Vector {
		v := vec.New(typ, n)
		for range n {
			v.Append(boxed(t, typ))
		}
		return v
	}
	if rapid.Bool().Draw(t, "flat") {
		return flat(n)
	}
	v := &vec.Vector{Type: typ, Encoding: vec.Dictionary, N: n, Dict: flat(rapid.IntRange(1, 5).Draw(t, "dictionary"))}
	for range n {
		v.Codes = append(v.Codes, int32(rapid.IntRange(0, v.Dict.N-1).Draw(t, "code")))
	}
	if n > 0 && rapid.Bool().Draw(t, "nulls beside the dictionary") {
		v.SetNull(rapid.IntRange(0, n-1).Draw(t, "which"))
	}
	return v
}

func chunkOf(t *rapid.T) *vec.Chunk {
	n := rapid.IntRange(0, 40).Draw(t, "rows")
	c := &vec.Chunk{N: n}
	for _, typ := range builderTypes {
		c.Cols = append(c.Cols, vectorOf(t, typ, n))
	}
	if rapid.Bool().Draw(t, "selection") {
		c.Sel = []int32{}
		for i := range n {
			if rapid.Bool().Draw(t, "keep") {
				c.Sel = append(c.Sel, int32(i))
			}
		}
	}
	return c
}

// body is the record as an Arrow stream, the bytes that a client would see.
func body(t *rapid.T, rec arrow.RecordBatch) []byte {
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(rec.Schema()))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestBuilderKeepsRows appends chunks of every encoding and compares each row,
// and the bytes with those of memory that was zero.
func TestBuilderKeepsRows(t *testing.T) {
	names := make([]string, len(builderTypes))
	for i, typ := range builderTypes {
		names[i] = fmt.Sprint(i, typ)
	}
	schema := vec.Schema(names, builderTypes)
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	rapid.Check(t, func(t *rapid.T) {
		chunks := rapid.SliceOfN(rapid.Custom(chunkOf), 0, 4).Draw(t, "chunks")
		expect := rapid.IntRange(0, 100).Draw(t, "expect")
		build := func(m memory.Allocator) arrow.RecordBatch {
			b, err := vec.NewBuilder(schema, builderTypes, m)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Release()
			b.Expect(expect)
			for _, again := range []bool{false, true} { // a builder is as good as new after Batch
				for _, c := range chunks {
					if err := b.Append(c); err != nil {
						t.Fatal(err)
					}
				}
				if !again {
					b.Batch().Release()
				}
			}
			return b.Batch()
		}
		rec, clean := build(dirty{mem}), build(mem)
		defer rec.Release()
		defer clean.Release()
		if !bytes.Equal(body(t, rec), body(t, clean)) {
			t.Error("bytes that nobody wrote are in the batch")
		}
		for i, typ := range builderTypes {
			got, err := vec.FromArrow(rec.Column(i), typ)
			if err != nil {
				t.Fatal(err)
			}
			row, nulls := 0, 0
			for _, c := range chunks {
				for j := range c.Rows() {
					want := c.Cols[i].Value(c.RowAt(j))
					if want.Null {
						nulls++
					}
					if x, y := got.Value(row).String(), want.String(); x != y {
						t.Errorf("%s, row %d: %s, want %s", typ, row, x, y)
					}
					row++
				}
			}
			if rec.NumRows() != int64(row) || rec.Column(i).NullN() != nulls {
				t.Errorf("%s: %d rows of %d, %d nulls of %d", typ, rec.NumRows(), row, rec.Column(i).NullN(), nulls)
			}
		}
	})
}

func TestBuilderRefusesOtherColumns(t *testing.T) {
	schema, ts := vec.Schema([]string{"n"}, []types.Type{types.DecimalOf(10, 2)}), []types.Type{types.DecimalOf(10, 2)}
	b, err := vec.NewBuilder(schema, ts, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	for name, c := range map[string]*vec.Chunk{
		"no column":     {N: 1},
		"another scale": {N: 1, Cols: []*vec.Vector{vec.NewFlat(types.DecimalOf(10, 3), 1)}},
		"another kind":  {N: 1, Cols: []*vec.Vector{vec.NewFlat(types.Of(types.Text), 1)}},
	} {
		if err := b.Append(c); !fail.Is(err, fail.Internal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, ts := range [][]types.Type{nil, {types.Of(types.Int64)}} {
		if _, err := vec.NewBuilder(schema, ts, memory.DefaultAllocator); !fail.Is(err, fail.Internal) {
			t.Errorf("%v: %v", ts, err)
		}
	}
	empty := b.Batch()
	defer empty.Release()
	if empty.NumRows() != 0 || empty.Column(0).(*array.Decimal128).Len() != 0 {
		t.Errorf("%v", empty)
	}
}

// TestNullTextIsNotCopied: bytes under a NULL never leave.
func TestNullTextIsNotCopied(t *testing.T) {
	v := vec.New(types.Of(types.Text), 2)
	v.Append(vec.Text("a secret of more than twelve bytes"))
	v.Append(vec.Text("secret"))
	v.SetNull(0)
	v.SetNull(1)
	arr, err := vec.ToArrow(v, nil, 2, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer arr.Release()
	if b := arr.Data().Buffers()[2]; b.Len() != 0 || arr.NullN() != 2 {
		t.Errorf("%q goes out", b.Bytes())
	}
}
