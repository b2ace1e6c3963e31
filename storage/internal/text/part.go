package text

import (
	"context"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
)

// Part is a set of documents with a text index: a *[Segment] or a [MemView].
// Parts are immutable and safe for concurrent use.
type Part interface {
	// NumDocs is the number of documents, deleted ones included.
	NumDocs() uint32
	// Bind looks the query's terms up. The query's fields must be the part's.
	// e holds the documents that count as absent (deleted or superseded); nil
	// means none. Errors: Canceled, Corrupt.
	Bind(ctx context.Context, q *Query, e *Exclusion) (*Bound, error)
}

// store is what the executor needs of a part.
type store interface {
	NumDocs() uint32
	totals(field int) FieldStats
	lengths(field int) lengths
	// find is the term's postings, nil when the part lacks the term.
	find(field int, term string) (source, error)
	// walk visits the terms of the field that start with the prefix, in any
	// order; open gives a visited term's postings.
	walk(field int, prefix string, visit func(term []byte, open func() (source, error)) error) error
	// countTerms returns, by field and ordinal, how many of the documents hold
	// the term; nil when the part has no forward lists.
	countTerms(docs []uint32) ([][]uint32, error)
}

// source is the postings of one term in one part, in blocks of at most
// blockSize documents. Sources are immutable; reading goes through a cursor.
type source interface {
	df() int
	ordinal() uint32 // of the term in its field; meaningful when countTerms works
	blocks() int
	lastDoc(block int) uint32
	// loadDocs fills buf.docs and buf.n, loadFreqs buf.freqs of the same block.
	loadDocs(block int, buf *blockBuf) error
	loadFreqs(block int, buf *blockBuf) error
	// impact bounds the scores of a block, or of all blocks when block is -1.
	impact(block int, s *scorer) float64
	// positions appends the positions of the i-th document of a loaded block.
	positions(block, i int, buf *blockBuf, dst []uint32) ([]uint32, error)
}

const blockSize = 128

// blockBuf holds one decoded block.
type blockBuf struct {
	docs  [blockSize]uint32
	freqs [blockSize]uint32
	n     int
}

// lengths are the exact lengths of a field by document: flat, or bit-packed as
// the segment stores them.
type lengths struct {
	flat   []uint32
	packed *packedLengths
}

func (l lengths) at(doc uint32) uint32 {
	if l.packed != nil {
		return l.packed.at(doc)
	}
	if int(doc) < len(l.flat) {
		return l.flat[doc]
	}
	return 0
}

// Exclusion is the set of a part's documents that do not count: deleted or
// superseded. It remembers what it subtracted, so the owner keeps one per part
// and set for as long as the set stays the same. It belongs to one part (for
// the tail: one MemView), must not see the bitmap change, and is safe for
// concurrent use.
type Exclusion struct {
	docs []uint32 // ascending
	bits []uint64 // the same as a bit per document

	mu     sync.Mutex // guards the fields below
	fields []FieldStats
	df     map[exclusionKey]uint64
	table  [][]uint32 // documents by field and ordinal; nil until worth it
}

type exclusionKey struct {
	field int
	term  string
}

// NewExclusion takes the set of excluded documents; nil or empty excludes
// nothing. The bitmap is read now and not kept.
func NewExclusion(docs *roaring.Bitmap) *Exclusion {
	e := &Exclusion{df: map[exclusionKey]uint64{}}
	if docs == nil || docs.IsEmpty() {
		return e
	}
	e.docs = docs.ToArray()
	e.bits = docs.ToDense()
	return e
}

// Len is the number of excluded documents.
func (e *Exclusion) Len() int {
	if e == nil {
		return 0
	}
	return len(e.docs)
}

func (e *Exclusion) has(doc uint32) bool {
	w := doc >> 6
	return e != nil && int(w) < len(e.bits) && e.bits[w]>>(doc&63)&1 != 0
}

// liveFields is the part's totals less the excluded documents.
func (e *Exclusion) liveFields(s store, fields int) []FieldStats {
	out := make([]FieldStats, fields)
	for f := range out {
		out[f] = s.totals(f)
	}
	if e.Len() == 0 {
		return out
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fields == nil {
		e.fields = make([]FieldStats, fields)
		for f := range e.fields {
			e.fields[f] = e.sumLengths(s, f)
		}
	}
	for f := range out {
		out[f].Docs -= e.fields[f].Docs
		out[f].Tokens -= e.fields[f].Tokens
	}
	return out
}

func (e *Exclusion) sumLengths(s store, field int) FieldStats {
	var sum FieldStats
	lens, n := s.lengths(field), s.NumDocs()
	for _, d := range e.docs {
		if d >= n {
			break
		}
		if l := lens.at(d); l > 0 {
			sum.Docs++
			sum.Tokens += uint64(l)
		}
	}
	return sum
}

// An exclusion of at most tableDocs documents counts the terms of all of them
// at once, through the forward lists, when it is asked for its tableTerms-th
// term. A larger one intersects term by term: a query must not wait for its table.
const (
	tableDocs  = 1 << 14
	tableTerms = 16
)

// liveDF is the number of the term's documents that are not excluded.
func (e *Exclusion) liveDF(s store, field int, term string, src source) (uint64, error) {
	all := uint64(src.df())
	if e.Len() == 0 {
		return all, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.table != nil {
		return all - uint64(e.table[field][src.ordinal()]), nil
	}
	key := exclusionKey{field, term}
	if gone, ok := e.df[key]; ok {
		return all - gone, nil
	}
	gone, err := e.countExcluded(src)
	if err != nil {
		return 0, err
	}
	e.df[key] = gone
	if len(e.df) == tableTerms && len(e.docs) <= tableDocs {
		return all - gone, e.fillTable(s)
	}
	return all - gone, nil
}

// countExcluded intersects the postings with the excluded documents.
func (e *Exclusion) countExcluded(src source) (uint64, error) {
	c := newCursor(src)
	var gone uint64
	if len(e.docs) > src.df()/8 {
		for d := c.advance(0); d != noDoc; d = c.advance(d + 1) {
			if e.has(d) {
				gone++
			}
		}
		return gone, c.err
	}
	for _, d := range e.docs {
		got := c.advance(d)
		if got == noDoc {
			break
		}
		if got == d {
			gone++
		}
	}
	return gone, c.err
}

func (e *Exclusion) fillTable(s store) error {
	table, err := s.countTerms(e.docs)
	if table != nil && err == nil {
		e.table, e.df = table, nil
	}
	return err
}
