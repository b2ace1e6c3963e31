//go:build loamfault

package crash

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fault"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

// T1: the machine ends at every named place between two steps, before what follows
// happens or right after it has, and what the disk and the metastore then hold is
// opened and checked.

// pointNames are the places, out of the sources.
func pointNames(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Point" {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); !ok || pkg.Name != "fault" {
				return true
			}
			name, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(out, name) {
				t.Errorf("two places are named %q", name)
			}
			out = append(out, name)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// doomed is a machine that ends at a place.
type doomed struct {
	machine
	rows *metastore.MemRows
	step int // of the catalog's writer, acknowledged

	point string
	after bool
	skip  atomic.Int64
	hit   atomic.Bool
	quit  atomic.Bool // the machine was not ended at the place: writers stop
}

// mortal is the metastore of one life: it ends with the machine, or with the first
// transaction after the place.
type mortal struct {
	metastore.Store
	d *doomed
}

func (m *mortal) then(err error) {
	if err == nil && m.d.hit.Load() {
		_ = m.Store.Close()
	}
}

func (m *mortal) Append(ctx context.Context, blocks []metastore.AppendBlock) ([]metastore.AppendResult, error) {
	res, err := m.Store.Append(ctx, blocks)
	m.then(err)
	return res, err
}

func (m *mortal) Commit(ctx context.Context, req metastore.CommitRequest) (metastore.Head, error) {
	h, err := m.Store.Commit(ctx, req)
	m.then(err)
	return h, err
}

func (m *mortal) ChangeCatalog(ctx context.Context, c metastore.CatalogChange) (metastore.Object, error) {
	o, err := m.Store.ChangeCatalog(ctx, c)
	m.then(err)
	return o, err
}

// power opens what the disk holds, and listens at the place.
func (d *doomed) power(ctx context.Context) (*loam.Engine, error) {
	clk := hasty{clock.Real()}
	store, err := d.rows.Open(ctx, clk, clock.RandomIDs(clk), metastore.Options{})
	if err != nil {
		return nil, err
	}
	meta := &mortal{store, d}
	d.meta = meta
	fault.Set(func(name string) {
		if name != d.point || d.skip.Add(-1) >= 0 || d.hit.Swap(true) {
			return
		}
		if d.after {
			d.cfs.CrashAfter(1)
			return
		}
		d.cfs.CrashAfter(0)
		_ = store.Close()
	})
	return d.boot(ctx)
}

// catalogSteps are what the catalog's writer does again and again.
var catalogSteps = []string{
	"CREATE TABLE scratch (x INT)",
	"INSERT INTO scratch VALUES (1), (2), (3)",
	"ALTER TABLE scratch ADD COLUMN y INT",
	"DROP TABLE scratch",
}

// catalogAfter is what scratch looks like after a number of steps: rows and
// columns, or nothing.
func catalogAfter(n int) string { return []string{"none", "0/1", "3/1", "3/2"}[n%len(catalogSteps)] }

func (r reader) catalogNow() (string, error) {
	names, err := r.rows("SELECT count(*) FROM information_schema.columns WHERE table_name = 'scratch'")
	if err != nil || names[0][0] == "0" {
		return "none", err
	}
	n, err := r.rows("SELECT count(*) FROM scratch")
	if err != nil {
		return "", err
	}
	return n[0][0] + "/" + names[0][0], nil
}

// change runs steps of the catalog until the machine ends.
func (d *doomed) change(ctx context.Context, e *loam.Engine, limit int) {
	r := reader{ctx, e.NewSession(loam.SessionConfig{})}
	for i := 0; i < limit && !d.quit.Load(); i++ {
		if _, err := r.rows(catalogSteps[d.step%len(catalogSteps)]); err != nil {
			return
		}
		d.step++
		time.Sleep(2 * time.Millisecond)
	}
}

// work writes until the machine ends, or for the number of statements a writer.
func (d *doomed) work(ctx context.Context, e *loam.Engine, limit int) {
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			s := e.NewSession(loam.SessionConfig{})
			have := after(w, d.acked[w])
			for i := 0; i < limit && !d.quit.Load(); i++ {
				st := next(w, d.acked[w]+1, have)
				if send(ctx, s, w, st) != nil {
					return
				}
				have = st.after
				d.acked[w]++
				time.Sleep(time.Millisecond)
			}
		})
	}
	all.Go(func() { d.change(ctx, e, limit) })
	all.Wait()
}

// judge checks everything that a running engine shows and refers to.
func (d *doomed) judge(ctx context.Context, e *loam.Engine) []string {
	var wrong []string
	r := reader{ctx, e.NewSession(loam.SessionConfig{})}
	if got, err := r.catalogNow(); err != nil {
		wrong = append(wrong, "the catalog: "+err.Error())
	} else if got == catalogAfter(d.step+1) {
		d.step++
	} else if got != catalogAfter(d.step) {
		wrong = append(wrong, fmt.Sprintf("scratch is %s after step %d, want %s or %s", got, d.step, catalogAfter(d.step), catalogAfter(d.step+1)))
	}
	reached, problems, err := r.verify(d.acked)
	if err != nil {
		return append(wrong, err.Error())
	}
	d.acked = reached
	for _, p := range problems {
		wrong = append(wrong, p.kind+": "+p.text)
	}
	more, err := d.references(ctx)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	return append(wrong, more...)
}

// references follows every object's head through its parents: versions count down by
// one, applied offsets do not go back, what each version names is there as it was
// written; and the log is dense and readable above what is applied (I2 to I5).
func (d *doomed) references(ctx context.Context) (wrong []string, err error) {
	clk := clock.Real()
	meta, err := d.rows.Open(ctx, clk, clock.RandomIDs(clk), metastore.Options{})
	if err != nil {
		return nil, err
	}
	objs, err := meta.ListObjects(ctx, "")
	if err != nil {
		return nil, err
	}
	heads := make([]metastore.Head, len(objs))
	for i, o := range objs {
		if heads[i], _, _, err = meta.Heads(ctx, o.ID); err != nil {
			return nil, err
		}
	}
	// What the heads name must be on the disk now, synced; the engine goes on meanwhile.
	store, err := object.OpenFile("/", clock.RandomIDs(clk), object.FileOptions{FS: d.cfs.Image(func(int) int { return 0 })})
	if err != nil {
		return nil, err
	}
	for i, o := range objs {
		wrong = append(wrong, versions(ctx, store, o.Name, heads[i])...)
		_, parts, _, err := meta.Heads(ctx, o.ID)
		if err != nil {
			return nil, err
		}
		for p, part := range parts {
			if w := denseRefs(part); w != "" {
				wrong = append(wrong, fmt.Sprintf("%s partition %d: %s", o.Name, p, w))
			}
		}
	}
	return wrong, nil
}

func denseRefs(p metastore.PartitionState) string {
	for i, r := range p.Refs {
		if i > 0 && r.Base != p.Refs[i-1].End() {
			return fmt.Sprintf("a reference at %d after one to %d", r.Base, p.Refs[i-1].End())
		}
	}
	if n := len(p.Refs); n > 0 && p.Refs[n-1].End() != p.Next || p.Applied > p.Next {
		return fmt.Sprintf("next %d, applied %d, references to %d", p.Next, p.Applied, p.Refs[n-1].End())
	}
	return ""
}

func versions(ctx context.Context, store object.Store, name string, head metastore.Head) (wrong []string) {
	ref := collection.ManifestRef{Key: head.ManifestKey, Checksum: head.ManifestChecksum, Size: head.ManifestSize}
	applied := head.Applied
	for v := head.Version; v > 0 && v >= head.Oldest; v-- {
		m, err := collection.ReadManifest(ctx, store, ref)
		if err != nil {
			return append(wrong, fmt.Sprintf("%s version %d: %v", name, v, err))
		}
		if m.Version != v {
			wrong = append(wrong, fmt.Sprintf("%s: version %d where %d is due", name, m.Version, v))
		}
		for p := range applied {
			if m.Applied[p] > applied[p] {
				wrong = append(wrong, fmt.Sprintf("%s version %d: applied %v, then %v", name, v, m.Applied, applied))
			}
		}
		for _, o := range m.Objects() {
			if b, err := store.Get(ctx, o.Key); err != nil || xxh3.Hash(b) != o.Checksum {
				wrong = append(wrong, fmt.Sprintf("%s version %d: %s %s is not as it was written: %v", name, v, o.Kind, o.Key, err))
			}
		}
		applied, ref = m.Applied, collection.ManifestRef{}
		if len(m.Ancestors) > 0 {
			ref = m.Ancestors[0].ManifestRef
		}
	}
	return wrong
}

// die is one machine from its start over its end at the place to its death in peace.
func die(t *testing.T, point string, after bool, skip int64, rng *rand.Rand) (states int) {
	t.Helper()
	ctx := context.Background()
	defer fault.Set(nil)
	d := &doomed{machine: machine{cfs: object.NewCrashFS(), acked: make([]int, writers), collect: 5 * time.Second}, rows: metastore.NewMemRows()}
	e, err := d.power(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r := reader{ctx, e.NewSession(loam.SessionConfig{})}
	for _, sql := range ddl {
		if _, err := r.rows(sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	d.point, d.after = point, after
	d.lazy = strings.HasPrefix(point, "wal/index") // an index is made of references that wait
	d.skip.Store(skip)
	for life := 0; life < 3; life++ {
		if e, err = d.power(ctx); err != nil && !d.hit.Load() {
			t.Fatalf("%s: %v", point, err)
		}
		if err != nil { // it ended on its way up
			d.cfs = d.cfs.Image(rng.IntN)
			d.hit.Store(false)
			d.point = ""
			continue
		}
		if life > 0 {
			states++
			if wrong := d.judge(ctx, e); len(wrong) > 0 {
				t.Errorf("after the end at %q (after: %v, call %d): %d problems, such as: %s\nrun again: make crash-points POINT='%s'", point, after, skip, len(wrong), wrong[0], point)
			}
		}
		limit := 40
		if life == 0 {
			limit = 1 << 30
			timer := time.AfterFunc(20*time.Second, func() { d.quit.Store(true) })
			d.work(ctx, e, limit)
			timer.Stop()
			if d.quit.Load() {
				t.Errorf("%q is not reached in 20 s", point)
			}
			d.quit.Store(false)
		} else {
			d.work(ctx, e, limit)
		}
		_ = e.Close()
		d.point, d.lazy = "", false
		d.hit.Store(false)
		d.cfs = d.cfs.Image(rng.IntN)
	}
	return states
}

// TestPoints ends a machine at every place once before and once after what follows;
// in the long form in many calls of each.
func TestPoints(t *testing.T) {
	names := pointNames(t)
	if *onePoint != "" {
		names = []string{*onePoint}
	}
	if len(names) == 0 {
		t.Fatal("there are no points")
	}
	rng := rand.New(rand.NewPCG(seedOf(t), 21))
	ends, states := 0, 0
	for range max(1, *pointRounds) {
		for _, name := range names {
			for _, after := range []bool{false, true} {
				skip := int64(rng.IntN(3))
				if strings.HasPrefix(name, "metastore/") {
					skip = int64(rng.IntN(60))
				}
				ends++
				states += die(t, name, after, skip, rng)
				if t.Failed() {
					t.Fatalf("seed %d", *runSeed)
				}
			}
		}
	}
	fmt.Printf("    points: %d places, %d ends, %d states opened and checked\n", len(names), ends, states)
	fmt.Printf("crash-points: %d passed, 0 failed, 0 skipped\n", ends)
}
