package text

import (
	"context"
	"math"
	"sort"
	"strings"
	"sync"

	"github.com/loamdb/loam/internal/fail"
)

// Mem is the append-only index of the tail. One goroutine at a time calls Add;
// any number read views taken with At meanwhile. A writer holds the lock only
// while it appends one document's tokens, a reader only while it looks a
// query's terms up.
type Mem struct {
	config    []FieldConfig
	analyzers []Analyzer
	tokens    []Token    // the writer's scratch
	touched   []*memTerm // the writer's scratch

	mu     sync.RWMutex // guards the fields below and every memTerm
	fields []memField
	n      uint32
	bytes  int64
}

type memField struct {
	terms map[string]*memTerm
	list  []*memTerm // every term, in order of first use
	lens  []uint32   // by document
	sums  []FieldStats
}

// memTerm holds the postings of a term. Slices only grow, so a reader that
// copied their headers under the lock may read on without it.
type memTerm struct {
	text   string
	posts  []memPosting
	pos    []uint32
	blocks []impact // of each full block: most occurrences, shortest length
	all    impact
}

// memPosting is one document of a term; its positions are pos[start:start+freq].
type memPosting struct{ doc, freq, start uint32 }

// NewMem is an empty index over the fields.
func NewMem(fields []FieldConfig) (*Mem, error) {
	m := &Mem{config: fields}
	for _, f := range fields {
		if err := f.Validate(); err != nil {
			return nil, err
		}
		a, err := AnalyzerByName(f.Analyzer)
		if err != nil {
			return nil, err
		}
		m.analyzers = append(m.analyzers, a)
		m.fields = append(m.fields, memField{terms: map[string]*memTerm{}})
	}
	return m, nil
}

// Add appends a document and returns its number. values[f] holds the strings
// of field f: none, one, or the elements of a list; fields past the end of
// values are absent. TooLarge when the index is full; it is then unchanged.
func (m *Mem) Add(values [][]string) (DocID, error) {
	if m.n >= math.MaxInt32 {
		return 0, fail.New(fail.TooLarge, "a text index holds at most %d documents", math.MaxInt32)
	}
	doc := m.n // only the writer changes it
	analyzed := make([][]Token, len(m.fields))
	m.tokens = m.tokens[:0]
	for f := range m.fields {
		start := len(m.tokens)
		if f < len(values) {
			if err := m.analyze(f, values[f]); err != nil {
				return 0, err
			}
		}
		analyzed[f] = m.tokens[start:len(m.tokens):len(m.tokens)]
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for f := range m.fields {
		m.addField(f, doc, analyzed[f])
	}
	m.n++
	return DocID(doc), nil
}

// maxPosition keeps positions and their differences inside 32 bits.
const maxPosition = math.MaxInt32 / 2

// analyze appends the tokens of a field's values with positions over all of them.
func (m *Mem) analyze(field int, values []string) error {
	base := uint32(0)
	for _, v := range values {
		start := len(m.tokens)
		m.tokens = m.analyzers[field].Tokens(m.tokens, v)
		added := m.tokens[start:]
		for i := range added {
			if added[i].Pos > maxPosition-base {
				return fail.New(fail.TooLarge, "field %q holds more than %d words in one document", m.config[field].Name, maxPosition)
			}
			added[i].Pos += base
		}
		if len(added) > 0 {
			base = added[len(added)-1].Pos + 1 + PositionGap
		}
	}
	return nil
}

func (m *Mem) addField(field int, doc uint32, tokens []Token) {
	f := &m.fields[field]
	m.touched = m.touched[:0]
	for _, t := range tokens {
		term, ok := f.terms[t.Term]
		if !ok {
			term = &memTerm{text: strings.Clone(t.Term), all: impact{length: math.MaxUint32}}
			f.terms[term.text] = term
			f.list = append(f.list, term)
			m.bytes += int64(len(t.Term)) + 200
		}
		if n := len(term.posts); n > 0 && term.posts[n-1].doc == doc {
			term.posts[n-1].freq++
		} else {
			term.posts = append(term.posts, memPosting{doc: doc, freq: 1, start: uint32(len(term.pos))})
			m.touched = append(m.touched, term)
		}
		term.pos = append(term.pos, t.Pos)
	}
	m.bytes += int64(16*len(m.touched) + 5*len(tokens) + 20)
	length := uint32(len(tokens))
	for _, term := range m.touched {
		term.close(length)
	}
	sum := FieldStats{Tokens: uint64(length)}
	if length > 0 {
		sum.Docs = 1
	}
	if n := len(f.sums); n > 0 {
		sum.Docs += f.sums[n-1].Docs
		sum.Tokens += f.sums[n-1].Tokens
	}
	f.lens = append(f.lens, length)
	f.sums = append(f.sums, sum)
}

// close takes a finished posting into the bounds.
func (t *memTerm) close(length uint32) {
	n := len(t.posts)
	p := impact{freq: t.posts[n-1].freq, length: length}
	if (n-1)%blockSize == 0 {
		t.blocks = append(t.blocks, p)
	} else {
		b := &t.blocks[len(t.blocks)-1]
		*b = impact{max(b.freq, p.freq), min(b.length, p.length)}
	}
	t.all = impact{max(t.all.freq, p.freq), min(t.all.length, p.length)}
}

// Len is the number of documents added.
func (m *Mem) Len() uint32 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.n
}

// Bytes estimates the memory in use, for the tail's budget.
func (m *Mem) Bytes() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.bytes
}

// At is a view of the first n documents; n above Len means Len. The view keeps
// its content while the writer goes on.
func (m *Mem) At(n uint32) MemView { return MemView{m: m, n: min(n, m.Len())} }

// MemView is the first documents of a Mem; it is a [Part].
type MemView struct {
	m *Mem
	n uint32
}

var _ Part = MemView{}

// NumDocs is the number of documents in the view.
func (v MemView) NumDocs() uint32 { return v.n }

// Fields are the fields of the index.
func (v MemView) Fields() []FieldConfig { return v.m.config }

// Bind looks the query's terms up.
func (v MemView) Bind(ctx context.Context, q *Query, e *Exclusion) (*Bound, error) {
	return bind(ctx, v, q, e)
}

func (v MemView) totals(field int) FieldStats {
	if v.n == 0 || field >= len(v.m.fields) {
		return FieldStats{}
	}
	v.m.mu.RLock()
	defer v.m.mu.RUnlock()
	return v.m.fields[field].sums[v.n-1]
}

func (v MemView) lengths(field int) lengths {
	if field >= len(v.m.fields) {
		return lengths{}
	}
	v.m.mu.RLock()
	defer v.m.mu.RUnlock()
	return lengths{flat: v.m.fields[field].lens[:v.n]}
}

func (v MemView) find(field int, term string) (source, error) {
	if field >= len(v.m.fields) {
		return nil, nil
	}
	v.m.mu.RLock()
	defer v.m.mu.RUnlock()
	return v.open(v.m.fields[field].terms[term]), nil
}

// postings are the term's documents, cut to the view, with their positions; the lock is held.
func (v MemView) postings(t *memTerm) memSource {
	n := sort.Search(len(t.posts), func(i int) bool { return t.posts[i].doc >= v.n })
	return memSource{posts: t.posts[:n], pos: t.pos, all: t.all}
}

// open copies the headers of a term's slices, cut to the view; the lock is held.
func (v MemView) open(t *memTerm) source {
	if t == nil {
		return nil
	}
	s := v.postings(t)
	if len(s.posts) == 0 {
		return nil
	}
	// The last block may still grow; its bound is taken as it is now.
	s.bounds = append(make([]impact, 0, len(t.blocks)), t.blocks...)
	return &s
}

func (v MemView) walk(field int, prefix string, visit func([]byte, func() (source, error)) error) error {
	if field >= len(v.m.fields) {
		return nil
	}
	v.m.mu.RLock()
	list := v.m.fields[field].list
	v.m.mu.RUnlock()
	for _, t := range list {
		if !strings.HasPrefix(t.text, prefix) {
			continue
		}
		err := visit([]byte(t.text), func() (source, error) {
			v.m.mu.RLock()
			defer v.m.mu.RUnlock()
			return v.open(t), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (v MemView) countTerms([]uint32) ([][]uint32, error) { return nil, nil }

// memSource is a term's postings cut to a view.
type memSource struct {
	posts  []memPosting
	pos    []uint32
	bounds []impact
	all    impact
}

func (s *memSource) df() int         { return len(s.posts) }
func (s *memSource) ordinal() uint32 { return 0 }
func (s *memSource) blocks() int     { return (len(s.posts) + blockSize - 1) / blockSize }

func (s *memSource) block(b int) []memPosting {
	return s.posts[b*blockSize : min((b+1)*blockSize, len(s.posts))]
}

func (s *memSource) lastDoc(b int) uint32 {
	return s.posts[min((b+1)*blockSize, len(s.posts))-1].doc
}

func (s *memSource) loadDocs(b int, buf *blockBuf) error {
	list := s.block(b)
	buf.n = len(list)
	for i := range list {
		buf.docs[i] = list[i].doc
	}
	return nil
}

func (s *memSource) loadFreqs(b int, buf *blockBuf) error {
	for i, p := range s.block(b) {
		buf.freqs[i] = p.freq
	}
	return nil
}

func (s *memSource) impact(b int, sc *scorer) float64 {
	if b < 0 {
		return sc.bound([]impact{s.all})
	}
	return sc.bound(s.bounds[b : b+1])
}

func (s *memSource) positions(b, i int, _ *blockBuf, dst []uint32) ([]uint32, error) {
	p := s.block(b)[i]
	return append(dst, s.pos[p.start:p.start+p.freq]...), nil
}
