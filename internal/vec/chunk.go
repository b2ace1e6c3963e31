package vec

import "github.com/loamdb/loam/internal/types"

// Chunk is up to ChunkRows rows of columns. Sel, when not nil, lists the rows
// that exist, ascending; the others are to be ignored.
//
// Invariants: every column has N rows; len(Sel) ≤ N ≤ ChunkRows.
type Chunk struct {
	Cols []*Vector
	N    int
	Sel  []int32
	// Seq orders the chunks of one source where order matters (scan order, union).
	Seq uint64
}

// Rows is the number of selected rows.
func (c *Chunk) Rows() int {
	if c.Sel != nil {
		return len(c.Sel)
	}
	return c.N
}

// RowAt maps the i-th selected row to its position in the columns.
func (c *Chunk) RowAt(i int) int {
	if c.Sel != nil {
		return int(c.Sel[i])
	}
	return i
}

// Compact returns a chunk of the selected rows only: c itself when all are
// selected, else a flat copy.
func (c *Chunk) Compact() *Chunk {
	if c.Sel == nil {
		return c
	}
	out := &Chunk{Cols: make([]*Vector, len(c.Cols)), N: len(c.Sel)}
	for i, col := range c.Cols {
		if col.Encoding == Constant {
			k := *col
			k.N = len(c.Sel)
			out.Cols[i] = &k
			continue
		}
		v := New(col.Type, len(c.Sel))
		v.AppendRows(col, c.Sel, len(c.Sel))
		out.Cols[i] = v
	}
	return out
}

// NewChunk returns an empty chunk of flat columns, to be filled with AppendRows.
func NewChunk(ts []types.Type, capacity int) *Chunk {
	c := &Chunk{Cols: make([]*Vector, len(ts))}
	for i, t := range ts {
		c.Cols[i] = New(t, capacity)
	}
	return c
}

// AppendRows copies the selected rows of src to the end of c.
func (c *Chunk) AppendRows(src *Chunk) {
	n := src.Rows()
	for i, col := range src.Cols {
		c.Cols[i].AppendRows(col, src.Sel, n)
	}
	c.N += n
}
