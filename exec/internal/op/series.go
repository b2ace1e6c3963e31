package op

import (
	"context"
	"math/bits"
	"sync"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// NewSeries returns the source of generate_series over BIGINT or TIMESTAMP
// values, start and stop included. A NULL gives no rows. Errors:
// fail.InvalidParameter for a step of zero, fail.OutOfRange for a timestamp
// beyond the calendar.
func NewSeries(start, stop, step vec.Value) (interface {
	Next(context.Context) (*vec.Chunk, error)
	Close() error
}, error) {
	if start.Null || stop.Null || step.Null {
		return NewChunks(nil), nil
	}
	if start.Type.Kind == types.Timestamp {
		return newSpanSeries(start, stop, step)
	}
	if step.Int == 0 {
		return nil, zeroStep()
	}
	n := seriesLen(start.Int, stop.Int, step.Int)
	if n > 1<<48 {
		return nil, fail.New(fail.TooLarge, "generate_series would make %d rows", n)
	}
	return NewRanges(int(n), func(from, to int) (*vec.Chunk, error) {
		v := vec.NewFlat(types.Of(types.Int64), to-from)
		for i := range v.Int64s {
			v.Int64s[i] = start.Int + int64(from+i)*step.Int
		}
		return &vec.Chunk{Cols: []*vec.Vector{v}, N: v.N}, nil
	}), nil
}

func zeroStep() error {
	return fail.New(fail.InvalidParameter, "the step of generate_series is zero").
		WithHint("Pass a step that leads from start to stop, such as 1.")
}

// seriesLen is the number of values, computed without overflow.
func seriesLen(start, stop, step int64) uint64 {
	if step > 0 && start > stop || step < 0 && start < stop {
		return 0
	}
	span, stride := uint64(stop)-uint64(start), uint64(step)
	if step < 0 {
		span, stride = -span, -stride
	}
	n, carry := bits.Add64(span/stride, 1, 0)
	if carry != 0 {
		return ^uint64(0)
	}
	return n
}

// spanSeries adds an interval again and again, so that a month's end stays
// within its month. Calls are serial.
type spanSeries struct {
	mu   sync.Mutex
	at   time.Time
	stop time.Time
	step vec.Span
	up   bool
	seq  uint64
}

func newSpanSeries(start, stop, step vec.Value) (*spanSeries, error) {
	n := step.Span
	size := int64(n.Months)*30 + int64(n.Days)
	if size == 0 {
		size = n.Nanos
	}
	if size == 0 {
		return nil, zeroStep()
	}
	return &spanSeries{at: time.UnixMicro(start.Int).UTC(), stop: time.UnixMicro(stop.Int).UTC(), step: n, up: size > 0}, nil
}

// Next implements sched.Morsels.
func (s *spanSeries) Next(context.Context) (*vec.Chunk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := vec.New(types.Of(types.Timestamp), vec.ChunkRows)
	for v.N < vec.ChunkRows && !(s.up && s.at.After(s.stop)) && !(!s.up && s.at.Before(s.stop)) {
		v.Int64s = append(v.Int64s, s.at.UnixMicro())
		v.N++
		before := s.at
		s.at = addSpan(s.at, s.step)
		if s.up != s.at.After(before) {
			return nil, fail.New(fail.OutOfRange, "generate_series leaves the range of timestamps")
		}
	}
	if v.N == 0 {
		return nil, nil
	}
	s.seq++
	return &vec.Chunk{Cols: []*vec.Vector{v}, N: v.N, Seq: s.seq}, nil
}

// Close implements sched.Morsels.
func (s *spanSeries) Close() error { return nil }

// addSpan adds months (to the month's last day at most), days, then time.
func addSpan(t time.Time, s vec.Span) time.Time {
	y, m, d := t.Date()
	first := time.Date(y, m+time.Month(s.Months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	last := time.Date(first.Year(), first.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return first.AddDate(0, 0, min(d, last)-1+int(s.Days)).Add(time.Duration(s.Nanos))
}
