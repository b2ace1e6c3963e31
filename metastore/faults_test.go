package metastore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// step is an operation of a session whose effect can be told from the state.
type step struct {
	op   string // the transaction's name
	run  func(r *rig, o *Object) error
	done func(r *rig, o Object) bool
}

func exists(r *rig, name string) bool {
	_, err := r.GetObject(ctx, "public", name)
	return err == nil
}

// steps are run in order on one store.
func steps() []step {
	var lease Lease
	var link Object
	return []step{
		{"create_namespace", func(r *rig, _ *Object) error {
			created, err := r.CreateNamespace(ctx, "public", nil)
			if err == nil && !created {
				err = errors.New("created is false")
			}
			return err
		}, func(r *rig, _ Object) bool { ns, _ := r.ListNamespaces(ctx); return len(ns) == 1 }},
		{"create_object", func(r *rig, o *Object) (err error) {
			made, err := r.CreateObject(ctx, Object{Namespace: "public", Name: "docs", Partitions: 2})
			if err == nil {
				*o = made
			}
			return err
		}, func(r *rig, _ Object) bool { return exists(r, "docs") }},
		{"update_object", func(r *rig, o *Object) error { _, err := r.UpdateObject(ctx, o.ID, 1, []byte("new")); return err },
			func(r *rig, o Object) bool { u, _ := r.GetObjectByID(ctx, o.ID); return u.SchemaVersion == 2 }},
		{"append", func(r *rig, o *Object) error {
			res, err := r.Append(ctx, []AppendBlock{r.block(*o, 0, 3), r.block(*o, 1, 2)})
			if err == nil && (res[0].Err != nil || res[0].Base != 0 || res[1].Err != nil || res[1].Base != 0) {
				err = fmt.Errorf("%+v", res)
			}
			return err
		}, func(r *rig, o Object) bool { return r.part(o, 0).Next == 3 && r.part(o, 1).Next == 2 }},
		{"acquire_lease", func(r *rig, _ *Object) (err error) {
			lease, err = r.AcquireLease(ctx, "k", "me", time.Minute)
			return err
		}, func(r *rig, _ Object) bool {
			_, err := r.AcquireLease(ctx, "k", "you", 1)
			return fail.Is(err, fail.Locked)
		}},
		{"renew_lease", func(r *rig, _ *Object) error { _, err := r.RenewLease(ctx, lease, 2*time.Minute); return err },
			func(*rig, Object) bool { return true }},
		{"append", func(r *rig, o *Object) error {
			if link.ID == 0 {
				made, err := r.CreateObject(ctx, Object{Namespace: "public", Name: "link", Kind: "link"})
				if err != nil {
					return err
				}
				link = made
			}
			b := r.block(*o, 1, 1)
			b.Advance = &Advance{Target: o.ID, Link: link.ID, LinkVersion: 1, Fence: lease.Fence(), Batch: r.ids.ULID(), Next: []uint64{5}, Counts: LinkCounts{Read: 5}}
			res, err := r.Append(ctx, []AppendBlock{b})
			if err == nil && (res[0].Err != nil || res[0].Base != 2) {
				err = fmt.Errorf("%+v", res)
			}
			return err
		}, func(r *rig, o Object) bool {
			p := r.progress(o)
			return r.part(o, 1).Next == 3 && len(p) == 1 && p[0].Offsets[0] == 5 && p[0].Counts.Read == 5
		}},
		{"append", func(r *rig, o *Object) error {
			res, err := r.Append(ctx, []AppendBlock{{Advance: &Advance{Target: o.ID, Link: link.ID, LinkVersion: 1, Fence: lease.Fence(),
				Expect: []uint64{5}, Batch: r.ids.ULID(), Next: []uint64{6}, Counts: LinkCounts{Read: 1}}}})
			if err == nil {
				err = res[0].Err
			}
			return err
		}, func(r *rig, o Object) bool { return r.progress(o)[0].Counts.Read == 6 }},
		{"change_catalog", func(r *rig, o *Object) error {
			_, err := r.ChangeCatalog(ctx, CatalogChange{Drop: []uint64{link.ID}, Forget: []ProgressRow{{o.ID, link.ID}}})
			return err
		}, func(r *rig, o Object) bool { return len(r.progress(o)) == 0 && !exists(r, "link") }},
		{"move_refs", func(r *rig, o *Object) error {
			return r.MoveRefs(ctx, o.ID, 0, 3, "walx/20260102/"+r.ids.ULID()+".lwix", "")
		}, func(r *rig, o Object) bool { return r.part(o, 0).Overflow.Upto == 3 }},
		{"commit", func(r *rig, o *Object) error { _, err := r.commit(*o, 1, 3, 0); return err },
			func(r *rig, o Object) bool {
				h, _, _, _ := r.Heads(ctx, o.ID)
				return h.Version == 1 && r.part(o, 0).Applied == 3
			}},
		{"create_tag", func(r *rig, o *Object) error { _, err := r.tag(*o, "v1", 1); return err },
			func(r *rig, o Object) bool {
				tags, _ := r.Tags(ctx, o.ID)
				return len(tags) == 1 && tags[0].Version == 1
			}},
		{"drop_tag", func(r *rig, o *Object) error {
			tag, err := r.DropTag(ctx, o.ID, "V1", "")
			if err == nil && tag.Name != "v1" {
				err = fmt.Errorf("dropped %+v", tag)
			}
			return err
		}, func(r *rig, o Object) bool { tags, err := r.Tags(ctx, o.ID); return err == nil && len(tags) == 0 }},
		{"bump_gc_epoch", func(r *rig, o *Object) error {
			epoch, err := r.BumpGCEpoch(ctx, o.ID)
			if err == nil && epoch != 1 {
				err = fmt.Errorf("epoch %d", epoch)
			}
			return err
		}, func(r *rig, o Object) bool { root, _ := r.Root(ctx, o.ID); return root.Head.GCEpoch == 1 }},
		{"release_manifests", func(r *rig, o *Object) error { return r.ReleaseManifests(ctx, o.ID, 1) },
			func(r *rig, o Object) bool { root, _ := r.Root(ctx, o.ID); return root.Head.Oldest == 1 }},
		{"trim_refs", func(r *rig, o *Object) error { return r.TrimRefs(ctx, o.ID, 1, 2) },
			func(r *rig, o Object) bool { return r.part(o, 1).Applied == 2 && len(r.part(o, 1).Refs) == 1 }},
		{"condemn_wal", func(r *rig, _ *Object) error { return r.CondemnWAL(ctx, r.ids.ULID()) },
			func(*rig, Object) bool { return true }},
		{"release_lease", func(r *rig, _ *Object) error { return r.ReleaseLease(ctx, lease) },
			func(r *rig, _ Object) bool { _, err := r.AcquireLease(ctx, "k", "you", 1); return err == nil }},
		{"change_catalog", func(r *rig, o *Object) error {
			_, err := r.ChangeCatalog(ctx, CatalogChange{Update: []ObjectUpdate{{ID: o.ID, ExpectSchemaVersion: 2, Name: "papers", Definition: []byte("named")}}})
			return err
		}, func(r *rig, _ Object) bool { return exists(r, "papers") && !exists(r, "docs") }},
		{"change_catalog", func(r *rig, o *Object) error {
			made, err := r.ChangeCatalog(ctx, CatalogChange{Drop: []uint64{o.ID}, Create: &Object{Namespace: "public", Name: "Papers", Partitions: 1}})
			if err == nil {
				*o = made
			}
			return err
		}, func(r *rig, o Object) bool {
			u, _ := r.GetObject(ctx, "public", "papers")
			return u.ID == o.ID && u.Name == "Papers"
		}},
		{"change_catalog", func(r *rig, o *Object) error { return r.DropObject(ctx, o.ID) },
			func(r *rig, _ Object) bool { return !exists(r, "papers") }},
		{"drop_namespace", func(r *rig, _ *Object) error { return r.DropNamespace(ctx, "public") },
			func(r *rig, _ Object) bool { ns, _ := r.ListNamespaces(ctx); return len(ns) == 0 }},
	}
}

// tick lets the waits between tries pass.
func tick(t *testing.T, r *rig) {
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				r.clk.Advance(50 * time.Millisecond)
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
}

// With a lost reply, before or after the write, every operation ends as if
// nothing had happened to it, and does its work once.
func TestLostReplies(t *testing.T) {
	for _, kind := range []FaultKind{LostBefore, LostAfter} {
		for n := 1; n < maxUnknown; n++ {
			t.Run(fmt.Sprintf("kind%d/%d", kind, n), func(t *testing.T) {
				each(t, func(t *testing.T, r *rig) {
					tick(t, r)
					var o Object
					for _, s := range steps() {
						hits := r.faults.Hits()
						r.faults.Add(Fault{Op: s.op, Kind: kind, N: n})
						err := s.run(r, &o)
						r.faults.Clear()
						if err != nil || !s.done(r, o) {
							t.Fatalf("%s: %v", s.op, err)
						}
						if r.faults.Hits() == hits {
							t.Fatalf("%s: the fault was not hit", s.op)
						}
					}
				})
			})
		}
	}
}

// When replies stay lost the outcome is CommitUnknown; here the writes did not
// happen either, and the operation can be repeated.
func TestLostForGood(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		tick(t, r)
		var o Object
		for _, s := range steps() {
			if s.op == "condemn_wal" || s.op == "renew_lease" {
				continue // nothing to tell their effect by
			}
			r.faults.Add(Fault{Op: s.op, Kind: LostBefore, N: maxUnknown})
			err := s.run(r, &o)
			r.faults.Clear()
			if !fail.Is(err, fail.CommitUnknown) || s.done(r, o) {
				t.Fatalf("%s: %v", s.op, err)
			}
			if err := s.run(r, &o); err != nil || !s.done(r, o) {
				t.Fatalf("%s again: %v", s.op, err)
			}
		}
	})
}

// A refusal that says so is no unknown outcome and leaves nothing behind.
func TestRefused(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		tick(t, r)
		var o Object
		for _, s := range steps() {
			if s.op == "condemn_wal" || s.op == "renew_lease" {
				continue
			}
			r.faults.Add(Fault{Op: s.op, Kind: Refused, N: 1})
			err := s.run(r, &o)
			if !fail.Is(err, fail.Unavailable) || s.done(r, o) {
				t.Fatalf("%s: %v", s.op, err)
			}
			r.faults.Add(Fault{Kind: Unreadable, N: 1})
			if err := s.run(r, &o); !fail.Is(err, fail.Unavailable) {
				t.Fatalf("%s unreadable: %v", s.op, err)
			}
			r.faults.Clear()
			if err := s.run(r, &o); err != nil || !s.done(r, o) {
				t.Fatalf("%s again: %v", s.op, err)
			}
		}
	})
}

// After a lost reply and a failed read nothing is known.
func TestLostThenUnreadable(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		tick(t, r)
		o := r.create("docs", 1)
		r.faults.Add(Fault{Op: "append", Kind: LostAfter, N: 1})
		r.faults.Add(Fault{Kind: Unreadable, Skip: 1})
		_, err := r.Append(ctx, []AppendBlock{r.block(o, 0, 1)})
		wantCode(t, err, fail.CommitUnknown)
		r.faults.Clear()
		if p := r.part(o, 0); p.Next != 1 {
			t.Fatalf("%+v", p)
		}
	})
}

// The reference of an append whose reply was lost has been applied before the
// store looks: it must not append twice.
func TestLostThenApplied(t *testing.T) {
	r := newRig(t, "")
	o := r.create("docs", 1)
	r.faults.Add(Fault{Op: "append", Kind: LostAfter, N: 1})
	r.faults.Add(Fault{Kind: Unreadable, Skip: 1, N: 1})
	done := make(chan error)
	go func() {
		_, err := r.Append(ctx, []AppendBlock{r.block(o, 0, 1)})
		done <- err
	}()
	for r.clk.Waiting() == 0 { // it waits before its third try
		time.Sleep(100 * time.Microsecond)
	}
	must(r.commit(o, 1, 1))(t)
	r.clk.Advance(time.Second)
	wantCode(t, <-done, fail.CommitUnknown)
	if p := r.part(o, 0); p.Next != 1 {
		t.Fatalf("appended twice: %+v", p)
	}
}

// As above, but another writer has taken the offset: then it did not happen.
func TestLostThenTaken(t *testing.T) {
	r := newRig(t, "")
	o := r.create("docs", 1)
	r.faults.Add(Fault{Op: "append", Kind: LostBefore, N: 1})
	r.faults.Add(Fault{Kind: Unreadable, Skip: 1, N: 1})
	done := make(chan AppendResult)
	go func() {
		res, err := r.Append(ctx, []AppendBlock{r.block(o, 0, 1)})
		if err != nil {
			t.Error(err)
			res = make([]AppendResult, 1)
		}
		done <- res[0]
	}()
	for r.clk.Waiting() == 0 {
		time.Sleep(100 * time.Microsecond)
	}
	r.add(o, 0, 5)
	r.clk.Advance(time.Second)
	if res := <-done; res.Err != nil || res.Base != 5 {
		t.Fatalf("%+v", res)
	}
}

func TestContextEnded(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 1)
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_, err := r.Append(gone, []AppendBlock{r.block(o, 0, 1)})
		wantCode(t, err, fail.Canceled)
		_, _, _, err = r.Heads(gone, o.ID)
		wantCode(t, err, fail.Canceled)
		late, cancel2 := context.WithTimeout(ctx, -1)
		defer cancel2()
		_, err = r.Now(late)
		wantCode(t, err, fail.DeadlineExceeded)
		if p := r.part(o, 0); p.Next != 0 {
			t.Fatalf("%+v", p)
		}
	})
}

func TestClosed(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 1)
		for range 2 {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		_, err := r.Append(ctx, []AppendBlock{r.block(o, 0, 1)})
		wantCode(t, err, fail.Unavailable)
		_, err = r.Info(ctx)
		wantCode(t, err, fail.Unavailable)
	})
}
