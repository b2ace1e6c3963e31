package collection

import (
	"context"
	"fmt"
	"math/rand"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/object"
)

func segmentNumber(id uint64) Segment {
	return Segment{Rows: 100, SplitKey: fmt.Sprint("splits/", id), SplitSize: 10, Bytes: 1000,
		Fragments: []Fragment{{ID: id, Rows: 100, Files: []DataFile{{Name: fmt.Sprint(id, ".lance"), IDs: []int32{0}, Columns: []int32{0}}}}},
		Range: &Range{Keys: &KeyRange{Min: fmt.Sprintf("k%06d", id), Max: fmt.Sprintf("k%06d", id+1)}, MinTS: int64(id), MaxTS: int64(id + 1),
			Offsets: []OffsetRange{{Partition: int(id % 3), First: id * 100, Next: id*100 + 100}}}}
}

// TestGroupsOfManyFragments: of large segments few are in a group, so that the root
// does not grow with their fragments.
func TestGroupsOfManyFragments(t *testing.T) {
	g := newGroupBench(t)
	var segments []Segment
	next := uint64(0)
	for range 20 {
		s := segmentNumber(next)
		for range 29 {
			next++
			s.Fragments = append(s.Fragments, segmentNumber(next).Fragments...)
			s.Rows += 100
		}
		next++
		segments = append(segments, s)
		g.commit(segments)
		if n := upTo(g.last.inline(), maxInline); n > 0 {
			t.Fatalf("%d segments with %d fragments are in the root", n, maxInline)
		}
	}
	if n := len(g.last.Groups); n != 6 {
		t.Errorf("%d groups", n)
	}
	// A row of the newest segment goes: what is written does not grow with the others.
	segments = append([]Segment(nil), segments...)
	segments[19].loseRow("deletions/1")
	if n := g.commit(segments); n > 40_000 {
		t.Errorf("%d bytes are written for a row", n)
	}
}

// loseRow deletes a row of the first fragment; versions before keep theirs.
func (s *Segment) loseRow(key string) {
	s.Fragments = slices.Clone(s.Fragments)
	s.Deleted++
	s.Fragments[0].Deleted, s.Fragments[0].Deletion = s.Deleted, &Deletion{Key: key}
}

// sizes counts the bytes that are put.
type sizes struct {
	object.Store
	bytes int
}

func (s *sizes) Put(ctx context.Context, key string, body []byte, opt object.PutOptions) (object.Info, error) {
	s.bytes += len(body)
	return s.Store.Put(ctx, key, body, opt)
}

// groupBench commits manifests without data.
type groupBench struct {
	t     *testing.T
	c     *Collection
	store *sizes
	last  *Manifest
	ids   int
}

func newGroupBench(t *testing.T) *groupBench {
	b := newBench(t, docsObject(3), Options{})
	store := &sizes{Store: b.deps.Objects}
	b.deps.Objects = store
	b.open()
	return &groupBench{t: t, c: b.c, store: store, last: &Manifest{Object: b.obj.ID}}
}

// commit writes a version with the segments and reads it back. It returns the
// bytes that were written.
func (g *groupBench) commit(segments []Segment) int {
	g.t.Helper()
	ctx := context.Background()
	g.store.bytes = 0
	m := &Manifest{Object: g.c.origin.ID, Version: g.last.Version + 1, Segments: segments}
	if m.Version > 1 {
		m.Ancestors = g.last.ancestors(ManifestRef{Key: "before"}, 0)
	}
	if err := g.c.writeGroups(ctx, g.last, m); err != nil {
		g.t.Fatal(err)
	}
	body, err := encodeManifest(m)
	if err != nil {
		g.t.Fatal(err)
	}
	g.ids++
	ref := ManifestRef{Key: fmt.Sprint("objects/1/manifests/", g.ids), Checksum: xxh3.Hash(body)}
	if _, err := g.store.Put(ctx, ref.Key, body, object.PutOptions{}); err != nil {
		g.t.Fatal(err)
	}
	written := g.store.bytes
	got, err := ReadManifest(ctx, g.store, ref)
	if err != nil {
		g.t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Segments, segments) && len(segments) > 0 {
		g.t.Fatalf("version %d: %d segments come back of %d", m.Version, len(got.Segments), len(segments))
	}
	g.last = got
	return written
}

// TestGroupsModel: whatever changes, the segments of a version come back as they
// were, every group is full, and few segments lie in the root.
func TestGroupsModel(t *testing.T) {
	for seed := range int64(6) {
		r := rand.New(rand.NewSource(seed))
		g := newGroupBench(t)
		var segments []Segment
		next := uint64(0)
		for range 60 {
			segments = append([]Segment(nil), segments...)
			for range r.Intn(30) {
				segments = append(segments, segmentNumber(next))
				next++
			}
			for range r.Intn(4) {
				if n := len(segments); n > 0 {
					segments[r.Intn(n)].loseRow(fmt.Sprint("deletions/", r.Int63()))
				}
			}
			if n := len(segments); n > 20 && r.Intn(3) == 0 {
				from := r.Intn(n - 10)
				segments = append(segments[:from:from], segments[from+10:]...)
			}
			g.commit(segments)
			if n := len(g.last.inline()); n >= maxInline {
				t.Fatalf("%d segments in the root", n)
			}
			sum := len(g.last.inline())
			for _, group := range g.last.Groups {
				if group.Segments != groupSize || len(group.list) != groupSize {
					t.Fatalf("a group of %d segments", group.Segments)
				}
				sum += group.Segments
			}
			if sum != len(segments) {
				t.Fatalf("%d segments in groups and root, want %d", sum, len(segments))
			}
		}
	}
}

// TestACommitWritesWhatChanged: among thousands of segments.
func TestACommitWritesWhatChanged(t *testing.T) {
	g := newGroupBench(t)
	var segments []Segment
	for id := range uint64(5000) {
		segments = append(segments, segmentNumber(id))
	}
	all := g.commit(segments)
	segments = append(append([]Segment(nil), segments...), segmentNumber(5000))
	added := g.commit(segments)
	segments = append([]Segment(nil), segments...)
	segments[17].loseRow("deletions/1")
	changed := g.commit(segments)
	t.Logf("5,000 segments: all %d bytes, one more %d, one changed %d", all, added, changed)
	if added > all/15 || changed > all/15 {
		t.Errorf("one more of 5,000 segments wrote %d bytes, one that changed %d; all are %d", added, changed, all)
	}
	live, rows := int64(0), int64(0)
	for _, group := range g.last.Groups {
		live, rows = live+group.Live, rows+group.Rows
	}
	for _, s := range g.last.inline() {
		live, rows = live+int64(s.Live()), rows+int64(s.Rows)
	}
	if rows != 500_100 || live != 500_099 {
		t.Errorf("%d of %d rows are live in the sums", live, rows)
	}
	found := 0
	for _, o := range g.last.Objects() {
		if o.Kind == GroupObject {
			found++
		}
	}
	if found != len(g.last.Groups) || found == 0 {
		t.Errorf("%d of %d groups are among the objects of the version", found, len(g.last.Groups))
	}
}

// TestEveryDamageOfAGroupIsRefused: with the group's name, or the version's.
func TestEveryDamageOfAGroupIsRefused(t *testing.T) {
	list := []Segment{segmentNumber(1), segmentNumber(2)}
	b, err := encodeGroup(7, list)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeGroup("g", 7, b); err != nil || !reflect.DeepEqual(got, list) {
		t.Fatal(got, err)
	}
	for i := range b {
		for _, bit := range []byte{1, 0x80} {
			bad := append([]byte(nil), b...)
			bad[i] ^= bit
			if _, err := decodeGroup("the-group", 7, bad); err == nil || !strings.Contains(err.Error(), "the-group") {
				t.Fatalf("byte %d, bit %#x: %v", i, bit, err)
			}
		}
	}
	for n := range b {
		if _, err := decodeGroup("the-group", 7, b[:n]); err == nil {
			t.Fatalf("%d of %d bytes decode", n, len(b))
		}
	}
	if _, err := decodeGroup("g", 8, b); !fail.Is(err, fail.Corrupt) {
		t.Errorf("a group of another object: %v", err)
	}
}

// TestGroupsThatDoNotFit: a version whose groups are gone, others, or overlap.
func TestGroupsThatDoNotFit(t *testing.T) {
	ctx, store := context.Background(), object.NewMem()
	body, err := encodeGroup(7, []Segment{segmentNumber(1), segmentNumber(2)})
	if err != nil {
		t.Fatal(err)
	}
	info, err := store.Put(ctx, "groups/a", body, object.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	good := Group{ManifestRef: ManifestRef{Key: "groups/a", Checksum: info.Checksum}, Segments: 2}
	gone, other, count := good, good, good
	gone.Key, other.Checksum, count.Segments = "groups/b", 1, 3
	for name, m := range map[string]*Manifest{
		"gone":     {Object: 7, Groups: []Group{gone}},
		"other":    {Object: 7, Groups: []Group{other}},
		"count":    {Object: 7, Groups: []Group{count}},
		"overlap":  {Object: 7, Groups: []Group{good}, Segments: []Segment{segmentNumber(2)}},
		"stranger": {Object: 8, Groups: []Group{good}},
	} {
		if err := m.loadGroups(ctx, store, nil); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := &Manifest{Object: 7, Groups: []Group{good}, Segments: []Segment{segmentNumber(0), segmentNumber(9)}}
	if err := m.loadGroups(ctx, store, nil); err != nil || len(m.Segments) != 4 || m.Segments[1].first() != 1 {
		t.Errorf("%d segments, %v", len(m.Segments), err)
	}
}

func FuzzDecodeGroup(f *testing.F) {
	b, err := encodeGroup(7, []Segment{segmentNumber(1)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(frame(groupMagic, groupVersion, []byte(`{"object":7,"segments":[{"range":{}}]}`)))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodeGroup("g", 7, b)
		if err != nil {
			return
		}
		g := newGroup(list)
		if g.Segments != len(list) {
			t.Fatal(g.Segments)
		}
	})
}

// TestRangesHoldTheirRows: the bounds that an apply and a merge give hold every
// row, and keys outside are not looked for.
func TestRangesHoldTheirRows(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		r := rand.New(rand.NewSource(rapid.Int64().Draw(rt, "seed")))
		b := newBench(t, docsObject(2), Options{MaxSplits: 2, MinFragment: someFragmentStays(r), MaxDeleted: r.Intn(50)})
		for range 4 {
			writeBoth(r, 300, map[string]doc{}, b)
			b.must(b.c.Apply(ctx, nil))
		}
		b.must(b.c.Merge(ctx, nil))
		s := b.strong()
		for i, seg := range s.manifest.Segments {
			checkRange(rt, b.c.st.splits[i], seg.Range)
		}
		group := newGroup(s.manifest.Segments)
		for i := range s.manifest.Segments {
			checkRange(rt, b.c.st.splits[i], group.Range)
		}
	})
	if !(&Range{}).mayHold("x") || (&Range{Keys: &KeyRange{"b", "c"}}).mayHold("a") || (&Range{Keys: &KeyRange{"b", "c"}}).mayHold("d") {
		t.Error("mayHold")
	}
}

// TestARangeDoesNotHoldItsBuilder: a segment, which stays, must not keep alive the
// builder, in which the range lay, with all its buffers.
func TestARangeDoesNotHoldItsBuilder(t *testing.T) {
	b := &segmentBuilder{}
	key := vec.New(types.Of(types.Text), 1)
	key.Append(vec.Text("k"))
	one, two := vec.New(types.Of(types.Int32), 1), vec.New(types.Of(types.Int64), 1)
	one.Append(vec.Int32(0))
	two.Append(vec.Int64(7))
	b.bounds.add(schema.Collection, []*vec.Vector{key, one, two, two}, 1)
	seg, held := &Segment{Range: b.bounds.finish()}, weak.Make(b)
	b = nil
	runtime.GC()
	if held.Value() != nil {
		t.Error("the builder is alive")
	}
	if seg.Range.Keys.Max != "k" || seg.Range.MaxTS != 7 || len(seg.Range.Offsets) != 1 {
		t.Errorf("%+v", seg.Range)
	}
}

func checkRange(t *rapid.T, s *split, r *Range) {
	ctx := context.Background()
	for row := range s.rows() {
		key, err := s.key(ctx, row)
		if err != nil {
			t.Fatal(err)
		}
		if r == nil || !r.mayHold(key) {
			t.Fatalf("row %d with the key %q lies outside %+v", row, key, r)
		}
	}
	for chunk := range chunksOf(s.rows()) {
		parts, _ := s.column(ctx, partitionRef, chunk)
		offsets, _ := s.column(ctx, offsetRef, chunk)
		times, err := s.column(ctx, ingestRef, chunk)
		if err != nil {
			t.Fatal(err)
		}
		for i := range times.N {
			in := false
			for _, p := range r.Offsets {
				at := uint64(offsets.Int64s[i])
				in = in || p.Partition == int(parts.Int32s[i]) && at >= p.First && at < p.Next
			}
			if ts := times.Int64s[i]; !in || ts < r.MinTS || ts > r.MaxTS {
				t.Fatalf("partition %d offset %d at %d lies outside %+v", parts.Int32s[i], offsets.Int64s[i], ts, r)
			}
		}
	}
}
