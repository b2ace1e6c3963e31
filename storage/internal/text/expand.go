package text

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/loamdb/loam/internal/fail"
)

// fuzzyUnit is the number of units an exact occurrence counts in a fuzzy
// term; an occurrence at edit distance d counts fuzzyUnit/(1+d).
const fuzzyUnit = 6

// expand gathers the postings of all terms that a prefix or a fuzzy pattern
// stands for into one source; nil when there are none.
func expand(ctx context.Context, s store, t queryTerm) (source, error) {
	g := &gather{n: s.NumDocs()}
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
			if err := fail.Ended(ctx, "the text search"); err != nil {
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
	if err != nil {
		return nil, err
	}
	return g.source(), nil
}

type unitPosting struct{ doc, units uint32 }

// gather adds up occurrences by document: in a list while they are few, in an
// array over all documents once they are many.
type gather struct {
	n     uint32 // documents of the part
	list  []unitPosting
	dense []uint32 // units by document; nil while the list is in use
}

// denseShare: past n/denseShare postings the array is smaller than the list.
const denseShare = 4

func (g *gather) add(src source, unit uint32) error {
	c := newCursor(src)
	for d := c.advance(0); d != noDoc; d = c.advance(d + 1) {
		if g.dense != nil {
			g.dense[d] += c.freq() * unit
			continue
		}
		g.list = append(g.list, unitPosting{d, c.freq() * unit})
		if len(g.list) > int(g.n/denseShare) {
			g.spread()
		}
	}
	return c.err
}

func (g *gather) spread() {
	g.dense = make([]uint32, g.n)
	for _, p := range g.list {
		g.dense[p.doc] += p.units
	}
	g.list = nil
}

// source is nil when nothing was added.
func (g *gather) source() source {
	out := &gathered{}
	for d, u := range g.dense {
		if u > 0 {
			out.docs, out.units = append(out.docs, uint32(d)), append(out.units, u)
		}
	}
	slices.SortFunc(g.list, func(a, b unitPosting) int { return cmp.Compare(a.doc, b.doc) })
	for _, p := range g.list {
		if n := len(out.docs); n > 0 && out.docs[n-1] == p.doc {
			out.units[n-1] += p.units
			continue
		}
		out.docs, out.units = append(out.docs, p.doc), append(out.units, p.units)
	}
	if len(out.docs) == 0 {
		return nil
	}
	out.most = slices.Max(out.units)
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
// deletions, substitutions and swaps of neighbors, in characters. It keeps
// the rows of the previous term's common prefix, so that sorted terms are cheap.
type fuzzy struct {
	pattern  []rune
	max      int
	prev     []byte
	hopeless int     // terms that share this many bytes with prev are too far as well
	runes    []rune  // of prev, as far as rows go
	ends     []int   // byte offset behind each rune of runes
	rows     [][]int // rows[i]: distances of the first i runes to each prefix of the pattern
	least    []int   // smallest of each row
}

func newFuzzy(pattern string, edits int) *fuzzy {
	f := &fuzzy{pattern: []rune(pattern), max: edits, hopeless: math.MaxInt, least: []int{0}}
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
	if common >= f.hopeless {
		return 0, false
	}
	f.prev = append(f.prev[:common], term[common:]...)
	f.hopeless = math.MaxInt
	keep := sort.SearchInts(f.ends, common+1)
	f.runes, f.ends, f.rows, f.least = f.runes[:keep], f.ends[:keep], f.rows[:keep+1], f.least[:keep+1]
	at := 0
	if keep > 0 {
		at = f.ends[keep-1]
	}
	for at < len(term) {
		r, size := utf8.DecodeRune(term[at:])
		at += size
		f.push(r, at)
		// A swap reaches back two rows: both must be past the limit.
		if i := len(f.least) - 1; f.least[i] > f.max && f.least[i-1] > f.max {
			f.hopeless = at
			return 0, false
		}
	}
	d := f.rows[len(f.rows)-1][len(f.pattern)]
	return d, d <= f.max
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
	least := i
	for j, p := range f.pattern {
		cost := 1
		if p == r {
			cost = 0
		}
		d := min(above[j+1]+1, row[j]+1, above[j]+cost)
		if i > 1 && j > 0 && p == f.runes[i-2] && f.pattern[j-1] == r {
			d = min(d, f.rows[i-2][j-1]+1)
		}
		row[j+1] = d
		least = min(least, d)
	}
	f.least = append(f.least, least)
}
