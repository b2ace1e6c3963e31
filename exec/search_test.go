package exec

import (
	"context"
	"fmt"
	"testing"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
)

// filterSources notes the filter with which a search is opened.
type filterSources struct {
	memSources
	filter string
	opened int
}

func (s *filterSources) Search(_ context.Context, n *plan.SearchScan) (Source, error) {
	s.opened++
	s.filter = fmt.Sprint(n.Filter)
	return s.Scan(context.Background(), &plan.Scan{Object: &schema.Object{Name: "none"}, Limit: plan.NoLimit})
}

// The values of a plan within are a filter of the search: each once, no NULL; with
// none the search is not opened at all.
func TestSearchWithinValues(t *testing.T) {
	for _, c := range []struct {
		values []vec.Value
		filter string
	}{
		{[]vec.Value{vec.Int64(3), vec.Null(bigint), vec.Int64(1), vec.Int64(3)}, "((a > 0) AND (a IN (3, 1)))"},
		{[]vec.Value{vec.Null(bigint)}, ""},
		{nil, ""},
	} {
		v := &plan.Values{Cols: []plan.Column{{ID: 7, Name: "v", Type: bigint}}}
		for _, x := range c.values {
			v.Rows = append(v.Rows, []expr.Expr{&expr.Const{Value: x}})
		}
		a := plan.Column{ID: 1, Name: "a", Type: bigint}
		n := &plan.SearchScan{Object: &schema.Object{Name: "docs"}, Score: plan.Column{ID: 2, Name: "_score"},
			Filter: &expr.Compare{Op: expr.Gt, Left: a.Ref(), Right: &expr.Const{Value: vec.Int64(0)}},
			Within: []plan.Within{{Key: a.Ref(), Values: v}}}
		src := &filterSources{memSources: memSources{tables: map[string]*table{"none": {}}, chunkRows: 9}}
		rows, err := RunAll(context.Background(), n, &expr.Env{}, src, Options{Workers: 2})
		if err != nil || len(rows) != 0 {
			t.Fatal(rows, err)
		}
		if src.filter != c.filter || (src.opened > 0) != (c.filter != "") {
			t.Errorf("%v: opened %d times with %s, not %s", c.values, src.opened, src.filter, c.filter)
		}
	}
}
