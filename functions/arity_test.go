package functions

import (
	"testing"

	"github.com/loamdb/loam/internal/types"
)

// TestArity calls every function with none to five untyped arguments: an
// overload that takes another number of arguments is never chosen.
func TestArity(t *testing.T) {
	r := Default().(*registry)
	for _, table := range []map[string]*entry{r.scalars, r.aggs} {
		for name, e := range table {
			for n := range 6 {
				args := make([]types.Type, n)
				res, err := r.resolve(table, name, args)
				if err == nil && len(res.Params) != n {
					t.Errorf("%s with %d arguments resolves to one of %d", name, n, len(res.Params))
				}
				if fits := e.takes(n); err == nil && !fits {
					t.Errorf("%s takes no %d arguments, and resolves", name, n)
				}
			}
		}
	}
}

// takes says whether an overload is declared for n arguments, as far as its
// patterns tell.
func (e *entry) takes(n int) bool {
	for _, o := range e.overloads {
		switch {
		case o.bind != nil, len(o.params) == n, o.variadic && n >= len(o.params)-1:
			return true
		}
	}
	return false
}
