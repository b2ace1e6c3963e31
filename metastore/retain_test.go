package metastore

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// sound checks what holds of every root.
func sound(r Root) error {
	if r.Head.Oldest > r.Head.Version {
		return fmt.Errorf("oldest %d above version %d", r.Head.Oldest, r.Head.Version)
	}
	if len(r.Tags) > MaxTags {
		return fmt.Errorf("%d tags", len(r.Tags))
	}
	for i, t := range r.Tags {
		if t.Version == 0 || t.Version > r.Head.Version || t.ID == "" {
			return fmt.Errorf("tag %+v of an object at version %d", t, r.Head.Version)
		}
		if i > 0 && fold(r.Tags[i-1].Name) >= fold(t.Name) {
			return fmt.Errorf("tag %s before %s", r.Tags[i-1].Name, t.Name)
		}
	}
	return nil
}

// versions commits n versions of a new object.
func (r *rig) versions(name string, n int) Object {
	r.t.Helper()
	o := r.create(name, 1)
	for v := 1; v <= n; v++ {
		must(r.commit(o, uint64(v), 0))(r.t)
	}
	return o
}

func (r *rig) root(o Object) Root {
	r.t.Helper()
	root := must(r.Root(ctx, o.ID))(r.t)
	if err := sound(root); err != nil {
		r.t.Fatal(err)
	}
	return root
}

// A commit may span one pass of garbage collection, not two.
func TestGCEpoch(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.versions("docs", 1)
		commit := func(version, epoch uint64) error {
			_, err := r.Commit(ctx, CommitRequest{ObjectID: o.ID, Incarnation: o.Incarnation, ExpectVersion: version - 1, GCEpoch: epoch,
				Head: Head{Version: version, CommitID: r.ids.ULID(), Applied: []uint64{0}, GCEpoch: 77, Oldest: 99}})
			return err
		}
		for want := uint64(1); want <= 3; want++ {
			if got := must(r.BumpGCEpoch(ctx, o.ID))(t); got != want {
				t.Fatalf("epoch %d, want %d", got, want)
			}
		}
		wantCode(t, commit(2, 0), fail.Conflict)
		wantCode(t, commit(2, 1), fail.Conflict)
		if err := commit(2, 2); err != nil {
			t.Fatal("one pass of slack:", err)
		}
		if err := commit(3, 3); err != nil {
			t.Fatal(err)
		}
		if h := r.root(o).Head; h.GCEpoch != 3 || h.Oldest != 0 || h.Version != 3 {
			t.Fatalf("a commit moved the epoch or the oldest version: %+v", h)
		}
		_, err := r.BumpGCEpoch(ctx, o.ID+1000)
		wantCode(t, err, fail.UndefinedTable)
	})
}

// A commit that took effect stays one, whatever passes came after it.
func TestGCEpochRepeat(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 1)
		req := CommitRequest{ObjectID: o.ID, Incarnation: o.Incarnation, Head: Head{Version: 1, CommitID: r.ids.ULID(), Applied: []uint64{0}}}
		must(r.Commit(ctx, req))(t)
		for range 3 {
			must(r.BumpGCEpoch(ctx, o.ID))(t)
		}
		must(r.Commit(ctx, req))(t)
	})
}

func TestReleaseManifests(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.versions("docs", 5)
		for _, c := range []struct{ to, want uint64 }{{0, 0}, {3, 3}, {2, 3}, {3, 3}, {5, 5}} {
			if err := r.ReleaseManifests(ctx, o.ID, c.to); err != nil {
				t.Fatal(err)
			}
			if got := r.root(o).Head.Oldest; got != c.want {
				t.Fatalf("released to %d: oldest %d, want %d", c.to, got, c.want)
			}
		}
		wantCode(t, r.ReleaseManifests(ctx, o.ID, 6), fail.OutOfRange)
		wantCode(t, r.ReleaseManifests(ctx, 4711, 1), fail.UndefinedTable)
		must(r.commit(o, 6, 0))(t)
		if h := r.root(o).Head; h.Oldest != 5 {
			t.Fatalf("%+v", h)
		}
	})
}

func TestTags(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.versions("docs", 4)
		r.clk.Advance(time.Minute)
		made := must(r.tag(o, "Zed", 2))(t)
		if made.ID == "" || made.CreatedMS < start.Add(time.Minute).UnixMilli() || made.ManifestKey != "m/2" {
			t.Fatalf("%+v", made)
		}
		must(r.tag(o, "alpha", 4))(t)
		tags := must(r.Tags(ctx, o.ID))(t)
		if len(tags) != 2 || tags[0].Name != "alpha" || fmt.Sprint(tags[1]) != fmt.Sprint(made) {
			t.Fatalf("%+v", tags)
		}
		_, err := r.tag(o, "zED", 3)
		wantCode(t, err, fail.DuplicateObject)
		_, err = r.tag(o, "future", 5)
		wantCode(t, err, fail.OutOfRange)
		_, err = r.tag(o, "", 1)
		wantCode(t, err, fail.InvalidParameter)
		wantCode(t, caught(func() error { _, err := r.tag(o, "none", 0); return err }), fail.Internal)
		gone := o
		gone.Incarnation = r.ids.ULID()
		_, err = r.tag(gone, "late", 1)
		wantCode(t, err, fail.UndefinedTable)
		_, err = r.Tags(ctx, 4711)
		wantCode(t, err, fail.UndefinedTable)

		if err := r.ReleaseManifests(ctx, o.ID, 4); err != nil {
			t.Fatal(err)
		}
		_, err = r.tag(o, "released", 3)
		wantCode(t, err, fail.SnapshotExpired)
		must(r.tag(o, "again", 2))(t) // another tag keeps it
		_, err = r.DropTag(ctx, o.ID, "zed", r.ids.ULID())
		wantCode(t, err, fail.UndefinedTag) // a later tag of the name stays
		for _, name := range []string{"zed", "AGAIN"} {
			must(r.DropTag(ctx, o.ID, name, ""))(t)
		}
		_, err = r.DropTag(ctx, o.ID, "zed", "")
		wantCode(t, err, fail.UndefinedTag)
		_, err = r.tag(o, "too late", 2)
		wantCode(t, err, fail.SnapshotExpired)
		if root := r.root(o); len(root.Tags) != 1 || root.Head.Oldest != 4 {
			t.Fatalf("%+v", root)
		}
	})
}

func TestTagLimits(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.versions("docs", 1)
		req := TagRequest{ObjectID: o.ID, Incarnation: o.Incarnation, Tag: Tag{Version: 1, ManifestKey: "m"}}
		create := func(change func(*TagRequest)) error {
			q := req
			change(&q)
			_, err := r.CreateTag(ctx, q)
			return err
		}
		for i := range MaxTags {
			if i == 2 {
				wantCode(t, create(func(q *TagRequest) { q.Tag.Name, q.Limit = "x", 2 }), fail.TooLarge)
			}
			if err := create(func(q *TagRequest) { q.Tag.Name = fmt.Sprint("t", i) }); err != nil {
				t.Fatal(err)
			}
		}
		wantCode(t, create(func(q *TagRequest) { q.Tag.Name = "one more" }), fail.TooLarge)
		wantCode(t, create(func(q *TagRequest) { q.Tag.Name, q.Tag.Comment = "x", strings.Repeat("x", MaxTagComment+1) }), fail.TooLarge)
		wantCode(t, create(func(q *TagRequest) { q.Tag.Name, q.Limit = "x", MaxTags+1 }), fail.InvalidParameter)

		// Long names and comments and many partitions fill the row before the count does.
		o = r.versions("wide", 1)
		req.ObjectID, req.Incarnation = o.ID, o.Incarnation
		req.Tag.Comment = strings.Repeat("c", MaxTagComment)
		for range MaxPartitions {
			req.Tag.Applied = append(req.Tag.Applied, 1<<63)
		}
		var err error
		n := 0
		for ; err == nil; n++ {
			err = create(func(q *TagRequest) { q.Tag.Name = fmt.Sprintf("%0200d", n) })
		}
		wantCode(t, err, fail.TooLarge)
		if tags := must(r.Tags(ctx, o.ID))(t); len(tags) != n-1 || n < 30 {
			t.Fatalf("%d tags, %d made", len(tags), n-1)
		}
	})
}

// A protected tag keeps its object, alone, among others and in a change that
// would replace it; dropping the tag lets it go.
func TestProtectedTag(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o, other := r.versions("docs", 1), r.versions("other", 1)
		must(r.tag(o, "loose", 1))(t)
		must(r.CreateTag(ctx, TagRequest{ObjectID: o.ID, Incarnation: o.Incarnation, Tag: Tag{Name: "held", Version: 1, ManifestKey: "m", Protect: true}}))(t)
		for what, ch := range map[string]CatalogChange{
			"drop":      {Drop: []uint64{o.ID}},
			"with more": {Drop: []uint64{other.ID, o.ID}},
			"replace":   {Drop: []uint64{o.ID}, Create: &Object{Namespace: "public", Name: "docs"}},
			"namespace": {Drop: []uint64{o.ID, other.ID}, DropNamespace: "public"},
		} {
			_, err := r.ChangeCatalog(ctx, ch)
			wantCode(t, err, fail.Dependents)
			if err != nil && !strings.Contains(err.Error(), `"held"`) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if got := names(t, r); got != "docs:1 other:1" {
			t.Fatal(got)
		}
		must(r.DropTag(ctx, o.ID, "held", ""))(t)
		if err := r.DropObject(ctx, o.ID); err != nil {
			t.Fatal(err)
		}
		_, err := r.Tags(ctx, o.ID) // they went with it
		wantCode(t, err, fail.UndefinedTable)
		again := r.versions("docs", 1)
		if root := r.root(again); len(root.Tags) != 0 {
			t.Fatalf("%+v", root)
		}
	})
}

// Of a release and a tag of the version that it lets go, at most one wins; of
// tags of one name exactly one does; a protected tag and a drop exclude each other.
func TestTagRaces(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for round := range 20 {
			o := r.versions(fmt.Sprint("t", round), 2)
			var tag, same, release error
			var wg sync.WaitGroup
			wg.Go(func() { _, tag = r.tag(o, "x", 1) })
			wg.Go(func() { _, same = r.tag(o, "X", 1) })
			wg.Go(func() { release = r.ReleaseManifests(ctx, o.ID, 2) })
			wg.Wait()
			root := r.root(o)
			won := 0
			for _, err := range []error{tag, same} {
				if err == nil {
					won++
				} else if !fail.Is(err, fail.DuplicateObject) && !fail.Is(err, fail.SnapshotExpired) {
					t.Fatal(err)
				}
			}
			if release != nil || root.Head.Oldest != 2 || won > 1 || won != len(root.Tags) {
				t.Fatalf("%v %v %v %+v", tag, same, release, root)
			}

			var made, dropped error
			wg.Go(func() {
				_, made = r.CreateTag(ctx, TagRequest{ObjectID: o.ID, Incarnation: o.Incarnation, Tag: Tag{Name: "p", Version: 2, ManifestKey: "m", Protect: true}})
			})
			wg.Go(func() { dropped = r.DropObject(ctx, o.ID) })
			wg.Wait()
			if (made == nil) == (dropped == nil) {
				t.Fatalf("tag: %v, drop: %v", made, dropped)
			}
		}
	})
}

// Two passes that begin at once do not share an epoch unless both began before it.
func TestBumpRace(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 1)
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[uint64]bool{}
		for range 8 {
			wg.Go(func() {
				for range 5 {
					e, err := r.BumpGCEpoch(ctx, o.ID)
					mu.Lock()
					if err != nil || seen[e] {
						t.Errorf("epoch %d twice, or %v", e, err)
					}
					seen[e] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if h := r.root(o).Head; h.GCEpoch != 40 {
			t.Fatalf("%+v", h)
		}
	})
}

// Roots gives every object once, whole, however its rows fall on the pages.
func TestRoots(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		must(r.CreateNamespace(ctx, "public", nil))(t)
		want := ""
		for i := range 25 {
			o := must(r.CreateObject(ctx, Object{Namespace: "public", Name: fmt.Sprint("o", i), Partitions: i * MaxPartitions / 24}))(t)
			for v := range i % 3 {
				must(r.commit(o, uint64(v+1)))(t)
			}
			if i%3 == 2 {
				must(r.tag(o, "t", 1))(t)
			}
			want += fmt.Sprintf("%d v%d %d\n", o.ID, i%3, i%3/2)
		}
		got := ""
		collect := func(root Root) error {
			got += fmt.Sprintf("%d v%d %d\n", root.ObjectID, root.Head.Version, len(root.Tags))
			return sound(root)
		}
		if err := r.Roots(ctx, collect); err != nil || got != want {
			t.Fatalf("%v\n%s", err, got)
		}
		// Partition rows are still found beside the tags.
		n := 0
		if err := r.ScanPartitions(ctx, func(uint64, int, PartitionState) error { n++; return nil }); err != nil || n < 25*20 {
			t.Fatalf("%d partitions, %v", n, err)
		}
		// An object that goes meanwhile is left out; fn's error ends the walk.
		seen := 0
		err := r.Roots(ctx, func(root Root) error {
			if seen++; seen == 1 {
				return r.DropObject(ctx, root.ObjectID+1)
			}
			return nil
		})
		if err != nil || seen != 24 {
			t.Fatalf("%d roots, %v", seen, err)
		}
		stop := errors.New("stop")
		if err := r.Roots(ctx, func(Root) error { return stop }); !errors.Is(err, stop) {
			t.Fatal(err)
		}
		r.faults.Add(Fault{Kind: Unreadable, Skip: 3, N: 1})
		wantCode(t, r.Roots(ctx, func(Root) error { return nil }), fail.Unavailable)
	})
}

// TestCountBytes: what commits add counts by itself, what garbage collection finds
// freed is taken off, and nothing else moves.
func TestCountBytes(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 1)
		commit := func(version uint64, added int64) {
			t.Helper()
			must(r.Commit(ctx, CommitRequest{ObjectID: o.ID, Incarnation: o.Incarnation, ExpectVersion: version - 1, Added: added,
				Head: Head{Version: version, CommitID: r.ids.ULID(), Applied: []uint64{0}, Written: 7, Freed: 7, TagBytes: 7}}))(t)
		}
		commit(1, 100)
		commit(2, 50)
		tag := must(r.tag(o, "a", 1))(t)
		if h := r.root(o).Head; h.Bytes() != 150 || h.TagBytes != 0 || tag.Exclusive >= 0 || r.root(o).Tags[0].Exclusive >= 0 {
			t.Fatalf("%+v, tag %+v", h, tag)
		}
		if err := r.CountBytes(ctx, o.ID, Count{Freed: 40, TagBytes: 30, Tags: map[string]int64{tag.ID: 30, "dropped": 5}}); err != nil {
			t.Fatal(err)
		}
		commit(3, 1)
		root := r.root(o)
		if h := root.Head; h.Bytes() != 111 || h.TagBytes != 30 || h.GCEpoch != 0 || h.Oldest != 0 || root.Tags[0].Exclusive != 30 || root.Tags[0].Version != 1 {
			t.Fatalf("%+v", root)
		}
		before := root.Revision
		if err := r.CountBytes(ctx, o.ID, Count{Freed: 40, TagBytes: 30, Tags: map[string]int64{tag.ID: 30}}); err != nil || r.root(o).Revision != before {
			t.Fatalf("a count that says nothing new is written: %v, revision %d after %d", err, r.root(o).Revision, before)
		}
		// An older count comes late: files that were found freed stay freed.
		if err := r.CountBytes(ctx, o.ID, Count{Freed: 10}); err != nil || r.root(o).Head.Bytes() != 111 || r.root(o).Tags[0].Exclusive != 30 {
			t.Fatalf("%v, %+v", err, r.root(o))
		}
		wantCode(t, r.CountBytes(ctx, o.ID+1000, Count{}), fail.UndefinedTable)
	})
}
