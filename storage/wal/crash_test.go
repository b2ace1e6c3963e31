package wal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// crashWorld is a log over the file store on a machine that will crash. The
// metastore keeps what it acknowledged; its own crashes are tested in its room.
type crashWorld struct {
	cfs   *object.CrashFS
	clk   *clock.Manual
	ids   clock.IDs
	meta  metastore.Store
	obj   metastore.Object
	acked map[uint64]string // by offset
	maybe map[string]bool   // payloads of appends that failed
}

func newCrashWorld(t *testing.T, seed uint64) *crashWorld {
	t.Helper()
	clk := clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	w := &crashWorld{cfs: object.NewCrashFS(), clk: clk, ids: clock.SeededIDs(clk, seed), acked: map[uint64]string{}, maybe: map[string]bool{}}
	w.meta = metastore.NewMem(clk, w.ids, metastore.Options{})
	if _, err := w.meta.CreateNamespace(ctx, "public", nil); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.obj, err = w.meta.CreateObject(ctx, metastore.Object{Namespace: "public", Name: "docs", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *crashWorld) open(t *testing.T, noSync bool) *Log {
	t.Helper()
	store, err := object.OpenFile("/", w.ids, object.FileOptions{FS: w.cfs, NoSync: noSync})
	if err != nil {
		t.Fatal(err)
	}
	return New(store, w.meta, w.clk, w.ids, Options{})
}

// write appends until the machine crashes or the session is over.
func (w *crashWorld) write(l *Log, seed uint64) (crashed bool) {
	rng := rand.New(rand.NewPCG(seed, 2))
	for i := range 70 { // enough for an index object
		text := strings.Repeat(fmt.Sprintf("%d/%d;", seed, i), 1+rng.IntN(400))
		res, err := l.Append(context.Background(), []Block{{ObjectID: w.obj.ID, Incarnation: w.obj.Incarnation,
			Records: 1, Payload: []byte(text), Bytes: int64(len(text))}})
		if err != nil || res[0].Err != nil {
			w.maybe[text] = true
			return true
		}
		w.acked[res[0].Base] = text
	}
	return false
}

// check reads everything back after the restart and counts what is wrong.
func (w *crashWorld) check(t *testing.T, l *Log) (violations int) {
	t.Helper()
	_, parts, _, err := w.meta.Heads(ctx, w.obj.ID)
	if err != nil {
		t.Fatal(err)
	}
	refs, err := l.Refs(ctx, parts[0], 0)
	if err != nil {
		return 1 + len(w.acked)
	}
	seen := map[uint64]bool{}
	for _, r := range refs {
		batches, err := l.ReadBlock(ctx, r)
		if err != nil {
			violations++ // a sequenced block that is lost or half there
			continue
		}
		for _, b := range batches {
			seen[b.Base] = true
			if want, ok := w.acked[b.Base]; ok && want != string(b.Payload) {
				violations++
			} else if !ok && !w.maybe[string(b.Payload)] {
				violations++
			}
		}
	}
	for base := range w.acked {
		if !seen[base] {
			violations++
		}
	}
	return violations
}

// crashRun crashes at every operation of the file system, opens images of each,
// writes on, and checks.
func crashRun(t *testing.T, noSync bool, stride int) (images, violations int) {
	for at := 0; ; at += stride {
		for seed := range uint64(2) {
			w := newCrashWorld(t, seed)
			l := w.open(t, noSync)
			w.cfs.CrashAfter(at)
			crashed := w.write(l, seed)
			_ = l.Close()
			rng := rand.New(rand.NewPCG(seed, uint64(at)))
			w.cfs = w.cfs.Image(rng.IntN)
			images++
			l = w.open(t, noSync)
			violations += w.check(t, l)
			if violations == 0 { // the log goes on where it was
				if w.write(l, seed+100) {
					t.Fatalf("crash at %d: the log does not go on", at)
				}
				violations += w.check(t, l)
				w.clk.Advance(time.Hour)
				if _, err := l.Trim(ctx, time.Minute); err != nil {
					t.Fatal(err)
				}
				violations += w.check(t, l)
			}
			_ = l.Close()
			if !crashed {
				return images, violations
			}
		}
	}
}

func TestCrash(t *testing.T) {
	stride := 1
	if testing.Short() {
		stride = 7
	}
	images, violations := crashRun(t, false, stride)
	t.Logf("%d crash images, %d violations", images, violations)
	if violations != 0 || images < 50 {
		t.Fatalf("%d images, %d violations", images, violations)
	}
}

// The control: without fsync the same run must find losses.
func TestCrashControl(t *testing.T) {
	images, violations := crashRun(t, true, 5)
	t.Logf("%d crash images, %d violations", images, violations)
	if violations == 0 {
		t.Fatal("the test does not see a store that never syncs")
	}
}

// Offsets under many writers are dense and unique, and every acknowledged block
// reads back, on the stores of the product.
func TestConcurrentFile(t *testing.T) {
	clk := clock.Real()
	ids := clock.RandomIDs(clk)
	store, err := object.OpenFile(t.TempDir(), ids, object.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	meta, err := metastore.OpenEmbedded(ctx, t.TempDir(), clk, ids, metastore.EmbeddedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = meta.Close() }()
	w := &world{t: t, ids: ids, store: store, meta: meta}
	w.log = New(store, meta, clk, ids, Options{})
	defer func() { _ = w.log.Close() }()
	w.obj = w.create("docs", 2)
	var mu sync.Mutex
	got := [2]map[uint64]string{{}, {}}
	conflicts := 0
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 40 {
				p, text := (g+i)%2, fmt.Sprintf("%d.%d", g, i)
				b := w.block(p, text)
				if i%10 == 0 { // a planned write, which may lose
					_, parts, _, err := meta.Heads(ctx, w.obj.ID)
					if err != nil {
						t.Error(err)
						return
					}
					b.Expect = at(parts[p].Next)
				}
				res, err := w.log.Append(ctx, []Block{b})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				switch {
				case fail.Is(res[0].Err, fail.Conflict) && b.Expect != nil:
					conflicts++
				case res[0].Err != nil:
					t.Error(res[0].Err)
				case b.Expect != nil && res[0].Base != *b.Expect:
					t.Errorf("planned at %d, appended at %d", *b.Expect, res[0].Base)
				default:
					got[p][res[0].Base] = text
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	total := 0
	for p := range 2 {
		texts := w.read(p, 0)
		total += len(texts)
		if len(texts) != len(got[p]) {
			t.Fatalf("partition %d: %d records, %d acknowledged", p, len(texts), len(got[p]))
		}
		for i, text := range texts {
			if got[p][uint64(i)] != text {
				t.Fatalf("partition %d offset %d: %q, acknowledged %q", p, i, text, got[p][uint64(i)])
			}
		}
	}
	if total+conflicts != 16*40 {
		t.Fatalf("%d records and %d conflicts", total, conflicts)
	}
	t.Logf("%d conflicts, %+v", conflicts, w.log.Stats())
}
