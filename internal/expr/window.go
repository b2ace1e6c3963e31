package expr

import (
	"context"

	"github.com/loamdb/loam/internal/vec"
)

// WindowKind is what a window function computes.
type WindowKind uint8

// The window functions. Those up to CumeDist count rows and peers of the
// partition; Ntile to Lead read the partition; the others read the frame.
const (
	RowNumber WindowKind = iota
	Rank
	DenseRank
	PercentRank
	CumeDist
	Ntile
	Lag
	Lead
	FirstValue
	LastValue
	NthValue
)

// InFrame reports whether the frame of a call matters.
func (k WindowKind) InFrame() bool { return k >= FirstValue }

// SkipsNulls reports whether a call may say IGNORE NULLS.
func (k WindowKind) SkipsNulls() bool { return k >= Lag }

// WindowFunc is a function that stands with OVER only. Aggregates are not among them.
type WindowFunc struct {
	Name string
	Kind WindowKind
}

// Slider is an Accumulator with a way over the frames of a window that does not
// visit every row of every frame.
type Slider interface {
	// Slide appends to out, for each i, the aggregate of the rows [lo[i], hi[i]) of
	// the flat args. lo[i] ≤ hi[i], and neither ever descends. The states of the
	// accumulator's groups are not touched.
	Slide(ctx context.Context, args []*vec.Vector, lo, hi []int32, out *vec.Vector) error
}
