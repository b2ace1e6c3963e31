package collection

import (
	"context"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/object"
)

// Another node applies up to the middle of what this node keeps in one generation.
// A reader that has waited for its rows, and fixes its snapshot after another reader
// took the new manifest, does not lose those that are read again from the log.
func TestReadersKeepTheirRowsWhenAnotherNodeApplies(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{})
	other, err := Open(ctx, b.deps, b.obj, b.opt)
	b.must(err)
	_, err = b.c.Append(ctx, b.someRows(0, 3))
	b.must(err)
	b.must(other.Apply(ctx, nil))
	_, err = b.c.Append(ctx, b.someRows(3, 2))
	b.must(err)
	old, parts, _, err := b.deps.Meta.Heads(ctx, b.obj.ID)
	b.must(err)
	if old.Version != 1 || parts[0].Next != 5 {
		t.Fatalf("%+v %+v", old, parts)
	}
	b.must(b.c.reach(ctx, parts)) // the first reader has its rows

	b.must(b.c.refresh(ctx, old)) // the second takes the new manifest
	snap, err := b.c.snapshot(ctx, []uint64{5})
	b.must(err)
	if snap != nil && snap.Count() != 5 {
		t.Errorf("the first reader sees %d rows, want 5", snap.Count())
	}
	if snap, err = b.c.At(ctx, old, parts); err != nil || snap.Count() != 5 {
		t.Errorf("%d rows, want 5; %v", snap.Count(), err)
	}
}

// A pin whose objects cannot be read now, or are damaged, is not called expired: it
// may be readable again, and the damage must be known.
func TestOnlyWhatIsGoneHasExpired(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{})
	faulty := object.NewFaulty(b.deps.Objects, b.deps.Clock)
	b.deps.Objects = faulty
	b.open()
	_, err := b.c.Append(ctx, b.someRows(0, 3))
	b.must(err)
	b.must(b.c.Apply(ctx, nil))
	_, err = b.c.Append(ctx, b.someRows(3, 2))
	b.must(err)
	b.must(b.c.Apply(ctx, nil))
	for code, rule := range map[fail.Code]object.Fault{
		fail.Unavailable: {Kind: object.FailBefore},
		fail.Corrupt:     {Kind: object.CorruptRead, Prefix: "objects/"},
	} {
		b.open()
		faulty.Add(rule)
		_, err := b.c.Pinned(ctx, 1, []uint64{3})
		faulty.Clear()
		if !fail.Is(err, code) {
			t.Errorf("with fault %d: %v, want %s", rule.Kind, err, code)
		}
	}
	b.open()
	b.must(faulty.Delete(ctx, b.c.st.manifest.ParentRef().Key))
	if _, err := b.c.Pinned(ctx, 1, []uint64{3}); !fail.Is(err, fail.Corrupt) {
		t.Errorf("without its manifest, which is kept: %v", err)
	}
	b.must(b.deps.Meta.ReleaseManifests(ctx, b.obj.ID, 2))
	if _, err := b.c.Pinned(ctx, 1, []uint64{3}); !fail.Is(err, fail.SnapshotExpired) {
		t.Errorf("without its manifest, which was released: %v", err)
	}
}
