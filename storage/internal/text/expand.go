package text

import (
	"context"
	"slices"
	"sort"
	"unicode/utf8"
)

// fuzzyUnit is the number of units an exact occurrence counts in a fuzzy
// term; an occurrence at edit distance d counts fuzzyUnit/(1+d).
const fuzzyUnit = 6

// expand gathers the postings of all terms that a prefix or a fuzzy pattern
// stands for into one source; nil when there are none.
func expand(ctx context.Context, s store, t queryTerm) (source, error) {
	g := &gather{}
	prefix := ""
	match := func([]byte) (uint32, bool) { return 1, true }
	if t.kind == termPrefix {
		prefix = t.text
	} else {
		m := newFuzzy(t.text, t.edits)
		match = func(term []byte) (uint32, bool) {
			d, ok := m.distance(term)
			return uint32(fuzzyUnit / (1 + d)), ok
		}
	}
	visited := 0
	err := s.walk(t.field, prefix, func(term []byte, open func() (source, error)) error {
		if visited++; visited&0xff == 0 {
			if err := ctxErr(ctx); err != nil {
				return err
			}
		}
		unit, ok := match(term)
		if !ok {
			return nil
		}
		src, err := open()
		if err != nil || src == nil {
			return err
		}
		return g.add(src, unit)
	})
	if err != nil || len(g.list) == 0 {
		return nil, err
	}
	return g.source(), nil
}

type unitPosting struct{ doc, units uint32 }

// gather adds up occurrences by document.
type gather struct{ list []unitPosting }

func (g *gather) add(src source, unit uint32) error {
	c := newCursor(src)
	for d := c.advance(0); d != noDoc; d = c.advance(d + 1) {
		g.list = append(g.list, unitPosting{d, c.freq() * unit})
	}
	return c.err
}

func (g *gather) source() source {
	slices.SortFunc(g.list, func(a, b unitPosting) int { return int(a.doc) - int(b.doc) })
	out := &gathered{}
	for _, p := range g.list {
		if n := len(out.docs); n > 0 && out.docs[n-1] == p.doc {
			out.units[n-1] += p.units
			continue
		}
		out.docs = append(out.docs, p.doc)
		out.units = append(out.units, p.units)
	}
	for _, u := range out.units {
		out.most = max(out.most, u)
	}
	return out
}

// gathered is the source of an expanded term. It has no positions: prefixes
// and fuzzy terms do not stand in phrases.
type gathered struct {
	docs, units []uint32
	most        uint32
}

func (g *gathered) df() int         { return len(g.docs) }
func (g *gathered) ordinal() uint32 { return 0 }
func (g *gathered) blocks() int     { return (len(g.docs) + blockSize - 1) / blockSize }

func (g *gathered) lastDoc(b int) uint32 { return g.docs[min((b+1)*blockSize, len(g.docs))-1] }

func (g *gathered) loadDocs(b int, buf *blockBuf) error {
	buf.n = copy(buf.docs[:], g.docs[b*blockSize:])
	return nil
}

func (g *gathered) loadFreqs(b int, buf *blockBuf) error {
	copy(buf.freqs[:], g.units[b*blockSize:])
	return nil
}

func (g *gathered) impact(_ int, s *scorer) float64 {
	return s.bound([]impact{{freq: g.most}})
}

func (g *gathered) positions(_, _ int, _ *blockBuf, dst []uint32) ([]uint32, error) { return dst, nil }

// fuzzy computes edit distances of many terms to one pattern: insertions,
// deletions, substitutions and swaps of neighbours, in characters. It keeps
// the rows of the previous term's common prefix, so that sorted terms are cheap.
type fuzzy struct {
	pattern []rune
	max     int
	prev    []byte
	runes   []rune  // of prev, as far as rows go
	ends    []int   // byte offset behind each rune of runes
	rows    [][]int // rows[i]: distances of the first i runes to each prefix of the pattern
}

func newFuzzy(pattern string, edits int) *fuzzy {
	f := &fuzzy{pattern: []rune(pattern), max: edits}
	first := make([]int, len(f.pattern)+1)
	for j := range first {
		first[j] = j
	}
	f.rows = [][]int{first}
	return f
}

// distance is the term's distance, and whether it is within the limit.
func (f *fuzzy) distance(term []byte) (int, bool) {
	common := 0
	for common < len(term) && common < len(f.prev) && term[common] == f.prev[common] {
		common++
	}
	keep := sort.Search(len(f.ends), func(i int) bool { return f.ends[i] > common })
	f.runes, f.ends, f.rows = f.runes[:keep], f.ends[:keep], f.rows[:keep+1]
	f.prev = append(f.prev[:0], term...)
	at := 0
	if keep > 0 {
		at = f.ends[keep-1]
	}
	for {
		if slices.Min(f.rows[len(f.rows)-1]) > f.max && f.dead() {
			return 0, false
		}
		if at >= len(term) {
			break
		}
		r, size := utf8.DecodeRune(term[at:])
		at += size
		f.push(r, at)
	}
	d := f.rows[len(f.rows)-1][len(f.pattern)]
	return d, d <= f.max
}

// dead reports that the row before the last is past the limit as well: a swap
// reaches back two rows.
func (f *fuzzy) dead() bool {
	return len(f.rows) < 2 || slices.Min(f.rows[len(f.rows)-2]) > f.max
}

func (f *fuzzy) push(r rune, end int) {
	i := len(f.rows)
	if cap(f.rows) > i {
		f.rows = f.rows[:i+1]
	} else {
		f.rows = append(f.rows, nil)
	}
	if len(f.rows[i]) != len(f.pattern)+1 {
		f.rows[i] = make([]int, len(f.pattern)+1)
	}
	f.runes, f.ends = append(f.runes, r), append(f.ends, end)
	row, above := f.rows[i], f.rows[i-1]
	row[0] = i
	for j, p := range f.pattern {
		cost := 1
		if p == r {
			cost = 0
		}
		row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+cost)
		if i > 1 && j > 0 && p == f.runes[i-2] && f.pattern[j-1] == r {
			row[j+1] = min(row[j+1], f.rows[i-2][j-1]+1)
		}
	}
}
