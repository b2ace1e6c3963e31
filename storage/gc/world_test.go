package gc

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
	"github.com/loamdb/loam/storage/wal"
)

// flaw is a fault of the code under test that a control build has.
type flaw string

const (
	sound    flaw = ""
	noEpoch  flaw = "commits are not refused by their epoch"
	noTags   flaw = "tags are no roots"
	oldRoots flaw = "roots are read before the epoch is raised"
	onePass  flaw = "files go with the first pass that finds them"
)

// world is one round: stores that several nodes share, and who works on them.
type world struct {
	t     testing.TB
	r     *rand.Rand
	flaw  flaw
	rows  *metastore.MemRows
	raw   metastore.Store // nobody waits on it
	mem   *object.Mem
	clk   clock.Clock
	ids   clock.IDs
	log   *wal.Log
	sched *scheduler

	obj   *schema.Object // the newest; its predecessors were dropped
	gone  []uint64
	done  bool // the round winds down
	calm  bool // no more faults
	bad   error
	seen  map[string]string // content of versions by object and version
	count counts
}

// counts are what a round has done.
type counts struct {
	commits, refused, unknown, faults, passes, aborted, deleted, tags, drops, reads, expired int
}

func newWorld(t testing.TB, seed int64, f flaw) *world {
	w := &world{t: t, r: rand.New(rand.NewSource(seed)), flaw: f, rows: metastore.NewMemRows(), mem: object.NewMem(), seen: map[string]string{}}
	w.clk = clock.Real()
	w.ids = clock.SeededIDs(w.clk, uint64(seed))
	w.sched = &scheduler{r: w.r}
	w.raw = w.meta(nil)
	w.log = wal.New(w.mem, w.raw, w.clk, w.ids, wal.Options{})
	if _, err := w.raw.CreateNamespace(context.Background(), "public", nil); err != nil {
		w.fail("namespace: %v", err)
	}
	w.create()
	return w
}

// fail records the first violation.
func (w *world) fail(format string, args ...any) {
	if w.bad == nil {
		w.bad = fmt.Errorf(format, args...)
	}
}

// meta is a node's metastore. An actor has one of its own: no lock is shared.
func (w *world) meta(faults *metastore.Faults) metastore.Store {
	s, err := w.rows.Open(context.Background(), w.clk, w.ids, metastore.Options{Faults: faults})
	if err != nil {
		w.fail("metastore: %v", err)
	}
	return s
}

// create makes the round's object anew.
func (w *world) create() {
	o := &schema.Object{Namespace: "public", Name: fmt.Sprintf("o%d", len(w.gone)), Kind: schema.Collection, Key: []int{0}, Partitions: 1,
		Fields: []schema.Field{{ID: 1, Name: "id", Type: types.Of(types.Text)}, {ID: 2, Name: "n", Type: types.Of(types.Int32)}, {ID: 3, Name: "v", Type: types.VectorOf(1)}}}
	if w.r.Intn(2) == 0 {
		o.Kind, o.Key = schema.Table, nil
	}
	row, err := w.raw.CreateObject(context.Background(), metastore.Object{Namespace: o.Namespace, Name: o.Name, Kind: string(o.Kind), Partitions: 1, Definition: []byte("{}")})
	if err != nil {
		w.fail("create: %v", err)
		return
	}
	o.ID, o.Incarnation, o.SchemaVersion = row.ID, row.Incarnation, row.SchemaVersion
	deps := collection.Deps{Objects: w.mem, Meta: w.raw, Log: w.log, IDs: w.ids, Clock: w.clk}
	if err := collection.Create(context.Background(), deps, o); err != nil {
		w.fail("create: %v", err)
	}
	w.obj = o
}

// deps are the stores as an actor sees them: each call awaits, some fail.
func (w *world) deps() (collection.Deps, *metastore.Faults) {
	faults := &metastore.Faults{}
	faults.Between(func(ctx context.Context, _ string) { await(ctx) })
	meta := &waiting{Store: w.meta(faults), w: w}
	return collection.Deps{Objects: &awaiting{Store: w.mem, w: w}, Meta: meta, Log: w.log, IDs: w.ids, Clock: w.clk}, faults
}

// waiting is a metastore whose calls await.
type waiting struct {
	metastore.Store
	w *world
}

func (m *waiting) Heads(ctx context.Context, id uint64) (metastore.Head, []metastore.PartitionState, int64, error) {
	await(ctx)
	return m.Store.Heads(ctx, id)
}

func (m *waiting) Snapshot(ctx context.Context, ids []uint64) (metastore.Snapshot, error) {
	await(ctx)
	return m.Store.Snapshot(ctx, ids)
}

func (m *waiting) Root(ctx context.Context, id uint64) (metastore.Root, error) {
	await(ctx)
	return m.Store.Root(ctx, id)
}

func (m *waiting) Commit(ctx context.Context, req metastore.CommitRequest) (metastore.Head, error) {
	await(ctx)
	if m.w.flaw == noEpoch {
		req.GCEpoch = 1 << 60
	}
	h, err := m.Store.Commit(ctx, req)
	switch {
	case err == nil:
		m.w.count.commits++
	case fail.Is(err, fail.CommitUnknown):
		m.w.count.unknown++
	case fail.Is(err, fail.Conflict) && strings.Contains(err.Error(), "garbage collection epoch"):
		m.w.count.refused++
	}
	await(ctx)
	return h, err
}

// awaiting is an object store whose calls await and, until the world is calm,
// sometimes fail, with an outcome or without.
type awaiting struct {
	object.Store
	w *world
}

// fate fails a call, before or after it took effect.
func (s *awaiting) fate(ctx context.Context, key string, call func() error) error {
	await(ctx)
	n := 99
	if !s.w.calm && !s.w.done {
		n = s.w.r.Intn(40)
	}
	if n < 3 {
		s.w.count.faults++
	}
	switch n {
	case 0:
		return fail.New(fail.Unavailable, "object %q: injected", key)
	case 1:
		return fail.Wrap(fail.CommitUnknown, object.ErrUnknown, "object %q: injected", key)
	}
	err := call()
	await(ctx)
	if n == 2 && err == nil {
		return fail.Wrap(fail.CommitUnknown, object.ErrUnknown, "object %q: injected", key)
	}
	return err
}

func (s *awaiting) Put(ctx context.Context, key string, body []byte, opt object.PutOptions) (info object.Info, err error) {
	err = s.fate(ctx, key, func() error { info, err = s.Store.Put(ctx, key, body, opt); return err })
	return info, err
}

func (s *awaiting) Create(ctx context.Context, key string) (object.Writer, error) {
	await(ctx)
	w, err := s.Store.Create(ctx, key)
	return &awaitingWriter{Writer: w, ctx: ctx, s: s, key: key}, err
}

type awaitingWriter struct {
	object.Writer
	ctx context.Context
	s   *awaiting
	key string
}

func (a *awaitingWriter) Commit() (info object.Info, err error) {
	err = a.s.fate(a.ctx, a.key, func() error { info, err = a.Writer.Commit(); return err })
	if err != nil {
		a.Abort()
	}
	return info, err
}

func (s *awaiting) Get(ctx context.Context, key string) ([]byte, error) {
	if strings.HasSuffix(key, ".lman") { // the others are read by several goroutines of an actor
		await(ctx)
	}
	return s.Store.Get(ctx, key)
}

func (s *awaiting) List(ctx context.Context, prefix, after string) ([]object.Info, error) {
	await(ctx)
	return s.Store.List(ctx, prefix, after)
}

func (s *awaiting) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := s.fate(ctx, key, func() error { return s.Store.Delete(ctx, key) }); err != nil {
			return err
		}
		s.w.count.deleted++
	}
	return nil
}

// roots are the store that a flawed collector sees.
type roots struct {
	metastore.Store
	w    *world
	last metastore.Root
}

func (m *roots) Root(ctx context.Context, id uint64) (metastore.Root, error) {
	if m.w.flaw == oldRoots && m.last.ObjectID == id {
		r := m.last
		m.last = metastore.Root{}
		return r, nil
	}
	r, err := m.Store.Root(ctx, id)
	if m.w.flaw == noTags {
		r.Tags = nil
	}
	m.last = r
	return r, err
}

// verify reads all that is kept of the object: every retained version and tag must
// be there, whole.
func (w *world) verify(when string) {
	ctx := context.Background()
	root, err := w.raw.Root(ctx, w.obj.ID)
	if err != nil {
		w.fail("%s: %v", when, err)
		return
	}
	take := func(ref collection.ManifestRef, what string) *collection.Manifest {
		m, err := collection.ReadManifest(ctx, w.mem, ref)
		if err != nil {
			w.fail("%s: %s of %s: %v", when, what, w.obj.Name, err)
			return nil
		}
		for _, o := range m.Objects() {
			if err := collection.VerifyStored(ctx, w.mem, o); err != nil {
				w.fail("%s: %s of %s: %s %s: %v", when, what, w.obj.Name, o.Kind, o.Key, err)
				return nil
			}
		}
		return m
	}
	ref := collection.ManifestRef{Key: root.Head.ManifestKey, Checksum: root.Head.ManifestChecksum, Size: root.Head.ManifestSize}
	for v := root.Head.Version; v > 0 && v >= root.Head.Oldest; v-- {
		m := take(ref, fmt.Sprint("version ", v))
		if m == nil {
			return
		}
		ref = m.ParentRef()
	}
	for _, t := range root.Tags {
		take(collection.ManifestRef{Key: t.ManifestKey, Checksum: t.ManifestChecksum, Size: t.ManifestSize}, "tag "+t.Name)
	}
}

// kept are the keys that must be left of the object.
func (w *world) kept() []string {
	g := &rig{t: w.t, ctx: context.Background(), mem: w.mem, meta: &hooked{Store: w.raw}}
	return g.kept(w.obj.ID)
}

// content reads a snapshot whole, awaiting between its chunks.
func content(ctx context.Context, s *collection.Snapshot) (string, error) {
	cols := []plan.ScanColumn{}
	for i, f := range []schema.Field{{Name: "id", Type: types.Of(types.Text)}, {Name: "n", Type: types.Of(types.Int32)}, {Name: "v", Type: types.VectorOf(1)}} {
		cols = append(cols, plan.ScanColumn{Column: plan.Column{ID: expr.ColumnID(i + 1), Name: f.Name, Type: f.Type}, Field: f.Name})
	}
	var out []string
	await(ctx)
	sc, err := s.Scan(&expr.Env{Ctx: ctx}, &plan.Scan{Object: s.Object(), Cols: cols, Limit: plan.NoLimit})
	if err != nil {
		return "", err
	}
	for {
		await(ctx)
		c, err := sc.Next(ctx)
		if err != nil {
			return "", err
		}
		if c == nil {
			slices.Sort(out)
			return strings.Join(out, "\n"), nil
		}
		for i := range c.Rows() {
			row := c.RowAt(i)
			out = append(out, fmt.Sprint(c.Cols[0].Value(row), " ", c.Cols[1].Value(row), " ", c.Cols[2].Value(row)))
		}
	}
}

// excused reports whether an actor may get the error: what was asked for is gone,
// or a fault was injected. A missing or damaged file is never excused.
func excused(err error) bool {
	for _, code := range []fail.Code{fail.SnapshotExpired, fail.UndefinedTable, fail.Conflict, fail.CommitUnknown, fail.Unavailable, fail.UndefinedObject, fail.DuplicateObject, fail.OutOfRange} {
		if fail.Is(err, code) {
			return true
		}
	}
	return errors.Is(err, object.ErrUnknown)
}

func batch(r *rand.Rand, obj *schema.Object) (*collection.Rows, error) {
	n := 1 + r.Intn(6)
	ids, nums := vec.New(types.Of(types.Text), n), vec.New(types.Of(types.Int32), n)
	for range n {
		ids.Append(vec.Text(fmt.Sprint("k", r.Intn(12))))
		nums.Append(vec.Int32(r.Int31n(1000)))
	}
	return collection.FromColumns(obj, []*vec.Vector{ids, nums, nil}, n)
}

// patch gives all documents another vector: where most were applied, their fragments
// get another file.
func patch(ctx context.Context, r *rand.Rand, c *collection.Collection) error {
	snap, err := c.Strong(ctx)
	if err != nil {
		return err
	}
	all := make([]string, 12)
	for i := range all {
		all[i] = fmt.Sprint("k", i)
	}
	has, err := snap.Has(ctx, all)
	if err != nil {
		return err
	}
	var keys []string
	v := vec.New(types.VectorOf(1), 0)
	for i, ok := range has {
		if ok {
			keys = append(keys, all[i])
			v.Append(vec.VectorValue([]float32{float32(r.Intn(100))}))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	rows, err := snap.Patch(ctx, keys, []*vec.Vector{nil, nil, v})
	if err == nil {
		_, err = c.AppendIf(ctx, rows, snap)
	}
	return err
}
