package op

import (
	"context"
	"sync/atomic"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Chunks is a source of chunks that exist already. Safe for several workers.
type Chunks struct {
	list []*vec.Chunk
	next atomic.Int64
}

// NewChunks returns a source over the chunks, which it never changes.
func NewChunks(list []*vec.Chunk) *Chunks { return &Chunks{list: list} }

// Morsels is the number of chunks.
func (s *Chunks) Morsels() int { return len(s.list) }

// Next implements sched.Morsels.
func (s *Chunks) Next(context.Context) (*vec.Chunk, error) {
	i := s.next.Add(1) - 1
	if i >= int64(len(s.list)) {
		return nil, nil
	}
	c := *s.list[i]
	c.Seq = uint64(i)
	return &c, nil
}

// Close implements sched.Morsels.
func (s *Chunks) Close() error { return nil }

// Ranges is a source that cuts n rows into chunks and makes each by a function.
// Safe for several workers when the function is.
type Ranges struct {
	n    int
	make func(from, to int) (*vec.Chunk, error)
	next atomic.Int64
}

// NewRanges returns a source of n rows; make builds the chunk of rows [from, to).
func NewRanges(n int, make func(from, to int) (*vec.Chunk, error)) *Ranges {
	return &Ranges{n: n, make: make}
}

// Morsels is the number of chunks.
func (s *Ranges) Morsels() int { return (s.n + vec.ChunkRows - 1) / vec.ChunkRows }

// Next implements sched.Morsels.
func (s *Ranges) Next(context.Context) (*vec.Chunk, error) {
	i := s.next.Add(1) - 1
	if i >= int64(s.Morsels()) {
		return nil, nil
	}
	from := int(i) * vec.ChunkRows
	c, err := s.make(from, min(s.n, from+vec.ChunkRows))
	if err != nil {
		return nil, err
	}
	c.Seq = uint64(i)
	return c, nil
}

// Close implements sched.Morsels.
func (s *Ranges) Close() error { return nil }

// Source reads the table in chunks that share its columns.
func (t *Table) Source() *Ranges {
	return NewRanges(t.N, func(from, to int) (*vec.Chunk, error) { return t.slice(from, to), nil })
}

// slice is rows [from, to) as a view.
func (t *Table) slice(from, to int) *vec.Chunk {
	c := &vec.Chunk{Cols: make([]*vec.Vector, len(t.Cols)), N: to - from}
	for i, col := range t.Cols {
		c.Cols[i] = col.Slice(from, to)
	}
	return c
}

// Row is a row of expressions; those that are no constants are compiled.
type Row struct {
	consts []*expr.Const
	others Programs
}

// NewRow compiles a row of expressions that read no column.
func NewRow(es []expr.Expr) (Row, error) {
	r := Row{consts: make([]*expr.Const, len(es)), others: make(Programs, len(es))}
	for i, e := range es {
		if c, ok := e.(*expr.Const); ok {
			r.consts[i] = c
			continue
		}
		p, err := expr.Compile(e, nil)
		if err != nil {
			return r, err
		}
		r.others[i] = p
	}
	return r, nil
}

// Rows evaluates rows into a chunk of columns of the types.
func Rows(env *expr.Env, ts []types.Type, rows []Row) (*vec.Chunk, error) {
	out := vec.NewChunk(ts, len(rows))
	one := &vec.Chunk{N: 1}
	for _, r := range rows {
		for i, col := range out.Cols {
			if c := r.consts[i]; c != nil {
				col.Append(c.Value)
				continue
			}
			v, err := r.others[i].Eval(env, one)
			if err != nil {
				return nil, err
			}
			col.AppendRows(v, nil, 1)
		}
		out.N++
	}
	return out, nil
}
