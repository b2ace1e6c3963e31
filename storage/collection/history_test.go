package collection

import (
	"context"
	"fmt"
	"math/bits"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
	"github.com/loamdb/loam/storage/wal"
)

// counting counts the objects that are read whole.
type counting struct {
	object.Store
	gets int
}

func (s *counting) Get(ctx context.Context, key string) ([]byte, error) {
	s.gets++
	return s.Store.Get(ctx, key)
}

// chronicle is an object on a clock that stands still, with a version every
// second, and what each held.
type chronicle struct {
	*bench
	clk   *clock.Manual
	store *counting
	start int64 // ms
}

func newChronicle(t *testing.T) *chronicle {
	t.Helper()
	clk := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	ids := clock.SeededIDs(clk, 1)
	obj := &schema.Object{Namespace: "public", Name: "t", Kind: schema.Table, Partitions: 2,
		Fields: []schema.Field{{ID: 1, Name: "a", Type: types.Of(types.Int64)}}}
	ctx := context.Background()
	store := &counting{Store: object.NewMem()}
	meta := metastore.NewMem(clk, ids, metastore.Options{})
	b := &bench{t: t, obj: obj, deps: Deps{Objects: store, Meta: meta, IDs: ids, Clock: clk, Log: wal.New(store, meta, clk, ids, wal.Options{})}}
	t.Cleanup(func() { _ = b.deps.Log.Close() })
	_, err := meta.CreateNamespace(ctx, obj.Namespace, nil)
	b.must(err)
	row, err := meta.CreateObject(ctx, metastore.Object{Namespace: obj.Namespace, Name: obj.Name, Partitions: obj.Partitions})
	b.must(err)
	obj.ID, obj.Incarnation, obj.SchemaVersion = row.ID, row.Incarnation, row.SchemaVersion
	b.open()
	return &chronicle{bench: b, clk: clk, store: store, start: clk.Now().UnixMilli()}
}

// commits adds n versions without rows; version v is of second v.
func (c *chronicle) commits(n int) {
	c.t.Helper()
	for range n {
		c.clk.Advance(time.Second)
		st := c.c.st
		c.must(c.c.commit(context.Background(), &change{base: st, applied: st.manifest.Applied}, nil))
	}
}

// cold forgets what was read.
func (c *chronicle) cold() {
	c.c.past, c.c.pasts = recall[*Manifest]{max: 64}, recall[*Snapshot]{max: 8}
	c.store.gets = 0
}

func (c *chronicle) head() metastore.Head {
	c.t.Helper()
	h, _, _, err := c.deps.Meta.Heads(context.Background(), c.obj.ID)
	c.must(err)
	return h
}

// Any version of a chain of thousands is found, by number and by time, in at most
// 1 + log2(n) reads, and so is one that does not exist.
func TestHistoryIsSearchedInFewReads(t *testing.T) {
	ctx := context.Background()
	c := newChronicle(t)
	const n = 3000
	c.commits(n)
	head := c.head()
	limit := 1 + bits.Len(n)
	worst := 0
	r := rand.New(rand.NewSource(1))
	for range 500 {
		v := uint64(r.Intn(n + 1))
		c.cold()
		at, err := c.c.version(ctx, head, v)
		if err != nil || at.Version != v || v > 0 && at.CreatedMS != c.start+int64(v)*1000 {
			t.Fatalf("version %d: %+v, %v", v, at, err)
		}
		worst = max(worst, c.store.gets)
		if c.store.gets > limit {
			t.Fatalf("version %d took %d reads, the limit is %d", v, c.store.gets, limit)
		}
		// Between two versions the older one holds, at its instant itself.
		ms := c.start + int64(v)*1000 + int64(r.Intn(1000))
		c.cold()
		p, err := c.c.AtTime(ctx, head, ms)
		if err != nil || p.Version != v {
			t.Fatalf("at %d ms: version %d, %v; want %d", ms-c.start, p.Version, err, v)
		}
		if worst = max(worst, c.store.gets); c.store.gets > limit {
			t.Fatalf("the time of version %d took %d reads", v, c.store.gets)
		}
	}
	t.Logf("%d versions, at most %d reads", n, worst)
	c.cold()
	s, err := c.c.Version(ctx, 1234)
	if err != nil || s.Version() != 1234 || c.store.gets > limit+1 {
		t.Fatalf("%v, %d reads", err, c.store.gets)
	}
	c.store.gets = 0
	if again, err := c.c.Version(ctx, 1234); err != nil || again != s || c.store.gets > 0 {
		t.Fatalf("a version read again: %v, %d reads", err, c.store.gets)
	}
	if _, err := c.c.Version(ctx, n+1); !fail.Is(err, fail.InvalidParameter) || !strings.Contains(err.Error(), "3000") {
		t.Fatal(err)
	}
	if _, err := c.c.AtTime(ctx, head, c.start+(n+60)*1000); !fail.Is(err, fail.InvalidParameter) {
		t.Fatal(err)
	}
}

// The list of every version's ancestors is what the format says, over restarts too.
func TestAncestors(t *testing.T) {
	ctx := context.Background()
	c := newChronicle(t)
	for v := uint64(1); v <= 70; v++ {
		c.commits(1)
		if v%13 == 0 {
			c.open()
		}
		m := c.c.st.manifest
		var want []uint64
		for a := v - 1; a > 0; a = a & (a - 1) {
			want = append(want, a)
		}
		var got []uint64
		for _, a := range m.Ancestors {
			got = append(got, a.Version)
			old, err := c.c.manifest(ctx, a.ManifestRef)
			if err != nil || old.Version != a.Version || !slices.Equal(old.Applied, a.Applied) || a.CreatedMS != c.start+int64(a.Version)*1000 {
				t.Fatalf("version %d: ancestor %+v, %v", v, a, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("version %d has ancestors %v, want %v", v, got, want)
		}
	}
	m := *c.c.st.manifest
	for what, change := range map[string]func(){
		"one left out":     func() { m.Ancestors = m.Ancestors[1:] },
		"the last missing": func() { m.Ancestors = m.Ancestors[:1] },
		"one too many":     func() { m.Ancestors = append(slices.Clone(m.Ancestors), Ancestor{Version: 3}) },
		"without a name":   func() { m.Ancestors = slices.Clone(m.Ancestors); m.Ancestors[1].ManifestRef = ManifestRef{} },
		"without offsets":  func() { m.Ancestors = slices.Clone(m.Ancestors); m.Ancestors[1].Applied = nil },
	} {
		m = *c.c.st.manifest
		change()
		body, err := encodeManifest(&m)
		c.must(err)
		_, err = decodeManifest("m.lman", body)
		refusedByName(t, what, "m.lman", err)
	}
}

// What is older than the retention goes, what was in force at its edge stays, and
// what is gone is refused by name, whichever way it is asked for.
func TestRelease(t *testing.T) {
	ctx := context.Background()
	c := newChronicle(t)
	c.commits(100)
	tagged, err := c.c.version(ctx, c.head(), 7)
	c.must(err)
	_, err = c.deps.Meta.CreateTag(ctx, metastore.TagRequest{ObjectID: c.obj.ID, Incarnation: c.obj.Incarnation, Tag: metastore.Tag{Name: "Seven", Version: 7,
		ManifestKey: tagged.Key, ManifestChecksum: tagged.Checksum, ManifestSize: tagged.Size, Applied: tagged.Applied}})
	c.must(err)
	c.must(c.c.Release(ctx, time.Hour))
	if h := c.head(); h.Oldest != 0 {
		t.Fatalf("released to %d within the hour", h.Oldest)
	}
	c.must(c.c.Release(ctx, 30*time.Second))
	head := c.head()
	if head.Oldest != 69 { // version 69 was in force just before second 70
		t.Fatalf("oldest %d", head.Oldest)
	}
	for v := uint64(69); v <= 100; v++ {
		if _, err := c.c.Version(ctx, v); err != nil {
			t.Fatalf("version %d: %v", v, err)
		}
	}
	for _, v := range []uint64{0, 1, 6, 8, 64, 68} {
		if _, err := c.c.Version(ctx, v); !fail.Is(err, fail.SnapshotExpired) {
			t.Fatalf("version %d: %v", v, err)
		}
	}
	c.cold()
	if s, err := c.c.Version(ctx, 7); err != nil || s.Version() != 7 {
		t.Fatalf("the tagged version: %v", err)
	}
	if p, err := c.c.AtTag(ctx, "seven"); err != nil || p.Version != 7 {
		t.Fatalf("%+v %v", p, err)
	}
	if _, err := c.c.AtTime(ctx, head, c.start+68_999); !fail.Is(err, fail.SnapshotExpired) {
		t.Fatal(err)
	}
	if p, err := c.c.AtTime(ctx, head, c.start+69_000); err != nil || p.Version != 69 {
		t.Fatalf("%+v %v", p, err)
	}
	// Files of released versions may be gone: no search touches them.
	for info, err := range object.All(ctx, c.deps.Objects, Prefix(c.obj.ID)) {
		c.must(err)
		m, err := ReadManifest(ctx, c.deps.Objects, ManifestRef{Key: info.Key})
		c.must(err)
		if m.Version < 69 && m.Version != 7 {
			c.must(c.deps.Objects.Delete(ctx, info.Key))
		}
	}
	c.open()
	for _, v := range []uint64{7, 69, 70, 99, 100} {
		if _, err := c.c.Version(ctx, v); err != nil {
			t.Fatalf("version %d after the files went: %v", v, err)
		}
	}
	c.must(c.c.Release(ctx, 10*time.Second))
	c.clk.Advance(time.Hour)
	c.must(c.c.Release(ctx, 10*time.Second))
	if h := c.head(); h.Oldest != 100 {
		t.Fatalf("oldest %d: of an idle object only the head stays", h.Oldest)
	}
	c.commits(1)
	c.must(c.c.Release(ctx, 10*time.Second))
	if h := c.head(); h.Oldest != 100 {
		t.Fatalf("oldest %d: version 100 was in force a moment ago", h.Oldest)
	}
}

// A version that is released and deleted between the look at the head and the
// read is expired; one that is kept and cannot be read is damage.
func TestGoneIsNotDamaged(t *testing.T) {
	ctx := context.Background()
	c := newChronicle(t)
	c.commits(5)
	head := c.head()
	at, err := c.c.version(ctx, head, 3)
	c.must(err)
	c.must(c.deps.Objects.Delete(ctx, at.Key))
	c.cold()
	if _, err := c.c.pastSnapshot(ctx, at); !fail.Is(err, fail.Corrupt) {
		t.Fatal(err)
	}
	c.must(c.deps.Meta.ReleaseManifests(ctx, c.obj.ID, 4))
	if _, err := c.c.pastSnapshot(ctx, at); !fail.Is(err, fail.SnapshotExpired) {
		t.Fatal(err)
	}
}

// A token reads exactly what it covers, by whatever versions came since, as long
// as the log is there.
func TestAtToken(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(3), Options{MaxSplits: 2, MinFragment: 1, MaxDeleted: 50})
	type mark struct {
		token snapshot.Token
		count int64
	}
	var marks []mark
	r := rand.New(rand.NewSource(2))
	n := 0
	for range 40 {
		_, err := b.c.Append(ctx, b.someRows(n, 5))
		b.must(err)
		n += 5
		s := b.strong()
		marks = append(marks, mark{s.Token(), s.Count()})
		switch r.Intn(4) {
		case 0:
			b.must(b.c.Apply(ctx, nil))
		case 1:
			b.must(b.c.Merge(ctx, nil))
		}
	}
	head, _, _, err := b.deps.Meta.Heads(ctx, b.obj.ID)
	b.must(err)
	check := func(when string) {
		for i, m := range marks {
			p, err := b.c.AtToken(ctx, head, m.token)
			b.must(err)
			s, err := b.c.Pinned(ctx, p.Version, p.Bounds)
			if err != nil || s.Count() != m.count || !slices.Equal(s.Bounds(), m.token.Offsets) {
				t.Fatalf("%s, mark %d: version %d of %d, %v", when, i, p.Version, head.Version, err)
			}
		}
	}
	check("warm")
	b.open()
	check("after a restart")
	other := marks[0].token
	other.Incarnation = "x"
	if _, err := b.c.AtToken(ctx, head, other); !fail.Is(err, fail.InvalidParameter) {
		t.Fatal(err)
	}
	// Without its log a state between two versions is gone, never short.
	for info, err := range object.All(ctx, b.deps.Objects, "wal") {
		b.must(err)
		b.must(b.deps.Objects.Delete(ctx, info.Key))
	}
	b.open()
	whole, expired := 0, 0
	for _, m := range marks {
		p, err := b.c.AtToken(ctx, head, m.token)
		b.must(err)
		s, err := b.c.Pinned(ctx, p.Version, p.Bounds)
		switch {
		case err == nil && s.Count() == m.count:
			whole++
		case fail.Is(err, fail.SnapshotExpired):
			expired++
		default:
			t.Fatalf("%v", err)
		}
	}
	if whole == 0 || expired == 0 {
		t.Fatalf("%d whole, %d expired: the test shows nothing", whole, expired)
	}
}

func TestUnknownTag(t *testing.T) {
	for _, c := range []struct{ name, tags, want string }{
		{"v1", "", "It has no tags. Make one with CREATE TAG … ON docs."},
		{"relase", "golden release", `Did you mean "release"?`},
		{"zzz", "golden release", "Its tags: golden, release."},
	} {
		err := unknownTag("docs", c.name, strings.Fields(c.tags))
		if e := fail.As(err); !fail.Is(err, fail.UndefinedTag) || e.Hint != c.want {
			t.Errorf("%s: %v", c.name, e.Hint)
		}
	}
}

func TestRecall(t *testing.T) {
	r := recall[int]{max: 3}
	for i := range 5 {
		r.put(fmt.Sprint(i), i)
		r.get("2")
	}
	for key, want := range map[string]bool{"0": false, "1": false, "2": true, "3": true, "4": true} {
		if _, ok := r.get(key); ok != want {
			t.Errorf("%s: %v", key, ok)
		}
	}
	if r.put("2", 7); len(r.keys) != 3 {
		t.Error(r.keys)
	}
	if v, _ := r.get("2"); v != 7 {
		t.Error(v)
	}
}
