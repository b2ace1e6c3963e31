package text

import (
	"context"
	"math/bits"

	"github.com/loamdb/loam/internal/fail"
)

// flat is the query as one OR of terms in canonical order, if it is one. Terms
// that the part lacks are left out: they add nothing to any document.
func (x *execution) flat(n *node) ([]*leaf, bool) {
	list := []*node{n}
	if n.kind == nodeBool {
		if len(n.must) > 0 || len(n.not) > 0 {
			return nil, false
		}
		list = x.byWeight(n)
	}
	var leaves []*leaf
	for _, c := range list {
		if c.kind != nodeTerm {
			return nil, false
		}
		if src := x.b.srcs[c.term]; src != nil {
			leaves = append(leaves, &leaf{cursor: newCursor(src), s: x.termScorer(c), boundOf: -1})
		}
	}
	return leaves, true
}

// leaf is one term of the flat OR. Its cursor serves the essential scan and
// the look-ups; its shallow block serves the bounds of windows.
type leaf struct {
	*cursor
	s       *scorer
	shallow int // first block that reaches the window
	boundOf int // block of bound
	bound   float64
	upper   float64 // of the window, with slack
}

// maxWindow bounds a window, in documents; a window starts at a multiple of 64.
const (
	maxWindow = 4096
	minWindow = 512
)

// window is the state of one run of documents [lo, hi).
type window struct {
	lo, hi uint32
	sums   [maxWindow]float64
	seen   [maxWindow / 64]uint64
}

// maxScore is MaxScore with block bounds by windows (Turtle and Flood 1995;
// Ding and Suel 2011): within a window, the last terms in the canonical order
// whose bounds together stay below the threshold cannot make a hit alone; the
// others are scanned into an array and the former only looked up. Because the
// order of terms is the canonical order, sums have the same bits as an
// exhaustive scan.
func (x *execution) maxScore(ctx context.Context, leaves []*leaf) error {
	if len(leaves) == 0 || x.beaten(leaves) {
		return fail.Ended(ctx, "the text search")
	}
	w := &window{}
	suffix := make([]float64, len(leaves)+1)
	essential := len(leaves)
	for i := 0; w.hi < x.acc.n; i++ {
		if i&0xf == 0 {
			if err := fail.Ended(ctx, "the text search"); err != nil {
				return err
			}
		}
		w.lo = w.hi
		w.hi = x.windowEnd(leaves[:max(1, essential)], w.lo)
		essential = x.partition(leaves, suffix, w)
		if essential == 0 {
			continue
		}
		for _, l := range leaves[:essential] {
			l.scan(w)
		}
		x.collect(leaves, suffix, essential, w)
	}
	return leafFault(leaves)
}

// beaten reports that no document of the part reaches the floor set by others.
func (x *execution) beaten(leaves []*leaf) bool {
	sum := 0.0
	for _, l := range leaves {
		sum += l.src.impact(-1, l.s)
	}
	return sum*slack < x.top.Threshold()
}

func leafFault(leaves []*leaf) error {
	for _, l := range leaves {
		if l.err != nil {
			return l.err
		}
	}
	return nil
}

// windowEnd ends the window with the nearest block end among the leaves that
// matter, so that bounds are tight, but not too near, so that windows are few.
func (x *execution) windowEnd(leaves []*leaf, lo uint32) uint32 {
	end := uint64(lo) + maxWindow
	for _, l := range leaves {
		if l.toBlock(lo) {
			end = min(end, uint64(l.src.lastDoc(l.shallow))+1)
		}
	}
	end = max(end, uint64(lo)+minWindow)
	end = (end + 63) &^ 63
	return uint32(min(end, uint64(lo)+maxWindow, uint64(x.acc.n)))
}

// toBlock moves the shallow block to the first that reaches doc.
func (l *leaf) toBlock(doc uint32) bool {
	if l.shallow < l.nblocks && l.src.lastDoc(l.shallow) < doc {
		l.shallow = l.findBlock(l.shallow, doc)
	}
	return l.shallow < l.nblocks
}

// boundIn bounds the leaf's contributions within the window.
func (l *leaf) boundIn(lo, hi uint32) float64 {
	if !l.toBlock(lo) {
		return 0
	}
	best := 0.0
	for b := l.shallow; b < l.nblocks; b++ {
		best = max(best, l.blockBound(b))
		if l.src.lastDoc(b) >= hi-1 {
			break
		}
	}
	return best
}

func (l *leaf) blockBound(b int) float64 {
	if l.boundOf != b {
		l.boundOf, l.bound = b, l.src.impact(b, l.s)
	}
	return l.bound
}

// partition returns how many of the first leaves must be scanned: the rest
// cannot reach the threshold together. suffix[i] bounds leaves[i:] together.
func (x *execution) partition(leaves []*leaf, suffix []float64, w *window) int {
	theta := x.top.Threshold()
	sum, essential := 0.0, len(leaves)
	for i := len(leaves) - 1; i >= 0; i-- {
		leaves[i].upper = leaves[i].boundIn(w.lo, w.hi) * slack
		sum += leaves[i].upper
		suffix[i] = sum
		if sum < theta {
			essential = i
		}
	}
	return essential
}

// scan adds the leaf's contributions in the window to the sums.
func (l *leaf) scan(w *window) {
	d := l.advance(w.lo)
	for d < w.hi {
		i, n := l.i, l.buf.n
		if l.freqsOf != l.block {
			l.loadFreqs()
		}
		for ; i < n && l.buf.docs[i] < w.hi; i++ {
			d = l.buf.docs[i]
			at := d - w.lo
			w.sums[at%maxWindow] += l.s.at(d, l.buf.freqs[i])
			w.seen[at/64%(maxWindow/64)] |= 1 << (at & 63)
		}
		l.i, l.doc = i-1, d
		d = l.advance(d + 1)
	}
}

// collect takes the window's candidates in rising order, adds the leaves that
// were not scanned, and offers what may still be a hit. It leaves the window clear.
func (x *execution) collect(leaves []*leaf, suffix []float64, essential int, w *window) {
	words := (w.hi - w.lo + 63) / 64
	for k := uint32(0); k < words; k++ {
		seen := w.seen[k]
		if seen == 0 {
			continue
		}
		w.seen[k] = 0
		for seen != 0 {
			bit := uint32(bits.TrailingZeros64(seen))
			seen &= seen - 1
			at := k*64 + bit
			sum := w.sums[at]
			w.sums[at] = 0
			if doc := w.lo + at; x.acc.has(doc) {
				x.finish(leaves, suffix, essential, doc, sum)
			}
		}
	}
}

func (x *execution) finish(leaves []*leaf, suffix []float64, essential int, doc uint32, sum float64) {
	theta := x.top.Threshold()
	for i := essential; i < len(leaves); i++ {
		if (sum+suffix[i])*slack < theta {
			return
		}
		if l := leaves[i]; l.advance(doc) == doc {
			sum += l.s.at(doc, l.freq())
		}
	}
	if sum >= theta {
		x.top.Offer(Hit{Doc: DocID(doc), Score: sum})
	}
}
