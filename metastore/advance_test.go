package metastore

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// linked is a target and a dead-letter object with a link into the first.
type linked struct {
	*rig
	target, dead, link Object
	lease              Lease
}

func newLinked(t *testing.T, r *rig) *linked {
	l := &linked{rig: r, target: r.create("docs", 2), dead: r.create("dead", 1)}
	l.link = must(r.CreateObject(ctx, Object{Namespace: "public", Name: "link", Kind: "link"}))(t)
	l.lease = must(r.AcquireLease(ctx, "link", "me", time.Minute))(t)
	return l
}

// advance moves the link from offset from, or from no row at all below 0.
func (l *linked) advance(from int, to uint64) *Advance {
	a := &Advance{Target: l.target.ID, Link: l.link.ID, LinkVersion: 1, Fence: l.lease.Fence(), Batch: l.ids.ULID(), Next: []uint64{to},
		Counts: LinkCounts{Batches: 1, Read: to - uint64(max(0, from)), Written: 1, Skipped: 2, Dead: 3}}
	if from >= 0 {
		a.Expect = []uint64{uint64(from)}
	}
	return a
}

// batch is a group of one block for each object.
func (l *linked) batch(a *Advance) []AppendBlock {
	blocks := []AppendBlock{l.block(l.target, 0, 3), l.block(l.target, 1, 1), l.block(l.dead, 0, 2)}
	for i := range blocks {
		blocks[i].Group = 4
	}
	blocks[0].Advance = a
	return blocks
}

// run appends and returns the error that all blocks of the batch share.
func (l *linked) run(blocks []AppendBlock) error {
	l.t.Helper()
	res := must(l.Append(ctx, blocks))(l.t)
	for _, r := range res[1:] {
		if (r.Err == nil) != (res[0].Err == nil) {
			l.t.Fatalf("a batch is appended in part: %+v", res)
		}
	}
	return res[0].Err
}

// state is where everything stands.
func (l *linked) state() string {
	s := fmt.Sprintf("target %d %d, dead %d, link", l.part(l.target, 0).Next, l.part(l.target, 1).Next, l.part(l.dead, 0).Next)
	for _, p := range l.progress(l.target) {
		s += fmt.Sprintf(" %v %+v", p.Offsets, p.Counts)
	}
	return s
}

func (l *linked) want(state string) {
	l.t.Helper()
	if got := l.state(); got != state {
		l.t.Fatalf("got  %s\nwant %s", got, state)
	}
}

// A batch moves its link with its blocks, and one without records moves it alone.
func TestAdvance(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		l := newLinked(t, r)
		first := l.advance(-1, 5)
		if err := l.run(l.batch(first)); err != nil {
			t.Fatal(err)
		}
		l.want("target 3 1, dead 2, link [5] {Batches:1 Read:5 Written:1 Skipped:2 Dead:3}")
		if p := l.progress(l.target)[0]; p.Batch != first.Batch || p.Link != l.link.ID || p.AtMS < start.UnixMilli() {
			t.Fatalf("%+v", p)
		}
		if err := l.run([]AppendBlock{{Advance: l.advance(5, 7)}}); err != nil {
			t.Fatal(err)
		}
		l.want("target 3 1, dead 2, link [7] {Batches:2 Read:7 Written:2 Skipped:4 Dead:6}")
		// The row belongs to the target and goes with it, or with the link.
		must(r.ChangeCatalog(ctx, CatalogChange{Drop: []uint64{l.link.ID}, Forget: []ProgressRow{{l.target.ID, l.link.ID}}}))(t)
		l.want("target 3 1, dead 2, link")
	})
}

func TestAdvanceRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		why  error
		code fail.Code
		try  func(l *linked) *Advance
	}{
		{"no row yet", ErrLinkMoved, fail.Conflict, func(l *linked) *Advance { return l.advance(-1, 6) }},
		{"offsets behind", ErrLinkMoved, fail.Conflict, func(l *linked) *Advance { return l.advance(4, 6) }},
		{"offsets ahead", ErrLinkMoved, fail.Conflict, func(l *linked) *Advance { return l.advance(6, 8) }},
		{"lease taken", ErrFenceLost, fail.Conflict, func(l *linked) *Advance {
			l.clk.Advance(2 * time.Minute)
			must(l.AcquireLease(ctx, "link", "you", time.Minute))(l.t)
			return l.advance(5, 6)
		}},
		{"lease released", ErrFenceLost, fail.Conflict, func(l *linked) *Advance {
			if err := l.ReleaseLease(ctx, l.lease); err != nil {
				l.t.Fatal(err)
			}
			return l.advance(5, 6)
		}},
		{"link paused", ErrLinkChanged, fail.Conflict, func(l *linked) *Advance {
			must(l.UpdateObject(ctx, l.link.ID, 1, []byte("paused")))(l.t)
			return l.advance(5, 6)
		}},
		{"link dropped", ErrLinkChanged, fail.Conflict, func(l *linked) *Advance {
			if err := l.DropObject(ctx, l.link.ID); err != nil {
				l.t.Fatal(err)
			}
			return l.advance(5, 6)
		}},
		{"no such target", nil, fail.UndefinedTable, func(l *linked) *Advance {
			a := l.advance(-1, 6)
			a.Target = 999
			return a
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, r *rig) {
				l := newLinked(t, r)
				if err := l.run([]AppendBlock{{Advance: l.advance(-1, 5)}}); err != nil {
					t.Fatal(err)
				}
				a := c.try(l)
				before := l.state()
				for _, blocks := range [][]AppendBlock{l.batch(a), {{Advance: a}}} {
					err := l.run(blocks)
					wantCode(t, err, c.code)
					if c.why != nil && !errors.Is(err, c.why) {
						t.Fatalf("%v, want %v", err, c.why)
					}
				}
				l.want(before)
			})
		})
	}
}

// What stops a block stops the link that moves with it, and a lost fence stops
// only its own group.
func TestAdvanceGroups(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		l := newLinked(t, r)
		blocks := l.batch(l.advance(-1, 5))
		blocks[2].Incarnation = l.target.Incarnation // no such object
		wantCode(t, l.run(blocks), fail.UndefinedTable)
		l.want("target 0 0, dead 0, link")

		lost := l.advance(-1, 5)
		lost.Fence.Epoch++
		other := l.block(l.target, 1, 7)
		res := must(r.Append(ctx, append(l.batch(lost), other)))(t)
		if !errors.Is(res[0].Err, ErrFenceLost) || res[3].Err != nil {
			t.Fatalf("%+v", res)
		}
		l.want("target 0 7, dead 0, link")

		// Two batches of one link in one call: the second was read from where the first began.
		res = must(r.Append(ctx, []AppendBlock{{Advance: l.advance(-1, 5)}, {Advance: l.advance(-1, 6)}}))(t)
		if res[0].Err != nil || !errors.Is(res[1].Err, ErrLinkMoved) {
			t.Fatalf("%+v", res)
		}
	})
}

// A batch whose reply was lost for good is found by its id, or found to be absent.
func TestAdvanceUnknown(t *testing.T) {
	for _, kind := range []FaultKind{LostBefore, LostAfter} {
		each(t, func(t *testing.T, r *rig) {
			l := newLinked(t, r)
			tick(t, r)
			r.faults.Add(Fault{Op: "append", Kind: kind})
			r.faults.Add(Fault{Kind: Unreadable, Skip: 1})
			a := l.advance(-1, 5)
			_, err := r.Append(ctx, []AppendBlock{{Advance: a}})
			wantCode(t, err, fail.CommitUnknown)
			r.faults.Clear()
			p := l.progress(l.target)
			if in := len(p) == 1 && p[0].Batch == a.Batch; in != (kind == LostAfter) {
				t.Fatalf("kind %d: %+v", kind, p)
			}
		})
	}
}

// A lost reply is settled also when the link has gone on, was paused or dropped
// meanwhile: other writers' blocks of the same transaction are never appended twice.
func TestAdvanceJudged(t *testing.T) {
	base := func(l *linked) (*Advance, *tx) {
		a := l.advance(5, 9)
		t := &tx{ctx: ctx, db: l.Store.(*db), rows: map[string]row{}, seen: map[string]bool{}}
		return a, t
	}
	for _, c := range []struct {
		name string
		do   func(l *linked, a *Advance)
		want verdict
	}{
		{"in", func(l *linked, a *Advance) { l.mustRun(a) }, happened},
		{"not in", func(*linked, *Advance) {}, didNot},
		{"another was first", func(l *linked, _ *Advance) { l.mustRun(l.advance(5, 9)) }, unclear},
		{"gone on", func(l *linked, a *Advance) { l.mustRun(a); l.mustRun(l.advance(9, 10)) }, unclear},
		{"dropped", func(l *linked, _ *Advance) {
			must(l.ChangeCatalog(ctx, CatalogChange{Drop: []uint64{l.link.ID}, Forget: []ProgressRow{{l.target.ID, l.link.ID}}}))(l.t)
		}, unclear},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLinked(t, newRig(t, ""))
			l.mustRun(l.advance(-1, 5))
			a, x := base(l)
			c.do(l, a)
			if err := x.load(a.keys()...); err != nil {
				t.Fatal(err)
			}
			if got := a.judge(x); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func (l *linked) mustRun(a *Advance) {
	l.t.Helper()
	if err := l.run([]AppendBlock{{Advance: a}}); err != nil {
		l.t.Fatal(err)
	}
}

func TestAdvanceBugs(t *testing.T) {
	l := newLinked(t, newRig(t, ""))
	for _, a := range []*Advance{
		{Target: l.target.ID, Link: l.link.ID, LinkVersion: 1, Next: []uint64{1}},
		{Target: l.target.ID, Link: l.link.ID, LinkVersion: 1, Batch: "b"},
		{Target: l.target.ID, Link: l.link.ID, LinkVersion: 1, Batch: "b", Expect: []uint64{3, 4}, Next: []uint64{5}},
		{Target: l.target.ID, Link: l.link.ID, LinkVersion: 1, Batch: "b", Expect: []uint64{3}, Next: []uint64{2}},
		{Target: l.target.ID, Link: l.link.ID, LinkVersion: 1, Batch: "b", Next: slices.Repeat([]uint64{1}, MaxPartitions+1)},
	} {
		wantCode(t, caught(func() error { return l.run([]AppendBlock{{Advance: a}}) }), fail.Internal)
	}
	l.want("target 0 0, dead 0, link")
}

// A link moves once in a transaction, also when one group asks twice.
func TestAdvanceTwiceInAGroup(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		l := newLinked(t, r)
		blocks := l.batch(l.advance(-1, 5))
		blocks[1].Advance = l.advance(-1, 6)
		if err := l.run(blocks); !errors.Is(err, ErrLinkMoved) {
			t.Fatal(err)
		}
		l.want("target 0 0, dead 0, link")
	})
}
