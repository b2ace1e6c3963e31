package exec

import (
	"context"
	"testing"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func colID(i int) expr.ColumnID { return expr.ColumnID(i) }

var bigint = types.Of(types.Int64)

// numbers is a table of the integers below n in one column.
func numbers(n int) *table {
	t := &table{types: []types.Type{bigint}}
	for i := range n {
		t.rows = append(t.rows, []vec.Value{vec.Int64(int64(i))})
	}
	return t
}

func TestFilterProjectLimitInOrder(t *testing.T) {
	src := &memSources{tables: map[string]*table{"t": numbers(10000)}, chunkRows: 100}
	scan := scanOf("t", src.tables["t"], 1)
	col := scan.Columns()[0]
	big := &plan.Filter{Input: scan, Pred: &expr.Compare{Op: expr.Ge, Left: col.Ref(), Right: &expr.Const{Value: vec.Int64(1234)}}}
	out := plan.Column{ID: 9, Name: "x", Type: bigint}
	root := &plan.Limit{Count: 500, Offset: 10, Input: &plan.Project{Input: big, Exprs: []plan.NamedExpr{{Column: out, Expr: col.Ref()}}}}
	for _, workers := range []int{1, 2, 4} {
		m := mem.New("query", mem.NoLimit)
		chunks, err := RunAll(context.Background(), root, &expr.Env{}, src, Options{Workers: workers, Memory: m})
		if err != nil {
			t.Fatal(err)
		}
		want := int64(1244)
		for _, c := range chunks {
			for i := range c.Rows() {
				if got := c.Cols[0].Value(c.RowAt(i)).Int; got != want {
					t.Fatalf("%d workers: got %d, want %d", workers, got, want)
				}
				want++
			}
		}
		if want != 1744 {
			t.Errorf("%d workers: the last row is %d", workers, want-1)
		}
		if m.Bytes() != 0 || src.opened.Load() != src.closed.Load() {
			t.Errorf("%d bytes left, %d sources opened, %d closed", m.Bytes(), src.opened.Load(), src.closed.Load())
		}
	}
}
