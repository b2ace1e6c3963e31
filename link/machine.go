package link

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
)

// Step is what a worker does next.
type Step uint8

// The steps.
const (
	// Wait until Action.Until, then look.
	Wait Step = iota
	// Look at the rows of source, target and link, at one revision.
	Look
	// Read records from Action.From on and make rows of them: of each partition at
	// most Action.Records and, with Action.To, those below it and no others.
	Read
	// Commit appends what was read and moves the link to Action.To.
	Commit
	// Fail stops the link, with Action.Err, until a user resumes it.
	Fail
	// Stop ends this worker's run: the link is another's, or another link now.
	Stop
)

// String names the step.
func (s Step) String() string {
	return [...]string{"wait", "look", "read", "commit", "fail", "stop"}[s]
}

// Action is a step with what it needs.
type Action struct {
	Do       Step
	From, To []uint64      // of Read and Commit, per partition of the source; To may be nil
	Records  int           // of Read
	Until    time.Duration // of Wait, on the clock that the machine is given
	Err      error         // of Fail; of Wait, what is waited out, or nil
	Bad      *Bad          // of Fail, the record to blame, or nil
}

// View is what a worker sees when it looks.
type View struct {
	At   []uint64 // the next offset to read, per partition
	Ends []uint64 // where the source's partitions end
	// Bytes is the size of what waits, as far as it is known; Old is set when some of
	// it has waited longer than the log tells.
	Bytes int64
	Old   bool
}

// Batch is what was read.
type Batch struct {
	// To are the offsets to go on with: all records below them are in the batch.
	To      []uint64
	Records int
	Bytes   int64
	Bad     []Bad
}

// Bad is a record that cannot become a row.
type Bad struct {
	Partition int
	Offset    uint64
	Err       error
}

// Config is what the machine needs of a link's definition.
type Config struct {
	BatchBytes int64
	Interval   time.Duration
	OnError    schema.OnError
}

// Limits of batches and pauses.
const (
	firstRecords = 256
	maxRecords   = 100_000
	firstPause   = 100 * time.Millisecond
	maxPause     = time.Minute
)

// Machine is one link on one worker, from one look to the next. The zero value is
// not ready; New makes one. It is used by one goroutine at a time.
//
//	records lie in [from, to) of their partition, from = View.At
//	nothing is kept between looks but the pace: what is true is in the metastore
type Machine struct {
	cfg      Config
	due      Step // what the machine waits to be told the outcome of
	from, to []uint64
	records  int           // how many to read at once
	waiting  bool          // something waits since
	since    time.Duration // then
	failures int           // of the world, in a row
	until    time.Duration // no look before
	err      error         // the last of the failures
}

// New returns the machine of a link.
func New(cfg Config) *Machine { return &Machine{cfg: cfg, due: Look, records: firstRecords} }

// Retries is the number of failures in a row, when the next try is due, and the last
// failure.
func (m *Machine) Retries() (n int, next time.Duration, last error) {
	return m.failures, m.until, m.err
}

// Looked decides what to do with what a look has shown.
func (m *Machine) Looked(now time.Duration, v View) Action {
	m.due = Look
	if now < m.until {
		return Action{Do: Wait, Until: m.until, Err: m.err}
	}
	lag := uint64(0)
	for p := range v.At {
		if v.Ends[p] > v.At[p] {
			lag += v.Ends[p] - v.At[p]
		}
	}
	if lag == 0 {
		m.waiting, m.failures, m.err = false, 0, nil // whatever failed is done
		return Action{Do: Wait, Until: now + m.cfg.Interval}
	}
	if !m.waiting {
		m.waiting, m.since = true, now
	}
	if !v.Old && v.Bytes < m.cfg.BatchBytes && now-m.since < m.cfg.Interval {
		return Action{Do: Wait, Until: m.since + m.cfg.Interval}
	}
	m.from, m.due = slices.Clone(v.At), Read
	// As many records as make a batch, an equal share of each partition.
	return Action{Do: Read, From: m.from, Records: max(1, m.records/len(m.from))}
}

// again reads the batch up to offsets below those that it had.
func (m *Machine) again(to []uint64) Action {
	m.due = Read
	n := uint64(1)
	for p := range to {
		n = max(n, to[p]-m.from[p])
	}
	return Action{Do: Read, From: m.from, To: to, Records: int(min(n, maxRecords))}
}

// Got decides what to do with a batch. Under FailOnError what lies before its bad
// records is committed first, so that the link stops at the record itself.
func (m *Machine) Got(b Batch) Action {
	if m.due != Read {
		return m.bug("a batch was read")
	}
	m.pace(b)
	m.to = b.To
	bad := b.Bad
	if len(bad) > 0 && m.cfg.OnError == schema.FailOnError {
		cut := slices.Clone(m.to)
		for _, b := range bad {
			cut[b.Partition] = min(cut[b.Partition], b.Offset)
		}
		if slices.Equal(cut, m.from) {
			first := slices.MinFunc(bad, func(a, b Bad) int {
				return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
			})
			m.due = Look
			return Action{Do: Fail, Err: first.Err, Bad: &first}
		}
		return m.again(cut)
	}
	m.due = Commit
	return Action{Do: Commit, From: m.from, To: m.to}
}

// pace adapts the number of records to the size that a batch shall have.
func (m *Machine) pace(b Batch) {
	if b.Bytes <= 0 || b.Records == 0 {
		m.records = min(maxRecords, 2*m.records)
		return
	}
	want := m.cfg.BatchBytes * int64(b.Records) / b.Bytes
	m.records = int(max(1, min(want, int64(m.records)*4, maxRecords)))
}

// Committed decides how to go on after a commit, which err ended.
func (m *Machine) Committed(now time.Duration, err error) Action {
	if m.due != Commit {
		return m.bug("a batch was committed")
	}
	m.due = Look
	switch {
	case err == nil:
		m.failures, m.err, m.until, m.waiting = 0, nil, 0, false
		return Action{Do: Look}
	case fail.Is(err, fail.TooLarge):
		return m.smaller(err)
	}
	return m.Broke(now, err)
}

// smaller halves a batch that is too large to be appended at once. One record
// that is too large alone is a bad one.
func (m *Machine) smaller(err error) Action {
	most := 0
	for p := range m.to {
		if m.to[p]-m.from[p] > m.to[most]-m.from[most] {
			most = p
		}
	}
	n := m.to[most] - m.from[most]
	to := slices.Clone(m.from)
	if n <= 1 {
		bad := Bad{Partition: most, Offset: m.from[most], Err: err}
		return Action{Do: Fail, Err: err, Bad: &bad}
	}
	m.records = max(1, int(n/2)*len(m.to))
	to[most] += n / 2
	return m.again(to)
}

// Broke decides how to go on after an error that no record is to blame for, of any
// step.
func (m *Machine) Broke(now time.Duration, err error) Action {
	m.due = Look
	switch {
	case errors.Is(err, metastore.ErrFenceLost), errors.Is(err, metastore.ErrLinkChanged),
		fail.Is(err, fail.Canceled), fail.Is(err, fail.UndefinedTable):
		return Action{Do: Stop, Err: err}
	case errors.Is(err, metastore.ErrLinkMoved):
		return Action{Do: Look}
	case fail.Is(err, fail.OffsetExpired):
		return Action{Do: Fail, Err: err}
	case fail.Is(err, fail.BacklogFull):
		m.err, m.until = err, now+max(fail.As(err).RetryAfter, firstPause)
		return Action{Do: Wait, Until: m.until, Err: err}
	}
	// Also an unknown outcome: whether the batch is in, the next look shows.
	pause := maxPause
	if m.failures < 10 {
		pause = min(maxPause, firstPause<<m.failures)
	}
	m.failures++
	m.err, m.until = err, now+pause
	return Action{Do: Wait, Until: m.until, Err: err}
}

func (m *Machine) bug(what string) Action {
	m.due = Look
	return Action{Do: Stop, Err: fail.Bug("link: %s, and none was asked for", what)}
}
