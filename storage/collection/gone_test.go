package collection

import (
	"context"
	"errors"
	"testing"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// deleteFiles deletes every file of the object but those that the head refers to
// and those that are named.
func (b *bench) deleteFiles(but ...string) {
	b.t.Helper()
	ctx := context.Background()
	head, _, _, err := b.deps.Meta.Heads(ctx, b.obj.ID)
	b.must(err)
	keep := map[string]bool{head.ManifestKey: true, BaseKey(b.obj.ID): true}
	m, err := ReadManifest(ctx, b.deps.Objects, ManifestRef{Key: head.ManifestKey})
	b.must(err)
	for _, o := range m.Objects() {
		keep[o.Key] = true
	}
	for _, key := range but {
		keep[key] = true
	}
	for info, err := range object.All(ctx, b.deps.Objects, Prefix(b.obj.ID)) {
		b.must(err)
		if !keep[info.Key] {
			b.must(b.deps.Objects.Delete(ctx, info.Key))
		}
	}
}

// merged is a node with a snapshot of version 2, whose splits nobody has read yet,
// and a version 3 that has merged them away.
func merged(t *testing.T) (*bench, *Snapshot) {
	t.Helper()
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 1, MinFragment: 1})
	for i := range 2 {
		_, err := b.c.Append(ctx, b.someRows(10*i, 10))
		b.must(err)
		b.must(b.c.Apply(ctx, nil))
	}
	b.open()
	snap := b.strong()
	other, err := Open(ctx, b.deps, b.obj, b.opt)
	b.must(err)
	b.must(other.Merge(ctx, nil))
	return b, snap
}

// scanAll reads a snapshot and returns the first error.
func scanAll(s *Snapshot) error {
	sc, err := s.Scan(testEnv(), &plan.Scan{Object: s.obj, Cols: allCols(s.obj), Limit: plan.NoLimit})
	for err == nil {
		c, e := sc.Next(context.Background())
		if c == nil && e == nil {
			return nil
		}
		err = e
	}
	return err
}

// TestAQueryWhoseVersionWasReleased gets SnapshotExpired when it comes to a file
// that is gone, and not the word of damage.
func TestAQueryWhoseVersionWasReleased(t *testing.T) {
	b, snap := merged(t)
	b.must(b.deps.Meta.ReleaseManifests(context.Background(), b.obj.ID, 3))
	b.deleteFiles()
	if err := scanAll(snap); !fail.Is(err, fail.SnapshotExpired) || !errors.Is(err, object.ErrNotFound) {
		t.Errorf("the scan of a released version: %v", err)
	}
	leg := plan.Leg{Kind: plan.TextLeg, Query: &expr.Const{Value: vec.Text("quick fox")}, Limit: 20, Weight: 1}
	search, err := snap.Search(testEnv(), &plan.SearchScan{Object: snap.obj, Cols: allCols(snap.obj), Legs: []plan.Leg{leg}, Limit: 5, Score: plan.Column{ID: 100, Name: "_score"}})
	if err == nil {
		_, err = search.Next(context.Background())
	}
	if !fail.Is(err, fail.SnapshotExpired) {
		t.Errorf("the search of a released version: %v", err)
	}
	if s := b.strong(); s.Version() != 3 || s.Count() != 20 {
		t.Errorf("version %d, %d rows", s.Version(), s.Count())
	}
}

// TestAFileThatIsKeptIsDamageWhenGone: of a version that is retained, or tagged.
func TestAFileThatIsKeptIsDamageWhenGone(t *testing.T) {
	ctx := context.Background()
	for name, tag := range map[string]bool{"retained": false, "tagged": true} {
		t.Run(name, func(t *testing.T) {
			b, snap := merged(t)
			if tag {
				_, err := b.deps.Meta.CreateTag(ctx, metastore.TagRequest{ObjectID: b.obj.ID, Incarnation: b.obj.Incarnation, Tag: metastore.Tag{Name: "t", Version: 2, ManifestKey: b.c.st.ref.Key, Applied: []uint64{20}}})
				b.must(err)
				b.must(b.deps.Meta.ReleaseManifests(ctx, b.obj.ID, 3))
			}
			b.deleteFiles()
			if err := scanAll(snap); !fail.Is(err, fail.Corrupt) || !errors.Is(err, object.ErrNotFound) {
				t.Errorf("the scan: %v", err)
			}
		})
	}
}

// TestAHeadThatIsLetGoWhileItIsRead: a node that reads a head, and finds its files
// deleted because others went on, reads what followed.
func TestAHeadThatIsLetGoWhileItIsRead(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 1, MinFragment: 1})
	other, err := Open(ctx, b.deps, b.obj, b.opt)
	b.must(err)
	_, err = other.Append(ctx, b.someRows(0, 10))
	b.must(err)
	b.must(other.Apply(ctx, nil))
	old, parts, _, err := b.deps.Meta.Heads(ctx, b.obj.ID)
	b.must(err)
	_, err = other.Append(ctx, b.someRows(10, 10))
	b.must(err)
	b.must(other.Apply(ctx, nil))
	b.must(other.Merge(ctx, nil))
	b.must(b.deps.Meta.ReleaseManifests(ctx, b.obj.ID, 3))
	b.deleteFiles()
	s, err := b.c.At(ctx, old, parts)
	if err != nil || s.Version() != 3 || s.Count() != 20 {
		t.Fatalf("%v, %v", s, err)
	}
	// The newest version has no such way out.
	head, _, _, err := b.deps.Meta.Heads(ctx, b.obj.ID)
	b.must(err)
	b.must(b.deps.Objects.Delete(ctx, head.ManifestKey))
	if _, err := Open(ctx, b.deps, b.obj, b.opt); !fail.Is(err, fail.Corrupt) {
		t.Errorf("a head without its manifest: %v", err)
	}
}

// TestABuilderThatIsOutrun: an input of a merge is gone because another node has
// merged it and the version was released. That is a conflict, as every lost race.
func TestABuilderThatIsOutrun(t *testing.T) {
	ctx := context.Background()
	b, snap := merged(t)
	b.must(b.deps.Meta.ReleaseManifests(ctx, b.obj.ID, 3))
	b.deleteFiles()
	st := &state{manifest: snap.manifest}
	for _, v := range snap.views {
		st.splits, st.deleted = append(st.splits, v.part.(*split)), append(st.deleted, v.deleted)
	}
	_, err := b.c.rewrite(ctx, st, []int{0, 1})
	if err = outrun(err); !fail.Is(err, fail.Conflict) {
		t.Errorf("the merge of files that are gone: %v", err)
	}
	if err := outrun(fail.New(fail.SnapshotExpired, "the log is gone")); !fail.Is(err, fail.SnapshotExpired) {
		t.Errorf("a log that is gone is no lost race: %v", err)
	}
}
