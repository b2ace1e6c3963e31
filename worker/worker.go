package worker

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
)

// Priority orders tasks: smaller runs first.
type Priority int

// The priorities of seeds §09.6 that exist today.
const (
	Apply Priority = iota
	Merge
	Trim
	Collect
)

// Task is work that is due.
type Task struct {
	// Key names the work; at most one node works on a key at a time (lease task/<key>).
	Key       string
	Namespace string
	Priority  Priority
	Run       func(ctx context.Context, fences []metastore.Fence) error
}

// Runner proposes the tasks that are due now. It is asked once per poll; what is
// not worth doing is not proposed. An error says what could not be looked at; the
// tasks beside it are worked on.
type Runner interface {
	Due(ctx context.Context) ([]Task, error)
}

// Options configure a pool; zero values mean the defaults.
type Options struct {
	Poll          time.Duration // 250 ms
	LeaseTTL      time.Duration // 30 s; renewed at a third
	MaxConcurrent int           // 16
	MaxPerNS      int           // 4
	// OnError is told of a task's failure. A lost lease and a lost race are no
	// failures; the next poll tries again.
	OnError func(key string, err error)
}

// Pool runs tasks until it is closed.
type Pool struct {
	runner Runner
	meta   metastore.Store
	clk    clock.Clock
	owner  string
	opt    Options

	cancel context.CancelFunc
	done   chan struct{}
	wake   chan struct{}
	tasks  sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	running map[string]string
}

// Start begins polling. owner names this node in leases. Close must be called.
func Start(runner Runner, meta metastore.Store, clk clock.Clock, owner string, opt Options) *Pool {
	opt.Poll = cmp.Or(opt.Poll, 250*time.Millisecond)
	opt.LeaseTTL = cmp.Or(opt.LeaseTTL, 30*time.Second)
	opt.MaxConcurrent = cmp.Or(opt.MaxConcurrent, 16)
	opt.MaxPerNS = cmp.Or(opt.MaxPerNS, 4)
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool{runner: runner, meta: meta, clk: clk, owner: owner, opt: opt, cancel: cancel,
		done: make(chan struct{}), wake: make(chan struct{}, 1), running: map[string]string{}}
	go p.loop(ctx)
	return p
}

// Wake asks for a poll now.
func (p *Pool) Wake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Close cancels what runs and waits for it.
func (p *Pool) Close() {
	p.cancel()
	<-p.done
	p.tasks.Wait()
}

func (p *Pool) loop(ctx context.Context) {
	defer close(p.done)
	for ctx.Err() == nil {
		tasks, err := p.due(ctx)
		p.schedule(ctx, tasks)
		if err != nil && ctx.Err() == nil {
			p.report("poll", err)
		}
		t := p.clk.NewTimer(p.opt.Poll)
		select {
		case <-t.C():
		case <-p.wake:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// due asks the runner; its panic fails this poll only.
func (p *Pool) due(ctx context.Context) (tasks []Task, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fail.FromPanic(v)
		}
	}()
	return p.runner.Due(ctx)
}

// schedule starts what fits: by priority, then by the fewest running tasks of the
// namespace, then in the runner's order. So one namespace with much to do does
// not hold up the others.
func (p *Pool) schedule(ctx context.Context, tasks []Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	perNS := map[string]int{}
	for _, ns := range p.running {
		perNS[ns]++
	}
	for len(p.running) < p.opt.MaxConcurrent {
		best := -1
		for i, t := range tasks {
			_, busy := p.running[t.Key]
			if busy || perNS[t.Namespace] >= p.opt.MaxPerNS {
				continue
			}
			if best < 0 || before(t, tasks[best], perNS) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		t := tasks[best]
		perNS[t.Namespace]++
		p.running[t.Key] = t.Namespace
		p.tasks.Add(1)
		go p.run(ctx, t)
	}
}

func before(a, b Task, running map[string]int) bool {
	if a.Priority != b.Priority {
		return a.Priority < b.Priority
	}
	return running[a.Namespace] < running[b.Namespace]
}

// run takes the lease, runs the task under its fence and gives the lease back.
func (p *Pool) run(ctx context.Context, t Task) {
	defer p.tasks.Done()
	defer func() {
		p.mu.Lock()
		delete(p.running, t.Key)
		p.mu.Unlock()
	}()
	lease, err := p.meta.AcquireLease(ctx, "task/"+t.Key, p.owner, p.opt.LeaseTTL)
	if err != nil {
		if !fail.Is(err, fail.Locked) && ctx.Err() == nil {
			p.report(t.Key, err)
		}
		return
	}
	err = p.held(ctx, t, lease)
	if err != nil && !fail.Is(err, fail.Conflict) && !fail.Is(err, fail.Canceled) {
		p.report(t.Key, err)
	}
	release, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	if err := p.meta.ReleaseLease(release, lease); err != nil && !fail.Is(err, fail.Unavailable) {
		p.report(t.Key, err)
	}
}

// held runs the task while the lease is kept alive beside it. A panic is the
// task's error; the renewal has ended when held returns, whatever happened.
func (p *Pool) held(ctx context.Context, t Task, lease metastore.Lease) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	var renewal sync.WaitGroup
	defer renewal.Wait()
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = fail.FromPanic(v)
		}
	}()
	renewal.Add(1)
	go func() {
		defer renewal.Done()
		p.renew(ctx, cancel, lease)
	}()
	return t.Run(ctx, []metastore.Fence{lease.Fence()})
}

// renew extends the lease at a third of its life; a lost one cancels the task.
func (p *Pool) renew(ctx context.Context, cancel context.CancelFunc, lease metastore.Lease) {
	for {
		if p.clk.Sleep(ctx, p.opt.LeaseTTL/3) != nil {
			return
		}
		next, err := p.meta.RenewLease(ctx, lease, p.opt.LeaseTTL)
		if fail.Is(err, fail.Conflict) {
			cancel()
			return
		}
		if err == nil {
			lease = next
		}
	}
}

func (p *Pool) report(key string, err error) {
	if p.opt.OnError != nil {
		p.opt.OnError(key, err)
	}
}
