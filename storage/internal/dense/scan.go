package dense

import (
	"context"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/internal/postings"
)

// Scan is one exact scan over a run of rows.
type Scan struct {
	// Rows holds the vectors of documents First, First+1, … behind each other.
	Rows  []float32
	First postings.DocID
	// Allowed holds the documents that may be hits, nil all; Excluded those that
	// may not: deleted, superseded, or without a vector. Both are by document number.
	Allowed, Excluded *roaring.Bitmap
}

// ScanTopK offers every allowed row to top. It may be called for run after run
// of one part with the same top. Errors: Canceled, DeadlineExceeded, and Corrupt
// when Rows is not a whole number of vectors.
func ScanTopK(ctx context.Context, q *Query, s Scan, top *postings.TopK) error {
	dim := len(q.v)
	if dim == 0 || len(s.Rows)%dim != 0 {
		return fail.New(fail.Corrupt, "%d numbers are not a whole number of vectors of %d dimensions", len(s.Rows), dim)
	}
	r := &runner{q: q, s: s, top: top}
	n := uint64(len(s.Rows) / dim)
	end := uint64(s.First) + n
	if end > 1<<32 {
		return fail.New(fail.Corrupt, "documents %d and %d more pass the limit of 32 bits", s.First, n)
	}
	if s.Allowed == nil {
		return r.all(ctx, uint64(s.First), end)
	}
	return r.some(ctx, s.Allowed, end)
}

// runner gathers neighboring documents into runs of at most batch rows.
type runner struct {
	q      *Query
	s      Scan
	top    *postings.TopK
	from   uint64 // the run is documents [from, to)
	to     uint64
	scored int
}

func (r *runner) all(ctx context.Context, from, end uint64) error {
	skip := excludedFrom(r.s.Excluded, from)
	for d := from; d < end; {
		next := end
		if skip != nil && skip.HasNext() {
			next = min(end, uint64(skip.PeekNext()))
		}
		for d < next {
			r.from, r.to = d, min(d+batch, next)
			d = r.to
			if err := r.flush(ctx); err != nil {
				return err
			}
		}
		if d < end {
			skip.Next()
			d++
		}
	}
	return nil
}

func excludedFrom(b *roaring.Bitmap, from uint64) roaring.IntPeekable {
	if b == nil {
		return nil
	}
	it := b.Iterator()
	it.AdvanceIfNeeded(uint32(min(from, 1<<32-1)))
	return it
}

func (r *runner) some(ctx context.Context, allowed *roaring.Bitmap, end uint64) error {
	it := allowed.Iterator()
	it.AdvanceIfNeeded(uint32(r.s.First))
	for it.HasNext() {
		d := uint64(it.Next())
		if d >= end {
			break
		}
		if d < uint64(r.s.First) || r.s.Excluded != nil && r.s.Excluded.Contains(uint32(d)) {
			continue
		}
		if d == r.to && r.to-r.from < batch && r.to > r.from {
			r.to++
			continue
		}
		if err := r.flush(ctx); err != nil {
			return err
		}
		r.from, r.to = d, d+1
	}
	return r.flush(ctx)
}

// checkEvery is the number of rows between looks at the context.
const checkEvery = 4096

// flush scores the run.
func (r *runner) flush(ctx context.Context) error {
	n := int(r.to - r.from)
	if n == 0 {
		return nil
	}
	if r.scored += n; r.scored >= checkEvery {
		r.scored = 0
		if err := fail.Ended(ctx, "the vector search"); err != nil {
			return err
		}
	}
	dim := len(r.q.v)
	at := int(r.from-uint64(r.s.First)) * dim
	var out [batch]float64
	r.q.scoreBatch(r.s.Rows[at:at+n*dim], out[:n])
	bar := r.top.Threshold()
	for i, score := range out[:n] {
		if score >= bar { // also leaves NaN out
			r.top.Offer(postings.Hit{Doc: postings.DocID(r.from + uint64(i)), Score: score})
			bar = r.top.Threshold()
		}
	}
	r.from = r.to
	return nil
}
