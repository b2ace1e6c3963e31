package wal

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

func (w *world) commit(version, applied uint64) {
	w.t.Helper()
	_, err := w.meta.Commit(ctx, metastore.CommitRequest{ObjectID: w.obj.ID, Incarnation: w.obj.Incarnation, ExpectVersion: version - 1,
		Head: metastore.Head{Version: version, CommitID: w.ids.ULID(), Applied: []uint64{applied}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) trim(retention time.Duration) TrimStats {
	w.t.Helper()
	s, err := w.log.Trim(ctx, retention)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) count(prefix string) (n int) {
	for _, err := range object.All(ctx, w.store, prefix) {
		if err != nil {
			w.t.Fatal(err)
		}
		n++
	}
	return n
}

func TestTrim(t *testing.T) {
	w := newWorld(t, object.NewMem(), 1)
	for i := range 100 {
		w.append(w.block(0, fmt.Sprint(i)))
	}
	indexes := w.count("walx/")
	if indexes < 2 {
		t.Fatalf("%d index objects", indexes)
	}
	if _, err := w.store.Put(ctx, "wal/not-ours", nil, object.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	w.clk.Advance(time.Hour)
	// All is referenced but the replaced indexes.
	if s := w.trim(time.Minute); s.Deleted != indexes-1 {
		t.Fatalf("%+v, %d indexes", s, indexes)
	}
	if got := w.read(0, 0); len(got) != 100 {
		t.Fatalf("%d records left", len(got))
	}
	w.commit(1, 40)
	if s := w.trim(2 * time.Hour); s.Deleted != 0 { // too young
		t.Fatalf("%+v", s)
	}
	// The index still names the applied segments: they stay with it.
	w.trim(time.Minute)
	if got := w.read(0, 40); len(got) != 60 || got[0] != "40" {
		t.Fatalf("%q", got)
	}
	w.commit(2, 95)
	s := w.trim(time.Minute)
	if s.Deleted != 96 || s.Bytes == 0 || w.count("wal/") != 6 || w.count("walx/") != 0 {
		t.Fatalf("%+v, %d segments, %d indexes", s, w.count("wal/"), w.count("walx/"))
	}
	if got := w.read(0, 95); len(got) != 5 {
		t.Fatalf("%q", got)
	}
	if err := w.meta.DropObject(ctx, w.obj.ID); err != nil {
		t.Fatal(err)
	}
	w.trim(time.Minute)
	if n := w.count("wal"); n != 1 { // the object that is not ours
		t.Fatalf("%d objects left", n)
	}
}

// A root that cannot be read ends the sweep before anything is deleted.
func TestTrimUnreadableRoot(t *testing.T) {
	w := newFaultyWorld(t)
	for i := range 60 {
		w.append(w.block(0, fmt.Sprint(i)))
	}
	w.commit(1, 50)
	w.append(w.block(0, "x"))
	w.clk.Advance(time.Hour)
	for range 60 {
		w.append(w.block(0, "y"))
	}
	before := w.count("wal")
	w.faulty().Add(object.Fault{Op: object.OpGet, Prefix: "walx/", Kind: object.FailBefore})
	if _, err := w.log.Trim(ctx, time.Minute); !errors.Is(err, object.ErrInjected) {
		t.Fatal(err)
	}
	w.faulty().Clear()
	w.faulty().Add(object.Fault{Op: object.OpGet, Prefix: "walx/", Kind: object.CorruptRead, Bit: 200})
	if _, err := w.log.Trim(ctx, time.Minute); !fail.Is(err, fail.Corrupt) {
		t.Fatal(err)
	}
	w.faulty().Clear()
	if n := w.count("wal"); n != before {
		t.Fatalf("%d objects of %d left", n, before)
	}
	_, parts, _, _ := w.meta.Heads(ctx, w.obj.ID)
	if err := w.store.Delete(ctx, parts[0].Overflow.IndexKey); err != nil {
		t.Fatal(err)
	}
	if _, err := w.log.Trim(ctx, time.Minute); !errors.Is(err, object.ErrNotFound) {
		t.Fatal(err)
	}
	if n := w.count("wal"); n != before-1 {
		t.Fatalf("%d objects of %d left", n, before)
	}
}

// A sweep with no retention at all, while a segment is being written, leaves it
// alone: it is sequenced and readable afterwards.
func TestTrimInFlight(t *testing.T) {
	w, h := newHeldWorld(t)
	done := make(chan []Result, 1)
	go func() { res, _ := w.log.Append(ctx, []Block{w.block(0, "flying")}); done <- res }()
	<-h.started
	// The segment is durable but not sequenced: hold it there by hand.
	w.clk.Advance(time.Hour)
	w.trim(0)
	close(h.release)
	if res := <-done; len(res) != 1 || res[0].Err != nil {
		t.Fatalf("%+v", res)
	}
	w.clk.Advance(time.Hour)
	w.trim(0)
	if got := w.read(0, 0); len(got) != 1 {
		t.Fatalf("%q", got)
	}
}

// Another node that stalls between its write and its transaction, until a sweep
// has condemned the segment, is refused: its offsets never name a deleted object.
func TestTrimStalledNode(t *testing.T) {
	w := newWorld(t, object.NewMem(), 1)
	key := segmentKey("20260102", w.ids.ULID())
	if _, err := w.store.Put(ctx, key, sampleSegment(), object.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	w.clk.Advance(time.Hour)
	if s := w.trim(time.Minute); s.Deleted != 1 {
		t.Fatalf("%+v", s)
	}
	res, err := w.meta.Append(ctx, []metastore.AppendBlock{{ObjectID: w.obj.ID, Incarnation: w.obj.Incarnation, Records: 1, WALKey: key}})
	if err != nil || !fail.Is(res[0].Err, fail.Conflict) {
		t.Fatal(res, err)
	}
}

// Unsequenced segments of a failed flush are swept.
func TestTrimOrphans(t *testing.T) {
	w := newFaultyWorld(t)
	w.faulty().Add(object.Fault{Op: object.OpPut, Kind: object.FailAfter})
	if _, err := w.log.Append(ctx, []Block{w.block(0, "x")}); err == nil {
		t.Fatal("no error")
	}
	w.faulty().Clear()
	if n := w.count("wal/"); n != putAttempts {
		t.Fatalf("%d orphans", n)
	}
	w.clk.Advance(time.Hour)
	if s := w.trim(time.Minute); s.Deleted != putAttempts {
		t.Fatalf("%+v", s)
	}
}

func TestRefsExpired(t *testing.T) {
	w := newWorld(t, object.NewMem(), 1)
	for range 10 {
		w.append(w.block(0, "x"))
	}
	w.commit(1, 5)
	_, parts, _, err := w.meta.Heads(ctx, w.obj.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.log.Refs(ctx, parts[0], 3); !fail.Is(err, fail.SnapshotExpired) {
		t.Fatal(err)
	}
	if refs, err := w.log.Refs(ctx, parts[0], 10); err != nil || len(refs) != 0 {
		t.Fatal(refs, err)
	}
	gap := parts[0]
	gap.Refs = append(gap.Refs[:1:1], gap.Refs[2:]...)
	if _, err := w.log.Refs(ctx, gap, 5); !fail.Is(err, fail.Corrupt) {
		t.Fatal(err)
	}
}

func TestReadDamage(t *testing.T) {
	w := newFaultyWorld(t)
	ref := w.append(w.block(0, "some payload"))[0].Ref
	for bit := range ref.Len * 8 {
		w.faulty().Clear()
		w.faulty().Add(object.Fault{Op: object.OpGetRange, Kind: object.CorruptRead, Bit: bit})
		if _, err := w.log.ReadBlock(ctx, ref); !fail.Is(err, fail.Corrupt) {
			t.Fatalf("bit %d: %v", bit, err)
		}
	}
	w.faulty().Clear()
	for what, bad := range map[string]func(r *metastore.Ref){
		"beyond the end": func(r *metastore.Ref) { r.Off += 1 << 20 }, "negative": func(r *metastore.Ref) { r.Len = -1 },
		"other bytes": func(r *metastore.Ref) { r.Off-- }, "other count": func(r *metastore.Ref) { r.Records++ },
		"no object": func(r *metastore.Ref) { r.WALKey = "wal/none" }} {
		r := ref
		bad(&r)
		if _, err := w.log.ReadBlock(ctx, r); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
