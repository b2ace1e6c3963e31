package op

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var sortTypes = []types.Type{types.Of(types.Boolean), types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double),
	types.DecimalOf(38, 2), types.Of(types.Text), types.Of(types.Interval), types.ListOf(types.Of(types.Int32)),
	types.Of(types.UUID), types.Of(types.Time), types.StructOf(types.Field{Name: "a", Type: types.Of(types.Int64)}, types.Field{Name: "b", Type: types.Of(types.Text)})}

// sortValue draws from wide and narrow domains, with NULLs and extremes.
func sortValue(rng *rand.Rand, t types.Type) vec.Value {
	if rng.IntN(8) == 0 {
		return vec.Null(t)
	}
	v := vec.Value{Type: t}
	n := rng.Int64() >> rng.IntN(64)
	if rng.IntN(2) == 0 {
		n = -n
	}
	switch t.Kind {
	case types.Boolean:
		v.Bool = n&1 == 0
	case types.Int32:
		v.Int = int64(int32(n))
	case types.Double:
		v.Float = []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, float64(n), 1 / float64(n)}[rng.IntN(7)]
	case types.Decimal:
		v.Dec = decimal128.New(n>>60, uint64(n))
	case types.Text:
		v.Str = []string{"", "a", "abcdefgh", "abcdefgha", "abcdefghb", "abcdefgh\x00", fmt.Sprint(n)}[rng.IntN(7)]
	case types.Interval:
		v.Span = vec.Span{Months: int32(n % 3), Days: int32(n % 40), Nanos: n % 7}
	case types.UUID:
		v.Dec = decimal128.New(n>>60, uint64(n))
	case types.Struct:
		v.List = []vec.Value{sortValue(rng, t.Fields[0].Type), sortValue(rng, t.Fields[1].Type)}
	case types.List:
		for range rng.IntN(3) {
			v.List = append(v.List, vec.Int32(int32(n%3)))
		}
	default:
		v.Int = n
	}
	return v
}

// TestSortRows compares with a stable sort by row comparison, for keys of every
// type, lengths around the small-run bound, and all directions.
func TestSortRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for round := range 300 {
		n := []int{0, 1, 2, smallRun, smallRun + 1, 500, 3000}[rng.IntN(7)]
		var keys []*vec.Vector
		var dirs []Direction
		for range 1 + rng.IntN(3) {
			v := vec.New(sortTypes[rng.IntN(len(sortTypes))], n)
			for range n {
				v.Append(sortValue(rng, v.Type))
			}
			keys = append(keys, v)
			dirs = append(dirs, Direction{Desc: rng.IntN(2) == 0, NullsFirst: rng.IntN(2) == 0})
		}
		root := mem.New("query", mem.NoLimit)
		account := &mem.Account{Tracker: root}
		got, err := sortRows(context.Background(), keys, dirs, n, account)
		if err != nil {
			t.Fatal(err)
		}
		want := kernel.Identity(n)
		slices.SortStableFunc(want, func(a, b int32) int {
			for i, k := range keys {
				na, nb := k.IsNull(int(a)), k.IsNull(int(b))
				c := kernel.CompareRows(k, int(a), k, int(b))
				switch {
				case na != nb && na == dirs[i].NullsFirst:
					return -1
				case na != nb:
					return 1
				case c != 0 && dirs[i].Desc:
					return -c
				case c != 0:
					return c
				}
			}
			return 0
		})
		if !slices.Equal(got, want) {
			t.Fatalf("round %d: %d rows by %v %v", round, n, keys[0].Type, dirs)
		}
		account.Close()
		if root.Bytes() != 0 {
			t.Fatalf("%d bytes left", root.Bytes())
		}
	}
}

func TestSortLooksAtItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, typ := range []types.Type{types.Of(types.Int64), types.Of(types.Interval)} {
		rng := rand.New(rand.NewPCG(1, 1))
		v := vec.New(typ, 2*checkEvery)
		for range 2 * checkEvery {
			v.Append(sortValue(rng, typ))
		}
		if _, err := sortRows(ctx, []*vec.Vector{v}, []Direction{{}}, v.N, &mem.Account{Tracker: mem.New("q", mem.NoLimit)}); err == nil {
			t.Errorf("%s: sorted after the cancellation", typ)
		}
	}
}

func longs(vals ...int64) *vec.Vector {
	v := vec.New(types.Of(types.Int64), len(vals))
	for _, x := range vals {
		v.Append(vec.Int64(x))
	}
	return v
}

func TestPickOuter(t *testing.T) {
	text := vec.New(types.Of(types.Text), 2)
	text.Append(vec.Text("more than twelve bytes"))
	text.AppendNull()
	cols := []*vec.Vector{longs(7, 8), text}
	got := pickOuter(cols, []int32{1, noRow, 0})
	for i, want := range []string{"8 NULL", "NULL NULL", "7 more than twelve bytes"} {
		if s := got[0].Value(i).String() + " " + got[1].Value(i).String(); s != want {
			t.Errorf("row %d: %s, want %s", i, s, want)
		}
	}
	if cols[0].Valid != nil {
		t.Error("the input was changed")
	}
	none := pickOuter([]*vec.Vector{vec.New(types.Of(types.Int64), 0)}, []int32{noRow, noRow})
	if none[0].N != 2 || !none[0].IsNull(1) {
		t.Error("rows of an empty side are not NULL")
	}
}

func TestLimitStage(t *testing.T) {
	for _, c := range []struct {
		offset, count int64
		want          string
		stops         bool
	}{
		{0, 4, "[0 1 2 3]", true}, {2, 3, "[2 3 4]", true}, {5, -1, "[5 6 7 8]", false},
		{0, 0, "[]", true}, {20, 5, "[]", false}, {8, 9, "[8]", false}, {3, 3, "[3 4 5]", true},
	} {
		st, _ := (&Limit{Offset: c.offset, Count: c.count}).Stage(nil)
		got, stopped := []int64{}, false
		for from := int64(0); from < 9 && !stopped; from += 3 {
			chunk := &vec.Chunk{Cols: []*vec.Vector{longs(from, -1, from+1, from+2)}, N: 4, Sel: []int32{0, 2, 3}}
			if from == 3 {
				chunk = &vec.Chunk{Cols: []*vec.Vector{longs(from, from+1, from+2)}, N: 3}
			}
			err := st.Push(chunk, func(out *vec.Chunk) error {
				for i := range out.Rows() {
					got = append(got, out.Cols[0].Int64s[out.RowAt(i)])
				}
				return nil
			})
			stopped = errors.Is(err, sched.ErrStop)
		}
		if fmt.Sprint(got) != c.want || stopped != c.stops {
			t.Errorf("limit %d offset %d: %v stopped %v, want %s %v", c.count, c.offset, got, stopped, c.want, c.stops)
		}
	}
}

// TestVectorBytes: the estimate covers string bytes behind dictionaries and selections.
func TestVectorBytes(t *testing.T) {
	text := vec.New(types.Of(types.Text), 2)
	text.Append(vec.Text("short"))
	text.Append(vec.Text("exactly twenty bytes"))
	dict := &vec.Vector{Type: text.Type, Encoding: vec.Dictionary, N: 3, Dict: text, Codes: []int32{1, 0, 1}}
	fixed := func(n int64) int64 { return n*16 + n/8 + 8 }
	if got := vectorBytes(dict, nil, 3); got != fixed(3)+40 {
		t.Errorf("dictionary: %d", got)
	}
	if got := vectorBytes(dict, []int32{1}, 1); got != fixed(1) {
		t.Errorf("selected: %d", got)
	}
	list := vec.New(types.ListOf(types.Of(types.Int64)), 1)
	list.Append(vec.Value{Type: list.Type, List: []vec.Value{vec.Int64(1), vec.Int64(2)}})
	if got := vectorBytes(list, nil, 1); got < 16 {
		t.Errorf("list: %d", got)
	}
	wide := vec.NewFlat(types.VectorOf(768), 10)
	if got := vectorBytes(wide, nil, 10); got < 30720 {
		t.Errorf("vectors: %d", got)
	}
}

func TestSeriesLen(t *testing.T) {
	for _, c := range []struct {
		start, stop, step int64
		want              uint64
	}{
		{1, 10, 3, 4}, {10, 1, -3, 4}, {1, 0, 1, 0}, {0, 1, -1, 0}, {5, 5, 9, 1},
		{math.MinInt64, math.MaxInt64, 1, math.MaxUint64}, {math.MaxInt64, math.MinInt64, math.MinInt64, 2},
		{math.MinInt64, math.MaxInt64, math.MaxInt64, 3},
	} {
		if got := seriesLen(c.start, c.stop, c.step); got != c.want {
			t.Errorf("from %d to %d by %d: %d, want %d", c.start, c.stop, c.step, got, c.want)
		}
	}
	if _, err := NewSeries(vec.Int64(math.MinInt64), vec.Int64(math.MaxInt64), vec.Int64(1)); err == nil {
		t.Error("a series of 2^64 rows")
	}
}

// TestAppendAll: blocks of rows with and without NULLs, of any encoding, read back.
func TestAppendAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	for _, typ := range sortTypes {
		for range 20 {
			dst, want := vec.New(typ, 0), vec.New(typ, 0)
			for range 1 + rng.IntN(6) {
				n := rng.IntN(150)
				src := vec.New(typ, n)
				nulls := rng.IntN(2) == 0
				for src.N < n {
					if v := sortValue(rng, typ); nulls || !v.Null {
						src.Append(v)
					}
				}
				if n > 0 && rng.IntN(4) == 0 {
					src = vec.Const(typ, sortValue(rng, typ), n)
				}
				appendAll(dst, src)
				for i := range n {
					want.Append(src.Value(i))
				}
			}
			if dst.N != want.N {
				t.Fatalf("%s: %d rows, want %d", typ, dst.N, want.N)
			}
			for i := range want.N {
				if !kernel.EqualRows(dst, i, want, i) {
					t.Fatalf("%s row %d: %s, want %s", typ, i, dst.Value(i), want.Value(i))
				}
			}
		}
	}
}
