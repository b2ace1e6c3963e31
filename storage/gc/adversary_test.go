package gc

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

var (
	rounds = flag.Int("rounds", 12, "rounds of TestAdversary")
	one    = flag.Int64("round-seed", -1, "run only the round of TestAdversary with this seed")
)

// builder is a node that writes, applies and merges, and crashes now and then.
func (w *world) builder(ctx context.Context) {
	var c *collection.Collection
	for range 14 {
		obj := w.obj
		deps, faults := w.deps()
		if c == nil || c.Object().ID != obj.ID || w.r.Intn(6) == 0 { // a crash: what it was making is left behind
			var err error
			if c, err = collection.Open(ctx, deps, obj, collection.Options{MaxSplits: 2, MinFragment: int64(w.r.Intn(2)), MaxDeleted: 50}); err != nil {
				w.check("open", err)
				c = nil
				continue
			}
		}
		switch w.r.Intn(12) {
		case 0:
			faults.Add(metastore.Fault{Op: "commit", Kind: metastore.LostAfter, N: 1})
		case 1:
			faults.Add(metastore.Fault{Op: "commit", Kind: metastore.LostBefore, N: 5})
		}
		rows, err := batch(w.r, obj)
		if err == nil {
			_, err = c.Append(ctx, rows)
		}
		w.check("append", err)
		if obj.Kind == schema.Collection && w.r.Intn(3) == 0 {
			w.check("apply", c.Apply(ctx, nil))
			w.check("patch", patch(ctx, w.r, c))
		}
		if w.r.Intn(4) > 0 {
			w.check("apply", c.Apply(ctx, nil))
		}
		if w.r.Intn(3) == 0 {
			w.check("merge", c.Merge(ctx, nil))
		}
	}
}

func (w *world) check(what string, err error) {
	if err != nil && !excused(err) {
		w.fail("%s: %v", what, err)
	}
}

// keeper releases versions, tags them and drops tags, at once and without grace.
func (w *world) keeper(ctx context.Context) {
	deps, _ := w.deps()
	for range 16 {
		obj := w.obj
		root, err := deps.Meta.Root(ctx, obj.ID)
		if err != nil {
			w.check("root", err)
			continue
		}
		switch h := root.Head; {
		case w.r.Intn(3) == 0 && h.Version > 0:
			w.check("release", deps.Meta.ReleaseManifests(ctx, obj.ID, h.Version-uint64(w.r.Intn(2))))
		case w.r.Intn(2) == 0 && h.Version > 0:
			await(ctx) // the head may move on, and be released, before it is tagged
			_, err := deps.Meta.CreateTag(ctx, metastore.TagRequest{ObjectID: obj.ID, Incarnation: obj.Incarnation, Tag: metastore.Tag{Name: fmt.Sprint("t", w.r.Intn(3)), Version: h.Version,
				ManifestKey: h.ManifestKey, ManifestChecksum: h.ManifestChecksum, ManifestSize: h.ManifestSize, LanceVersion: h.LanceVersion, Applied: h.Applied}})
			if err == nil {
				w.count.tags++
			}
			w.check("tag", err)
		case len(root.Tags) > 0 && w.r.Intn(2) == 0:
			_, err := deps.Meta.DropTag(ctx, obj.ID, root.Tags[w.r.Intn(len(root.Tags))].Name, "")
			w.check("drop tag", err)
		}
		await(ctx)
	}
}

// dropper drops the object once in some rounds, while others work on it.
func (w *world) dropper(ctx context.Context) {
	for range 40 {
		await(ctx)
	}
	if w.r.Intn(3) > 0 {
		return
	}
	old := w.obj
	if err := w.raw.DropObject(ctx, old.ID); err != nil {
		w.fail("drop: %v", err)
		return
	}
	w.count.drops++
	w.gone = append(w.gone, old.ID)
	w.create()
}

// reader reads the newest state, old versions and tags whole. What it gets must
// be what was first read of the version, or an error that says it is gone.
func (w *world) reader(ctx context.Context) {
	for range 14 {
		obj := w.obj
		deps, _ := w.deps()
		c, err := collection.Open(ctx, deps, obj, collection.Options{})
		if err != nil {
			w.check("open to read", err)
			continue
		}
		for range 1 + w.r.Intn(3) {
			w.read(ctx, deps, c)
		}
		c.Close()
	}
}

func (w *world) read(ctx context.Context, deps collection.Deps, c *collection.Collection) {
	root, err := deps.Meta.Root(ctx, c.Object().ID)
	if err != nil {
		w.check("root to read", err)
		return
	}
	var s *collection.Snapshot
	key := ""
	switch {
	case w.r.Intn(3) == 0 || root.Head.Version == 0:
		s, err = c.Strong(ctx)
	case len(root.Tags) > 0 && w.r.Intn(2) == 0:
		t := root.Tags[w.r.Intn(len(root.Tags))]
		key = fmt.Sprint(c.Object().ID, "@", t.Version)
		s, err = c.Version(ctx, t.Version)
	default:
		v := root.Head.Version - min(uint64(w.r.Intn(3)), root.Head.Version-1)
		key = fmt.Sprint(c.Object().ID, "@", v)
		s, err = c.Version(ctx, v)
	}
	text := ""
	if err == nil {
		text, err = content(ctx, s)
	}
	switch {
	case err == nil && key != "" && w.seen[key] != "" && w.seen[key] != text:
		w.fail("version %s was read as\n%s\nand now as\n%s", key, w.seen[key], text)
	case err == nil && key != "":
		w.seen[key] = text
	case fail.Is(err, fail.SnapshotExpired):
		w.count.expired++
	}
	w.check("read", err)
	w.count.reads++
}

// collector runs passes without pause, each on what there is, and forgets all now
// and then, as a process that is started again.
func (w *world) collector(ctx context.Context) {
	deps, _ := w.deps()
	meta := &roots{Store: deps.Meta, w: w}
	c := New(Deps{Meta: meta, Objects: deps.Objects})
	for !w.done {
		if w.r.Intn(12) == 0 {
			c = New(Deps{Meta: meta, Objects: deps.Objects})
		}
		id := w.obj.ID
		if len(w.gone) > 0 && w.r.Intn(3) == 0 {
			id = w.gone[w.r.Intn(len(w.gone))]
		}
		meta.last = metastore.Root{}
		if w.flaw == onePass {
			w.hurry(c, id)
		}
		_, err := c.Pass(ctx, id)
		w.count.passes++
		if err != nil {
			w.count.aborted++
		}
		w.check("pass", err)
		w.verify("after a pass")
		await(ctx)
		if w.bad != nil {
			return
		}
	}
}

// hurry makes the collector believe that an earlier pass has seen every file.
func (w *world) hurry(c *Collector, id uint64) {
	e := c.entry(id)
	e.mem.condemned = map[string]uint64{}
	for info, err := range object.All(context.Background(), w.mem, collection.Prefix(id)) {
		if err == nil {
			e.mem.condemned[info.Key] = 0
		}
	}
}

// round runs one history and returns the first violation.
func round(t *testing.T, seed int64, f flaw) (c counts, bad error) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, seed, f)
		ctx := context.Background()
		workers := 0
		work := func(name string, f func(context.Context)) {
			workers++
			w.sched.spawn(ctx, name, func(ctx context.Context) {
				f(ctx)
				if workers--; workers == 0 {
					w.done = true
				}
			})
		}
		work("a", w.builder)
		work("b", w.builder)
		work("keeper", w.keeper)
		work("dropper", w.dropper)
		work("reader", w.reader)
		w.sched.spawn(ctx, "gc 1", w.collector)
		w.sched.spawn(ctx, "gc 2", w.collector)
		w.sched.run()
		if w.bad == nil {
			w.quiesce(ctx)
		}
		if err := w.log.Close(); err != nil {
			w.fail("log: %v", err)
		}
		bad, c = w.bad, w.count
	})
	return c, bad
}

// quiesce checks that two quiet passes leave exactly what is kept: with the tags,
// and without them.
func (w *world) quiesce(ctx context.Context) {
	w.calm = true
	c := New(Deps{Meta: w.raw, Objects: w.mem})
	for _, tags := range []bool{true, false} {
		root, err := w.raw.Root(ctx, w.obj.ID)
		if err == nil && root.Head.Version > 0 {
			err = w.raw.ReleaseManifests(ctx, w.obj.ID, root.Head.Version)
		}
		for _, t := range root.Tags {
			if !tags && err == nil {
				_, err = w.raw.DropTag(ctx, w.obj.ID, t.Name, t.ID)
			}
		}
		for _, id := range append(slices.Clone(w.gone), w.obj.ID) {
			for range 2 {
				if _, perr := c.Pass(ctx, id); perr != nil {
					err = perr
				}
			}
		}
		if err != nil {
			w.fail("quiesce: %v", err)
			return
		}
		w.verify("after quiescing")
		w.onlyKept(ctx, fmt.Sprintf("tags kept: %t", tags))
	}
}

// onlyKept compares the store with what is kept.
func (w *world) onlyKept(ctx context.Context, when string) {
	if w.bad != nil {
		return
	}
	var files []string
	for info, err := range object.All(ctx, w.mem, "objects/") {
		if err != nil {
			w.fail("list: %v", err)
		}
		files = append(files, info.Key)
	}
	want := w.kept()
	if w.obj.Kind == schema.Table {
		want = slices.DeleteFunc(want, func(key string) bool { return key == collection.BaseKey(w.obj.ID) })
	}
	for _, f := range files {
		if !slices.Contains(want, f) {
			w.fail("%s: an orphan after two quiet passes: %s", when, f)
		}
	}
	if len(files) < len(want) {
		w.fail("%s: %d files where %d are kept", when, len(files), len(want))
	}
	root, err := w.raw.Root(ctx, w.obj.ID)
	if err == nil {
		err = miscounted(ctx, w.mem, root)
	}
	if err != nil {
		w.fail("%s: %v", when, err)
	}
}

func TestAdversary(t *testing.T) {
	from, to := int64(0), int64(*rounds)
	if *one >= 0 {
		from, to = *one, *one+1
	}
	var sum counts
	failed := 0
	for seed := from; seed < to; seed++ {
		c, bad := round(t, seed, sound)
		if bad != nil {
			failed++
			t.Errorf("%v\nagain: go test ./storage/gc -run '^TestAdversary$' -round-seed=%d", bad, seed)
		}
		sum.add(c)
	}
	t.Logf("%+v", sum)
	if sum.commits == 0 || sum.deleted == 0 || *rounds >= 12 && *one < 0 && (sum.refused == 0 || sum.tags == 0 || sum.drops == 0 || sum.expired == 0 || sum.unknown == 0) {
		t.Errorf("the rounds do not do what they are for: %+v", sum)
	}
	t.Logf("gc-adversary: %d passed, %d failed, 0 skipped", to-from-int64(failed), failed)
}

func (c *counts) add(d counts) {
	for _, f := range []struct {
		to *int
		n  int
	}{{&c.commits, d.commits}, {&c.refused, d.refused}, {&c.unknown, d.unknown}, {&c.faults, d.faults}, {&c.passes, d.passes}, {&c.aborted, d.aborted},
		{&c.deleted, d.deleted}, {&c.tags, d.tags}, {&c.drops, d.drops}, {&c.reads, d.reads}, {&c.expired, d.expired}} {
		*f.to += f.n
	}
}

// TestAdversaryControls: what the rounds are there to find is found, soon.
func TestAdversaryControls(t *testing.T) {
	first := map[flaw]int64{oldRoots: 30} // known to be quick; any will do in time
	for _, f := range []flaw{noEpoch, noTags, oldRoots, onePass} {
		t.Run(string(f), func(t *testing.T) {
			for seed := first[f]; seed < first[f]+100; seed++ {
				if _, bad := round(t, seed, f); bad != nil {
					t.Logf("round %d: %v", seed, bad)
					return
				}
			}
			t.Errorf("100 rounds do not see that %s", f)
		})
	}
}
