package exec

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// walkOf is the plan of: rows reachable from node 0 by the edges of a table, each
// once; the rows of a round are on the left of a join with all edges.
func walkOf(edges *table) *plan.Recursive {
	zero := &plan.Values{Cols: []plan.Column{{ID: 1, Name: "x", Type: bigint}}, Rows: [][]expr.Expr{{&expr.Const{Value: vec.Int64(0)}}}}
	working := &plan.WorkingTable{Table: 2, Cols: []plan.Column{{ID: 3, Name: "x", Type: bigint}}}
	scan := scanOf("edges", edges, 4)
	join := &plan.Join{Left: working, Right: scan, Keys: []plan.EquiKey{{Left: working.Cols[0].Ref(), Right: scan.Cols[0].Ref()}}}
	to := scan.Cols[1]
	step := &plan.Project{Input: join, Exprs: []plan.NamedExpr{{Column: plan.Column{ID: 8, Name: "x", Type: bigint}, Expr: to.Ref()}}}
	return &plan.Recursive{Base: zero, Step: step, Cols: []plan.Column{{ID: 9, Name: "x", Type: bigint}}, Distinct: true, Table: 2}
}

func edgeTable(n int, to ...func(i int) int) *table {
	t := &table{types: []types.Type{bigint, bigint}}
	for i := range n {
		for _, f := range to {
			t.rows = append(t.rows, refRow{vec.Int64(int64(i)), vec.Int64(int64(f(i)))})
		}
	}
	return t
}

func TestRecursiveReachesEveryNodeOnce(t *testing.T) {
	const nodes = 3000
	edges := edgeTable(nodes, func(i int) int { return (i + 1) % nodes }, func(i int) int { return i * 2 % nodes }, func(int) int { return 0 })
	for _, workers := range []int{1, 2, 4} {
		for _, chunk := range []int{7, 2048} {
			t.Run(fmt.Sprint(workers, "/", chunk), func(t *testing.T) {
				src := &memSources{tables: map[string]*table{"edges": edges}, chunkRows: chunk}
				rows, err := runWay(t, walkOf(edges), src, Options{Workers: workers})
				if err != nil {
					t.Fatal(err)
				}
				seen := map[string]bool{}
				for _, r := range rows {
					seen[r] = true
				}
				if len(rows) != nodes || len(seen) != nodes {
					t.Errorf("%d rows, %d different, not %d", len(rows), len(seen), nodes)
				}
				if n := src.opened.Load(); n != 1 {
					t.Errorf("the edges were read %d times", n)
				}
			})
		}
	}
}

// counting is n, n+1, … without end.
func counting() *plan.Recursive {
	w := walkOf(edgeTable(1, func(int) int { return 0 }))
	working := &plan.WorkingTable{Table: 2, Cols: []plan.Column{{ID: 3, Name: "x", Type: bigint}}}
	w.Step = &plan.Project{Input: working, Exprs: []plan.NamedExpr{{Column: plan.Column{ID: 8, Name: "x", Type: bigint}, Expr: working.Cols[0].Ref()}}}
	w.Distinct = false
	return w
}

func TestRecursiveEndsWithLimitAndContext(t *testing.T) {
	rows, err := runWay(t, &plan.Limit{Input: counting(), Count: 5}, &memSources{}, Options{Workers: 2})
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	n := &plan.Aggregate{Input: counting(), Aggs: []plan.AggCall{{Column: plan.Column{ID: 20, Name: "n", Type: bigint}, Fn: testAgg("count")}}}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	memory := mem.New("query", mem.NoLimit)
	_, err = RunAll(ctx, n, &expr.Env{}, &memSources{}, Options{Workers: 2, Memory: memory})
	if c := fail.CodeOf(err); c != fail.DeadlineExceeded && c != fail.Canceled {
		t.Fatalf("it ended with %v", err)
	}
	if memory.Bytes() != 0 {
		t.Errorf("%d bytes are held", memory.Bytes())
	}
}

func TestRecursiveIsBoundByMemory(t *testing.T) {
	edges := edgeTable(200_000, func(i int) int { return i + 1 }, func(i int) int { return i + 2 }, func(i int) int { return i * 3 })
	memory := mem.New("query", 1<<20)
	_, err := RunAll(context.Background(), walkOf(edges), &expr.Env{}, &memSources{tables: map[string]*table{"edges": edges}, chunkRows: 2048}, Options{Workers: 1, Memory: memory})
	if fail.CodeOf(err) != fail.Exhausted {
		t.Fatalf("it ended with %v", err)
	}
	if memory.Bytes() != 0 {
		t.Errorf("%d bytes are held", memory.Bytes())
	}
}
