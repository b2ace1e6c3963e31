package metastore

import (
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// peer is one node of a shared store, with a clock of its own.
type peer struct {
	Store
	t   *testing.T
	clk *clock.Manual
}

// shared returns nodes of one store whose clocks are off by the given times.
func shared(t *testing.T, off ...time.Duration) []*peer {
	t.Helper()
	var out []*peer
	for i, d := range off {
		clk := clock.NewManual(start.Add(d))
		p := &peer{t: t, clk: clk}
		ids := clock.SeededIDs(clk, uint64(i+1))
		if i == 0 {
			p.Store = NewMem(clk, ids, Options{Shared: true})
		} else {
			p.Store = must(JoinMem(ctx, out[0].Store, clk, ids, Options{}))(t)
		}
		out = append(out, p)
	}
	return out
}

func (p *peer) now() time.Duration {
	p.t.Helper()
	return time.Duration(must(p.Now(ctx))(p.t)-start.UnixMilli()) * time.Millisecond
}

// pass lets time pass on all nodes, a second at a time, with a call on each.
func pass(d time.Duration, all ...*peer) {
	for range d / time.Second {
		for _, p := range all {
			p.clk.Advance(time.Second)
			p.now()
		}
	}
}

// TestClocksOfTwoNodes: whatever a wall clock does, the nodes agree within a second,
// no time goes back, and time runs between half and twice as fast as it passes.
func TestClocksOfTwoNodes(t *testing.T) {
	for name, step := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			nodes := shared(t, 0, 0)
			a, b := nodes[0], nodes[1]
			pass(time.Minute, a, b)
			before := a.now()
			b.clk.Jump(step)
			for range 1000 { // many calls move it no further
				if d := b.now() - before; d < 0 || d > 2*time.Second {
					t.Fatalf("the step moved the clock by %v", d)
				}
			}
			last := max(a.now(), b.now())
			for range 60 {
				pass(10*time.Second, a, b)
				x, y := a.now(), b.now()
				if (x - y).Abs() > reserve+time.Millisecond {
					t.Fatalf("the nodes are %v apart", x-y)
				}
				if passed := min(x, y) - last; passed < 3*time.Second || passed > 21*time.Second {
					t.Fatalf("in ten seconds the clock moved by %v", passed)
				}
				last = max(x, y)
			}
		})
	}
}

// TestLeasesOverWrongClocks: a lease of a node whose clock is ahead is free a bounded
// time after its end, and one that is renewed is never taken.
func TestLeasesOverWrongClocks(t *testing.T) {
	nodes := shared(t, 0, 0)
	a, b := nodes[0], nodes[1]
	a.now()
	b.clk.Jump(time.Hour)
	held := must(b.AcquireLease(ctx, "k", "b", 30*time.Second))(t)
	for range 20 {
		pass(10*time.Second, a, b)
		held = must(b.RenewLease(ctx, held, 30*time.Second))(t)
		if _, err := a.AcquireLease(ctx, "k", "a", 30*time.Second); !fail.Is(err, fail.Locked) {
			t.Fatalf("a live lease was taken: %v", err)
		}
	}
	waited := time.Duration(0) // b is dead now
	for ; waited < 5*time.Minute; waited += time.Second {
		pass(time.Second, a)
		if _, err := a.AcquireLease(ctx, "k", "a", 30*time.Second); err == nil {
			break
		}
	}
	if waited < 10*time.Second || waited > 70*time.Second {
		t.Errorf("the lease of a dead node was free after %v", waited)
	}
	if _, err := b.RenewLease(ctx, held, 30*time.Second); !fail.Is(err, fail.Conflict) {
		t.Errorf("the dead node renews its lease: %v", err)
	}
}

func TestNodes(t *testing.T) {
	nodes := shared(t, 0, 0)
	a, b := nodes[0], nodes[1]
	live := func() (out string) {
		t.Helper()
		for _, n := range must(a.Nodes(ctx))(t) {
			out += n.ID
			if n.Live {
				out += "!"
			}
			out += " "
		}
		return out
	}
	for _, n := range nodes {
		if err := n.KeepNode(ctx, Node{ID: map[*peer]string{a: "A", b: "B"}[n], Endpoint: "grpc://x:1", Version: "1"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := live(); got != "A! B! " {
		t.Errorf("both live: %s", got)
	}
	begun := must(a.Nodes(ctx))(t)[0]
	pass(10*time.Second, a, b)
	if err := a.KeepNode(ctx, Node{ID: "A", Endpoint: "grpc://x:1", Version: "1"}); err != nil {
		t.Fatal(err)
	}
	pass(10*time.Second, a, b)
	if got := live(); got != "A! B " {
		t.Errorf("one is silent: %s", got)
	}
	if n := must(a.Nodes(ctx))(t)[0]; n.StartedMS != begun.StartedMS || n.SeenMS <= begun.SeenMS || n.Endpoint != "grpc://x:1" {
		t.Errorf("the row is %+v after %+v", n, begun)
	}
	for range 2 {
		if err := a.DropNode(ctx, "B"); err != nil {
			t.Fatal(err)
		}
	}
	if got := live(); got != "A! " {
		t.Errorf("one is dropped: %s", got)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Nodes(ctx); !fail.Is(err, fail.Unavailable) {
		t.Errorf("after its end a node reads: %v", err)
	}
	live()
}

// TestAWrongClockDoesNotJoin: a node whose clock is far from that of nodes that live is
// refused; one that starts when all are dead is taken as it is.
func TestAWrongClockDoesNotJoin(t *testing.T) {
	for name, c := range map[string]struct {
		off   time.Duration
		alive bool
		want  string
	}{
		"ahead of the living":  {time.Hour, true, "ahead of that of the other nodes"},
		"behind the living":    {-time.Hour, true, "behind that of the other nodes"},
		"a little off":         {30 * time.Second, true, ""},
		"ahead, and all dead":  {time.Hour, false, ""},
		"behind, and all dead": {-time.Hour, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := shared(t, 0)[0]
			keep := func() {
				if err := a.KeepNode(ctx, Node{ID: "A"}); err != nil {
					t.Error(err)
				}
			}
			keep()
			clk := clock.NewManual(start.Add(c.off))
			type opened struct {
				s   Store
				err error
			}
			done := make(chan opened, 1)
			go func() {
				s, err := JoinMem(ctx, a.Store, clk, clock.SeededIDs(clk, 7), Options{})
				done <- opened{s, err}
			}()
			var got opened
			for waiting := true; waiting; {
				select {
				case got = <-done:
					waiting = false
				default:
					if clk.Waiting() == 0 {
						time.Sleep(time.Millisecond)
						continue
					}
					clk.Advance(time.Second)
					a.clk.Advance(time.Second)
					if c.alive {
						keep()
					}
				}
			}
			if c.want == "" {
				if got.err != nil {
					t.Fatal(got.err)
				}
				return
			}
			wantCode(t, got.err, fail.InvalidParameter)
			if text := fail.Render(got.err, ""); !strings.Contains(text, c.want) || !strings.Contains(text, "HINT: Set it") {
				t.Errorf("%s", text)
			}
		})
	}
}
