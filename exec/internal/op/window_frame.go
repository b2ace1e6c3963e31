package op

import (
	"math"

	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// windowFrames are the frames of the rows of a part: row i sees the rows
// [lo[i], hi[i]) of each piece, one after the other. There is one piece, or with
// EXCLUDE three: before, within and behind what is left out.
type windowFrames struct {
	pieces []framePiece
	// ascending is set where no bound of a piece ever goes back.
	ascending bool
}

type framePiece struct{ lo, hi []int32 }

// frameOf computes the frames of the part once for all calls that share f.
func (p *windowPart) frameOf(f *WindowFrame) (*windowFrames, error) {
	if fr := p.frames[f]; fr != nil {
		return fr, nil
	}
	if err := p.reserve(8 * int64(p.n)); err != nil {
		return nil, err
	}
	lo, err := p.bound(f, f.Lo, f.lo, false)
	if err != nil {
		return nil, err
	}
	hi, err := p.bound(f, f.Hi, f.hi, true)
	if err != nil {
		return nil, err
	}
	for i := range hi {
		hi[i] = max(hi[i], lo[i])
	}
	fr := &windowFrames{pieces: []framePiece{{lo, hi}}}
	if f.Exclude != plan.ExcludeNothing {
		if err := p.exclude(fr, f.Exclude); err != nil {
			return nil, err
		}
	}
	fr.ascending = true
	for _, piece := range fr.pieces {
		fr.ascending = fr.ascending && ascends(piece.lo) && ascends(piece.hi)
	}
	p.frames[f] = fr
	return fr, nil
}

func ascends(s []int32) bool {
	for i := 1; i < len(s); i++ {
		if s[i] < s[i-1] {
			return false
		}
	}
	return true
}

// bound computes one end of all frames: the first row inside, or with end the
// first row behind.
func (p *windowPart) bound(f *WindowFrame, kind plan.BoundKind, offset vec.Value, end bool) ([]int32, error) {
	out := make([]int32, p.n)
	switch {
	case kind == plan.UnboundedPreceding || kind == plan.UnboundedFollowing:
		for k, s := range p.starts[:len(p.starts)-1] {
			to := p.starts[k+1]
			if kind == plan.UnboundedPreceding {
				fill(out[s:to], s)
			} else {
				fill(out[s:to], to)
			}
		}
		return out, p.ctx.Err()
	case f.Unit == plan.FrameRows:
		p.rowBound(out, signedOffset(kind, offset), end)
		return out, p.ctx.Err()
	case kind == plan.CurrentRow || f.Unit == plan.FrameGroups:
		return out, p.groupBound(out, signedOffset(kind, offset), end)
	}
	return out, p.rangeBound(out, f.Key, kind == plan.Preceding, offset, end)
}

// signedOffset is a number of rows or groups from the current one.
func signedOffset(kind plan.BoundKind, offset vec.Value) int64 {
	switch kind {
	case plan.Preceding:
		return -offset.Int
	case plan.Following:
		return offset.Int
	}
	return 0
}

// rowBound is the bound so many rows away, kept within the partition.
func (p *windowPart) rowBound(out []int32, off int64, end bool) {
	const far = math.MaxInt32
	off = max(-far, min(far, off))
	if end {
		off++
	}
	for k, s := range p.starts[:len(p.starts)-1] {
		to := int64(p.starts[k+1])
		for i := int64(s); i < to; i++ {
			out[i] = int32(max(int64(s), min(to, i+off)))
		}
	}
}

// groupBound is the bound so many peer groups away.
func (p *windowPart) groupBound(out []int32, off int64, end bool) error {
	peers, err := p.peerGroups()
	if err != nil {
		return err
	}
	off = max(-math.MaxInt32, min(math.MaxInt32, off))
	if end {
		off++
	}
	g := 0
	for _, to := range p.starts[1:] {
		first := g
		for peers[g] < to {
			g++
		}
		last := g // the group behind the partition
		for j := first; j < last; j++ {
			at := max(int64(first), min(int64(last), int64(j)+off))
			fill(out[peers[j]:peers[j+1]], peers[at])
		}
	}
	return p.ctx.Err()
}

// rangeBound is the bound where the key has the row's key and an offset. A row
// whose key is NULL has its peers as its bound.
func (p *windowPart) rangeBound(out []int32, key int, preceding bool, offset vec.Value, end bool) error {
	v, err := p.column(key)
	if err != nil {
		return err
	}
	if err := p.groupBound(out, 0, end); err != nil {
		return err
	}
	desc := p.w.dirs[p.w.Parts].Desc
	if err := p.reserve(int64(p.n) * rowBytes(v.Type)); err != nil {
		return err
	}
	wanted, beyond := shiftKeys(v, offset, preceding != desc)
	// behind(j, i): row j lies behind all that the bound of row i leaves outside.
	behind := func(j, i int) bool {
		c := kernel.CompareRows(v, j, wanted, i)
		if desc {
			c = -c
		}
		return c > 0 || c == 0 && !end
	}
	for k, s := range p.starts[:len(p.starts)-1] {
		from, to := valueRows(v, int(s), int(p.starts[k+1]))
		at := from
		for i := from; i < to; i++ {
			if i%checkEvery == 0 && p.ctx.Err() != nil {
				return p.ctx.Err()
			}
			if beyond != nil && beyond[i] {
				if out[i] = int32(to); preceding {
					out[i] = int32(from)
				}
				continue
			}
			if i > from && kernel.CompareRows(wanted, i, wanted, i-1) < 0 != desc {
				at = from // an offset of months and days may go back
			}
			for at < to && !behind(at, i) {
				at++
			}
			out[i] = int32(at)
		}
	}
	return nil
}

// valueRows are the rows of a partition whose key is not NULL: the NULLs lie at
// one of its ends.
func valueRows(v *vec.Vector, from, to int) (int, int) {
	if v.Valid == nil {
		return from, to
	}
	for from < to && !v.Valid.Get(from) {
		from++
	}
	for from < to && !v.Valid.Get(to-1) {
		to--
	}
	return from, to
}

// shiftKeys adds the offset to keys, or takes it away. beyond marks, where it is
// not nil, the rows whose result leaves the type's range: it lies beyond all keys.
func shiftKeys(v *vec.Vector, offset vec.Value, minus bool) (out *vec.Vector, beyond []bool) {
	out = vec.NewFlat(v.Type, v.N)
	over := func(i int) {
		if beyond == nil {
			beyond = make([]bool, v.N)
		}
		beyond[i] = true
	}
	sign := int64(1)
	if minus {
		sign = -1
	}
	switch v.Type.Kind {
	case types.Int64:
		off := sign * offset.Int
		for i, x := range v.Int64s {
			out.Int64s[i] = x + off
			if (out.Int64s[i] < x) != (off < 0) {
				over(i)
			}
		}
	case types.Double:
		off := float64(sign) * offset.Float
		for i, x := range v.Float64s {
			out.Float64s[i] = x + off
			if y := x + off; y != y && x == x || math.IsInf(y, 0) && !math.IsInf(x, 0) {
				over(i) // too far, or infinity less infinity, where all is in range
			}
		}
	case types.Decimal:
		off := offset.Dec
		if minus {
			off = off.Negate()
		}
		for i, x := range v.Decimals {
			out.Decimals[i] = x.Add(off)
			if x.Sign() == off.Sign() && out.Decimals[i].Sign() != x.Sign() {
				over(i)
			}
		}
	default:
		span := offset.Span
		if minus {
			span = vec.Span{Months: -span.Months, Days: -span.Days, Nanos: -span.Nanos}
		}
		for i, x := range v.Int64s {
			var ok bool
			if out.Int64s[i], ok = kernel.AddSpan(x, span); !ok {
				over(i)
			}
		}
	}
	return out, beyond
}

// exclude splits each frame into what lies before, within and behind the rows
// that are left out; within is the current row alone, for ties.
func (p *windowPart) exclude(fr *windowFrames, x plan.FrameExclude) error {
	if err := p.reserve(24 * int64(p.n)); err != nil {
		return err
	}
	peers, err := p.peerGroups()
	if err != nil {
		return err
	}
	whole := fr.pieces[0]
	before := framePiece{lo: whole.lo, hi: make([]int32, p.n)}
	within := framePiece{lo: make([]int32, p.n), hi: make([]int32, p.n)}
	behind := framePiece{lo: make([]int32, p.n), hi: whole.hi}
	g := 0
	for i := range int32(p.n) {
		for peers[g+1] <= i {
			g++
		}
		from, to := peers[g], peers[g+1]
		if x == plan.ExcludeCurrentRow {
			from, to = i, i+1
		}
		lo, hi := whole.lo[i], whole.hi[i]
		before.hi[i] = max(lo, min(hi, from))
		behind.lo[i] = min(hi, max(lo, to))
		within.lo[i], within.hi[i] = i, i
		if x == plan.ExcludeTies && lo <= i && i < hi {
			within.hi[i] = i + 1
		}
	}
	fr.pieces = []framePiece{before, within, behind}
	return nil
}
