package op

import (
	"context"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/vec"
)

// windowPart is the rows of one task in sorted order, numbered from 0, with what
// several calls need of them.
type windowPart struct {
	ctx     context.Context
	w       *Window
	account *mem.Account
	// reserved is what the part's scratch takes of account.
	reserved int64
	// from is the place of the first row; n counts the rows; rows are their numbers
	// in the table, nil for from, from+1, ….
	from, n int
	rows    []int32
	// starts are the begins of the partitions and n behind them.
	starts []int32
	// peers are the begins of the peer groups and n behind them; nil until needed.
	peers  []int32
	frames map[*WindowFrame]*windowFrames
	stored map[int]*vec.Vector
}

func newWindowPart(ctx context.Context, w *Window, task [2]int, account *mem.Account) *windowPart {
	p := &windowPart{ctx: ctx, w: w, account: account, frames: map[*WindowFrame]*windowFrames{}, stored: map[int]*vec.Vector{}}
	p.from = int(w.starts[task[0]])
	end := w.table.N
	if task[1] < len(w.starts) {
		end = int(w.starts[task[1]])
	}
	p.n = end - p.from
	if w.order != nil {
		p.rows = w.order[p.from:end]
	}
	for _, s := range w.starts[task[0]:task[1]] {
		p.starts = append(p.starts, s-int32(p.from))
	}
	p.starts = append(p.starts, int32(p.n))
	return p
}

// reserve reserves scratch of the part.
func (p *windowPart) reserve(bytes int64) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	p.reserved += bytes
	return p.account.Grow(bytes)
}

func (p *windowPart) close() { p.account.Shrink(p.reserved) }

// tableRow is the number of row i in the table.
func (p *windowPart) tableRow(i int32) int32 {
	if p.rows == nil {
		return i + int32(p.from)
	}
	return p.rows[i]
}

// column is a stored expression for the part's rows, flat.
func (p *windowPart) column(at int) (*vec.Vector, error) {
	if v := p.stored[at]; v != nil {
		return v, nil
	}
	src := p.w.table.Cols[p.w.stored.At[at]]
	if err := p.reserve(int64(p.n) * rowBytes(src.Type)); err != nil {
		return nil, err
	}
	v, err := p.gather(src)
	p.stored[at] = v
	return v, err
}

// gatherRows is how many rows are gathered between looks at the context.
const gatherRows = 1 << 20

// gather is a column of the table for the part's rows.
func (p *windowPart) gather(src *vec.Vector) (*vec.Vector, error) {
	switch {
	case p.rows == nil:
		return src.Slice(p.from, p.from+p.n), nil
	case p.n <= gatherRows:
		return kernel.Gather(src, p.rows).Flatten(), nil
	}
	out := vec.New(src.Type, p.n)
	for from := 0; from < p.n; from += gatherRows {
		if p.ctx.Err() != nil {
			return nil, p.ctx.Err()
		}
		appendAll(out, kernel.Gather(src, p.rows[from:min(p.n, from+gatherRows)]))
	}
	return out, nil
}

// arg is an argument for the part's rows: flat, or one constant.
func (p *windowPart) arg(a WindowArg) (*vec.Vector, error) {
	if a.Const != nil {
		return vec.Const(a.Type, *a.Const, p.n), nil
	}
	return p.column(a.At)
}

// peerGroups finds the begins of the peer groups.
func (p *windowPart) peerGroups() ([]int32, error) {
	if p.peers != nil {
		return p.peers, nil
	}
	if p.w.Orders == 0 {
		p.peers = p.starts
		return p.peers, nil
	}
	if err := p.reserve(5 * int64(p.n)); err != nil {
		return nil, err
	}
	fresh := make([]bool, p.n)
	for _, s := range p.starts[:len(p.starts)-1] {
		fresh[s] = true
	}
	for k := range p.w.Orders {
		v, err := p.column(p.w.Parts + k)
		if err != nil {
			return nil, err
		}
		changes(v, fresh)
	}
	for i, f := range fresh {
		if f {
			p.peers = append(p.peers, int32(i))
		}
	}
	p.peers = append(p.peers, int32(p.n))
	return p.peers, nil
}

// call computes one call for the part's rows.
func (p *windowPart) call(c *WindowCall) (windowResult, error) {
	switch {
	case c.Agg != nil:
		vals, err := p.aggregate(c)
		return windowResult{vals: vals}, err
	case c.Fn.Kind <= expr.CumeDist:
		vals, err := p.ranking(c.Fn.Kind, vec.NewFlat(c.Ret, p.n))
		return windowResult{vals: vals}, err
	case c.Fn.Kind == expr.Ntile:
		vals, err := p.ntile(c)
		return windowResult{vals: vals}, err
	case c.Fn.Kind <= expr.Lead:
		rows, err := p.shifted(c)
		return windowResult{rows: rows}, err
	}
	rows, err := p.picked(c)
	return windowResult{rows: rows}, err
}

// ranking fills out with row numbers, ranks and distributions.
func (p *windowPart) ranking(kind expr.WindowKind, out *vec.Vector) (*vec.Vector, error) {
	if kind == expr.RowNumber {
		for k, s := range p.starts[:len(p.starts)-1] {
			part := out.Int64s[s:p.starts[k+1]]
			for i := range part {
				part[i] = int64(i) + 1
			}
		}
		return out, p.ctx.Err()
	}
	peers, err := p.peerGroups()
	if err != nil {
		return nil, err
	}
	g := 0
	for k, s := range p.starts[:len(p.starts)-1] {
		end := p.starts[k+1]
		for dense := int64(1); peers[g] < end; dense++ {
			from, to := peers[g], peers[g+1]
			switch kind {
			case expr.Rank:
				fill(out.Int64s[from:to], int64(from-s)+1)
			case expr.DenseRank:
				fill(out.Int64s[from:to], dense)
			case expr.PercentRank:
				fill(out.Float64s[from:to], float64(from-s)/float64(max(1, end-s-1)))
			default:
				fill(out.Float64s[from:to], float64(to-s)/float64(end-s))
			}
			g++
		}
	}
	return out, p.ctx.Err()
}

func fill[T any](s []T, x T) {
	for i := range s {
		s[i] = x
	}
}
