package hashtable

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var nestedStruct = types.StructOf(types.Field{Name: "n", Type: types.Of(types.Int64)}, types.Field{Name: "two words", Type: types.ListOf(types.Of(types.Text))})

var allTypes = []types.Type{
	types.Of(types.Boolean), types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double), types.DecimalOf(20, 2),
	types.Of(types.Text), types.Of(types.Binary), types.Of(types.Date), types.Of(types.Timestamp), types.Of(types.Interval),
	types.VectorOf(2), types.Of(types.Sparse), types.ListOf(types.Of(types.Text)), types.ListOf(types.Of(types.Boolean)),
	types.ListOf(types.ListOf(types.Of(types.Int32))), types.Of(types.JSON),
	types.Of(types.UUID), types.Of(types.Time), nestedStruct, types.MapOf(types.Of(types.Int32), types.Of(types.Text)), types.ListOf(nestedStruct),
}

// value is one of a few values of the type; NULL now and then.
func value(rng *rand.Rand, t types.Type) vec.Value {
	v := vec.Value{Type: t}
	if rng.IntN(5) == 0 {
		return vec.Null(t)
	}
	k := rng.IntN(5)
	switch t.Kind {
	case types.Boolean:
		v.Bool = k%2 == 0
	case types.Double:
		v.Float = []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0x7ff8000000000099), -1}[k]
	case types.Decimal:
		v.Dec = decimal128.New(int64(k)-2, uint64(k%2))
	case types.Text, types.Binary, types.JSON:
		v.Str = []string{"", "a", "a\x00", "twelve bytes", "more than twelve bytes"}[k]
	case types.Interval:
		v.Span = []vec.Span{{Months: 1}, {Days: 30}, {Days: 1}, {Nanos: dayNanos}, {Days: 2, Nanos: -dayNanos}}[k]
	case types.Vector:
		v.Vec = []float32{float32(k % 3), float32(math.Copysign(0, float64(k)-2))}
	case types.Sparse:
		v.Sparse = vec.SparseRow{}
		for i := range k {
			v.Sparse.Indices = append(v.Sparse.Indices, uint32(i*3))
			v.Sparse.Values = append(v.Sparse.Values, float32(i))
		}
	case types.UUID:
		v.Dec = decimal128.New(int64(k)-2, uint64(k%2))
	case types.Time:
		v.Int = int64(k)
	case types.Struct:
		for _, f := range t.Fields {
			v.List = append(v.List, value(rng, f.Type))
		}
	case types.Map: // keys are distinct and not NULL
		for i := range k % 3 {
			key := vec.Int32(int32(i))
			v.List = append(v.List, vec.Value{Type: *t.Elem, List: []vec.Value{key, value(rng, t.Value())}})
		}
	case types.List:
		for range k % 3 {
			v.List = append(v.List, value(rng, *t.Elem))
		}
	default:
		v.Int = []int64{0, 1, -1, math.MaxInt32, math.MinInt32}[k]
	}
	return v
}

func column(rng *rand.Rand, t types.Type, n int) *vec.Vector {
	v := vec.New(t, n)
	for range n {
		v.Append(value(rng, t))
	}
	if rng.IntN(3) == 0 {
		d := &vec.Vector{Type: t, Encoding: vec.Dictionary, N: n, Dict: v}
		for range n {
			d.Codes = append(d.Codes, int32(rng.IntN(n)))
		}
		return d
	}
	return v
}

func equalRows(cols []*vec.Vector, i int, others []*vec.Vector, j int) bool {
	for c := range cols {
		if !kernel.EqualRows(cols[c], i, others[c], j) {
			return false
		}
	}
	return true
}

// keyTypes are single keys of every type and some pairs and triples.
func keyTypes(rng *rand.Rand) [][]types.Type {
	var out [][]types.Type
	for _, t := range allTypes {
		out = append(out, []types.Type{t})
	}
	for range 20 {
		var ts []types.Type
		for range 2 + rng.IntN(9) {
			ts = append(ts, allTypes[rng.IntN(len(allTypes))])
		}
		out = append(out, ts)
	}
	return out
}

// TestGroupsAgainstRowEquality: rows share a group exactly when their keys are
// equal, groups are numbered by first appearance, and keys read back equal.
func TestGroupsAgainstRowEquality(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, ts := range keyTypes(rng) {
		for _, same := range []bool{false, true} {
			t.Run(fmt.Sprint(ts, same), func(t *testing.T) { testGroups(t, rng, ts, same) })
		}
	}
}

func testGroups(t *testing.T, rng *rand.Rand, ts []types.Type, same bool) {
	root := mem.New("query", mem.NoLimit)
	account := &mem.Account{Tracker: root}
	g := NewGroups(ts, account, same)
	other := NewGroups(ts, account, same)
	first := make([]*vec.Vector, len(ts)) // one row a group
	for i, typ := range ts {
		first[i] = vec.New(typ, 0)
	}
	groups := 0
	for range 4 {
		n := 1 + rng.IntN(60)
		cols := make([]*vec.Vector, len(ts))
		for i, typ := range ts {
			cols[i] = column(rng, typ, n)
		}
		var sel []int32
		rows := n
		if rng.IntN(2) == 0 {
			for r := 0; r < n; r += 1 + rng.IntN(2) {
				sel = append(sel, int32(r))
			}
			rows = len(sel)
		}
		ids := make([]uint32, rows)
		if err := g.Find(cols, sel, rows, ids); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			r := rowOf(sel, i)
			want := -1
			for k := range groups {
				if equalRows(cols, r, first, k) {
					want = k
				}
			}
			if want < 0 {
				want = groups
				groups++
				for c := range cols {
					first[c].AppendRows(cols[c], []int32{int32(r)}, 1)
				}
			}
			if int(id) != want {
				t.Fatalf("row %d has group %d, want %d", r, id, want)
			}
		}
	}
	if g.Len() != groups {
		t.Fatalf("%d groups, want %d", g.Len(), groups)
	}
	back := make([]*vec.Vector, len(ts))
	for i, typ := range ts {
		back[i] = vec.New(typ, groups)
	}
	g.Keys(back, 0, groups)
	mapping := make([]uint32, groups)
	if err := other.FindFrom(g, 0, mapping); err != nil {
		t.Fatal(err)
	}
	for k := range groups {
		if back[0].N != groups || !equalRows(back, k, first, k) {
			t.Fatalf("group %d reads back as %s, want %s", k, back[0].Value(k), first[0].Value(k))
		}
		if mapping[k] != uint32(k) {
			t.Fatalf("group %d is %d in another table", k, mapping[k])
		}
	}
	account.Close()
	if root.Bytes() != 0 {
		t.Errorf("%d bytes left", root.Bytes())
	}
}

// TestJoinAgainstRowEquality: the chain of a key lists exactly its rows, ascending.
func TestJoinAgainstRowEquality(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, ts := range keyTypes(rng) {
		for _, same := range []bool{false, true} {
			t.Run(fmt.Sprint(ts, same), func(t *testing.T) { testJoin(t, rng, ts, same) })
		}
	}
}

func testJoin(t *testing.T, rng *rand.Rand, ts []types.Type, same bool) {
	n := rng.IntN(80)
	build, probe := make([]*vec.Vector, len(ts)), make([]*vec.Vector, len(ts))
	safe := make([]bool, len(ts))
	for i, typ := range ts {
		build[i] = column(rng, typ, n+1).Slice(0, n).Flatten()
		probe[i] = column(rng, typ, 40)
		safe[i] = rng.IntN(2) == 0
	}
	root := mem.New("query", mem.NoLimit)
	j, err := BuildJoin(context.Background(), build, safe, n, &mem.Account{Tracker: root}, same)
	if err != nil {
		t.Fatal(err)
	}
	heads := make([]uint32, 40)
	j.NewProbe().Heads(probe, nil, 40, heads)
	matches := func(i, r int) bool {
		for c := range ts {
			if !safe[c] && (probe[c].IsNull(i) || build[c].IsNull(r)) {
				return false
			}
		}
		return equalRows(probe, i, build, r)
	}
	for i, h := range heads {
		var got, want []int
		for r, ok := h-1, h != 0; ok; r, ok = j.Next(r) {
			got = append(got, int(r))
		}
		for r := range n {
			if matches(i, r) {
				want = append(want, r)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("probe row %d: rows %v, want %v", i, got, want)
		}
		if j.Unique() && len(want) > 1 {
			t.Fatal("a table with repeated keys calls itself unique")
		}
	}
}

// TestGroupsGrow crosses several sizes of the table.
func TestGroupsGrow(t *testing.T) {
	for _, typ := range []types.Type{types.Of(types.Int64), types.Of(types.Text)} {
		root := mem.New("query", mem.NoLimit)
		g := NewGroups([]types.Type{typ}, &mem.Account{Tracker: root}, false)
		const n = 50_000
		for from := 0; from < n; from += 1000 {
			v := vec.New(typ, 1000)
			for i := range 1000 {
				k := vec.Int64(int64(from+i) * 1_000_003)
				if typ.Kind == types.Text {
					k = vec.Text(fmt.Sprint("key number ", k.Int))
				}
				v.Append(k)
			}
			ids := make([]uint32, 1000)
			for range 2 {
				if err := g.Find([]*vec.Vector{v}, nil, 1000, ids); err != nil {
					t.Fatal(err)
				}
				for i, id := range ids {
					if int(id) != from+i {
						t.Fatalf("%s: key %d is group %d", typ, from+i, id)
					}
				}
			}
		}
		if root.Bytes() < n*24 {
			t.Errorf("%s: only %d bytes are accounted for", typ, root.Bytes())
		}
	}
}

func TestRefusedGrowthLeavesTheTableUsable(t *testing.T) {
	for _, typ := range []types.Type{types.Of(types.Int64), types.Of(types.Text)} {
		root := mem.New("query", 150<<10)
		account := &mem.Account{Tracker: root}
		g := NewGroups([]types.Type{typ}, account, false)
		var err error
		for k := 0; err == nil && k < 1_000_000; k++ {
			v := vec.New(typ, 1)
			if typ.Kind == types.Text {
				v.Append(vec.Text(fmt.Sprint(k)))
			} else {
				v.Append(vec.Int64(int64(k)))
			}
			err = g.Find([]*vec.Vector{v}, nil, 1, make([]uint32, 1))
		}
		if !fail.Is(err, fail.Exhausted) {
			t.Fatalf("%s: %v", typ, err)
		}
		cols := []*vec.Vector{vec.New(typ, g.Len())}
		g.Keys(cols, 0, g.Len())
		if last := cols[0].Value(g.Len() - 1).String(); last != fmt.Sprint(g.Len()-1) {
			t.Errorf("%s: the last key is %s of %d", typ, last, g.Len())
		}
	}
}

func TestBuildJoinLooksAtItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, typ := range []types.Type{types.Of(types.Int64), types.Of(types.Text)} {
		v := column(rand.New(rand.NewPCG(1, 1)), typ, 10).Flatten()
		_, err := BuildJoin(ctx, []*vec.Vector{v}, []bool{false}, 10, &mem.Account{Tracker: mem.New("q", mem.NoLimit)}, false)
		if err == nil {
			t.Errorf("%s: built after the cancellation", typ)
		}
	}
}

// BenchmarkGroupsFind looks up a million rows of one BIGINT, of two, and of one TEXT.
func BenchmarkGroupsFind(b *testing.B) {
	const rows = 1 << 20
	for _, groups := range []int{1000, 1_000_000} {
		rng := rand.New(rand.NewPCG(1, 1))
		num, text := vec.NewFlat(types.Of(types.Int64), rows), vec.New(types.Of(types.Text), rows)
		for i := range num.Int64s {
			num.Int64s[i] = rng.Int64N(int64(groups)) * 7919
			text.Append(vec.Text(fmt.Sprintf("key-%012d", num.Int64s[i])))
		}
		for name, cols := range map[string][]*vec.Vector{"bigint": {num}, "two": {num, num}, "text": {text}} {
			b.Run(fmt.Sprint(name, "/", groups), func(b *testing.B) {
				var ts []types.Type
				for _, c := range cols {
					ts = append(ts, c.Type)
				}
				g := NewGroups(ts, &mem.Account{Tracker: mem.New("q", mem.NoLimit)}, false)
				ids, part := make([]uint32, vec.ChunkRows), make([]*vec.Vector, len(cols))
				for b.Loop() {
					for from := 0; from < rows; from += vec.ChunkRows {
						for i, c := range cols {
							part[i] = c.Slice(from, from+vec.ChunkRows)
						}
						_ = g.Find(part, nil, vec.ChunkRows, ids)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
			})
		}
	}
}
