package expr

import (
	"testing"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// A constant list that IN can answer becomes IN, which is looked up and pushed
// down; the others stay calls, and no element decides without a row.
func TestQuantify(t *testing.T) {
	col := &Column{ID: 1, Name: "a", T: types.Of(types.Int32)}
	list := func(vs ...vec.Value) Expr {
		return &Const{Value: vec.Value{Type: types.ListOf(col.T), List: vs}}
	}
	null := &Const{Value: vec.Null(types.ListOf(col.T))}
	one, two := vec.Int32(1), vec.Int32(2)
	for _, c := range []struct {
		op   CompareOp
		all  bool
		list Expr
		want string
	}{
		{Eq, false, list(one, two), "(a IN (1, 2))"},
		{Ne, true, list(one, two), "(a NOT IN (1, 2))"},
		{Eq, false, list(), "false"},
		{Ne, true, list(), "true"},
		{Eq, true, list(one), "= ALL(a, [1])"},
		{Gt, false, list(one), "> ANY(a, [1])"},
		{Eq, false, null, "= ANY(a, NULL)"},
	} {
		if got := Quantify(c.op, c.all, col, c.list, 0).String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
