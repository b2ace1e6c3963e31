package metastore

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

func TestCommit(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 2)
		r.add(o, 0, 3)
		r.add(o, 0, 3)
		r.add(o, 1, 1)
		h := must(r.commit(o, 1, 3, 0))(t)
		if h.Version != 1 || h.CreatedMS < start.UnixMilli() || h.ManifestKey != "m/1" {
			t.Fatalf("%+v", h)
		}
		head, parts, _, err := r.Heads(ctx, o.ID)
		if err != nil || fmt.Sprint(head) != fmt.Sprint(h) {
			t.Fatalf("%+v %v", head, err)
		}
		if parts[0].Applied != 3 || len(parts[0].Refs) != 1 || parts[1].Applied != 0 || len(parts[1].Refs) != 1 {
			t.Fatalf("%+v", parts)
		}
		for what, c := range map[string]struct {
			version uint64
			applied []uint64
		}{"lost race": {1, []uint64{3, 0}}, "future": {9, []uint64{3, 0}}, "back": {2, []uint64{2, 0}},
			"beyond": {2, []uint64{7, 0}}, "third partition": {2, []uint64{3, 0, 0}}} {
			if _, err := r.commit(o, c.version, c.applied...); !fail.Is(err, fail.Conflict) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if p := r.part(o, 0); p.Applied != 3 {
			t.Fatalf("a refused commit moved the log: %+v", p)
		}
		must(r.commit(o, 2, 6, 1))(t)
		gone := o
		gone.Incarnation = r.ids.ULID()
		_, err = r.commit(gone, 3, 6, 1)
		wantCode(t, err, fail.UndefinedTable)
		if err := r.DropObject(ctx, o.ID); err != nil {
			t.Fatal(err)
		}
		_, err = r.commit(o, 3, 6, 1)
		wantCode(t, err, fail.UndefinedTable)
	})
}

// The same request may be sent again, also after others have committed.
func TestCommitRepeat(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 1)
		r.add(o, 0, 1)
		req := CommitRequest{ObjectID: o.ID, Incarnation: o.Incarnation, Head: Head{Version: 1, CommitID: r.ids.ULID(), Applied: []uint64{1}}}
		first := must(r.Commit(ctx, req))(t)
		if again := must(r.Commit(ctx, req))(t); fmt.Sprint(again) != fmt.Sprint(first) {
			t.Fatalf("%+v %+v", first, again)
		}
		for v := uint64(2); v <= maxRecent+1; v++ {
			must(r.commit(o, v, 1))(t)
			must(r.Commit(ctx, req))(t)
		}
		must(r.commit(o, maxRecent+2, 1))(t)
		_, err := r.Commit(ctx, req) // forgotten: a plain conflict for a new call
		wantCode(t, err, fail.Conflict)
	})
}

func TestLeases(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		l := must(r.AcquireLease(ctx, "apply/1", "node-a", 30*time.Second))(t)
		_, err := r.AcquireLease(ctx, "apply/1", "node-b", 30*time.Second)
		wantCode(t, err, fail.Locked)
		r.clk.Advance(20 * time.Second)
		l2 := must(r.RenewLease(ctx, l, 30*time.Second))(t)
		if l2.Epoch != l.Epoch || l2.DeadlineMS <= l.DeadlineMS || l2.Owner != "node-a" {
			t.Fatalf("%+v %+v", l, l2)
		}
		r.clk.Advance(20 * time.Second)
		_, err = r.AcquireLease(ctx, "apply/1", "node-b", 30*time.Second)
		wantCode(t, err, fail.Locked)
		r.clk.Advance(11 * time.Second)
		b := must(r.AcquireLease(ctx, "apply/1", "node-b", 30*time.Second))(t)
		if b.Epoch <= l.Epoch {
			t.Fatalf("epoch %d after %d", b.Epoch, l.Epoch)
		}
		_, err = r.RenewLease(ctx, l2, time.Second)
		wantCode(t, err, fail.Conflict)
		if err := r.ReleaseLease(ctx, l2); err != nil { // somebody else's now: nothing happens
			t.Fatal(err)
		}
		b2 := must(r.AcquireLease(ctx, "apply/1", "node-b", 30*time.Second))(t) // a restarted owner
		if b2.Epoch <= b.Epoch {
			t.Fatal("a retaken lease keeps its epoch")
		}
		if err := r.ReleaseLease(ctx, b2); err != nil {
			t.Fatal(err)
		}
		c := must(r.AcquireLease(ctx, "apply/1", "node-c", time.Second))(t)
		if c.Epoch <= b2.Epoch {
			t.Fatal("an epoch came back after a release")
		}
	})
}

// A worker that was paused beyond its lease cannot commit.
func TestFence(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 1)
		r.add(o, 0, 2)
		commit := func(version, applied uint64, fences ...Fence) error {
			_, err := r.Commit(ctx, CommitRequest{ObjectID: o.ID, Incarnation: o.Incarnation, ExpectVersion: version - 1, Fences: fences,
				Head: Head{Version: version, CommitID: r.ids.ULID(), Applied: []uint64{applied}}})
			return err
		}
		wantCode(t, commit(1, 1, Fence{"apply/1", 1}), fail.Conflict)
		zombie := must(r.AcquireLease(ctx, "apply/1", "zombie", time.Second))(t)
		r.clk.Advance(time.Minute)
		if err := commit(1, 1, zombie.Fence()); err != nil {
			t.Fatalf("an expired lease that nobody took: %v", err)
		}
		next := must(r.AcquireLease(ctx, "apply/1", "next", time.Minute))(t)
		wantCode(t, commit(2, 2, zombie.Fence()), fail.Conflict)
		if p := r.part(o, 0); p.Applied != 1 {
			t.Fatalf("%+v", p)
		}
		if err := commit(2, 2, next.Fence()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestClock(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		at := func() time.Duration {
			t.Helper()
			return time.Duration(must(r.Now(ctx))(t)-start.UnixMilli()) * time.Millisecond
		}
		if d := at(); d < 0 || d > time.Millisecond {
			t.Fatal(d)
		}
		r.clk.Advance(time.Hour)
		if d := at(); d != time.Hour {
			t.Fatalf("after an hour that passed: %v", d)
		}
		r.clk.Jump(24 * time.Hour)
		if d := at(); d > time.Hour+11*time.Second {
			t.Fatalf("after a jump: %v", d)
		}
		r.clk.Jump(-48 * time.Hour)
		before := at()
		for range 100 {
			if d := at(); d < before {
				t.Fatalf("back from %v to %v", before, d)
			}
		}
		o := r.create("docs", 1)
		ts := int64(0)
		for i := range 50 {
			r.clk.Jump(time.Duration(i%3-1) * time.Minute)
			res := r.add(o, 0, 1)
			if res.TS < ts {
				t.Fatal("ingest time goes back")
			}
			ts = res.TS
		}
	})
}

// Of concurrent commits on one version exactly one wins.
func TestCommitRace(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 1)
		for v := uint64(1); v <= 20; v++ {
			var wg sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				wg.Go(func() { _, errs[i] = r.commit(o, v, 0) })
			}
			wg.Wait()
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
				} else {
					wantCode(t, err, fail.Conflict)
				}
			}
			if head, _, _, err := r.Heads(ctx, o.ID); won != 1 || err != nil || head.Version != v {
				t.Fatalf("version %d: %d won, head %+v, %v", v, won, head, err)
			}
		}
	})
}
