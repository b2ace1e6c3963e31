package file

import (
	"context"
	"sort"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/loamdb/loam/internal/fail"
)

// Source is the bytes of one immutable file. ReadAt fills p from the offset or
// fails; it may be called by many goroutines at once. A short file is an error.
type Source interface {
	ReadAt(ctx context.Context, p []byte, off int64) error
}

// Prefetcher is a Source that can be told of reads to come, so that a disk works on
// all of them at once. Prefetch returns at once and may do nothing.
type Prefetcher interface {
	Prefetch(off, size int64)
}

// Follower is a Source that can be told where a reader goes on: ReadOn is ReadAt by one
// who will read up to the offset until next.
type Follower interface {
	Source
	ReadOn(ctx context.Context, p []byte, off, until int64) error
}

// scan is a Follower under one who reads rows from front to back.
type scan struct{ Follower }

// scanned is src for such a reader.
func scanned(src Source) Source {
	if f, ok := src.(Follower); ok {
		return scan{f}
	}
	return src
}

// pageScan is a scan within a page: it goes on to the end of the buffer.
type pageScan struct {
	Follower
	page *storedPage
}

// ReadAt implements Source.
func (s pageScan) ReadAt(ctx context.Context, p []byte, off int64) error {
	until := off
	for _, b := range s.page.buffers {
		if off >= b.off && off < b.off+b.size {
			until = b.off + b.size
		}
	}
	return s.ReadOn(ctx, p, off, until)
}

// The most bytes read needlessly to join two ranges into one read: of a disk that
// works on many at once, and of a source where each read costs a round trip.
const (
	nearGap = 16 << 10
	farGap  = 64 << 10
)

// readAhead is how much of one read a disk is asked for at once, unless it is told of
// all of it before.
const readAhead = 128 << 10

// maxJoined bounds one joined read.
const maxJoined = 16 << 20

// span is a byte range of the file.
type span struct{ off, size int64 }

// parallelReads is how many joined reads of one call run at once. A disk and an
// object store serve many as fast as one.
const parallelReads = 16

// joinedRead is one read that serves the spans [first, last).
type joinedRead struct {
	first, last int
	off         int64
	buf         []byte
}

// readSpans reads the spans, joining near ones that are in ascending order, and
// several at once. The results alias shared buffers.
func readSpans(ctx context.Context, src Source, spans []span) ([][]byte, error) {
	p, near := src.(Prefetcher)
	gap := int64(farGap)
	if near {
		gap = nearGap
	}
	reads := join(spans, gap)
	if near && (len(reads) > 1 || len(reads) == 1 && len(reads[0].buf) > readAhead) {
		for _, r := range reads {
			p.Prefetch(r.off, int64(len(r.buf)))
		}
	}
	if err := fill(ctx, src, reads, near); err != nil {
		return nil, err
	}
	out := make([][]byte, len(spans))
	for _, r := range reads {
		for i := r.first; i < r.last; i++ {
			from := spans[i].off - r.off
			out[i] = r.buf[from : from+spans[i].size : from+spans[i].size]
		}
	}
	return out, nil
}

func join(spans []span, gap int64) []joinedRead {
	var reads []joinedRead
	for i := 0; i < len(spans); {
		start, end := spans[i].off, spans[i].off+spans[i].size
		j := i + 1
		for j < len(spans) && spans[j].off >= start && spans[j].off-end <= gap {
			next := max(end, spans[j].off+spans[j].size)
			if next-start > maxJoined && next > end {
				break
			}
			end = next
			j++
		}
		reads = append(reads, joinedRead{i, j, start, make([]byte, end-start)})
		i = j
	}
	return reads
}

// fill fills the buffers, of a far source several side by side. A few are not
// worth a goroutine.
func fill(ctx context.Context, src Source, reads []joinedRead, near bool) error {
	if near || len(reads) < 4 {
		for _, r := range reads {
			if err := readInto(ctx, src, r.buf, r.off); err != nil {
				return err
			}
		}
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(parallelReads, len(reads)) {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(reads) {
					return nil
				}
				if err := readInto(ctx, src, reads[i].buf, reads[i].off); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

func readInto(ctx context.Context, src Source, p []byte, off int64) error {
	if len(p) == 0 {
		return nil
	}
	return src.ReadAt(ctx, p, off)
}

// rowRange is rows [from, to), counted from the start of a page or file.
type rowRange struct{ from, to int64 }

// rangesOf turns rows into ascending runs of consecutive rows, duplicates
// dropped, and says where each input row landed. order is nil when the input was
// ascending without duplicates, and the output is then the input.
func rangesOf(rows []uint32) (runs []rowRange, order []int32) {
	sorted := rows
	if !ascending(rows) {
		sorted = append([]uint32(nil), rows...)
		sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
		sorted = compactRows(sorted)
		order = make([]int32, len(rows))
		for i, r := range rows {
			order[i] = int32(sort.Search(len(sorted), func(k int) bool { return sorted[k] >= r }))
		}
	}
	for _, r := range sorted {
		if n := len(runs); n > 0 && runs[n-1].to == int64(r) {
			runs[n-1].to++
			continue
		}
		runs = append(runs, rowRange{int64(r), int64(r) + 1})
	}
	return runs, order
}

func ascending(rows []uint32) bool {
	for i := 1; i < len(rows); i++ {
		if rows[i] <= rows[i-1] {
			return false
		}
	}
	return true
}

func compactRows(sorted []uint32) []uint32 {
	out := sorted[:0]
	for i, r := range sorted {
		if i == 0 || r != sorted[i-1] {
			out = append(out, r)
		}
	}
	return out
}

// corrupt is a Corrupt error about a place in a data file.
func corrupt(format string, args ...any) error {
	return fail.New(fail.Corrupt, "lance data file: "+format, args...)
}

// unsupported is an Unsupported error about a feature of a data file.
func unsupported(format string, args ...any) error {
	return fail.New(fail.Unsupported, "lance data file: "+format, args...)
}
