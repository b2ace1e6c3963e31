package sched

import (
	"container/heap"
	"context"
	"math"
	"sync"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// maxAhead is how many finished chunks, times the number of workers, wait for the
// oldest unfinished morsel before whoever has more must wait too. They are few,
// because a chunk of wide vectors has megabytes.
const maxAhead = 8

// Ordered is a sink that hands chunks on one at a time in the order of their
// positions. The worker with the oldest morsel never waits for another.
type Ordered struct {
	out Next
	fin func() error

	// mu guards the fields below; out is called under it. cond wakes workers that
	// are too far ahead.
	mu       sync.Mutex
	cond     *sync.Cond
	progress []uint64
	pending  posHeap
	ended    error // what out returned when it would have no more
}

// NewOrdered returns an ordered sink that calls out for each chunk and fin, if
// not nil, at the end.
func NewOrdered(out Next, fin func() error) *Ordered {
	o := &Ordered{out: out, fin: fin}
	o.cond = sync.NewCond(&o.mu)
	return o
}

// Local implements Sink.
func (o *Ordered) Local(w *Worker) (Local, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.progress = append(o.progress, 0)
	l := &orderedLocal{o: o, id: len(o.progress) - 1, ctx: w.Ctx}
	if l.id == 0 {
		context.AfterFunc(w.Ctx, func() {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.cond.Broadcast()
		})
	}
	return l, nil
}

// emit hands a chunk on. After an error, ErrStop too, out is not called again:
// other workers come here before the run's cancellation reaches them.
func (o *Ordered) emit(c *vec.Chunk) error {
	if o.ended == nil {
		o.ended = o.out(c)
	}
	return o.ended
}

// Finalize implements Sink.
func (o *Ordered) Finalize(*Worker) error {
	if o.fin == nil {
		return nil
	}
	return o.fin()
}

type orderedLocal struct {
	o   *Ordered
	id  int
	ctx context.Context
}

// Push implements Local.
func (l *orderedLocal) Push(c *vec.Chunk, pos Pos) error {
	o := l.o
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if l.ctx.Err() != nil {
			return fail.Ended(l.ctx, "the statement")
		}
		if pos.Seq <= o.low() {
			return o.emit(c)
		}
		if len(o.pending) < maxAhead*len(o.progress) {
			heap.Push(&o.pending, placed{pos, c})
			return nil
		}
		o.cond.Wait()
	}
}

// Progress implements Local.
func (l *orderedLocal) Progress(seq uint64) error {
	o := l.o
	o.mu.Lock()
	defer o.mu.Unlock()
	if seq <= o.progress[l.id] {
		return nil
	}
	before := o.low()
	o.progress[l.id] = seq
	low := o.low()
	for len(o.pending) > 0 && o.pending[0].pos.Seq <= low {
		if err := o.emit(heap.Pop(&o.pending).(placed).c); err != nil {
			return err
		}
	}
	// A chunk goes out only where low has moved; the worker that is now the oldest
	// may be waiting, whoever it is.
	if low != before {
		o.cond.Broadcast()
	}
	return nil
}

// Done implements Local.
func (l *orderedLocal) Done() error { return l.Progress(math.MaxUint64) }

// low is the oldest sequence number that a worker may still push.
func (o *Ordered) low() uint64 {
	low := uint64(math.MaxUint64)
	for _, p := range o.progress {
		low = min(low, p)
	}
	return low
}

// placed is a chunk that waits for its turn.
type placed struct {
	pos Pos
	c   *vec.Chunk
}

type posHeap []placed

func (h posHeap) Len() int           { return len(h) }
func (h posHeap) Less(i, j int) bool { return h[i].pos.Less(h[j].pos) }
func (h posHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *posHeap) Push(x any) { *h = append(*h, x.(placed)) }

// Pop implements heap.Interface.
func (h *posHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = placed{}
	*h = old[:len(old)-1]
	return last
}
