package exec

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var bigintList = types.ListOf(bigint)

// listTable has a key, a list of numbers, a list of texts and a small number;
// lists are NULL, empty, short, or longer than a chunk.
func listTable(g *rand.Rand, rows int) *table {
	texts := types.ListOf(types.Of(types.Text))
	t := &table{types: []types.Type{bigint, bigintList, texts, bigint}}
	list := func(typ types.Type) vec.Value {
		v := vec.Value{Type: typ, List: []vec.Value{}}
		n := g.IntN(4)
		switch g.IntN(12) {
		case 0:
			return vec.Null(typ)
		case 1:
			n = vec.ChunkRows + g.IntN(vec.ChunkRows)
		}
		for range n {
			e := vec.Int64(int64(g.IntN(5)))
			if typ.Elem.Kind == types.Text {
				e = vec.Text([]string{"a", "", "a text that is too long to lie within its view"}[g.IntN(3)])
			}
			if g.IntN(4) == 0 {
				e = vec.Null(*typ.Elem)
			}
			v.List = append(v.List, e)
		}
		return v
	}
	for i := range rows {
		small := vec.Int64(int64(g.IntN(6) - 1))
		if g.IntN(6) == 0 {
			small = vec.Null(bigint)
		}
		t.rows = append(t.rows, refRow{vec.Int64(int64(i)), list(bigintList), list(texts), small})
	}
	return t
}

func TestUnnestAgainstReference(t *testing.T) {
	for seed := range uint64(30) {
		g := rand.New(rand.NewPCG(seed, 11))
		tables := map[string]*table{"l": listTable(g, g.IntN(7))}
		scan := scanOf("l", tables["l"], 1)
		cols := scan.Columns()
		// Lists are read and not passed on: a long one would be copied to each element.
		n := &plan.Unnest{Input: scan, Outer: g.IntN(2) == 0, Pass: []plan.Column{cols[3], cols[0]}[g.IntN(3)/2:]}
		if g.IntN(2) == 0 {
			n.Ordinal = plan.Column{ID: 30, Name: "o", Type: bigint}
		}
		one := &expr.Const{Value: vec.Int64(int64(1 - 2*g.IntN(2)))}
		items := []plan.UnnestItem{
			{Column: plan.Column{ID: 20, Name: "n", Type: bigint}, List: cols[1].Ref()},
			{Column: plan.Column{ID: 21, Name: "s", Type: types.Of(types.Text)}, List: cols[2].Ref()},
			{Column: plan.Column{ID: 22, Name: "i", Type: bigint}, Start: &expr.Const{Value: vec.Int64(2)}, Stop: cols[3].Ref(), Step: one, Exclusive: g.IntN(2) == 0},
		}
		for _, k := range g.Perm(3)[:1+g.IntN(3)] {
			n.Items = append(n.Items, items[k])
		}
		checkPlan(t, seed, n, tables)
	}
}

// A series that nobody could wait for ends with its statement.
func TestUnnestEndsWithItsContext(t *testing.T) {
	month := &expr.Const{Value: vec.Value{Type: types.Of(types.Interval), Span: vec.Span{Nanos: 1000}}}
	stamp := func(at int64) expr.Expr {
		return &expr.Const{Value: vec.Value{Type: types.Of(types.Timestamp), Int: at}}
	}
	number := func(n int64) expr.Expr { return &expr.Const{Value: vec.Int64(n)} }
	for name, it := range map[string]plan.UnnestItem{
		"numbers":    {Column: plan.Column{ID: 1, Name: "i", Type: bigint}, Start: number(1), Stop: number(1 << 47), Step: number(1)},
		"timestamps": {Column: plan.Column{ID: 1, Name: "d", Type: types.Of(types.Timestamp)}, Start: stamp(0), Stop: stamp(1 << 50), Step: month},
	} {
		t.Run(name, func(t *testing.T) {
			n := &plan.Aggregate{Input: &plan.Unnest{Input: &plan.Values{Rows: [][]expr.Expr{{}}}, Items: []plan.UnnestItem{it}},
				Aggs: []plan.AggCall{{Column: plan.Column{ID: 9, Name: "n", Type: bigint}, Fn: testAgg("count")}}}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			_, err := RunAll(ctx, n, &expr.Env{}, &memSources{}, Options{Workers: 1, Memory: mem.New("query", mem.NoLimit)})
			if fail.CodeOf(err) != fail.DeadlineExceeded && fail.CodeOf(err) != fail.Canceled {
				t.Fatalf("it ended with %v", err)
			}
		})
	}
}
