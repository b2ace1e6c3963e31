package load

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/datafile"
	"github.com/loamdb/loam/internal/fail"
)

// sender delivers the packets of one stream, one after the other.
type sender struct {
	server   Server
	target   *target
	clock    clock.Clock
	patience time.Duration
	track    *tracker
	errs     *reporter
	status   *status

	soft   context.Context // ends waiting
	stream Stream
	schema *arrow.Schema
}

// run delivers until the channel is closed. After ctx has ended no packet is
// begun; the one that is under way goes on with hard.
func (s *sender) run(ctx, hard context.Context, in <-chan *packet) error {
	defer s.close()
	s.soft = ctx
	for {
		select {
		case <-ctx.Done():
			return nil
		default:
		}
		select {
		case <-ctx.Done():
			return nil
		case p, ok := <-in:
			if !ok {
				return nil
			}
			err := s.deliver(hard, p)
			p.rec.Release()
			if err != nil {
				return err
			}
		}
	}
}

func (s *sender) close() {
	if s.stream != nil {
		_ = s.stream.Close()
		s.stream = nil
	}
}

// deliver writes a packet; rows that the server refuses are told, one by one.
func (s *sender) deliver(ctx context.Context, p *packet) error {
	bad := map[int]bool{}
	token, err := s.rows(ctx, p, 0, len(p.origins), bad)
	if err != nil {
		return err
	}
	at := 0
	for i := range p.parts {
		for row := at; row < at+p.parts[i].n; row++ {
			if bad[row] {
				p.parts[i].bad++
			}
		}
		at += p.parts[i].n
	}
	s.track.acked(p.parts, token)
	return nil
}

// rows writes the rows [from, to) of a packet. The server takes a batch whole or
// not at all: what it refuses is halved until the row that is wrong stands alone.
func (s *sender) rows(ctx context.Context, p *packet, from, to int, bad map[int]bool) (string, error) {
	ack, err := s.write(ctx, p, from, to)
	if err == nil {
		return ack.Token, nil
	}
	if !refusesRows(err) {
		return "", err
	}
	if to-from == 1 {
		bad[from] = true
		o := p.origins[from]
		return "", s.errs.add(o.it.name, datafile.RowError{Place: o.place, Err: unrow(err)})
	}
	mid := (from + to) / 2
	first, err := s.rows(ctx, p, from, mid, bad)
	if err != nil {
		return first, err
	}
	second, err := s.rows(ctx, p, mid, to, bad)
	if second == "" {
		second = first
	}
	return second, err
}

// refusesRows reports the errors that some row causes, and not the whole batch.
func refusesRows(err error) bool {
	switch fail.CodeOf(err) {
	case fail.InvalidVector, fail.InvalidText, fail.InvalidDatetime, fail.OutOfRange, fail.NotNull, fail.InvalidJSON,
		fail.InvalidEncoding, fail.TooLarge, fail.InvalidParameter:
		return true
	}
	return false
}

// unrow takes the row's number off the message: it counts in the batch, not in the file.
func unrow(err error) error {
	e := *fail.As(err)
	var n int
	if _, serr := fmt.Sscanf(e.Message, "row %d:", &n); serr == nil {
		e.Message = e.Message[len(fmt.Sprintf("row %d: ", n)):]
	}
	return &e
}

// write writes rows until they are in, or it is hopeless: it waits when the
// server asks for it, and tries again over a new stream when the connection broke.
func (s *sender) write(ctx context.Context, p *packet, from, to int) (Ack, error) {
	rec := p.rec
	if to-from < len(p.origins) {
		rec = p.rec.NewSlice(int64(from), int64(to))
		defer rec.Release()
	}
	var since time.Duration
	for try := 0; ; try++ {
		ack, err := s.once(ctx, rec)
		if err == nil {
			s.status.resumed()
			return ack, nil
		}
		if ctx.Err() != nil {
			if !s.target.isCollection() {
				s.errs.doubt(p, "no acknowledgement came: may be in already, and twice after the next run")
			}
			return ack, fail.New(fail.Canceled, "stopped on request")
		}
		wait, again := retry(err, try)
		if !again {
			return ack, err
		}
		if try == 0 {
			since = s.clock.Mono()
		}
		if refused := fail.As(err).RetryAfter > 0 || fail.Is(err, fail.BacklogFull); !refused {
			if s.clock.Mono()-since > s.patience {
				return ack, err
			}
			if !p.doubtful && !s.target.isCollection() {
				p.doubtful = true
				s.errs.doubt(p, "sent twice, for the connection broke: may be there twice")
			}
		}
		s.status.waiting(err)
		if err := s.clock.Sleep(s.soft, wait); err != nil {
			return ack, fail.New(fail.Canceled, "stopped on request")
		}
	}
}

// once writes over the open stream, or over a new one.
func (s *sender) once(ctx context.Context, rec arrow.RecordBatch) (Ack, error) {
	if s.stream != nil && !s.schema.Equal(rec.Schema()) {
		s.close()
	}
	if s.stream == nil {
		st, err := s.server.Put(ctx, s.target.namespace, string(s.target.kind)+"s", s.target.name, rec.Schema())
		if err != nil {
			return Ack{}, err
		}
		s.stream, s.schema = st, rec.Schema()
	}
	ack, err := s.stream.Write(ctx, rec)
	if err != nil {
		s.stream.Abandon()
		s.stream = nil
	}
	return ack, err
}

// retry says whether an error passes with time, and how long to wait.
func retry(err error, try int) (time.Duration, bool) {
	wait := min(10*time.Second, 100*time.Millisecond<<min(try, 10))
	switch fail.CodeOf(err) {
	case fail.BacklogFull, fail.Exhausted:
		if after := fail.As(err).RetryAfter; after > 0 {
			return after, true
		}
		return wait, true
	case fail.Unavailable, fail.CommitUnknown, fail.Conflict, fail.DeadlineExceeded:
		return wait, true
	}
	return 0, false
}

// reporter collects the rows that cannot be taken. Safe for concurrent use.
type reporter struct {
	max   int64
	write func(rowError) error // to --errors, or nil
	close func() error

	mu       sync.Mutex // guards the fields below
	count    int64
	first    error
	doubtful []string
}

// rowError is a line of the --errors file.
type rowError struct {
	File   string `json:"file"`
	Row    int64  `json:"row"`
	Line   int64  `json:"line,omitempty"`
	Column string `json:"column,omitempty"`
	Value  string `json:"value,omitempty"`
	Error  string `json:"error"`
	Hint   string `json:"hint,omitempty"`
}

// add takes a row's error; its own error ends the load.
func (r *reporter) add(file string, e datafile.RowError) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	own := *fail.As(e.Err)
	if r.write != nil {
		line := rowError{File: file, Row: e.Row, Line: e.Line, Column: e.Column, Value: e.Value, Error: own.Message, Hint: own.Hint}
		if err := r.write(line); err != nil {
			return err
		}
	}
	if r.first == nil {
		r.first = e.In(file)
	}
	if r.count <= r.max {
		return nil
	}
	first := *fail.As(r.first)
	if r.max > 0 {
		first.Message = fmt.Sprintf("more than %s wrong; the first is %s", fail.Count(r.max, "row is", "rows are"), first.Message)
	} else {
		first.Hint = strings.TrimSpace(strings.TrimSuffix(first.Hint, ".") + ". --max-errors N leaves out rows that are wrong, --errors FILE collects them.")
		first.Hint = strings.TrimPrefix(first.Hint, ". ")
	}
	return &first
}

// doubt notes rows of a table of which nobody knows how often they are in.
func (r *reporter) doubt(p *packet, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, part := range p.parts {
		r.doubtful = append(r.doubtful, fmt.Sprintf("%s rows %d to %d: %s", part.u.it.name, part.u.from, part.u.to-1, why))
	}
}

// end closes the --errors file.
func (r *reporter) end() error {
	if r.close == nil {
		return nil
	}
	return fail.Wrap(fail.InvalidParameter, r.close(), "--errors file")
}

// skipped is the number of rows that were wrong.
func (r *reporter) skipped() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}
