package gc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

func TestTwoPassesLeaveWhatIsKept(t *testing.T) {
	g := newRig(t, nil)
	c := g.create("docs")
	g.versions(c, 4)
	g.must(c.Merge(g.ctx, nil))
	before := len(g.files(c.Object().ID))
	if st := g.pass(c); st.Deleted != 0 || st.Waiting != 0 || g.head(c).GCEpoch != 0 {
		t.Errorf("a pass with nothing to delete: %+v, epoch %d", st, g.head(c).GCEpoch)
	}
	g.release(c)
	if st := g.pass(c); st.Deleted != 0 || st.Waiting == 0 || st.Listed != before {
		t.Errorf("the first pass: %+v", st)
	}
	if st := g.pass(c); st.Deleted == 0 || st.Waiting != 0 {
		t.Errorf("the second pass: %+v", st)
	}
	g.settled(c)
	if st := g.pass(c); st.Deleted != 0 || st.Listed >= before || g.head(c).GCEpoch != 2 {
		t.Errorf("a quiet pass: %+v, epoch %d", st, g.head(c).GCEpoch)
	}
	s := g.gc.State(c.Object().ID)
	if s.Passes != 4 || s.Deleted == 0 || s.LastMS == 0 || s.Err != nil || s.Last.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

// TestTagsStrandNothing: a tag keeps its files alone, and what is around them
// goes; when it is dropped they go too (lance #8705: a tag kept files for ever).
func TestTagsStrandNothing(t *testing.T) {
	g := newRig(t, nil)
	c := g.create("docs")
	g.versions(c, 2)
	g.tag(c, "eval")
	tagged := g.head(c).Version
	g.versions(c, 3)
	g.must(c.Merge(g.ctx, nil))
	g.release(c)
	g.pass(c)
	g.pass(c)
	g.settled(c)
	if s, err := c.Strong(g.ctx); err != nil || s.Version() == tagged {
		t.Fatal(err)
	}
	g.counted(c)
	g.tag(c, "again") // the head: it shares files with retained versions
	g.versions(c, 2)
	g.release(c)
	g.pass(c)
	g.counted(c)
	g.versions(c, 1) // counts by itself until the next pass
	g.counted(c)
	g.gc = New(g.gc.deps) // another process
	for _, name := range []string{"eval", "again"} {
		_, err := g.meta.DropTag(g.ctx, c.Object().ID, name, "")
		g.must(err)
	}
	g.pass(c)
	g.pass(c)
	g.settled(c)
}

// counted compares what the metastore has of the object's bytes with a count of the
// test's own.
func (g *rig) counted(c *collection.Collection) {
	g.t.Helper()
	root, err := g.meta.Root(g.ctx, c.Object().ID)
	g.must(err)
	g.must(miscounted(g.ctx, g.mem, root))
}

// miscounted says where the bytes of a root are not those of the files that its
// versions and tags keep.
func miscounted(ctx context.Context, store object.Store, root metastore.Root) error {
	add := func(to map[string]int64, ref collection.ManifestRef) (collection.ManifestRef, error) {
		m, err := collection.ReadManifest(ctx, store, ref)
		if err != nil {
			return ref, err
		}
		to[ref.Key] = ref.Size
		for _, o := range m.Objects() {
			to[o.Key] = max(0, o.Size)
		}
		return m.ParentRef(), nil
	}
	kept, alone := map[string]int64{}, map[string]int64{} // by retained versions, by tags only
	ref := collection.ManifestRef{Key: root.Head.ManifestKey, Checksum: root.Head.ManifestChecksum, Size: root.Head.ManifestSize}
	var err error
	for v := root.Head.Version; v > 0 && v >= root.Head.Oldest && err == nil; v-- {
		ref, err = add(kept, ref)
	}
	for _, t := range root.Tags {
		own := map[string]int64{}
		if err == nil {
			_, err = add(own, collection.ManifestRef{Key: t.ManifestKey, Checksum: t.ManifestChecksum, Size: t.ManifestSize})
		}
		maps.DeleteFunc(own, func(key string, _ int64) bool { _, too := kept[key]; return too })
		if want := sum(own); err == nil && t.Exclusive != want {
			return fmt.Errorf("tag %s keeps %d bytes alone, the metastore says %d", t.Name, want, t.Exclusive)
		}
		maps.Copy(alone, own)
	}
	if err == nil && (root.Head.TagBytes != sum(alone) || root.Head.Bytes() != sum(kept)+sum(alone)) {
		return fmt.Errorf("%d bytes are kept, %d by tags alone; the metastore says %d and %d", sum(kept)+sum(alone), sum(alone), root.Head.Bytes(), root.Head.TagBytes)
	}
	return err
}

func sum(files map[string]int64) int64 {
	n := int64(0)
	for _, size := range files {
		n += size
	}
	return n
}

// TestAnUnreadableRootStopsThePass (paimon #7715): a manifest that is gone, or
// damaged, must not make its files look like nobody's.
func TestAnUnreadableRootStopsThePass(t *testing.T) {
	for name, spoil := range map[string]func(g *rig, key string){
		"gone": func(g *rig, key string) { g.must(g.mem.Delete(g.ctx, key)) },
		"damaged": func(g *rig, key string) {
			_, err := g.mem.Put(g.ctx, key, []byte("LMAN"), object.PutOptions{Replace: true})
			g.must(err)
		},
		"not to be read": func(g *rig, key string) {
			g.store.Add(object.Fault{Op: object.OpGet, Prefix: key, Kind: object.FailBefore})
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, nil)
			c := g.create("docs")
			g.versions(c, 3)
			old := g.head(c).ManifestKey
			g.tag(c, "eval")
			g.versions(c, 3)
			g.release(c)
			spoil(g, old)
			before := g.files(c.Object().ID)
			for range 4 {
				if _, err := g.gc.Pass(g.ctx, c.Object().ID); err == nil || !strings.Contains(err.Error(), "does not know what to keep") {
					t.Fatalf("the pass went on: %v", err)
				}
			}
			if !slices.Equal(g.files(c.Object().ID), before) {
				t.Error("files were deleted")
			}
			if s := g.gc.State(c.Object().ID); s.Err == nil || s.LastMS != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestABuilderMaySpanOnePass (slatedb #1029): files that are written and not yet
// committed when a pass runs are not deleted by it.
func TestABuilderMaySpanOnePass(t *testing.T) {
	g := newRig(t, nil)
	c := g.create("docs")
	g.versions(c, 2)
	g.write(c, 5)
	g.meta.before = func() {
		if st := g.pass(c); st.Waiting == 0 {
			t.Error("the pass does not see the builder's files")
		}
	}
	g.must(c.Apply(g.ctx, nil))
	g.pass(c)
	g.settled(c)
	if s, err := c.Strong(g.ctx); err != nil || s.Version() != 3 {
		t.Errorf("%v, %v", s, err)
	}
}

// TestAStalledBuilderIsRefused (slatedb #352, #1622): a builder that stands still
// over two passes has lost its files; its commit must not bring them back.
func TestAStalledBuilderIsRefused(t *testing.T) {
	g := newRig(t, nil)
	c := g.create("docs")
	g.versions(c, 2)
	g.write(c, 5)
	g.meta.before = func() {
		g.pass(c)
		if st := g.pass(c); st.Deleted == 0 {
			t.Error("the stalled builder's files stayed")
		}
	}
	if err := c.Apply(g.ctx, nil); !fail.Is(err, fail.Conflict) {
		t.Fatalf("the commit took effect: %v", err)
	}
	g.settled(c)
	g.must(c.Apply(g.ctx, nil)) // built anew
	g.pass(c)
	g.pass(c)
	g.settled(c)
}

// TestAnUnknownCommitKeepsItsFiles (iceberg #2317, trino #14104): the reply of a
// commit that took effect was lost; nobody may delete its files.
func TestAnUnknownCommitKeepsItsFiles(t *testing.T) {
	faults := &metastore.Faults{}
	g := newRig(t, faults)
	c := g.create("docs")
	g.versions(c, 2)
	g.write(c, 5)
	g.meta.before = func() {
		faults.Add(metastore.Fault{Op: "commit", Kind: metastore.LostAfter, N: 1})
		faults.Add(metastore.Fault{Kind: metastore.Unreadable, Skip: 1, N: 3})
	}
	if err := c.Apply(g.ctx, nil); !fail.Is(err, fail.CommitUnknown) {
		t.Fatal(err)
	}
	faults.Clear()
	if g.head(c).Version != 3 {
		t.Fatalf("the commit did not take effect: version %d", g.head(c).Version)
	}
	g.release(c)
	for range 3 {
		g.pass(c)
		g.kept(c.Object().ID) // reads all of it
	}
	g.settled(c)
}

// TestTheHeadIsKept (risingwave #26393): an object that stands still longer than
// any retention keeps the version that answers now.
func TestTheHeadIsKept(t *testing.T) {
	g := newRig(t, nil)
	c := g.create("docs")
	g.versions(c, 3)
	g.release(c)
	for range 5 {
		g.pass(c)
	}
	g.settled(c)
	s, err := c.Version(g.ctx, 3)
	if err != nil || s.Count() == 0 {
		t.Errorf("%v, %v", s, err)
	}
	if err := g.meta.ReleaseManifests(g.ctx, c.Object().ID, 4); !fail.Is(err, fail.OutOfRange) {
		t.Errorf("the head was released: %v", err)
	}
}

// TestDroppedObjectsGo, and only they.
func TestDroppedObjectsGo(t *testing.T) {
	g := newRig(t, nil)
	a, b := g.create("a"), g.create("b")
	g.versions(a, 3)
	g.versions(b, 2)
	if ids, err := g.gc.Strays(g.ctx); err != nil || len(ids) != 0 {
		t.Errorf("%v, %v", ids, err)
	}
	g.must(g.meta.DropObject(g.ctx, a.Object().ID))
	ids, err := g.gc.Strays(g.ctx)
	if err != nil || !slices.Equal(ids, []uint64{a.Object().ID}) {
		t.Fatalf("%v, %v", ids, err)
	}
	if st := g.pass(a); st.Deleted != 0 || st.Waiting == 0 {
		t.Errorf("%+v", st)
	}
	if st := g.pass(a); st.Deleted != st.Listed {
		t.Errorf("%+v", st)
	}
	if n := len(g.files(a.Object().ID)); n != 0 {
		t.Errorf("%d files are left", n)
	}
	if ids, err := g.gc.Strays(g.ctx); err != nil || len(ids) != 0 {
		t.Errorf("%v, %v", ids, err)
	}
	g.pass(b)
	g.settled(b)
}

// TestMirrorsAreLeftAlone: what shows tags to other engines is made and deleted by
// others, until its object is dropped.
func TestMirrorsAreLeftAlone(t *testing.T) {
	g := newRig(t, nil)
	c := g.create("docs")
	g.versions(c, 1)
	id := c.Object().ID
	mirrors := collection.MirrorKeys(id, "t")
	for _, key := range mirrors {
		_, err := g.mem.Put(g.ctx, key, []byte("x"), object.PutOptions{})
		g.must(err)
	}
	for range 3 {
		if st := g.pass(c); st.Waiting != 0 || st.Deleted != 0 {
			t.Errorf("%+v", st)
		}
	}
	g.must(g.meta.DropObject(g.ctx, id))
	g.pass(c)
	g.pass(c)
	if n := len(g.files(id)); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

// TestStraysOfManyPages: an id with more files than a page is listed once, and
// what is no id is left alone.
func TestStraysOfManyPages(t *testing.T) {
	g := newRig(t, nil)
	for _, key := range []string{"objects/12/a", "objects/007/a", "objects/x/a", "objects/y"} {
		_, err := g.mem.Put(g.ctx, key, nil, object.PutOptions{})
		g.must(err)
	}
	for i := range object.ListPage + 10 {
		_, err := g.mem.Put(g.ctx, "objects/100/"+strings.Repeat("a", i%200+1)+string(rune('A'+i/200)), nil, object.PutOptions{})
		g.must(err)
	}
	if ids, err := g.gc.Strays(g.ctx); err != nil || !slices.Equal(ids, []uint64{100, 12}) {
		t.Errorf("%v, %v", ids, err)
	}
}

// TestAnInterruptedDelete: what the store did not delete goes with the next pass.
func TestAnInterruptedDelete(t *testing.T) {
	g := newRig(t, nil)
	c := g.create("docs")
	g.versions(c, 4)
	g.release(c)
	g.pass(c)
	g.store.Add(object.Fault{Op: object.OpDelete, Kind: object.FailBefore, Skip: 2, N: 1})
	if _, err := g.gc.Pass(g.ctx, c.Object().ID); !errors.Is(err, object.ErrInjected) {
		t.Fatal(err)
	}
	if st := g.pass(c); st.Deleted == 0 || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
	g.settled(c)
}

// TestTwoCollectors of one object: one yields, and nothing that is kept is lost.
func TestTwoCollectors(t *testing.T) {
	g := newRig(t, nil)
	c := g.create("docs")
	other := New(g.gc.deps)
	yields := 0
	for range 6 {
		g.versions(c, 1)
		g.release(c)
		for _, x := range []*Collector{g.gc, other} {
			st, err := x.Pass(g.ctx, c.Object().ID)
			g.must(err)
			if st.Yielded {
				yields++
			}
			g.kept(c.Object().ID)
		}
	}
	if epoch := g.head(c).GCEpoch; yields < 4 || epoch > 8 {
		t.Errorf("%d passes yielded, the epoch rose to %d", yields, epoch)
	}
	for range 3 {
		g.pass(c)
	}
	g.settled(c)
}

// TestAForgottenObjectIsLookedAtAgain: forgetting costs a pass, never a file.
func TestAForgottenObjectIsLookedAtAgain(t *testing.T) {
	g := newRig(t, nil)
	c := g.create("docs")
	g.versions(c, 2)
	g.release(c)
	g.pass(c)
	g.gc.Forget(c.Object().ID)
	if s := g.gc.State(c.Object().ID); s != (State{}) {
		t.Errorf("%+v", s)
	}
	if st := g.pass(c); st.Deleted != 0 {
		t.Errorf("%+v", st)
	}
	if st := g.pass(c); st.Deleted == 0 {
		t.Errorf("%+v", st)
	}
	g.settled(c)
	if _, err := g.gc.do(g.ctx, 1, &Memory{}, Step{Do: "nothing"}); !fail.Is(err, fail.Internal) {
		t.Error(err)
	}
}
