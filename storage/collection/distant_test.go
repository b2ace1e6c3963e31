package collection

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/object"
)

// distant is a store as S3 is one: an opened object is read from the store each time,
// and is gone when it is deleted. At a read of a test's choice something happens.
type distant struct {
	object.Store
	reads, at *atomic.Int64
	do        *func()
}

func (d distant) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	if d.reads.Add(1) == d.at.Load() {
		(*d.do)()
	}
	return d.Store.GetRange(ctx, key, off, n)
}

func (d distant) Open(ctx context.Context, key string) (object.Object, error) {
	info, err := d.Head(ctx, key)
	return &distantObject{d, info}, err
}

type distantObject struct {
	store object.Store
	info  object.Info
}

func (o *distantObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	b, err := o.store.GetRange(ctx, o.info.Key, off, int64(len(p)))
	copy(p, b)
	return err
}
func (o *distantObject) Size() int64  { return o.info.Size }
func (o *distantObject) Close() error { return nil }

// searchAll runs a search and reads its hits.
func searchAll(s *Snapshot, legs ...plan.Leg) error {
	search, err := s.Search(testEnv(), &plan.SearchScan{Object: s.obj, Cols: allCols(s.obj), Legs: legs, Limit: 15, Score: plan.Column{ID: 100, Name: "_score"}})
	for err == nil {
		c, e := search.Next(context.Background())
		if c == nil && e == nil {
			return nil
		}
		err = e
	}
	return err
}

// TestAVersionThatIsReleasedUnderItsReaders: at each of the reads that a reader makes
// of a distant store, its version is released and its files are deleted. What it comes
// to next is expired, not damaged, and never an answer of fewer rows.
func TestAVersionThatIsReleasedUnderItsReaders(t *testing.T) {
	ctx := context.Background()
	text := plan.Leg{Kind: plan.TextLeg, Query: &expr.Const{Value: vec.Text("quick fox")}, Limit: 20, Weight: 1}
	keys := []string{"k001", "k011"}
	vector := plan.Leg{Kind: plan.VectorLeg, Field: "emb", Metric: schema.L2, Query: &expr.Const{Value: vec.VectorValue([]float32{1, 0.5, 1, 2})}, Limit: 20, Weight: 1}
	for name, read := range map[string]func(*Collection, *Snapshot) error{
		"scan":   func(_ *Collection, s *Snapshot) error { return scanAll(s) },
		"text":   func(_ *Collection, s *Snapshot) error { return searchAll(s, text) },
		"lookup": func(_ *Collection, s *Snapshot) error { _, err := s.Has(ctx, keys); return err },
		"vector": func(_ *Collection, s *Snapshot) error { return searchAll(s, vector) },
		"version": func(c *Collection, s *Snapshot) error {
			p, err := c.Version(ctx, 2)
			if err == nil {
				err = scanAll(p)
			}
			return err
		},
		"patch":  func(_ *Collection, s *Snapshot) error { _, err := s.find(ctx, keys); return err },
		"ticket": func(_ *Collection, s *Snapshot) error { return scanAll(s.Restrict(s.Fragments()[:1], false)) },
		"pinned": func(c *Collection, s *Snapshot) error {
			p, err := c.Pinned(ctx, s.Version(), s.Bounds())
			if err == nil {
				err = scanAll(p)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			expired, reads := 0, int64(0)
			for at := int64(1); ; at++ {
				b := newBench(t, docsObject(1), Options{MaxSplits: 1})
				do := func() {}
				d := distant{b.deps.Objects, &atomic.Int64{}, &atomic.Int64{}, &do}
				b.deps.Objects, b.deps.Cache = d, NewCache(1) // nothing stays
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
				do = func() {
					b.must(b.deps.Meta.ReleaseManifests(ctx, b.obj.ID, 3))
					b.deleteFiles()
				}
				d.reads.Store(0)
				d.at.Store(at)
				err = read(b.c, snap)
				if reads = d.reads.Load(); reads < at {
					b.must(err)
					break
				}
				if err != nil && (!fail.Is(err, fail.SnapshotExpired) || !errors.Is(err, object.ErrNotFound)) {
					t.Fatalf("at read %d: %v (%s)", at, err, fail.CodeOf(err))
				}
				if err != nil {
					expired++
				}
			}
			if expired == 0 && reads > 2 {
				t.Error("no reader came to a file that was gone")
			}
		})
	}
}
