package text

import (
	"context"
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/internal/postings"
)

var errBlockEnd = fail.New(fail.Corrupt, "text segment: postings: a block ends before its last document")

// Bound is a query bound to one part: its terms are looked up, its prefixes
// and fuzzy terms expanded, its statistics counted. It is immutable and safe
// for concurrent use; it keeps the part's bytes in use.
type Bound struct {
	q     *Query
	store store
	excl  *Exclusion
	srcs  []source // by query term; nil where the part lacks it
	stats Stats
}

// SearchOptions are the settings of one top-k search.
type SearchOptions struct {
	// Match holds the documents allowed by the filter; nil allows all.
	Match *roaring.Bitmap
	// K is the number of hits wanted; 0 or less gives none.
	K int
	// Floor is a score known from other parts: hits below it may be left out,
	// hits equal to it are kept. 0 is no floor.
	Floor float64
	// Less breaks ties of score, by primary key; nil means by document number.
	Less func(a, b DocID) bool

	exhaustive bool // tests: score every match, prune nothing
}

func bind(ctx context.Context, s store, q *Query, e *Exclusion) (*Bound, error) {
	b := &Bound{q: q, store: s, excl: e, srcs: make([]source, len(q.terms))}
	b.stats = Stats{Fields: e.liveFields(s, len(q.fields)), DF: make([]uint64, len(q.terms))}
	for i, t := range q.terms {
		if err := fail.Ended(ctx, "the text search"); err != nil {
			return nil, err
		}
		src, err := b.open(ctx, t)
		if err != nil {
			return nil, err
		}
		if src == nil {
			continue
		}
		b.srcs[i] = src
		if b.stats.DF[i], err = b.df(t, src); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *Bound) open(ctx context.Context, t queryTerm) (source, error) {
	if t.kind == termExact {
		return b.store.find(t.field, t.text)
	}
	return expand(ctx, b.store, t)
}

func (b *Bound) df(t queryTerm, src source) (uint64, error) {
	if t.kind == termExact {
		return b.excl.liveDF(b.store, t.field, t.text, src)
	}
	if b.excl.Len() == 0 {
		return uint64(src.df()), nil
	}
	gone, err := b.excl.countExcluded(src)
	return uint64(src.df()) - gone, err
}

// Stats are the part's exact live statistics for the query. The caller owns the copy.
func (b *Bound) Stats() Stats { return b.stats.Clone() }

// Search returns the best min(K, matches) hits of the part under (score
// descending, Less), scored with the statistics of all parts. Only hits below
// Floor may be missing. Errors: Canceled, DeadlineExceeded, Corrupt.
func (b *Bound) Search(ctx context.Context, global Stats, o SearchOptions) ([]Hit, error) {
	if b.q.root == nil || o.K <= 0 {
		return nil, fail.Ended(ctx, "the text search")
	}
	if len(global.DF) != len(b.q.terms) || len(global.Fields) != len(b.q.fields) {
		return nil, fail.Bug("statistics of %d terms for a query of %d", len(global.DF), len(b.q.terms))
	}
	acc := newAccept(b.store.NumDocs(), o.Match, b.excl)
	floor := o.Floor
	if !(floor > 0) {
		floor = math.Inf(-1)
	}
	top := postings.NewTopK(o.K, floor, o.Less)
	x := &execution{b: b, global: global, acc: acc, top: top}
	if err := x.run(ctx, o.exhaustive); err != nil {
		return nil, err
	}
	return top.Sorted(), nil
}

// Matches returns every live document that matches and that match allows (nil
// allows all). The caller owns the bitmap.
func (b *Bound) Matches(ctx context.Context, match *roaring.Bitmap) (*roaring.Bitmap, error) {
	out := roaring.New()
	if b.q.root == nil {
		return out, fail.Ended(ctx, "the text search")
	}
	acc := newAccept(b.store.NumDocs(), match, b.excl)
	x := &execution{b: b, acc: acc, global: b.stats}
	var batch []uint32
	it := x.iterator(b.q.root)
	err := x.each(ctx, it, func(doc uint32) {
		if batch = append(batch, doc); len(batch) == 1024 {
			out.AddMany(batch)
			batch = batch[:0]
		}
	})
	out.AddMany(batch)
	return out, err
}

// accept is the set of documents a search may return.
type accept struct {
	n      uint32
	all    bool
	bits   []uint64 // unless all
	sparse []uint32 // when few documents are allowed: exactly those
}

// sparseShare: below n/sparseShare allowed documents the search is driven by them.
const sparseShare = 64

func newAccept(n uint32, match *roaring.Bitmap, e *Exclusion) *accept {
	a := &accept{n: n}
	switch {
	case match == nil && e.Len() == 0:
		a.all = true
	case match != nil && match.GetCardinality() < uint64(n/sparseShare)+1:
		a.sparse = []uint32{}
		it := match.Iterator()
		for it.HasNext() {
			if d := it.Next(); d < n && !e.has(d) {
				a.sparse = append(a.sparse, d)
			}
		}
	default:
		a.bits = denseAccept(n, match, e)
	}
	return a
}

func denseAccept(n uint32, match *roaring.Bitmap, e *Exclusion) []uint64 {
	words := int((uint64(n) + 63) / 64)
	bits := make([]uint64, words)
	if match == nil {
		for i := range bits {
			bits[i] = ^uint64(0)
		}
	} else {
		copy(bits, match.ToDense())
	}
	if e != nil {
		for i := range min(len(bits), len(e.bits)) {
			bits[i] &^= e.bits[i]
		}
	}
	return bits
}

func (a *accept) has(doc uint32) bool {
	return a.all || a.bits[doc>>6]>>(doc&63)&1 != 0
}
