package metastore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"go.uber.org/goleak"
)

// The members of etcdtest speak HTTP with each other, and connections to a member that
// was stopped hard linger; the metastore itself speaks none.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"), goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

var ctx = context.Background()

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// rig is a store under test with what drives it.
type rig struct {
	Store
	t      *testing.T
	clk    *clock.Manual
	ids    clock.IDs
	faults *Faults
	dir    string // of the embedded store
	rows   *MemRows
}

// sharedRows instead of a directory: rows in memory that outlive a store.
const sharedRows = "shared rows"

func newRig(t *testing.T, dir string) *rig {
	t.Helper()
	clk := clock.NewManual(start)
	r := &rig{t: t, clk: clk, ids: clock.SeededIDs(clk, 1), faults: &Faults{}, dir: dir}
	r.open()
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func (r *rig) open() {
	r.t.Helper()
	switch r.dir {
	case "":
		r.Store = NewMem(r.clk, r.ids, Options{Faults: r.faults})
		return
	case sharedRows:
		if r.rows == nil {
			r.rows = NewMemRows()
		}
		r.Store = must(r.rows.Open(ctx, r.clk, r.ids, Options{Faults: r.faults}))(r.t)
		return
	}
	s, err := OpenEmbedded(ctx, r.dir, r.clk, r.ids, EmbeddedOptions{Faults: r.faults})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Store = s
}

// each runs a test over both back ends.
func each(t *testing.T, run func(t *testing.T, r *rig)) {
	t.Run("mem", func(t *testing.T) { run(t, newRig(t, "")) })
	t.Run("shared", func(t *testing.T) { run(t, newRig(t, sharedRows)) })
	t.Run("embedded", func(t *testing.T) { run(t, newRig(t, t.TempDir())) })
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (r *rig) create(name string, partitions int) Object {
	r.t.Helper()
	must(r.CreateNamespace(ctx, "public", nil))(r.t)
	return must(r.CreateObject(ctx, Object{Namespace: "public", Name: name, Kind: "collection", Partitions: partitions}))(r.t)
}

func (r *rig) walKey() string { return "wal/20260102/" + r.ids.ULID() + ".lwal" }

func (r *rig) block(o Object, p int, n uint32) AppendBlock {
	return AppendBlock{ObjectID: o.ID, Incarnation: o.Incarnation, Partition: p, Records: n, Bytes: int64(n) * 10,
		WALKey: r.walKey(), Off: 32, Len: 100, Checksum: 7}
}

// add appends one block that must succeed.
func (r *rig) add(o Object, p int, n uint32) AppendResult {
	r.t.Helper()
	res := must(r.Append(ctx, []AppendBlock{r.block(o, p, n)}))(r.t)
	if res[0].Err != nil {
		r.t.Fatal(res[0].Err)
	}
	return res[0]
}

func (r *rig) part(o Object, p int) PartitionState {
	r.t.Helper()
	_, parts, _, err := r.Heads(ctx, o.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := dense(parts[p]); err != nil {
		r.t.Fatal(err)
	}
	return parts[p]
}

// progress are the links into an object.
func (r *rig) progress(o Object) []Progress {
	r.t.Helper()
	snap, err := r.Snapshot(ctx, []uint64{o.ID})
	if err != nil {
		if fail.Is(err, fail.UndefinedTable) {
			return nil
		}
		r.t.Fatal(err)
	}
	return snap.Objects[0].Progress
}

// dense checks the invariant of a partition row.
func dense(p PartitionState) error {
	next, last := max(p.Overflow.Upto, p.Applied), int64(0)
	if len(p.Refs) > 0 && p.Refs[0].Base < next {
		next = p.Refs[0].Base // a reference that is applied in part
	}
	for _, r := range p.Refs {
		if r.Base != next || r.TS < last {
			return fmt.Errorf("reference at %d, want %d; time %d after %d", r.Base, next, r.TS, last)
		}
		next, last = r.End(), r.TS
	}
	if next != p.Next || p.Applied > p.Next || len(p.Refs) > MaxInlineRefs {
		return fmt.Errorf("references end at %d, next is %d, applied %d", next, p.Next, p.Applied)
	}
	return nil
}

func (r *rig) commit(o Object, version uint64, applied ...uint64) (Head, error) {
	return r.Commit(ctx, CommitRequest{ObjectID: o.ID, Incarnation: o.Incarnation, ExpectVersion: version - 1,
		Head: Head{Version: version, ManifestKey: fmt.Sprintf("m/%d", version), ManifestChecksum: 5, ManifestSize: 9,
			LanceVersion: 3, CommitID: r.ids.ULID(), Applied: applied}})
}

// tag asks for a tag of a version, with that version's manifest.
func (r *rig) tag(o Object, name string, version uint64) (Tag, error) {
	return r.CreateTag(ctx, TagRequest{ObjectID: o.ID, Incarnation: o.Incarnation, Tag: Tag{Name: name, Version: version,
		ManifestKey: fmt.Sprintf("m/%d", version), ManifestChecksum: 5, ManifestSize: 9, LanceVersion: 3, Applied: []uint64{version}}})
}

// caught turns the panic of a bug under the invariants tag into its error.
func caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fail.FromPanic(p)
		}
	}()
	return f()
}

func wantCode(t *testing.T, err error, code fail.Code) {
	t.Helper()
	if !fail.Is(err, code) {
		t.Errorf("error is %v (%s), want %s", err, fail.CodeOf(err), code)
	}
}
