package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runnerFunc is a Runner.
type runnerFunc func(ctx context.Context) ([]Task, error)

func (f runnerFunc) Due(ctx context.Context) ([]Task, error) { return f(ctx) }

// rig is a pool on a clock that stands still, with what it did.
type rig struct {
	t    *testing.T
	clk  *clock.Manual
	meta metastore.Store
	pool *Pool

	mu      sync.Mutex // guards the fields below
	tasks   []Task     // what is due at the next poll
	dueErr  error
	polls   int
	started []string
	ended   []string
	errs    []string

	changed chan struct{} // told of every change, may drop
	finish  chan struct{} // a blocked task ends with each value
}

func newRig(t *testing.T) *rig {
	t.Helper()
	clk := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	r := &rig{t: t, clk: clk, meta: metastore.NewMem(clk, clock.SeededIDs(clk, 1), metastore.Options{}),
		changed: make(chan struct{}, 1), finish: make(chan struct{})}
	t.Cleanup(func() {
		if err := r.meta.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) start(opt Options) {
	opt.OnError = func(key string, err error) { r.note(func() { r.errs = append(r.errs, key+": "+err.Error()) }) }
	r.pool = Start(runnerFunc(r.due), r.meta, r.clk, "node", opt)
	r.t.Cleanup(r.pool.Close)
}

func (r *rig) due(context.Context) ([]Task, error) {
	var tasks []Task
	var err error
	r.note(func() { r.polls, tasks, err = r.polls+1, slices.Clone(r.tasks), r.dueErr })
	if err != nil && err.Error() == "panic" {
		panic("in Due")
	}
	return tasks, err
}

// note changes the rig's state and tells those who wait for it.
func (r *rig) note(change func()) {
	r.mu.Lock()
	change()
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// until waits for a state; the test's own deadline ends a wait in vain.
func (r *rig) until(what string, reached func() bool) {
	r.t.Helper()
	for {
		r.mu.Lock()
		ok := reached()
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-r.changed:
		case <-time.After(20 * time.Second):
			r.t.Fatalf("%s: never; started %v, ended %v, errors %v", what, r.started, r.ended, r.errs)
		}
	}
}

// poll makes the pool ask again and waits until it has asked and scheduled.
func (r *rig) poll() {
	r.t.Helper()
	r.mu.Lock()
	before := r.polls
	r.mu.Unlock()
	r.pool.Wake()
	r.until("a poll", func() bool { return r.polls > before })
}

// blocked is a task that runs until the rig's finish or its context says so.
func (r *rig) blocked(key string, p Priority) Task {
	ns, _, _ := strings.Cut(key, "/")
	return Task{Key: key, Namespace: ns, Priority: p, Run: func(ctx context.Context, fences []metastore.Fence) error {
		r.note(func() { r.started = append(r.started, key) })
		var err error
		select {
		case <-r.finish:
		case <-ctx.Done():
			err = fail.Wrap(fail.Canceled, ctx.Err(), "task %s", key)
		}
		r.note(func() { r.ended = append(r.ended, key) })
		return err
	}}
}

func (r *rig) set(tasks ...Task) { r.note(func() { r.tasks = tasks }) }

func (r *rig) sorted(list *[]string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := slices.Clone(*list)
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestPriorities(t *testing.T) {
	r := newRig(t)
	r.set(r.blocked("a/trim", Trim), r.blocked("a/merge", Merge), r.blocked("a/apply", Apply))
	r.start(Options{MaxConcurrent: 1})
	for i, want := range []string{"a/apply", "a/merge", "a/trim"} {
		r.until(want, func() bool { return len(r.started) == i+1 })
		if r.started[i] != want {
			t.Fatalf("started %v, want %s", r.started, want)
		}
		r.poll() // the slot is taken: nothing more starts
		if n := r.count(); n != i+1 {
			t.Fatalf("%d tasks at once", n)
		}
		r.note(func() { r.tasks = slices.DeleteFunc(r.tasks, func(t Task) bool { return t.Key == want }) })
		r.finish <- struct{}{}
		r.until("its end", func() bool { return len(r.ended) == i+1 })
		for i < 2 && r.count() == i+1 { // the slot is free a moment after the end
			r.poll()
		}
	}
}

func (r *rig) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.started)
}

func (r *rig) busy() bool {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	return len(r.pool.running) > 0
}

func TestNamespacesShare(t *testing.T) {
	r := newRig(t)
	var tasks []Task
	for i := range 6 {
		tasks = append(tasks, r.blocked(fmt.Sprint("a/", i), Apply))
	}
	tasks = append(tasks, r.blocked("b/0", Apply), r.blocked("b/1", Apply), r.blocked("c/0", Merge))
	r.set(tasks...)
	r.start(Options{MaxConcurrent: 4, MaxPerNS: 3})
	r.until("four tasks", func() bool { return len(r.started) == 4 })
	// Two each, although namespace a asks first and for more.
	if got := r.sorted(&r.started); got != "a/0 a/1 b/0 b/1" {
		t.Errorf("running: %s", got)
	}
}

func TestCapPerNamespace(t *testing.T) {
	r := newRig(t)
	var tasks []Task
	for i := range 6 {
		tasks = append(tasks, r.blocked(fmt.Sprint("a/", i), Apply))
	}
	r.set(append(tasks, r.blocked("b/0", Trim))...)
	r.start(Options{MaxPerNS: 2})
	r.until("three tasks", func() bool { return len(r.started) == 3 })
	r.poll()
	r.poll()
	if got := r.sorted(&r.started); got != "a/0 a/1 b/0" {
		t.Errorf("running: %s", got)
	}
}

func TestPollsByTime(t *testing.T) {
	r := newRig(t)
	r.start(Options{Poll: time.Second})
	r.until("the first poll", func() bool { return r.polls == 1 })
	for i := 2; i < 5; i++ {
		for r.clk.Waiting() == 0 {
			time.Sleep(time.Millisecond)
		}
		r.clk.Advance(time.Second)
		r.until("the next poll", func() bool { return r.polls == i })
	}
}

func TestFailuresAreReported(t *testing.T) {
	r := newRig(t)
	task := func(key string, err error) Task {
		return Task{Key: key, Namespace: key, Run: func(context.Context, []metastore.Fence) error {
			r.note(func() { r.started = append(r.started, key) })
			if err == nil {
				panic("in " + key)
			}
			return err
		}}
	}
	r.set(task("panics", nil), task("fails", errors.New("no space")), task("loses", fail.New(fail.Conflict, "another commit came first")))
	r.start(Options{})
	r.until("three tasks", func() bool { return len(r.started) >= 3 && len(r.errs) >= 2 })
	r.set()
	for r.busy() {
		r.poll()
	}
	for _, want := range []string{"panics: bug: panic: in panics", "fails: no space"} {
		if !slices.Contains(r.errs, want) {
			t.Errorf("errors %v, want %q among them", r.errs, want)
		}
	}
	for _, e := range r.errs {
		if strings.HasPrefix(e, "loses") {
			t.Errorf("a lost race was reported: %s", e)
		}
	}
	// Whatever happened, the leases are free for another node.
	for _, key := range []string{"panics", "fails", "loses"} {
		if _, err := r.meta.AcquireLease(context.Background(), "task/"+key, "another", time.Minute); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestFailingPolls(t *testing.T) {
	r := newRig(t)
	r.dueErr = errors.New("the metastore is away")
	r.start(Options{})
	r.until("the report", func() bool { return len(r.errs) == 1 })
	r.note(func() { r.dueErr = errors.New("panic") })
	r.poll()
	r.until("the second report", func() bool { return len(r.errs) == 2 })
	if got := strings.Join(r.errs, "; "); got != "poll: the metastore is away; poll: bug: panic: in Due" {
		t.Error(got)
	}
	r.note(func() { r.dueErr = errors.New("one could not be read") })
	r.set(r.blocked("a/0", Apply))
	r.poll()
	r.until("work beside an error", func() bool { return len(r.started) == 1 })
	r.note(func() { r.dueErr = nil })
	r.set(r.blocked("a/1", Apply))
	r.poll()
	r.until("work again", func() bool { return len(r.started) == 2 })
}

func TestAnotherNodesLease(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	if _, err := r.meta.AcquireLease(ctx, "task/a/0", "another", time.Minute); err != nil {
		t.Fatal(err)
	}
	r.set(r.blocked("a/0", Apply), r.blocked("a/1", Apply))
	r.start(Options{})
	r.until("the free one", func() bool { return len(r.started) == 1 })
	r.poll()
	r.poll()
	if got := r.sorted(&r.started); got != "a/1" || len(r.errs) != 0 {
		t.Errorf("started %s, errors %v", got, r.errs)
	}
	// A dead node's lease ends with its time.
	r.clk.Advance(time.Minute + time.Millisecond)
	for r.sorted(&r.started) != "a/0 a/1" {
		r.poll()
	}
}

func TestLeasesAreRenewed(t *testing.T) {
	const ttl = 30 * time.Second
	r := newRig(t)
	r.set(r.blocked("a/0", Apply))
	r.start(Options{LeaseTTL: ttl, Poll: time.Hour})
	r.until("the task", func() bool { return len(r.started) == 1 })
	for range 12 { // four lives of the lease
		for r.clk.Waiting() < 2 { // poll and renewal
			time.Sleep(time.Millisecond)
		}
		r.clk.Advance(ttl / 3)
	}
	for r.clk.Waiting() < 2 {
		time.Sleep(time.Millisecond)
	}
	if _, err := r.meta.AcquireLease(context.Background(), "task/a/0", "another", ttl); !fail.Is(err, fail.Locked) {
		t.Errorf("the lease could be taken: %v", err)
	}
	if len(r.ended) != 0 {
		t.Error("the task was ended")
	}
}

func TestALostLeaseEndsTheTask(t *testing.T) {
	const ttl = 30 * time.Second
	ctx := context.Background()
	r := newRig(t)
	fences := make(chan metastore.Fence, 1)
	inner := r.blocked("a/0", Apply)
	run := inner.Run
	inner.Run = func(ctx context.Context, f []metastore.Fence) error {
		fences <- f[0]
		return run(ctx, f)
	}
	r.set(inner)
	r.start(Options{LeaseTTL: ttl, Poll: time.Hour})
	f := <-fences
	r.set()
	if err := r.meta.ReleaseLease(ctx, metastore.Lease{Key: f.Key, Epoch: f.Epoch}); err != nil {
		t.Fatal(err)
	}
	taken, err := r.meta.AcquireLease(ctx, f.Key, "another", time.Hour)
	if err != nil || taken.Epoch <= f.Epoch {
		t.Fatalf("%+v after %+v, %v", taken, f, err)
	}
	for r.clk.Waiting() < 2 {
		time.Sleep(time.Millisecond)
	}
	r.clk.Advance(ttl / 3)
	r.until("its end", func() bool { return len(r.ended) == 1 })
	for r.busy() {
		r.poll()
	}
	if len(r.errs) != 0 {
		t.Errorf("a lost lease was reported: %v", r.errs)
	}
	// Giving back what was lost takes nothing from the new owner.
	if _, err := r.meta.RenewLease(ctx, taken, ttl); err != nil {
		t.Error(err)
	}
}

func TestCloseWaits(t *testing.T) {
	r := newRig(t)
	r.set(r.blocked("a/0", Apply), r.blocked("b/0", Merge))
	r.start(Options{})
	r.until("both tasks", func() bool { return len(r.started) == 2 })
	r.pool.Close()
	if got := r.sorted(&r.ended); got != "a/0 b/0" {
		t.Errorf("ended when Close returned: %q", got)
	}
	polls := r.polls
	r.pool.Wake()
	r.pool.Close()
	if r.polls != polls || len(r.errs) != 0 {
		t.Errorf("after Close: %d polls more, errors %v", r.polls-polls, r.errs)
	}
}
