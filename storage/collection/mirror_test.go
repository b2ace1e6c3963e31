package collection

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance"
	"github.com/loamdb/loam/storage/object"
)

// mirrors are the keys that show tags to other engines.
func (b *bench) mirrors() []string {
	b.t.Helper()
	var out []string
	for _, prefix := range []string{lanceTagsOf(b.obj.ID), exportsOf(b.obj.ID)} {
		for info, err := range object.All(context.Background(), b.deps.Objects, prefix) {
			b.must(err)
			out = append(out, info.Key)
		}
	}
	return out
}

func (b *bench) wantMirrors(tags ...string) {
	b.t.Helper()
	var want []string
	for _, t := range tags {
		for _, key := range MirrorKeys(b.obj.ID, t) {
			if !IsMirror(b.obj.ID, key) {
				b.t.Errorf("%s shows a tag, and garbage collection does not know", key)
			}
			want = append(want, key)
		}
	}
	got := b.mirrors()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		b.t.Fatalf("mirrors\n%v, want\n%v", got, want)
	}
}

// What shows tags to other engines follows the tags: it is made, made again when it
// is lost or shows another tag, and goes with them.
func TestMirror(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{})
	write := func(n int) uint64 {
		_, err := b.c.Append(ctx, b.someRows(n, 5))
		b.must(err)
		b.must(b.c.Apply(ctx, nil))
		return b.strong().Version()
	}
	tag := func(name string, version uint64) {
		_, err := b.c.CreateTag(ctx, version, TagSpec{Name: name})
		b.must(err)
	}
	b.must(b.c.Mirror(ctx))
	b.wantMirrors()
	first := write(0)
	tag("one", first)
	tag("v1.0", first)
	b.must(b.c.Mirror(ctx))
	b.wantMirrors("one", "v1.0")

	body, err := b.deps.Objects.Get(ctx, MirrorKeys(b.obj.ID, "one")[0])
	b.must(err)
	shown, err := lance.DecodeTag(body)
	b.must(err)
	if m := b.c.st.manifest; shown.Version != m.LanceVersion || shown.ManifestSize != m.LanceSize {
		t.Fatalf("%+v", shown)
	}
	body, err = b.deps.Objects.Get(ctx, MirrorKeys(b.obj.ID, "one")[1])
	b.must(err)
	export, err := lance.DecodeManifest(body)
	b.must(err)
	if export.Version != 1 || len(export.Fragments) != 1 || len(export.BasePaths) != 1 || export.BasePaths[0].Path != b.deps.Objects.URI(trimSlash(datasetKey(b.obj))) {
		t.Fatalf("%+v", export)
	}

	// A tag of the same name that names another version is shown as it is now.
	second := write(5)
	b.must(b.c.DropTag(ctx, "ONE"))
	tag("one", second)
	b.must(b.c.Mirror(ctx))
	body, err = b.deps.Objects.Get(ctx, MirrorKeys(b.obj.ID, "one")[0])
	b.must(err)
	if shown, err = lance.DecodeTag(body); err != nil || shown.Version != b.c.st.manifest.LanceVersion {
		t.Fatalf("%+v, %v", shown, err)
	}
	// What is lost is made again, by a node that has never looked too.
	b.must(b.deps.Objects.Delete(ctx, MirrorKeys(b.obj.ID, "one")...))
	b.must(b.c.Mirror(ctx))
	b.wantMirrors("one", "v1.0")
	_, err = b.deps.Objects.Put(ctx, MirrorKeys(b.obj.ID, "v1.0")[0], []byte("torn"), object.PutOptions{Replace: true})
	b.must(err)
	b.open()
	b.must(b.c.RepairMirrors(ctx))
	body, err = b.deps.Objects.Get(ctx, MirrorKeys(b.obj.ID, "v1.0")[0])
	b.must(err)
	if _, err := lance.DecodeTag(body); err != nil {
		t.Fatal(err)
	}
	b.must(b.c.DropTag(ctx, "v1.0"))
	b.must(b.c.RepairMirrors(ctx))
	b.wantMirrors("one")
	b.must(b.c.DropTag(ctx, "one"))
	b.must(b.c.RepairMirrors(ctx))
	b.wantMirrors()
}

// A mirror that cannot be written leaves the tag, and is made by a later round.
func TestMirrorIsRepairedAfterFaults(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{})
	faulty := object.NewFaulty(b.deps.Objects, b.deps.Clock)
	b.deps.Objects = faulty
	b.open()
	_, err := b.c.Append(ctx, b.someRows(0, 5))
	b.must(err)
	b.must(b.c.Apply(ctx, nil))
	_, err = b.c.CreateTag(ctx, 1, TagSpec{Name: "t"})
	b.must(err)
	for _, prefix := range MirrorKeys(b.obj.ID, "t") {
		faulty.Add(object.Fault{Op: object.OpPut, Prefix: prefix, Kind: object.FailBefore})
		if err := b.c.Mirror(ctx); err == nil {
			t.Fatal("the fault was not hit")
		}
		faulty.Clear()
		if p, err := b.c.AtTag(ctx, "t"); err != nil || p.Version != 1 {
			t.Fatalf("%+v, %v", p, err)
		}
	}
	b.must(b.c.Mirror(ctx))
	b.wantMirrors("t")
}

// Tables have no Lance dataset: their tags are Loam's alone.
func TestTablesHaveNoMirrors(t *testing.T) {
	ctx := context.Background()
	c := newChronicle(t)
	c.commits(1)
	tag, err := c.c.CreateTag(ctx, 1, TagSpec{Name: "t"})
	c.must(err)
	c.must(c.c.Mirror(ctx))
	c.wantMirrors()
	if c.c.Export(tag) != "" {
		t.Error("an address of nothing")
	}
}

func TestCreateTagOfVersions(t *testing.T) {
	ctx := context.Background()
	c := newChronicle(t)
	if _, err := c.c.CreateTag(ctx, 0, TagSpec{Name: "t"}); !fail.Is(err, fail.InvalidParameter) {
		t.Fatal(err)
	}
	c.commits(10)
	c.must(c.c.Release(ctx, 3*time.Second))
	if _, err := c.c.CreateTag(ctx, 2, TagSpec{Name: "t"}); !fail.Is(err, fail.SnapshotExpired) {
		t.Fatal(err)
	}
	if _, err := c.c.CreateTag(ctx, 11, TagSpec{Name: "t"}); !fail.Is(err, fail.InvalidParameter) {
		t.Fatal(err)
	}
	tag, err := c.c.CreateTag(ctx, 9, TagSpec{Name: "t", ExpiresMS: c.clk.Now().Add(time.Minute).UnixMilli()})
	c.must(err)
	c.clk.Advance(59 * time.Second)
	c.must(c.c.ExpireTags(ctx))
	if tags, err := c.c.Tags(ctx); err != nil || len(tags) != 1 || tags[0].ID != tag.ID {
		t.Fatalf("%+v, %v", tags, err)
	}
	c.clk.Advance(2 * time.Second)
	c.must(c.c.ExpireTags(ctx))
	if tags, err := c.c.Tags(ctx); err != nil || len(tags) != 0 {
		t.Fatalf("%+v, %v", tags, err)
	}
	if err := c.c.DropTag(ctx, "t"); !fail.Is(err, fail.UndefinedTag) {
		t.Fatal(err)
	}
	if err := errors.Join(c.c.ExpireTags(ctx), c.c.ExpireTags(ctx)); err != nil {
		t.Fatal(err)
	}
}
