package gc

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
	"github.com/loamdb/loam/storage/wal"
)

// rig is a node over stores in memory.
type rig struct {
	t     testing.TB
	ctx   context.Context
	r     *rand.Rand
	deps  collection.Deps
	meta  *hooked
	store *object.Faulty
	mem   *object.Mem
	gc    *Collector
}

// hooked calls before each commit what a test has put there, once.
type hooked struct {
	metastore.Store
	before func()
}

func (h *hooked) Commit(ctx context.Context, req metastore.CommitRequest) (metastore.Head, error) {
	if f := h.before; f != nil {
		h.before = nil
		f()
	}
	return h.Store.Commit(ctx, req)
}

func newRig(t testing.TB, faults *metastore.Faults) *rig {
	t.Helper()
	clk := clock.Real()
	ids := clock.RandomIDs(clk)
	g := &rig{t: t, ctx: context.Background(), r: rand.New(rand.NewSource(1)), mem: object.NewMem()}
	g.store = object.NewFaulty(g.mem, clk)
	g.meta = &hooked{Store: metastore.NewMem(clk, ids, metastore.Options{Faults: faults})}
	log := wal.New(g.store, g.meta, clk, ids, wal.Options{})
	t.Cleanup(func() { _ = log.Close() })
	g.deps = collection.Deps{Objects: g.store, Meta: g.meta, Log: log, IDs: ids, Clock: clk}
	g.gc = New(Deps{Meta: g.meta, Objects: g.store})
	_, err := g.meta.CreateNamespace(g.ctx, "public", nil)
	g.must(err)
	return g
}

func (g *rig) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) create(name string) *collection.Collection {
	g.t.Helper()
	obj := &schema.Object{Namespace: "public", Name: name, Kind: schema.Collection, Key: []int{0}, Partitions: 1, Fields: []schema.Field{
		{ID: 1, Name: "id", Type: types.Of(types.Text)}, {ID: 2, Name: "body", Type: types.Of(types.Text), FullText: "english"}}}
	row, err := g.meta.CreateObject(g.ctx, metastore.Object{Namespace: obj.Namespace, Name: obj.Name, Kind: string(obj.Kind), Partitions: obj.Partitions, Definition: []byte("{}")})
	g.must(err)
	obj.ID, obj.Incarnation, obj.SchemaVersion = row.ID, row.Incarnation, row.SchemaVersion
	g.must(collection.Create(g.ctx, g.deps, obj))
	c, err := collection.Open(g.ctx, g.deps, obj, collection.Options{MaxSplits: 2, MinFragment: 1, MaxDeleted: 50})
	g.must(err)
	g.t.Cleanup(c.Close)
	return c
}

func (g *rig) write(c *collection.Collection, n int) {
	g.t.Helper()
	var list [][]byte
	for range n {
		list = append(list, fmt.Appendf(nil, `{"id":"k%d","body":"brown fox %d"}`, g.r.Intn(20), g.r.Intn(9)))
	}
	rows, err := collection.FromDocuments(c.Object(), list)
	g.must(err)
	_, err = c.Append(g.ctx, rows)
	g.must(err)
}

// versions makes n versions by writes and applies.
func (g *rig) versions(c *collection.Collection, n int) {
	g.t.Helper()
	for range n {
		g.write(c, 5)
		g.must(c.Apply(g.ctx, nil))
	}
}

func (g *rig) pass(c *collection.Collection) Stats {
	g.t.Helper()
	st, err := g.gc.Pass(g.ctx, c.Object().ID)
	g.must(err)
	return st
}

func (g *rig) head(c *collection.Collection) metastore.Head {
	g.t.Helper()
	h, _, _, err := g.meta.Heads(g.ctx, c.Object().ID)
	g.must(err)
	return h
}

func (g *rig) release(c *collection.Collection) {
	g.t.Helper()
	g.must(g.meta.ReleaseManifests(g.ctx, c.Object().ID, g.head(c).Version))
}

func (g *rig) tag(c *collection.Collection, name string) {
	g.t.Helper()
	h, obj := g.head(c), c.Object()
	_, err := g.meta.CreateTag(g.ctx, metastore.TagRequest{ObjectID: obj.ID, Incarnation: obj.Incarnation, Tag: metastore.Tag{Name: name, Version: h.Version,
		ManifestKey: h.ManifestKey, ManifestChecksum: h.ManifestChecksum, ManifestSize: h.ManifestSize, LanceVersion: h.LanceVersion, Applied: h.Applied}})
	g.must(err)
}

func (g *rig) files(id uint64) []string {
	g.t.Helper()
	var out []string
	for info, err := range object.All(g.ctx, g.mem, collection.Prefix(id)) {
		g.must(err)
		out = append(out, info.Key)
	}
	return out
}

// kept are the files that the retained versions and tags refer to, read from the
// metastore and the manifests by a walk of its own.
func (g *rig) kept(id uint64) []string {
	g.t.Helper()
	root, err := g.meta.Root(g.ctx, id)
	g.must(err)
	keys := map[string]bool{collection.BaseKey(id): true}
	take := func(ref collection.ManifestRef) *collection.Manifest {
		m, err := collection.ReadManifest(g.ctx, g.mem, ref)
		g.must(err)
		keys[ref.Key] = true
		for _, o := range m.Objects() {
			keys[o.Key] = true
			g.must(collection.VerifyStored(g.ctx, g.mem, o))
		}
		return m
	}
	ref := collection.ManifestRef{Key: root.Head.ManifestKey, Checksum: root.Head.ManifestChecksum, Size: root.Head.ManifestSize}
	for v := root.Head.Version; v > 0 && v >= root.Head.Oldest; v-- {
		ref = take(ref).ParentRef()
	}
	for _, t := range root.Tags {
		take(collection.ManifestRef{Key: t.ManifestKey, Checksum: t.ManifestChecksum, Size: t.ManifestSize})
	}
	out := make([]string, 0, len(keys))
	for key := range keys {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

// settled checks that the store has exactly what is kept, and that it is counted.
func (g *rig) settled(c *collection.Collection) {
	g.t.Helper()
	g.counted(c)
	id := c.Object().ID
	if got, want := g.files(id), g.kept(id); !slices.Equal(got, want) {
		for _, key := range got {
			if !slices.Contains(want, key) {
				g.t.Errorf("left: %s", key)
			}
		}
		for _, key := range want {
			if !slices.Contains(got, key) {
				g.t.Errorf("lost: %s", key)
			}
		}
	}
}
