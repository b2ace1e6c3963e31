package text

import (
	"encoding/binary"
	"slices"
	"strings"
)

// reader walks the terms of a field; nil when the part has none.
func (in *mergeInput) reader(field int) (termReader, error) {
	switch part := in.part.(type) {
	case *Segment:
		f := part.field(field)
		if f == nil || f.terms == 0 {
			return nil, nil
		}
		it, err := f.seek(nil)
		return &segmentTerms{in: in, f: f, it: it}, err
	case MemView:
		part.m.mu.RLock()
		list := slices.Clone(part.m.fields[field].list)
		part.m.mu.RUnlock()
		slices.SortFunc(list, func(a, b *memTerm) int { return strings.Compare(a.text, b.text) })
		return &memTerms{in: in, view: part, list: list, at: -1}, nil
	}
	return nil, nil
}

// segmentTerms walks a segment's terms.
type segmentTerms struct {
	in      *mergeInput
	f       *segField
	it      *dictIter
	started bool
	ord     uint32
	buf     blockBuf
}

func (s *segmentTerms) next() ([]byte, bool, error) {
	if s.started {
		if err := s.it.next(); err != nil {
			return nil, false, err
		}
	}
	s.started, s.ord = true, s.it.ordinal
	return s.it.term, s.it.valid, nil
}

func (s *segmentTerms) ordinal() uint32 { return s.ord }

func (s *segmentTerms) postings(posts []memPosting, pos []byte, positions bool) ([]memPosting, []byte, error) {
	src, err := s.f.open(s.ord)
	if err != nil {
		return posts, pos, err
	}
	seg := src.(*segSource)
	var d decoder
	if positions {
		if d.b, err = seg.allPositions(); err != nil {
			return posts, pos, err
		}
	}
	for b := range seg.blocks() {
		if err := seg.loadDocs(b, &s.buf); err != nil {
			return posts, pos, err
		}
		if err := seg.loadFreqs(b, &s.buf); err != nil {
			return posts, pos, err
		}
		for i, doc := range s.buf.docs[:s.buf.n] {
			to, freq, from := s.in.newDoc(doc), s.buf.freqs[i], d.at
			if positions {
				if d.skip(uint64(freq)); d.bad {
					return posts, pos, seg.badPositions(b)
				}
			}
			if to == noDoc {
				continue
			}
			posts = append(posts, memPosting{doc: to, freq: freq, start: uint32(len(pos))})
			if positions {
				pos = append(pos, d.b[from:d.at]...)
			}
		}
	}
	return posts, pos, nil
}

// memTerms walks the terms of the tail's index.
type memTerms struct {
	in   *mergeInput
	view MemView
	list []*memTerm
	at   int
}

func (m *memTerms) next() ([]byte, bool, error) {
	m.at++
	if m.at >= len(m.list) {
		return nil, false, nil
	}
	return []byte(m.list[m.at].text), true, nil
}

func (m *memTerms) ordinal() uint32 { return uint32(m.at) }

func (m *memTerms) postings(posts []memPosting, pos []byte, positions bool) ([]memPosting, []byte, error) {
	m.view.m.mu.RLock()
	src := m.view.postings(m.list[m.at])
	m.view.m.mu.RUnlock()
	for _, p := range src.posts {
		to := m.in.newDoc(p.doc)
		if to == noDoc {
			continue
		}
		posts = append(posts, memPosting{doc: to, freq: p.freq, start: uint32(len(pos))})
		if !positions {
			continue
		}
		prev := uint32(0)
		for _, at := range src.pos[p.start : p.start+p.freq] {
			pos = binary.AppendUvarint(pos, uint64(at-prev))
			prev = at
		}
	}
	return posts, pos, nil
}

// forwardLists gives the terms of each document of an input by their ordinals in
// the output. A segment has lists of its own, whose ordinals are mapped; those of
// the tail are made of the postings.
type forwardLists struct {
	in  *mergeInput
	seg *segField
	// ords maps the ordinals of the segment.
	ords []uint32
	// starts and flat are the lists of the tail, by document from in.base.
	starts, next, flat []uint32
}

func newForwardLists(in *mergeInput, field int) forwardLists {
	l := forwardLists{in: in}
	if seg, ok := in.part.(*Segment); ok {
		if l.seg = seg.field(field); l.seg != nil {
			l.ords = make([]uint32, l.seg.terms)
		}
		return l
	}
	l.starts = make([]uint32, in.left+1)
	return l
}

// count notes that a term of the input has the ordinal to in the output, with the postings.
func (l *forwardLists) count(from, to uint32, posts []memPosting) {
	if l.seg != nil {
		l.ords[from] = to
		return
	}
	for _, p := range posts {
		l.starts[p.doc-l.in.base+1]++
	}
}

// prepare is called between count and fill.
func (l *forwardLists) prepare() {
	if l.seg != nil || l.starts == nil {
		return
	}
	for d := range len(l.starts) - 1 {
		l.starts[d+1] += l.starts[d]
	}
	l.next = slices.Clone(l.starts)
	l.flat = make([]uint32, l.starts[len(l.starts)-1])
}

// fill adds a term of the output to the lists of its documents; terms ascend.
func (l *forwardLists) fill(ord uint32, posts []memPosting) {
	if l.seg != nil {
		return
	}
	for _, p := range posts {
		d := p.doc - l.in.base
		l.flat[l.next[d]] = ord
		l.next[d]++
	}
}

// list appends the terms of the document old, which is new in the output.
func (l *forwardLists) list(old, to uint32, dst []uint32) ([]uint32, error) {
	if l.seg == nil {
		if l.flat == nil {
			return dst, nil
		}
		d := to - l.in.base
		return append(dst, l.flat[l.starts[d]:l.starts[d+1]]...), nil
	}
	return l.seg.documentTerms(old, l.ords, dst)
}
