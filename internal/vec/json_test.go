package vec_test

import (
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/vec"
)

func TestValidJSON(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	brackets := `"` + strings.Repeat("[", 5000) + `"`
	for s, want := range map[string]bool{
		"":                                      false,
		"{}":                                    true,
		"{":                                     false,
		nested(vec.MaxJSONDepth):                true,
		nested(vec.MaxJSONDepth + 1):            false,
		strings.Repeat("[", 10_000_000):         false,
		strings.Repeat(`{"a":`, 5_000_000):      false,
		brackets:                                true,
		`"\"` + strings.Repeat("[", 5000) + `"`: true,
		`"a\\"` + strings.Repeat("[", 5000):     false,
		"[" + strings.Repeat("[],", 5000) + "[]" + "]": true,
	} {
		if got := vec.ValidJSON(s); got != want {
			t.Errorf("%.30q (%d bytes): %t", s, len(s), got)
		}
	}
}
