package expr

import (
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Program is a compiled expression. It holds no per-run state and may be run
// from many goroutines at once.
type Program struct {
	root node
	typ  types.Type
}

// Compile resolves the columns of e to positions in a chunk. It fails with
// fail.Internal when e holds a Param or a column that layout does not list.
//
// A dictionary that a chunk's column refers to must never change afterwards:
// programs remember the last dictionary they have seen and its results.
func Compile(e Expr, layout map[ColumnID]int) (*Program, error) {
	c := &compiler{layout: layout}
	root, err := c.compile(e)
	if err != nil {
		return nil, err
	}
	return &Program{root: root, typ: e.Type()}, nil
}

// Type is the type of the result.
func (p *Program) Type() types.Type { return p.typ }

// Eval computes the expression over the selected rows of c. The result has c.N
// rows of any encoding; rows that are not selected are unspecified. It may alias
// columns of c. Errors come from selected rows only.
func (p *Program) Eval(env *Env, c *vec.Chunk) (*vec.Vector, error) {
	if c.Rows() == 0 {
		return vec.Const(p.typ, vec.Null(p.typ), c.N), nil
	}
	whole := &frame{env: env, src: c.Cols, n: c.N}
	if col, ok := p.root.(*columnNode); ok {
		return whole.col(col.index)
	}
	if c.Sel == nil {
		return p.root.eval(whole)
	}
	if 2*len(c.Sel) > c.N {
		// Most rows are wanted: compute them all. An error may come from a row that
		// is not, so it only counts if the selected rows repeat it.
		if v, err := p.root.eval(whole); err == nil {
			return v, nil
		}
	}
	v, err := p.root.eval(whole.sub(c.Sel))
	if err != nil {
		return nil, err
	}
	return kernel.Scatter(v, c.Sel, c.N), nil
}

// Select returns the positions of the selected rows of c for which the boolean
// expression is TRUE, ascending, never nil. The result may alias c.Sel and must
// not be written to.
func (p *Program) Select(env *Env, c *vec.Chunk) ([]int32, error) {
	if p.typ.Kind != types.Boolean {
		return nil, fail.Bug("a predicate of type %s", p.typ)
	}
	if c.Rows() == 0 {
		return []int32{}, nil
	}
	return selectRows(p.root, &frame{env: env, src: c.Cols, n: c.N}, c.Sel)
}

// node computes one expression over the rows of a frame: a vector of f.n rows of
// any encoding. It is called only for frames with rows.
type node interface {
	eval(f *frame) (*vec.Vector, error)
}

// selector is a node with a way of its own to find the TRUE rows. cand lists the
// positions to look at, all with nil; it is never empty.
type selector interface {
	node
	selectRows(f *frame, cand []int32) ([]int32, error)
}

// frame is the rows that a node works on: all rows of src, or those in rows.
// Columns are gathered once, when first read.
type frame struct {
	env   *Env
	src   []*vec.Vector
	rows  []int32
	n     int
	cache []*vec.Vector
}

// sub is the frame of the given positions of f; nil is f itself.
func (f *frame) sub(positions []int32) *frame {
	if positions == nil || len(positions) == f.n {
		return f
	}
	rows := positions
	if f.rows != nil {
		rows = make([]int32, len(positions))
		for i, p := range positions {
			rows[i] = f.rows[p]
		}
	}
	return &frame{env: f.env, src: f.src, rows: rows, n: len(rows)}
}

func (f *frame) col(index int) (*vec.Vector, error) {
	if index >= len(f.src) || f.src[index] == nil {
		return nil, fail.Bug("column %d of a chunk of %d", index, len(f.src))
	}
	if f.rows == nil {
		return f.src[index], nil
	}
	if f.cache == nil {
		f.cache = make([]*vec.Vector, len(f.src))
	}
	if f.cache[index] == nil {
		f.cache[index] = kernel.Gather(f.src[index], f.rows)
	}
	return f.cache[index], nil
}

// selectRows finds the TRUE rows of a node among the candidates.
func selectRows(nd node, f *frame, cand []int32) ([]int32, error) {
	if s, ok := nd.(selector); ok {
		return s.selectRows(f, cand)
	}
	return selectByEval(nd, f, cand)
}

// selectByEval evaluates the node as a vector: on all rows when most are
// candidates (falling back on error, which another row may have caused), else on
// the candidates alone.
func selectByEval(nd node, f *frame, cand []int32) ([]int32, error) {
	if cand == nil || 2*len(cand) > f.n {
		v, err := nd.eval(f)
		if err == nil {
			return kernel.SelectTrue(v, cand), nil
		}
		if cand == nil || len(cand) == f.n {
			return nil, err
		}
	}
	v, err := nd.eval(f.sub(cand))
	if err != nil {
		return nil, err
	}
	out := kernel.SelectTrue(v, nil)
	for i, p := range out {
		out[i] = cand[p]
	}
	return out, nil
}

func constantOf(t types.Type, val vec.Value, n int) *vec.Vector { return vec.Const(t, val, n) }

func nullsOf(t types.Type, n int) *vec.Vector { return vec.Const(t, vec.Null(t), n) }
