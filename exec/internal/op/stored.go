package op

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Stored says how a sink keeps rows: the input's columns, then columns for the
// expressions that are not plain columns of it.
type Stored struct {
	Types []types.Type
	// At[i] is the stored column of expression i.
	At    []int
	extra Programs
}

// NewStored plans the storage of the input's columns (their types, by layout)
// and of the expressions.
func NewStored(input []types.Type, layout Layout, es []expr.Expr) (*Stored, error) {
	s := &Stored{Types: append([]types.Type(nil), input...)}
	for _, e := range es {
		if c, ok := e.(*expr.Column); ok {
			if at, has := layout[c.ID]; has {
				s.At = append(s.At, at)
				continue
			}
		}
		p, err := expr.Compile(e, layout)
		if err != nil {
			return nil, err
		}
		s.extra = append(s.extra, p)
		s.At = append(s.At, len(s.Types))
		s.Types = append(s.Types, e.Type())
	}
	return s, nil
}

// Widen is c with the computed columns.
func (s *Stored) Widen(env *expr.Env, c *vec.Chunk) (*vec.Chunk, error) {
	if len(s.extra) == 0 {
		return c, nil
	}
	more, err := s.extra.Eval(env, c)
	if err != nil {
		return nil, err
	}
	return &vec.Chunk{Cols: append(c.Cols[:len(c.Cols):len(c.Cols)], more...), N: c.N, Sel: c.Sel, Seq: c.Seq}, nil
}

// Columns picks the columns of the expressions.
func (s *Stored) Columns(cols []*vec.Vector) []*vec.Vector {
	out := make([]*vec.Vector, len(s.At))
	for i, at := range s.At {
		out[i] = cols[at]
	}
	return out
}
