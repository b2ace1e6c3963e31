package text

import "sort"

// phraseIterator is the AND of the phrase's terms with a check of positions.
func (x *execution) phraseIterator(n *node) iterator {
	p := &phraseIter{slop: n.slop}
	sum := 0.0
	for _, t := range n.phrase {
		src := x.b.srcs[t.term]
		if src == nil {
			return nil
		}
		p.terms = append(p.terms, &phraseCursor{cursor: newCursor(src), offset: t.offset, term: t.term})
		sum += x.termIDF(t.term)
	}
	for i, t := range p.terms {
		for j := i - 1; j >= 0; j-- {
			if p.terms[j].term == t.term {
				t.same = p.terms[j]
				break
			}
		}
	}
	p.s = x.scorer(n.field, n.boost, sum)
	p.lead = append([]*phraseCursor(nil), p.terms...)
	sort.SliceStable(p.lead, func(i, j int) bool { return p.lead[i].src.df() < p.lead[j].src.df() })
	return p
}

// phraseCursor is one term of a phrase. With offset o in the phrase, an
// occurrence at position p stands at displacement p − o; a phrase holds exactly
// where all displacements are equal.
type phraseCursor struct {
	*cursor
	term   int
	offset uint32
	same   *phraseCursor // the previous occurrence of this term in the phrase
	pos    []uint32      // positions in the current document
	at     int           // first position not below the anchor
	used   int           // index taken by this term in the window under test
}

// phraseIter matches documents in which some window of displacements no wider
// than slop holds every term, equal terms at different positions.
type phraseIter struct {
	terms, lead []*phraseCursor
	slop        uint32
	s           *scorer
	doc         uint32
	freq        float64
}

func (p *phraseIter) advance(target uint32) uint32 {
	d := p.lead[0].advance(target)
	for d != noDoc {
		next := p.agree(d)
		if next == d {
			if p.freq = p.count(); p.freq > 0 {
				break
			}
			next = d + 1
		}
		d = p.lead[0].advance(next)
	}
	p.doc = d
	return d
}

func (p *phraseIter) agree(d uint32) uint32 {
	for _, c := range p.lead[1:] {
		if got := c.advance(d); got != d {
			return got
		}
	}
	return d
}

// count is the phrase's frequency in the current document: for every
// displacement m at which a term occurs, let w be the width of the narrowest
// window [m, m+w] that holds all terms; each w ≤ slop counts 1/(1+w).
func (p *phraseIter) count() float64 {
	for _, c := range p.terms {
		c.pos = c.positions(c.pos[:0])
		c.at = 0
	}
	sum := 0.0
	for {
		m, ok := p.anchor()
		if !ok {
			return sum
		}
		if w, ok := p.width(m); ok && w <= int64(p.slop) {
			sum += 1 / float64(1+w)
		}
		for _, c := range p.terms {
			for c.at < len(c.pos) && c.displacement(c.at) <= m {
				c.at++
			}
		}
	}
}

func (c *phraseCursor) displacement(i int) int64 { return int64(c.pos[i]) - int64(c.offset) }

// anchor is the smallest displacement left; none when a term has run out.
func (p *phraseIter) anchor() (int64, bool) {
	first, ok := int64(0), false
	for _, c := range p.terms {
		if c.at >= len(c.pos) {
			return 0, false
		}
		if d := c.displacement(c.at); !ok || d < first {
			first, ok = d, true
		}
	}
	return first, ok
}

// width is the width of the narrowest window at m. Equal terms come by rising
// offset, so the first free position is the best for each.
func (p *phraseIter) width(m int64) (int64, bool) {
	widest := int64(0)
	for _, c := range p.terms {
		i := c.at
		if c.same != nil {
			for i < len(c.pos) && i <= c.same.used {
				i++
			}
		}
		if i >= len(c.pos) {
			return 0, false
		}
		c.used = i
		widest = max(widest, c.displacement(i)-m)
	}
	return widest, true
}

func (p *phraseIter) score() float64 { return p.s.score(p.freq, p.s.lens.at(p.doc)) }
func (p *phraseIter) cost() int      { return p.lead[0].src.df() }

func (p *phraseIter) fault() error {
	for _, c := range p.terms {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}
