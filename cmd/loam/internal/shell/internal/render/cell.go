package render

import (
	"fmt"
	"strings"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// A vector longer than maxElements is shown by its first few elements and its
// length.
const (
	maxElements   = 8
	shownElements = 4
)

// short is a value for a table: on one line, long vectors abbreviated.
func short(v vec.Value) string {
	switch v.Type.Kind {
	case types.Vector:
		if n := len(v.Vec); n > maxElements {
			head := v
			head.Vec = v.Vec[:shownElements]
			return fmt.Sprintf("%s, … %d]", strings.TrimSuffix(head.String(), "]"), n)
		}
	case types.Sparse:
		if n := len(v.Sparse.Indices); n > maxElements {
			head := v
			head.Sparse.Indices, head.Sparse.Values = v.Sparse.Indices[:shownElements], v.Sparse.Values[:shownElements]
			return fmt.Sprintf("%s, … %d}", strings.TrimSuffix(head.String(), "}"), n)
		}
	}
	return Clean(v.String())
}

// Colors of a table.
const (
	bold  = "\x1b[1m"
	dim   = "\x1b[2m"
	reset = "\x1b[0m"
)

func (o Options) paint(style, s string) string {
	if !o.Color || s == "" {
		return s
	}
	return style + s + reset
}
