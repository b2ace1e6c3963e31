package loam

import (
	"context"

	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// returned are the rows of RETURNING; nil for a statement without it.
type returned struct {
	cols []plan.Column
	rows *vec.Chunk
}

// with gives the rows to a result.
func (r *returned) with(res *Result) *Result {
	if r != nil {
		res.Columns = r.cols
		res.next = (&oneChunk{chunk: r.rows}).Next
	}
	return res
}

// returning runs the plan of RETURNING over the rows that a statement is about to write.
func (st *Statement) returning(ctx context.Context, root plan.Node, pin Pin, cols []*vec.Vector, rows int) (*returned, error) {
	if root == nil {
		return nil, nil
	}
	vectors, n, err := st.collect(ctx, withWritten(root, cols, rows), pin, snapshots{})
	if err != nil {
		return nil, err
	}
	return &returned{cols: root.Columns(), rows: &vec.Chunk{Cols: vectors, N: n}}, nil
}

// withWritten puts rows into the leaf that RETURNING reads.
func withWritten(n plan.Node, cols []*vec.Vector, rows int) plan.Node {
	if m, ok := n.(*plan.Materialized); ok && m.Label == plan.Written {
		k := *m
		for from := 0; from < rows; from += vec.ChunkRows {
			to := min(from+vec.ChunkRows, rows)
			c := &vec.Chunk{N: to - from, Seq: uint64(from)}
			for _, col := range cols {
				c.Cols = append(c.Cols, col.Slice(from, to))
			}
			k.Chunks = append(k.Chunks, c)
		}
		return &k
	}
	kids := n.Children()
	if len(kids) == 0 {
		return n
	}
	out := make([]plan.Node, len(kids))
	for i, kid := range kids {
		out[i] = withWritten(kid, cols, rows)
	}
	return n.WithChildren(out)
}

// returningOf is the plan of RETURNING, or nil.
func returningOf(stmt plan.Statement) plan.Node {
	switch x := stmt.(type) {
	case *plan.Insert:
		return x.Returning
	case *plan.Update:
		return x.Returning
	case *plan.Delete:
		return x.Returning
	}
	return nil
}
