package sched

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// seqBits is the width of a chunk's own sequence number; the branch's ordinal
// lies above it.
const seqBits = 48

// run is the shared state of one pipeline's workers.
type run struct {
	p       Pipeline
	ctx     context.Context
	cancel  context.CancelFunc
	stopped atomic.Bool
	sources []*source

	// mu guards err, arrived and gate. It is a leaf lock.
	mu      sync.Mutex
	err     error
	workers int
	arrived map[int]int
	gate    map[int]chan struct{}
}

// source is a branch's leaf, opened once.
type source struct {
	once sync.Once
	m    Morsels
	err  error
}

// Run runs the pipeline on n workers and returns when all of them have ended
// and every source is closed. The error is the first one; after a cancellation
// it is fail.Canceled or fail.DeadlineExceeded.
func Run(ctx context.Context, env *expr.Env, p Pipeline, n int) error {
	if p.Serial {
		n = 1
	}
	r := &run{p: p, workers: max(1, n), arrived: map[int]int{}, gate: map[int]chan struct{}{}}
	r.ctx, r.cancel = context.WithCancel(ctx)
	defer r.cancel()
	for range p.Branches {
		r.sources = append(r.sources, &source{})
	}
	r.narrow()
	if r.err == nil {
		r.runWorkers(env)
	}
	r.closeSources()
	if r.err == nil && ctx.Err() != nil {
		r.err = fail.Ended(ctx, "the statement")
	}
	if r.err == nil {
		// The workers' context may have ended by ErrStop; the sink has its own end.
		r.stopped.Store(false)
		r.ctx = ctx
		r.protect(func() error { return p.Sink.Finalize(&Worker{Ctx: ctx, Env: env}) })
	}
	return r.err
}

// narrow asks for no more workers than a short list of chunks can feed.
func (r *run) narrow() {
	if r.workers == 1 || len(r.p.Branches) != 1 {
		return
	}
	r.protect(func() error {
		m, err := r.open(0)
		if l, ok := m.(interface{ Morsels() int }); ok {
			r.workers = max(1, min(r.workers, l.Morsels()))
		}
		return err
	})
}

func (r *run) runWorkers(env *expr.Env) {
	workers := make([]*worker, 0, r.workers)
	for id := range r.workers {
		w := &worker{run: r, Worker: Worker{ID: id, Ctx: r.ctx, Env: env}}
		r.protect(func() (err error) {
			w.local, err = r.p.Sink.Local(&w.Worker)
			return err
		})
		workers = append(workers, w)
	}
	if r.err != nil {
		return
	}
	if len(workers) == 1 {
		r.protect(workers[0].work)
		return
	}
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r.protect(w.work)
		}()
	}
	wg.Wait()
}

// protect runs f and keeps its error or panic as the run's, unless there is one already.
func (r *run) protect(f func() error) {
	defer func() {
		if v := recover(); v != nil {
			r.fail(fail.FromPanic(v))
		}
	}()
	if err := f(); err != nil {
		r.fail(err)
	}
}

func (r *run) fail(err error) {
	if errors.Is(err, ErrStop) {
		r.stop()
		return
	}
	r.mu.Lock()
	if r.err == nil && !r.stopped.Load() {
		if r.ctx.Err() != nil {
			err = fail.Ended(r.ctx, "the statement")
		}
		r.err = err
	}
	r.mu.Unlock()
	r.cancel()
}

// stop ends the run without an error: whatever workers meet afterwards because
// of the cancellation is no failure.
func (r *run) stop() {
	r.mu.Lock()
	if r.err == nil {
		r.stopped.Store(true)
	}
	r.mu.Unlock()
	r.cancel()
}

func (r *run) open(branch int) (Morsels, error) {
	s := r.sources[branch]
	s.once.Do(func() { s.m, s.err = r.p.Branches[branch].Open(r.ctx) })
	return s.m, s.err
}

func (r *run) closeSources() {
	for _, s := range r.sources {
		if s.m != nil {
			r.protect(s.m.Close)
		}
	}
}

// await blocks until every worker has come to the branch, or the run ends.
func (r *run) await(branch int) error {
	r.mu.Lock()
	g := r.gate[branch]
	if g == nil {
		g = make(chan struct{})
		r.gate[branch] = g
	}
	if r.arrived[branch]++; r.arrived[branch] == r.workers {
		close(g)
	}
	r.mu.Unlock()
	select {
	case <-g:
		return nil
	case <-r.ctx.Done():
		return fail.Ended(r.ctx, "the statement")
	}
}

// worker is one goroutine of a run.
type worker struct {
	Worker
	run   *run
	local Local
}

func (w *worker) work() error {
	for b := range w.run.p.Branches {
		if err := w.branch(b); err != nil {
			return err
		}
	}
	return w.local.Done()
}

func (w *worker) branch(b int) error {
	base := uint64(b) << seqBits
	if err := w.local.Progress(base); err != nil {
		return err
	}
	if w.run.p.Branches[b].Barrier {
		if err := w.run.await(b); err != nil {
			return err
		}
	}
	push, err := w.chain(w.run.p.Branches[b].Transforms)
	if err != nil {
		return err
	}
	src, err := w.run.open(b)
	if err != nil {
		return err
	}
	for {
		if w.Ctx.Err() != nil {
			return fail.Ended(w.Ctx, "the statement")
		}
		c, err := src.Next(w.Ctx)
		if err != nil || c == nil {
			return err
		}
		w.pos = Pos{Seq: base + c.Seq&(1<<seqBits-1)}
		if err := w.local.Progress(w.pos.Seq); err != nil {
			return err
		}
		if err := push(c); err != nil {
			return err
		}
		if err := w.local.Progress(w.pos.Seq + 1); err != nil {
			return err
		}
	}
}

// chain links the stages of the branch and the sink's end.
func (w *worker) chain(ts []Transform) (Next, error) {
	next := func(c *vec.Chunk) error {
		pos := w.pos
		w.pos.Sub++
		return w.local.Push(c, pos)
	}
	for i := len(ts) - 1; i >= 0; i-- {
		st, err := ts[i].Stage(&w.Worker)
		if err != nil {
			return nil, err
		}
		after := next
		next = func(c *vec.Chunk) error {
			if w.Ctx.Err() != nil {
				return fail.Ended(w.Ctx, "the statement")
			}
			return st.Push(c, after)
		}
	}
	return next, nil
}
