package fsck

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
	"github.com/loamdb/loam/storage/wal"
)

// rig is a node over stores in memory, with a fixed clock and ids, so that each
// seed gives the same keys.
type rig struct {
	t     testing.TB
	ctx   context.Context
	r     *rand.Rand
	deps  collection.Deps
	store *object.Mem
	open  map[string]*collection.Collection
}

func newRig(t testing.TB, seed int64) *rig {
	t.Helper()
	clk := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	ids := clock.SeededIDs(clk, uint64(seed))
	g := &rig{t: t, ctx: context.Background(), r: rand.New(rand.NewSource(seed)), store: object.NewMem(), open: map[string]*collection.Collection{}}
	meta := metastore.NewMem(clk, ids, metastore.Options{})
	log := wal.New(g.store, meta, clk, ids, wal.Options{})
	t.Cleanup(func() { _ = log.Close() })
	g.deps = collection.Deps{Objects: g.store, Meta: meta, Log: log, IDs: ids, Clock: clk}
	_, err := meta.CreateNamespace(g.ctx, "public", nil)
	g.must(err)
	return g
}

func (g *rig) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) create(obj *schema.Object) *collection.Collection {
	g.t.Helper()
	obj.Namespace = "public"
	row, err := g.deps.Meta.CreateObject(g.ctx, metastore.Object{Namespace: obj.Namespace, Name: obj.Name, Kind: string(obj.Kind), Partitions: obj.Partitions, Definition: []byte("{}")})
	g.must(err)
	obj.ID, obj.Incarnation, obj.SchemaVersion = row.ID, row.Incarnation, row.SchemaVersion
	g.must(collection.Create(g.ctx, g.deps, obj))
	c, err := collection.Open(g.ctx, g.deps, obj, collection.Options{MaxSplits: 3, MinFragment: 1, MaxDeleted: 50})
	g.must(err)
	g.t.Cleanup(c.Close)
	g.open[obj.Name] = c
	return c
}

func docs(name string, partitions int) *schema.Object {
	return &schema.Object{Name: name, Kind: schema.Collection, Key: []int{0}, Partitions: partitions, Fields: []schema.Field{
		{ID: 1, Name: "id", Type: types.Of(types.Text)}, {ID: 2, Name: "body", Type: types.Of(types.Text), FullText: "english"},
		{ID: 3, Name: "emb", Type: types.VectorOf(2), Metric: schema.L2}}}
}

func numbers(name string) *schema.Object {
	return &schema.Object{Name: name, Kind: schema.Table, Partitions: 1, Fields: []schema.Field{{ID: 1, Name: "n", Type: types.Of(types.Int32)}}}
}

func (g *rig) write(c *collection.Collection, n int) {
	g.t.Helper()
	obj := c.Object()
	var rows *collection.Rows
	var err error
	if obj.Kind == schema.Table {
		col := vec.New(types.Of(types.Int32), n)
		for range n {
			col.Append(vec.Int32(g.r.Int31n(100)))
		}
		rows, err = collection.FromColumns(obj, []*vec.Vector{col}, n)
	} else {
		var list [][]byte
		for range n {
			list = append(list, fmt.Appendf(nil, `{"id":"k%d","body":"brown fox %d","emb":[%d,1]}`, g.r.Intn(30), g.r.Intn(9), g.r.Intn(9)))
		}
		rows, err = collection.FromDocuments(obj, list)
	}
	g.must(err)
	_, err = c.Append(g.ctx, rows)
	g.must(err)
}

// patch gives all documents another vector; they stay where they are.
func (g *rig) patch(c *collection.Collection) {
	g.t.Helper()
	snap, err := c.Strong(g.ctx)
	g.must(err)
	var keys []string
	all := make([]string, 30)
	for i := range all {
		all[i] = fmt.Sprint("k", i)
	}
	has, err := snap.Has(g.ctx, all)
	g.must(err)
	emb := vec.New(types.VectorOf(2), len(all))
	for i, ok := range has {
		if ok {
			keys = append(keys, all[i])
			emb.Append(vec.VectorValue([]float32{g.r.Float32(), 2}))
		}
	}
	rows, err := snap.Patch(g.ctx, keys, []*vec.Vector{nil, nil, emb})
	g.must(err)
	_, err = c.AppendIf(g.ctx, rows, snap)
	g.must(err)
	g.must(c.Apply(g.ctx, nil))
	snap, err = c.Strong(g.ctx)
	g.must(err)
	infos, err := snap.FragmentInfos()
	g.must(err)
	for _, f := range infos {
		if len(f.Files) != 2 {
			g.t.Errorf("fragment %d has the files %q: nothing was patched in place", f.ID, f.Files)
		}
	}
}

func (g *rig) tag(c *collection.Collection, name string) {
	g.t.Helper()
	obj := c.Object()
	h, _, _, err := g.deps.Meta.Heads(g.ctx, obj.ID)
	g.must(err)
	_, err = g.deps.Meta.CreateTag(g.ctx, metastore.TagRequest{ObjectID: obj.ID, Incarnation: obj.Incarnation, Tag: metastore.Tag{Name: name, Version: h.Version,
		ManifestKey: h.ManifestKey, ManifestChecksum: h.ManifestChecksum, ManifestSize: h.ManifestSize, LanceVersion: h.LanceVersion, Applied: h.Applied}})
	g.must(err)
}

// history makes a store with everything that fsck reads: versions with deletions,
// merges and vectors patched in place, released ones with a tag, a log with an index object, an empty
// collection, a dropped one.
func (g *rig) history() {
	a, b, gone := g.create(docs("a", 2)), g.create(numbers("b")), g.create(docs("gone", 1))
	g.create(docs("empty", 1))
	for step := range 8 {
		for _, c := range []*collection.Collection{a, b, gone} {
			g.write(c, 3+g.r.Intn(9))
			g.must(c.Apply(g.ctx, nil))
			if step%3 == 2 {
				g.must(c.Merge(g.ctx, nil))
			}
		}
		if step == 2 {
			g.tag(a, "eval")
		}
	}
	g.patch(a)
	h, _, _, err := g.deps.Meta.Heads(g.ctx, a.Object().ID)
	g.must(err)
	g.must(g.deps.Meta.ReleaseManifests(g.ctx, a.Object().ID, h.Version-3))
	for range 60 { // more than a row holds
		g.write(b, 1)
	}
	g.write(a, 5)
	g.must(g.deps.Meta.DropObject(g.ctx, gone.Object().ID))
}

func (g *rig) run() *Report {
	g.t.Helper()
	rep, err := Run(g.ctx, Deps{Meta: g.deps.Meta, Objects: g.store})
	g.must(err)
	return rep
}

// needed are the keys of the objects that are not left over.
func (g *rig) needed(rep *Report) []string {
	g.t.Helper()
	rest := map[string]bool{}
	for _, o := range rep.Orphans {
		rest[o.Key] = true
	}
	live := map[string]bool{}
	g.must(g.deps.Meta.ScanPartitions(g.ctx, func(_ uint64, _ int, p metastore.PartitionState) error {
		live[p.Overflow.IndexKey] = true
		for _, r := range p.Refs {
			live[r.WALKey] = true
		}
		return nil
	}))
	var out []string
	for _, prefix := range []string{"objects/", "wal/", "walx/"} {
		for info, err := range object.All(g.ctx, g.store, prefix) {
			g.must(err)
			if info.Key == collection.BaseKey(4) {
				continue // of the empty collection: nobody has its checksum, and the first commit can make it
			}
			if !rest[info.Key] && (prefix == "objects/" || live[info.Key]) {
				out = append(out, info.Key)
			}
		}
	}
	return out
}

func (g *rig) sizeOf(prefix string) (n int64) {
	for info, err := range object.All(g.ctx, g.store, prefix) {
		g.must(err)
		n += info.Size
	}
	return n
}

// damage changes an object in one of four ways and returns what undoes it.
func (g *rig) damage(key string, how int) (undo func()) {
	g.t.Helper()
	body, err := g.store.Get(g.ctx, key)
	g.must(err)
	bad := bytes.Clone(body)
	switch how {
	case 0: // a bit
		bad[g.r.Intn(len(bad))] ^= 1 << g.r.Intn(8)
	case 1:
		bad = bad[:g.r.Intn(len(bad))]
	case 2:
		bad = append(bad, byte(g.r.Intn(256)))
	}
	if g.must(g.store.Delete(g.ctx, key)); how != 3 {
		_, err := g.store.Put(g.ctx, key, bad, object.PutOptions{})
		g.must(err)
	}
	return func() {
		_, err := g.store.Put(g.ctx, key, body, object.PutOptions{Replace: true})
		g.must(err)
	}
}

func keysOf(list []Damaged) []string {
	keys := map[string]bool{}
	for _, d := range list {
		keys[d.Key] = true
	}
	return slices.Sorted(maps.Keys(keys))
}

func TestSoundStoresAreSound(t *testing.T) {
	for seed := range int64(20) {
		g := newRig(t, seed)
		g.history()
		rep := g.run()
		if !rep.Sound() || rep.Unclear != 0 {
			rep.Text(t.Output())
			t.Fatalf("seed %d: a false alarm", seed)
		}
		for _, o := range rep.Orphans {
			if of := o.Of; of != "object 3, which was dropped" && of != "public.a" {
				t.Errorf("seed %d: orphan %+v", seed, o)
			}
		}
		if got := rep.Checked; len(got) != 3 || got[0].Tags != 1 || got[0].Versions < 5 || got[0].Waiting != 5 || got[1].Waiting != 60 || got[2].Rows != 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
		for _, c := range rep.Checked[:2] {
			s, err := g.open[strings.TrimPrefix(c.Name, "public.")].Version(g.ctx, g.head(c.ID).Version)
			g.must(err)
			if s.Count() != c.Rows {
				t.Errorf("seed %d: %+v, a scan has %d rows", seed, c, s.Count())
			}
		}
	}
}

func (g *rig) head(id uint64) metastore.Head {
	h, _, _, err := g.deps.Meta.Heads(g.ctx, id)
	g.must(err)
	return h
}

// TestEachDamageIsFoundAndNamed damages every needed object of a store alone, in
// each way, and wants exactly that object in the report.
func TestEachDamageIsFoundAndNamed(t *testing.T) {
	g := newRig(t, 1)
	g.history()
	keys := g.needed(g.run())
	kinds := map[string]int{}
	for _, key := range keys {
		for how := range 4 {
			undo := g.damage(key, how)
			rep := g.run()
			undo()
			if got := keysOf(rep.Damaged); !slices.Equal(got, []string{key}) || len(rep.Wrong) > 0 {
				rep.Text(t.Output())
				t.Fatalf("damage %d of %s: found %q", how, key, got)
			}
			d := rep.Damaged[0]
			if (d.Problem == Missing) != (how == 3) || len(d.Needed) == 0 || d.Detail == "" {
				t.Fatalf("damage %d: %+v", how, d)
			}
			kinds[d.Kind]++
		}
	}
	if len(kinds) != 8 {
		t.Errorf("the damages were of %d kinds: %v", len(kinds), kinds)
	}
	if rep := g.run(); !rep.Sound() {
		t.Error("the damages were not undone")
	}
	undo := g.damage(collection.BaseKey(4), 1)
	if got := keysOf(g.run().Damaged); !slices.Equal(got, []string{collection.BaseKey(4)}) {
		t.Errorf("the cut first version of an empty collection: found %q", got)
	}
	undo()
	t.Logf("%d damages of %d objects: %v", 4*len(keys), len(keys), kinds)
}

// TestBitRot damages one object in a hundred, at least three, of larger
// histories, and wants all of them found: but for those that only a damaged
// manifest refers to, which nobody can find.
func TestBitRot(t *testing.T) {
	found := 0
	for seed := range int64(12) {
		g := newRig(t, 100+seed)
		g.history()
		keys := g.needed(g.run())
		g.r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		rotten := keys[:max(3, len(keys)/100)]
		slices.Sort(rotten)
		users := g.usersOf()
		var want []string
		for _, key := range rotten {
			g.damage(key, g.r.Intn(4))
		}
		for _, key := range rotten {
			if by := users[key]; by == nil || slices.ContainsFunc(by, func(m string) bool { return !slices.Contains(rotten, m) }) {
				want = append(want, key)
			}
		}
		rep := g.run()
		if got := keysOf(rep.Damaged); !slices.Equal(got, want) {
			rep.Text(t.Output())
			t.Fatalf("seed %d: rotten are\n%s\nfound\n%s", seed, strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
		found += len(want)
	}
	t.Logf("bit rot: %d objects damaged, %d found", found, found)
}

// usersOf are the keys of the manifests that refer to each object.
func (g *rig) usersOf() map[string][]string {
	out := map[string][]string{}
	for info, err := range object.All(g.ctx, g.store, "objects/") {
		g.must(err)
		if !strings.HasSuffix(info.Key, ".lman") {
			continue
		}
		m, err := collection.ReadManifest(g.ctx, g.store, collection.ManifestRef{Key: info.Key})
		g.must(err)
		for _, o := range m.Objects() {
			out[o.Key] = append(out[o.Key], info.Key)
		}
	}
	return out
}

// TestOrphansAreCounted: what nothing leads to is told with its bytes, and is no damage.
func TestOrphansAreCounted(t *testing.T) {
	g := newRig(t, 5)
	c := g.create(docs("a", 1))
	g.write(c, 4)
	g.must(c.Apply(g.ctx, nil))
	for key, body := range map[string]string{"objects/1/splits/x.lsplit": "abc", "objects/9/manifests/x.lman": "ab", "objects/stray": "a"} {
		_, err := g.store.Put(g.ctx, key, []byte(body), object.PutOptions{})
		g.must(err)
	}
	mirror := "objects/1/data.lance/_refs/tags/t.json"
	_, err := g.store.Put(g.ctx, mirror, []byte("{}"), object.PutOptions{})
	g.must(err)
	if rep := g.run(); !slices.ContainsFunc(rep.Orphans, func(o Orphan) bool { return o.Key == mirror }) {
		t.Error("what shows a tag is no orphan where there are no tags")
	}
	g.tag(c, "t")
	rep := g.run()
	if !rep.Sound() || rep.OrphanBytes != 6 || len(rep.Orphans) != 3 {
		t.Errorf("%+v", rep)
	}
	want := []Orphan{{"objects/1/splits/x.lsplit", 3, "public.a"}, {"objects/9/manifests/x.lman", 2, "object 9, which was dropped"}, {"objects/stray", 1, "nothing that Loam makes"}}
	if !slices.Equal(rep.Orphans, want) {
		t.Errorf("%+v", rep.Orphans)
	}
	if g.must(g.deps.Meta.DropObject(g.ctx, 1)); g.run().Log != (LogRest{Objects: 1, Bytes: g.sizeOf("wal/")}) {
		t.Errorf("%+v", g.run().Log)
	}
}

// TestADamagedGroupIsNamed: of a version with so many segments that they lie in groups.
func TestADamagedGroupIsNamed(t *testing.T) {
	g := newRig(t, 3)
	c := g.create(numbers("wide"))
	wide, err := collection.Open(g.ctx, g.deps, c.Object(), collection.Options{MaxSplits: 1000})
	g.must(err)
	for range 100 {
		g.write(wide, 1)
		g.must(wide.Apply(g.ctx, nil))
	}
	m, err := collection.ReadManifest(g.ctx, g.store, collection.ManifestRef{Key: g.head(1).ManifestKey})
	g.must(err)
	if len(m.Groups) == 0 {
		t.Fatal("no groups")
	}
	if rep := g.run(); !rep.Sound() || len(rep.Orphans) > 0 {
		t.Fatalf("a false alarm: %+v", rep.Damaged)
	}
	for how := range 4 {
		undo := g.damage(m.Groups[0].Key, how)
		rep := g.run()
		undo()
		if got := keysOf(rep.Damaged); !slices.Equal(got, []string{m.Groups[0].Key}) || len(rep.Wrong) > 0 || len(rep.Orphans) > 0 {
			rep.Text(t.Output())
			t.Fatalf("damage %d: found %q", how, got)
		}
		if d := rep.Damaged[0]; d.Kind != "manifest group" || (d.Problem == Missing) != (how == 3) || !strings.HasSuffix(d.Needed[0], " to 100") {
			t.Errorf("%+v", d)
		}
	}
}

// TestRepairDeletesOrphansOnly: what is kept is kept, what is damaged stays as it is.
func TestRepairDeletesOrphansOnly(t *testing.T) {
	g := newRig(t, 7)
	g.history()
	before := g.run()
	done, err := Repair(g.ctx, Deps{Meta: g.deps.Meta, Objects: g.store})
	g.must(err)
	after := g.run()
	if done.Deleted != len(before.Orphans) || done.DeletedBytes != before.OrphanBytes || len(done.Left) != 0 || len(after.Orphans) != 0 || !after.Sound() || after.Objects != before.Objects {
		t.Errorf("%+v; before %d orphans, after %+v", done, len(before.Orphans), after)
	}

	g = newRig(t, 7)
	g.history()
	h := g.head(1)
	undo := g.damage(h.ManifestKey, 0)
	files := g.sizeOf("objects/1/")
	done, err = Repair(g.ctx, Deps{Meta: g.deps.Meta, Objects: g.store})
	g.must(err)
	if len(done.Left) != 1 || done.Left[0].Where != "public.a" || done.Deleted == 0 || g.sizeOf("objects/1/") != files {
		t.Errorf("%+v", done)
	}
	if rep := g.run(); len(rep.Damaged) != 1 || rep.Unclear == 0 {
		t.Errorf("%+v", rep)
	}
	undo()
	if rep := g.run(); !rep.Sound() {
		t.Error("the repair lost something")
	}
	var b strings.Builder
	(&Report{Repaired: done}).Text(&b)
	if !strings.Contains(b.String(), "left    the orphans of public.a: garbage collection of object 1 stops") || !strings.Contains(b.String(), "orphans (") {
		t.Error(b.String())
	}
}

// TestReports pins the text and the JSON of a report.
func TestReports(t *testing.T) {
	rep := &Report{Objects: 12, Bytes: 3 << 20, OrphanBytes: 1536, Log: LogRest{2, 100}, Unclear: 1,
		Checked: []Checked{{Name: "public.docs", Kind: "collection", ID: 7, Versions: 3, Tags: 1, Rows: 1, Waiting: 2}},
		Damaged: []Damaged{{Key: "objects/7/splits/x.lsplit", Kind: "split", Problem: Altered, Detail: "checksum", Needed: []string{"public.docs versions 2 to 3", "public.docs tag eval"}}},
		Wrong:   []Wrong{{Where: "public.docs partition 0", Detail: "its references end early"}}}
	for i := range listed + 2 {
		rep.Orphans = append(rep.Orphans, Orphan{Key: fmt.Sprintf("objects/8/%02d", i), Bytes: 1, Of: "object 8, which was dropped"})
	}
	var b strings.Builder
	rep.Text(&b)
	for _, want := range []string{
		"collection public.docs: 1 row, 3 versions, 1 tag, 2 records waiting in the log\n",
		"DAMAGED split objects/7/splits/x.lsplit is altered: checksum\n        needed by public.docs versions 2 to 3\n        needed by public.docs tag eval\n",
		"WRONG   public.docs partition 0: its references end early\n",
		"orphan  objects/8/19 (1 B) of object 8, which was dropped\norphan  and 2 more; --json lists all\n",
		"log     2 objects (100 B) wait to be trimmed\nunclear 1 object may belong to a damaged manifest\n",
		"fsck: 12 objects and 3 MiB read; 1 damaged, 1 wrong, 22 orphans (1.5 KiB)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	j, err := json.Marshal(rep.Damaged[0])
	if want := `{"key":"objects/7/splits/x.lsplit","kind":"split","problem":"altered","detail":"checksum","needed_by":["public.docs versions 2 to 3","public.docs tag eval"]}`; err != nil || string(j) != want {
		t.Errorf("%s, %v", j, err)
	}
	if rep.Sound() || !(&Report{Orphans: rep.Orphans}).Sound() {
		t.Error("sound")
	}
}
