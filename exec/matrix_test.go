package exec

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
)

// TestJoinMatrix runs every join kind with every shape of condition over random
// sides (empty, duplicates, NULLs) against the definition by nested loops.
func TestJoinMatrix(t *testing.T) {
	shapes := map[string]func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr){
		"cross":     func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr) { return nil, nil },
		"less":      func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr) { return nil, less(l[0], r[0]) },
		"key":       func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr) { return keys(l, r, false), nil },
		"safe":      func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr) { return keys(l, r, true), nil },
		"key+less":  func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr) { return keys(l, r, false), less(l[0], r[0]) },
		"text":      func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr) { return keys(l[1:], r[1:], false), nil },
		"two":       func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr) { return keys(l, r, false, false), nil },
		"two mixed": func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr) { return keys(l, r, false, true), nil },
		"two+less":  func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr) { return keys(l, r, true, false), less(l[2], r[2]) },
		"double":    func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr) { return keys(l[2:], r[2:], false), nil },
	}
	for name, shape := range shapes {
		for kind := plan.Inner; kind <= plan.Mark; kind++ {
			t.Run(fmt.Sprint(name, "/", kind), func(t *testing.T) {
				for seed := range uint64(12) {
					testJoin(t, seed, kind, shape)
				}
			})
		}
	}
}

func keys(l, r []plan.Column, safe ...bool) []plan.EquiKey {
	var out []plan.EquiKey
	for i, s := range safe {
		out = append(out, plan.EquiKey{Left: l[i].Ref(), Right: r[i].Ref(), NullSafe: s})
	}
	return out
}

func less(l, r plan.Column) expr.Expr {
	return &expr.Compare{Op: expr.Lt, Left: l.Ref(), Right: r.Ref()}
}

func testJoin(t *testing.T, seed uint64, kind plan.JoinKind, shape func(l, r []plan.Column) ([]plan.EquiKey, expr.Expr)) {
	t.Helper()
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 3)), tables: map[string]*table{}}
	for _, name := range []string{"l", "r"} {
		tab := &table{types: []types.Type{genTypes[0], genTypes[1], genTypes[2]}}
		domain := 1 + g.IntN(7)
		for range g.IntN(12) {
			tab.rows = append(tab.rows, refRow{g.value(tab.types[0], domain), g.value(tab.types[1], domain), g.value(tab.types[2], domain)})
		}
		g.tables[name] = tab
	}
	j := &plan.Join{Left: scanOf("l", g.tables["l"], 1), Right: scanOf("r", g.tables["r"], 11), Kind: kind}
	j.Keys, j.Residual = shape(j.Left.Columns(), j.Right.Columns())
	if kind == plan.Mark {
		j.Mark = plan.Column{ID: 21, Name: "mark", Type: types.Of(types.Boolean)}
	}
	checkPlan(t, seed, j, g.tables)
}
