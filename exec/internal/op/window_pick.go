package op

import (
	"math"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// ntile numbers the buckets of each partition, the first ones one row larger. Its
// argument is that of the partition's first row.
func (p *windowPart) ntile(c *WindowCall) (*vec.Vector, error) {
	arg, err := p.arg(c.Args[0])
	if err != nil {
		return nil, err
	}
	out := vec.NewFlat(c.Ret, p.n)
	for k, s := range p.starts[:len(p.starts)-1] {
		part := out.Int32s[s:p.starts[k+1]]
		if arg.IsNull(int(s)) {
			for i := range part {
				out.SetNull(int(s) + i)
			}
			continue
		}
		buckets := arg.Int64s[arg.Row(int(s))]
		if buckets <= 0 {
			return nil, fail.New(fail.NtileArgument, "ntile takes a number of buckets above 0, not %d", buckets)
		}
		size, larger := int64(len(part))/buckets, int64(len(part))%buckets
		for i := range part {
			if at := int64(i); at < larger*(size+1) {
				part[i] = int32(at/(size+1)) + 1
			} else {
				part[i] = int32(larger+(at-larger*(size+1))/max(1, size)) + 1
			}
		}
	}
	return out, p.ctx.Err()
}

// compact numbers the rows that count: those whose value is not NULL. before[i]
// is how many of them lie before row i; rows lists them. Both are nil when all count.
type compact struct{ before, rows []int32 }

func (p *windowPart) compactOf(counts func(i int) bool) (compact, error) {
	if err := p.reserve(8 * int64(p.n)); err != nil {
		return compact{}, err
	}
	k := compact{before: make([]int32, p.n+1), rows: make([]int32, 0, p.n)}
	for i := range p.n {
		k.before[i] = int32(len(k.rows))
		if counts(i) {
			k.rows = append(k.rows, int32(i))
		}
	}
	k.before[p.n] = int32(len(k.rows))
	return k, nil
}

// valued is compact over the rows whose first argument is not NULL, for IGNORE NULLS.
func (p *windowPart) valued(c *WindowCall) (compact, error) {
	if !c.IgnoreNulls {
		return compact{}, nil
	}
	v, err := p.arg(c.Args[0])
	if err != nil || !v.HasNulls() {
		return compact{}, err
	}
	return p.compactOf(func(i int) bool { return !v.IsNull(i) })
}

// at maps a bound to the numbering of the rows that count.
func (k compact) at(i int32) int32 {
	if k.before == nil {
		return i
	}
	return k.before[i]
}

// row is the part's row of a number.
func (k compact) row(i int32) int32 {
	if k.rows == nil {
		return i
	}
	return k.rows[i]
}

// shifted are the rows that lag and lead read.
func (p *windowPart) shifted(c *WindowCall) ([]int32, error) {
	k, err := p.valued(c)
	if err != nil {
		return nil, err
	}
	one := vec.Int64(1)
	offset := WindowArg{Const: &one, Type: one.Type}
	if len(c.Args) > 1 {
		offset = c.Args[1]
	}
	off, err := p.arg(offset)
	if err != nil {
		return nil, err
	}
	missing := nullRow
	if len(c.Args) > 2 {
		missing = defaultRow
	}
	out := make([]int32, p.n)
	for part, s := range p.starts[:len(p.starts)-1] {
		from, to := int64(k.at(s)), int64(k.at(p.starts[part+1]))
		for i := s; i < p.starts[part+1]; i++ {
			if off.IsNull(int(i)) {
				out[i] = nullRow
				continue
			}
			by := off.Int64s[off.Row(int(i))]
			if c.Fn.Kind == expr.Lag {
				by = -max(by, -math.MaxInt64)
			}
			out[i] = missing
			if j, ok := k.shift(i, by, from, to); ok {
				out[i] = p.tableRow(j)
			}
		}
	}
	return out, p.ctx.Err()
}

// shift is the row that lies by rows that count behind row i, within [from, to).
func (k compact) shift(i int32, by, from, to int64) (int32, bool) {
	if by == 0 {
		return i, true
	}
	at := int64(k.at(i))
	if by > 0 && k.before != nil && k.before[i+1] == k.before[i] {
		by-- // row i does not count itself: the next that counts is the first
	}
	if by > to-at || by < from-at || at+by >= to {
		return 0, false
	}
	return k.row(int32(at + by)), true
}

// picked are the rows that first_value, last_value and nth_value read.
func (p *windowPart) picked(c *WindowCall) ([]int32, error) {
	k, err := p.valued(c)
	if err != nil {
		return nil, err
	}
	fr, err := p.frameOf(c.Frame)
	if err != nil {
		return nil, err
	}
	var nth *vec.Vector
	if c.Fn.Kind == expr.NthValue {
		if nth, err = p.arg(c.Args[1]); err != nil {
			return nil, err
		}
	}
	out := make([]int32, p.n)
	for i := range out {
		out[i] = nullRow
		n := int64(1)
		if nth != nil {
			if nth.IsNull(i) {
				continue
			}
			if n = nth.Int64s[nth.Row(i)]; n <= 0 {
				return nil, fail.New(fail.NthValueArgument, "nth_value counts rows from 1, not %d", n)
			}
		}
		r, ok := fr.first(k, i, n)
		if c.Fn.Kind == expr.LastValue {
			r, ok = fr.last(k, i)
		}
		if ok {
			out[i] = p.tableRow(r)
		}
	}
	return out, p.ctx.Err()
}

// first is the n-th row that counts of the frame of row i.
func (fr *windowFrames) first(k compact, i int, n int64) (int32, bool) {
	for _, piece := range fr.pieces {
		lo, hi := k.at(piece.lo[i]), k.at(piece.hi[i])
		if n <= int64(hi-lo) {
			return k.row(lo + int32(n) - 1), true
		}
		n -= int64(hi - lo)
	}
	return 0, false
}

// last is the last row that counts of the frame of row i.
func (fr *windowFrames) last(k compact, i int) (int32, bool) {
	for j := len(fr.pieces) - 1; j >= 0; j-- {
		lo, hi := k.at(fr.pieces[j].lo[i]), k.at(fr.pieces[j].hi[i])
		if lo < hi {
			return k.row(hi - 1), true
		}
	}
	return 0, false
}
