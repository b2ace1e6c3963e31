package text

import (
	"context"
	"sort"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/internal/postings"
)

// allTerms is the query as one AND of terms, if it is one; ok without leaves
// means that the part lacks one of them.
func (x *execution) allTerms(n *node) (leaves []*leaf, ok bool) {
	if n.kind != nodeBool || len(n.must) == 0 || len(n.should)+len(n.not) > 0 {
		return nil, false
	}
	for _, c := range n.must {
		if c.kind != nodeTerm {
			return nil, false
		}
	}
	for _, c := range n.must {
		src := x.b.srcs[c.term]
		if src == nil {
			return nil, true
		}
		leaves = append(leaves, &leaf{cursor: newCursor(src), s: x.termScorer(c), boundOf: -1})
	}
	return leaves, true
}

// conjunction leapfrogs from the rarest term on and passes runs of documents
// whose block bounds together stay below the threshold. Sums go in the order of
// the query, as in boolIter.
func (x *execution) conjunction(ctx context.Context, leaves []*leaf) error {
	if len(leaves) == 0 || x.beaten(leaves) {
		return fail.Ended(ctx, "the text search")
	}
	lead := append([]*leaf(nil), leaves...)
	sort.SliceStable(lead, func(i, j int) bool { return lead[i].src.df() < lead[j].src.df() })
	run := blockRun{}
	for i, d := 0, lead[0].advance(0); d < x.acc.n; i++ {
		if i&0xfff == 0 {
			if err := fail.Ended(ctx, "the text search"); err != nil {
				return err
			}
		}
		if !run.holds(d) {
			run = runAt(leaves, d)
		}
		if run.bound*slack < x.top.Threshold() {
			d = lead[0].advance(run.last + 1)
			continue
		}
		next := agree(lead[1:], d)
		if next == d {
			x.offerAll(leaves, d)
			next = d + 1
		}
		d = lead[0].advance(next)
	}
	return leafFault(leaves)
}

// agree returns d when all leaves hold it, else the next document to try.
func agree(leaves []*leaf, d uint32) uint32 {
	for _, l := range leaves {
		if got := l.advance(d); got != d {
			return got
		}
	}
	return d
}

func (x *execution) offerAll(leaves []*leaf, doc uint32) {
	if !x.acc.has(doc) {
		return
	}
	sum := 0.0
	for _, l := range leaves {
		sum += l.s.at(doc, l.freq())
	}
	if sum >= x.top.Threshold() {
		x.top.Offer(postings.Hit{Doc: DocID(doc), Score: sum})
	}
}

// blockRun is a run of documents within one block of every leaf.
type blockRun struct {
	first, last uint32
	bound       float64 // of any document in it that all leaves hold
	valid       bool
}

func (r *blockRun) holds(d uint32) bool { return r.valid && r.first <= d && d <= r.last }

// runAt is the run from d on; past the end of a leaf nothing can match.
func runAt(leaves []*leaf, d uint32) blockRun {
	r := blockRun{first: d, last: noDoc - 1, valid: true}
	for _, l := range leaves {
		if !l.toBlock(d) {
			r.last, r.bound = noDoc-1, 0
			return r
		}
		r.last = min(r.last, l.src.lastDoc(l.shallow))
		r.bound += l.blockBound(l.shallow)
	}
	return r
}
