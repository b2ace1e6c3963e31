package wal

import (
	"github.com/loamdb/loam/metastore"
	"github.com/oklog/ulid/v2"
)

// maxExpects bounds the planned writes of one partition in a flush. Each needs a
// reference of its own, since each may fail alone, and at most one of those
// planned on the same offset succeeds.
const maxExpects = 8

// maxProduced bounds the writes of one partition in a flush when a batch of a producer
// joins them: it has a reference of its own too, since it may be refused alone, but
// mostly none is. As many fit a row whose older references have left.
const maxProduced = moveAt - keepInline

// request is one Append on its way.
type request struct {
	blocks  []Block
	ids     []ulid.ULID        // incarnations, parsed
	bytes   int64              // payload
	advance *metastore.Advance // of a link's batch, or nil
	produce *metastore.Produce // of a producer's batch, or nil
	results []Result
	err     error
	done    chan struct{} // closed when results or err are set
}

// queue is the batching core: requests in order of arrival, and whether a flush
// is running. It has no clock and no lock; Log guards it.
//
//	at most one flight at a time; a request is waiting, in the flight, or decided
type queue struct {
	waiting []*request
	bytes   int64 // of waiting
	busy    bool
}

func (q *queue) push(r *request) {
	q.waiting = append(q.waiting, r)
	q.bytes += r.bytes
}

// withdraw takes back a request that no flush has taken.
func (q *queue) withdraw(r *request) bool {
	for i, w := range q.waiting {
		if w == r {
			q.waiting = append(q.waiting[:i:i], q.waiting[i+1:]...)
			q.bytes -= r.bytes
			return true
		}
	}
	return false
}

// take starts a flight with the requests that fit, or returns nil when one is
// running or nothing waits. A request is never split, and the first always fits.
func (q *queue) take(flushBytes int64) *flight {
	if q.busy || len(q.waiting) == 0 {
		return nil
	}
	f := newFlight()
	n := 0
	for n < len(q.waiting) && (n == 0 || f.fits(q.waiting[n], flushBytes)) {
		f.add(q.waiting[n])
		n++
	}
	q.waiting = append([]*request(nil), q.waiting[n:]...)
	q.bytes -= f.bytes
	q.busy = true
	return f
}

// landed ends the flight.
func (q *queue) landed() { q.busy = false }

type target struct {
	object      uint64
	incarnation ulid.ULID
	partition   int
}

// slot says where a block of a request went: a batch of a region.
type slot struct{ region, batch int }

// flight is the content of one segment. The blocks of a request are sequenced all
// or none: those of a planned request have regions of their own, in a group of
// their own; all others of an object share the regions of its partitions, and a group.
//
//	regions[:planned] belong to planned requests; the others are one a target
type flight struct {
	requests []*request
	bytes    int64
	records  map[target]uint64
	expects  map[target]int
	planned  []region
	expect   []*uint64            // of planned
	group    []int                // of planned
	advance  []*metastore.Advance // of planned; set for the first region of a link's batch
	produce  []*metastore.Produce // of planned; set for the first region of a producer's batch
	extra    int                  // rows beside the partitions that the planned requests take
	groups   int                  // planned requests so far
	plain    []region
	plainAt  map[target]int
	slots    [][]slot // per request and block; region counts planned and plain apart
}

func newFlight() *flight {
	return &flight{records: map[target]uint64{}, expects: map[target]int{}, plainAt: map[target]int{}}
}

// fits reports whether another request may join.
func (f *flight) fits(r *request, flushBytes int64) bool {
	if f.bytes+r.bytes > flushBytes {
		return false
	}
	fresh, planned := 0, r.planned()
	for i, b := range r.blocks {
		t := target{b.ObjectID, r.ids[i], b.Partition}
		n, known := f.records[t]
		if !known {
			fresh++ // counts one twice that the request names twice: only ends the segment early
		}
		if n+uint64(b.Records) > 1<<31-1 || (planned && f.expects[t] >= r.most()) {
			return false
		}
	}
	return len(f.records)+fresh+f.extra+r.extra() <= metastore.MaxAppendPartitions
}

// extra is the number of rows that the request takes beside its partitions.
func (r *request) extra() int {
	n := 0
	if r.advance != nil {
		n += metastore.AdvanceRows
	}
	if r.produce != nil {
		n += metastore.ProducerRows
	}
	return n
}

// most is how many planned writes of a partition a flush may have when r joins them.
func (r *request) most() int {
	if r.produce != nil {
		return maxProduced
	}
	return maxExpects
}

// planned reports whether the request stands alone: it moves a link, is a batch of a
// producer, or a block carries an expectation.
func (r *request) planned() bool {
	if r.advance != nil || r.produce != nil {
		return true
	}
	for _, b := range r.blocks {
		if b.Expect != nil {
			return true
		}
	}
	return false
}

func (f *flight) add(r *request) {
	planned := r.planned()
	if planned {
		f.groups++
	}
	f.extra += r.extra()
	first := len(f.planned)
	slots := make([]slot, len(r.blocks))
	for i, b := range r.blocks {
		t := target{b.ObjectID, r.ids[i], b.Partition}
		f.records[t] += uint64(b.Records)
		slots[i] = f.place(t, b, planned)
	}
	if r.advance != nil {
		f.advance[first] = r.advance
	}
	if r.produce != nil {
		f.produce[first] = r.produce
	}
	f.requests = append(f.requests, r)
	f.slots = append(f.slots, slots)
	f.bytes += r.bytes
}

func (f *flight) place(t target, b Block, planned bool) slot {
	one := batch{records: b.Records, payload: b.Payload}
	if planned {
		f.expects[t]++
		f.planned = append(f.planned, region{t.object, t.incarnation, uint32(t.partition), []batch{one}, b.Bytes})
		f.expect = append(f.expect, b.Expect)
		f.group = append(f.group, f.groups)
		f.advance = append(f.advance, nil)
		f.produce = append(f.produce, nil)
		return slot{region: -len(f.planned)} // the n-th planned region is -n
	}
	at, ok := f.plainAt[t]
	if !ok {
		at = len(f.plain)
		f.plainAt[t] = at
		f.plain = append(f.plain, region{t.object, t.incarnation, uint32(t.partition), nil, 0})
	}
	g := &f.plain[at]
	g.batches = append(g.batches, one)
	g.bytes += b.Bytes
	return slot{region: at, batch: len(g.batches) - 1}
}

// regions are the blocks of the segment in the order in which they are
// sequenced: planned writes first, for an append before them would break them.
func (f *flight) regions() []region {
	return append(append(make([]region, 0, len(f.planned)+len(f.plain)), f.planned...), f.plain...)
}

// groupOf is the group of region i of regions: one a planned request, then one
// an object.
func (f *flight) groupOf(i int) int {
	if i < len(f.group) {
		return f.group[i]
	}
	g := f.plain[i-len(f.planned)]
	for first, h := range f.plain {
		if h.object == g.object && h.incarnation == g.incarnation {
			return f.groups + 1 + first
		}
	}
	return 0 // not reached: g is one of them
}

// at is the position in regions that a slot means.
func (f *flight) at(s slot) int {
	if s.region < 0 {
		return -s.region - 1
	}
	return len(f.planned) + s.region
}

// deliver tells every request what became of its blocks. refs and results
// run parallel to regions.
func (f *flight) deliver(regions []region, refs []metastore.Ref, errs []error) {
	for i, r := range f.requests {
		r.results = make([]Result, len(r.blocks))
		for j, s := range f.slots[i] {
			at := f.at(s)
			if errs[at] != nil {
				r.results[j].Err = errs[at]
				continue
			}
			base := refs[at].Base
			for _, b := range regions[at].batches[:s.batch] {
				base += uint64(b.records)
			}
			r.results[j] = Result{Base: base, TS: refs[at].TS, Ref: refs[at]}
		}
		close(r.done)
	}
}

// fail gives every request the same error.
func (f *flight) fail(err error) {
	for _, r := range f.requests {
		r.err = err
		close(r.done)
	}
}
