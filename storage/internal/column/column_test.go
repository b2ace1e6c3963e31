package column

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var nestedStruct = types.StructOf(types.Field{Name: "n", Type: types.Of(types.Int64)}, types.Field{Name: "two words", Type: types.ListOf(types.Of(types.Text))})

var testTypes = []types.Type{
	types.Of(types.Boolean), types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double),
	types.DecimalOf(38, 4), types.Of(types.Text), types.Of(types.Binary), types.Of(types.Date),
	types.Of(types.Timestamp), types.Of(types.Interval), types.VectorOf(3), types.Of(types.Sparse),
	types.ListOf(types.Of(types.Text)), types.Of(types.JSON),
	types.Of(types.UUID), types.Of(types.Time), nestedStruct, types.MapOf(types.Of(types.Int32), types.Of(types.Text)), types.ListOf(nestedStruct),
}

// randomValue makes a value of the type; few picks from a small domain, so that dictionaries and runs appear.
func randomValue(r *rand.Rand, t types.Type, few bool) vec.Value {
	n := r.Int63() - r.Int63()
	if few {
		n = r.Int63n(5)
	}
	v := vec.Value{Type: t}
	switch t.Kind {
	case types.Boolean:
		v.Bool = n&1 == 0
	case types.Int32, types.Date:
		v.Int = int64(int32(n))
	case types.Int64, types.Timestamp:
		v.Int = n
	case types.Double:
		v.Float = math.Float64frombits(uint64(n))
	case types.Decimal:
		v.Dec = decimal128.New(n, uint64(n)*31)
	case types.Interval:
		v.Span = vec.Span{Months: int32(n), Days: int32(n >> 8), Nanos: n}
	case types.Vector:
		v.Vec = []float32{float32(n), 1, -2}
	case types.Sparse:
		for i := range r.Intn(4) {
			v.Sparse.Indices = append(v.Sparse.Indices, uint32(i*7))
			v.Sparse.Values = append(v.Sparse.Values, float32(n))
		}
	case types.UUID:
		v.Dec = decimal128.New(n, uint64(n)*31)
	case types.Time:
		v.Int = n
	case types.Struct:
		for _, f := range t.Fields {
			v.List = append(v.List, randomValue(r, f.Type, few))
		}
	case types.Map: // keys are distinct and not NULL
		for i := range r.Intn(4) {
			key := vec.Int32(int32(i))
			v.List = append(v.List, vec.Value{Type: *t.Elem, List: []vec.Value{key, randomValue(r, t.Value(), few)}})
		}
	case types.List:
		for range r.Intn(4) {
			v.List = append(v.List, randomValue(r, *t.Elem, few))
		}
	default:
		v.Str = fmt.Sprint(n)
		if !few && r.Intn(3) == 0 {
			v.Str += "a longer string that does not fit into its view " + v.Str
		}
	}
	return v
}

func randomColumn(r *rand.Rand, t types.Type, n int) *vec.Vector {
	v := vec.New(t, n)
	nulls, few := r.Intn(4), r.Intn(2) == 0
	for range n {
		if nulls > 0 && r.Intn(nulls*3) == 0 {
			v.AppendNull()
			continue
		}
		v.Append(randomValue(r, t, few))
	}
	return v
}

func section(t *testing.T, r *rand.Rand, rows int) ([]*vec.Vector, []byte) {
	t.Helper()
	w := NewWriter(rows)
	var cols []*vec.Vector
	for i, ty := range testTypes {
		col := randomColumn(r, ty, rows)
		cols = append(cols, col)
		if err := w.Add(fmt.Sprint("c", i), col); err != nil {
			t.Fatal(err)
		}
	}
	data, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return cols, data
}

func TestRoundTrip(t *testing.T) {
	for _, rows := range []int{0, 1, 7, 64, 65, 2047, 2048, 2049, 5000} {
		for seed := range int64(6) {
			r := rand.New(rand.NewSource(seed))
			cols, data := section(t, r, rows)
			s, err := Open(data)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range cols {
				checkColumn(t, s, fmt.Sprint("c", i), want)
			}
		}
	}
}

func checkColumn(t *testing.T, s *Section, name string, want *vec.Vector) {
	t.Helper()
	if !s.Type(name).Equal(want.Type) {
		t.Fatalf("%s: type %s, want %s", name, s.Type(name), want.Type)
	}
	for from := 0; from < want.N; from += vec.ChunkRows {
		got, err := s.Chunk(name, from/vec.ChunkRows)
		if err != nil {
			t.Fatal(err)
		}
		lo, hi, _, zoned := s.Zone(name, from/vec.ChunkRows)
		for i := range got.N {
			g, w := got.Value(i), want.Value(from+i)
			if g.Null != w.Null || g.String() != w.String() {
				t.Fatalf("%s row %d (%s): %s, want %s", name, from+i, want.Type, g, w)
			}
			if zoned && !w.Null && (Less(w, lo) || Less(hi, w)) {
				t.Fatalf("%s row %d: %s outside its zone [%s, %s]", name, from+i, w, lo, hi)
			}
		}
	}
}

// Damaged sections must give errors or other values, never a panic.
func TestDamage(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	_, data := section(t, r, 300)
	read := func(b []byte) {
		s, err := Open(b)
		if err != nil {
			return
		}
		for _, name := range s.Names() {
			for i := range (s.Rows() + vec.ChunkRows - 1) / vec.ChunkRows {
				if v, err := s.Chunk(name, i); err == nil && v.N > 0 {
					_ = v.Value(v.N - 1).String()
				}
			}
		}
	}
	for i := 0; i < len(data); i += 3 {
		b := append([]byte(nil), data...)
		b[i] ^= 1 << r.Intn(8)
		read(b)
		read(data[:i])
	}
	if _, err := Open(data[:len(data)-1]); err == nil {
		t.Fatal("a section without its last byte opened")
	}
}

func TestPackedSize(t *testing.T) {
	v := vec.New(types.Of(types.Int64), 0)
	for i := range 2048 {
		v.Append(vec.Int64(1_000_000 + int64(i%16)))
	}
	w := NewWriter(v.N)
	if err := w.Add("x", v); err != nil {
		t.Fatal(err)
	}
	data, _ := w.Finish()
	if len(data) > 1500 {
		t.Fatalf("2,048 values of 4 bits take %d bytes", len(data))
	}
}
