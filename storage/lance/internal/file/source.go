package file

import (
	"context"
	"sort"

	"github.com/loamdb/loam/internal/fail"
)

// Source is the bytes of one immutable file. ReadAt fills p from the offset or
// fails; it may be called by many goroutines at once. A short file is an error.
type Source interface {
	ReadAt(ctx context.Context, p []byte, off int64) error
}

// maxGap is the most bytes read needlessly to join two ranges into one read.
const maxGap = 64 << 10

// maxJoined bounds one joined read.
const maxJoined = 16 << 20

// span is a byte range of the file.
type span struct{ off, size int64 }

// readSpans reads the spans, joining near ones that are in ascending order. The
// results alias shared buffers.
func readSpans(ctx context.Context, src Source, spans []span) ([][]byte, error) {
	out := make([][]byte, len(spans))
	for i := 0; i < len(spans); {
		start, end := spans[i].off, spans[i].off+spans[i].size
		j := i + 1
		for j < len(spans) && spans[j].off >= start && spans[j].off-end <= maxGap {
			next := max(end, spans[j].off+spans[j].size)
			if next-start > maxJoined && next > end {
				break
			}
			end = next
			j++
		}
		buf := make([]byte, end-start)
		if err := readInto(ctx, src, buf, start); err != nil {
			return nil, err
		}
		for ; i < j; i++ {
			from := spans[i].off - start
			out[i] = buf[from : from+spans[i].size : from+spans[i].size]
		}
	}
	return out, nil
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
