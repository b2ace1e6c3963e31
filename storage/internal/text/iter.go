package text

import (
	"context"
	"sort"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/internal/postings"
)

// iterator walks the matches of a clause in rising order. doc is meaningful
// after an advance; score may be called once per document.
type iterator interface {
	advance(target uint32) uint32 // first match ≥ target, noDoc at the end
	score() float64               // of the current document
	cost() int                    // upper bound on the number of matches
	fault() error
}

// execution is one search or match over one part.
type execution struct {
	b      *Bound
	global Stats
	acc    *accept
	top    *postings.TopK
}

func (x *execution) scorer(field int, boost, idfSum float64) *scorer {
	return newScorer(x.b.q.fields[field], x.global.Fields[field], boost, idfSum, x.b.store.lengths(field))
}

func (x *execution) termIDF(term int) float64 {
	return idf(x.global.DF[term], x.global.Fields[x.b.q.terms[term].field].Docs)
}

func (x *execution) termScorer(n *node) *scorer {
	s := x.scorer(n.field, n.boost, x.termIDF(n.term))
	if x.b.q.terms[n.term].kind == termFuzzy {
		s.div = fuzzyUnit
	}
	return s
}

// iterator builds the clause's iterator; nil when it cannot match in this part.
func (x *execution) iterator(n *node) iterator {
	switch n.kind {
	case nodeTerm:
		src := x.b.srcs[n.term]
		if src == nil {
			return nil
		}
		return &termIter{cursor: newCursor(src), s: x.termScorer(n)}
	case nodePhrase:
		return x.phraseIterator(n)
	}
	return x.boolIterator(n)
}

func (x *execution) boolIterator(n *node) iterator {
	var must, should, not []iterator
	for _, c := range n.must {
		it := x.iterator(c)
		if it == nil {
			return nil
		}
		must = append(must, it)
	}
	for _, c := range x.byWeight(n) {
		if it := x.iterator(c); it != nil {
			should = append(should, it)
		}
	}
	for _, c := range n.not {
		if it := x.iterator(c); it != nil {
			not = append(not, it)
		}
	}
	if len(must) == 0 {
		if len(should) == 0 {
			return nil
		}
		or := &orIter{list: should}
		if len(not) == 0 {
			return or
		}
		must, should = []iterator{or}, nil
	}
	lead := append([]iterator(nil), must...)
	sort.SliceStable(lead, func(i, j int) bool { return lead[i].cost() < lead[j].cost() })
	return &boolIter{must: must, lead: lead, should: should, not: not}
}

// byWeight is the canonical order of an OR: terms by falling weight, ties in
// the order of the query. An OR with any other clause keeps the query's order.
func (x *execution) byWeight(n *node) []*node {
	type weighed struct {
		n *node
		w float64
	}
	if len(n.must) > 0 {
		return n.should
	}
	list := make([]weighed, len(n.should))
	for i, c := range n.should {
		if c.kind != nodeTerm {
			return n.should
		}
		list[i] = weighed{c, x.weight(c)}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].w > list[j].w })
	out := make([]*node, len(list))
	for i, w := range list {
		out[i] = w.n
	}
	return out
}

func (x *execution) weight(n *node) float64 {
	f := x.b.q.fields[n.field]
	return newScorer(f, x.global.Fields[n.field], n.boost, x.termIDF(n.term), lengths{}).weight
}

// each calls visit for every allowed match, in rising order.
func (x *execution) each(ctx context.Context, it iterator, visit func(doc uint32)) error {
	if it == nil {
		return fail.Ended(ctx, "the text search")
	}
	if x.acc.sparse != nil {
		return x.eachSparse(ctx, it, visit)
	}
	for i, d := 0, it.advance(0); d < x.acc.n; i, d = i+1, it.advance(d+1) {
		if i&0xfff == 0 {
			if err := fail.Ended(ctx, "the text search"); err != nil {
				return err
			}
		}
		if x.acc.has(d) {
			visit(d)
		}
	}
	return it.fault()
}

func (x *execution) eachSparse(ctx context.Context, it iterator, visit func(doc uint32)) error {
	for i, d := range x.acc.sparse {
		if i&0xfff == 0 {
			if err := fail.Ended(ctx, "the text search"); err != nil {
				return err
			}
		}
		got := it.advance(d)
		if got == noDoc {
			break
		}
		if got == d {
			visit(d)
		}
	}
	return it.fault()
}

// run fills top with the best hits.
func (x *execution) run(ctx context.Context, exhaustive bool) error {
	root := x.b.q.root
	if !exhaustive && x.acc.sparse == nil {
		if leaves, ok := x.flat(root); ok {
			return x.maxScore(ctx, leaves)
		}
		if leaves, ok := x.allTerms(root); ok {
			return x.conjunction(ctx, leaves)
		}
	}
	it := x.iterator(root)
	return x.each(ctx, it, func(doc uint32) {
		x.top.Offer(Hit{Doc: DocID(doc), Score: it.score()})
	})
}

// termIter is one term, prefix or fuzzy term.
type termIter struct {
	*cursor
	s *scorer
}

func (t *termIter) score() float64 { return t.s.at(t.doc, t.freq()) }
func (t *termIter) cost() int      { return t.src.df() }
func (t *termIter) fault() error   { return t.err }

// orIter matches where any of its clauses does. Queries have few clauses: the
// smallest document is found by looking at each.
type orIter struct {
	list []iterator
	at   []uint32 // current document of each clause
	doc  uint32
}

func (o *orIter) advance(target uint32) uint32 {
	if o.at == nil {
		o.at = make([]uint32, len(o.list))
		for i, it := range o.list {
			o.at[i] = it.advance(target)
		}
	}
	o.doc = noDoc
	for i, it := range o.list {
		if o.at[i] < target {
			o.at[i] = it.advance(target)
		}
		o.doc = min(o.doc, o.at[i])
	}
	return o.doc
}

func (o *orIter) score() float64 {
	sum := 0.0
	for i, it := range o.list {
		if o.at[i] == o.doc {
			sum += it.score()
		}
	}
	return sum
}

func (o *orIter) cost() int {
	sum := 0
	for _, it := range o.list {
		sum += it.cost()
	}
	return sum
}

func (o *orIter) fault() error { return firstFault(o.list) }

func firstFault(list []iterator) error {
	for _, it := range list {
		if err := it.fault(); err != nil {
			return err
		}
	}
	return nil
}

// boolIter matches where all of must match and none of not; should only adds
// to the score. lead is must from the rarest clause on.
type boolIter struct {
	must, lead, should, not []iterator
	doc                     uint32
}

func (b *boolIter) advance(target uint32) uint32 {
	d := b.lead[0].advance(target)
	for d != noDoc {
		next := b.agree(d)
		if next == d && !b.excluded(d) {
			break
		}
		if next == d {
			next = d + 1
		}
		d = b.lead[0].advance(next)
	}
	b.doc = d
	return d
}

// agree returns d when all clauses match it, else the next document to try.
func (b *boolIter) agree(d uint32) uint32 {
	for _, it := range b.lead[1:] {
		if got := it.advance(d); got != d {
			return got
		}
	}
	return d
}

func (b *boolIter) excluded(d uint32) bool {
	for _, it := range b.not {
		if it.advance(d) == d {
			return true
		}
	}
	return false
}

func (b *boolIter) score() float64 {
	sum := 0.0
	for _, it := range b.must {
		sum += it.score()
	}
	for _, it := range b.should {
		if it.advance(b.doc) == b.doc {
			sum += it.score()
		}
	}
	return sum
}

func (b *boolIter) cost() int { return b.lead[0].cost() }

func (b *boolIter) fault() error {
	for _, list := range [][]iterator{b.must, b.should, b.not} {
		if err := firstFault(list); err != nil {
			return err
		}
	}
	return nil
}
