package functions

import (
	"regexp"
	"slices"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// TestForeign: what is called foreign does not exist, and what is said in its place does.
func TestForeign(t *testing.T) {
	r := Default()
	known := []string{"CAST", "TRY_CAST", "unnest"} // the grammar's, and that of FROM
	for _, h := range r.Names() {
		known = append(known, h.Name)
	}
	called := regexp.MustCompile(`(\w+)\(`)
	for name, cure := range foreign {
		if slices.Contains(known, name) {
			t.Errorf("%s exists", name)
		}
		calls := called.FindAllStringSubmatch(cure, -1)
		if len(calls) == 0 {
			t.Errorf("%s: %q calls nothing", name, cure)
		}
		for _, c := range calls {
			if !slices.Contains(known, c[1]) {
				t.Errorf("%s: there is no %s either", name, c[1])
			}
		}
		_, err := r.Scalar(name, []types.Type{types.Of(types.Text)})
		if e := fail.As(err); e == nil || e.Code != fail.UndefinedFunction || e.Hint != cure {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := r.Scalar("GetDate", nil); fail.As(err).Hint != foreign["getdate"] {
		t.Errorf("names match in any case: %v", err)
	}
}
