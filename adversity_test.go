package loam_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fakes3"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

// TestAStormOf503: a bucket that answers with 503 in bursts loses nothing; one that
// answers with nothing else gives a typed error in bounded time, while reads of what
// is in memory go on; when it is over all is well.
func TestAStormOf503(t *testing.T) {
	server := bucket(t)
	e := mustOpen(t, loam.Config{Dir: t.TempDir(), Store: at(server, "p"), Collection: collection.Options{ApplyRows: 10, BatchInterval: 50 * time.Millisecond}})
	s := e.NewSession(loam.SessionConfig{})
	askRows(t, s, "CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT)")
	askRows(t, s, "CREATE TABLE still (a INT) WITH (batch_interval = '1h', max_batch_interval = '1h')") // stays in memory
	askRows(t, s, "INSERT INTO still VALUES (7)")
	rng := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	var stop atomic.Bool
	var storm, writers sync.WaitGroup
	storm.Go(func() {
		for !stop.Load() {
			server.Heal()
			server.Add(fakes3.Fault{Status: 503, Code: "SlowDown", Skip: rng.IntN(4), N: 1 + rng.IntN(3)})
			time.Sleep(100 * time.Millisecond)
		}
	})
	var acked [2][]string
	for w := range acked {
		writers.Go(func() {
			for i := range 12 {
				key := fmt.Sprintf("%d-%d", w, i)
				_, err := tryRows(t.Context(), s, "INSERT INTO docs VALUES ('"+key+"', 1)")
				switch {
				case err == nil:
					acked[w] = append(acked[w], key)
				case !fail.Is(err, fail.Unavailable):
					t.Errorf("in the storm: %v", err)
				}
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	storm.Wait()
	server.Heal()
	server.Add(fakes3.Fault{Status: 503, Code: "SlowDown"}) // and nothing else
	begun := time.Now()
	_, err := tryRows(t.Context(), s, "INSERT INTO docs VALUES ('during', 0)")
	if got := fail.Render(err, ""); !fail.Is(err, fail.Unavailable) || !strings.Contains(got, "503") && !strings.Contains(got, "overloaded") || time.Since(begun) > 30*time.Second {
		t.Errorf("after %v: %s", time.Since(begun), got)
	}
	if got := askRows(t, s, "SELECT a FROM still"); len(got) != 1 {
		t.Errorf("a read from memory: %q", got)
	}
	server.Heal()
	askRows(t, s, "INSERT INTO docs VALUES ('after', 0)")
	found := map[string]int{}
	for _, id := range askRows(t, s, "SELECT id FROM docs") {
		found[id]++
	}
	if found["during"] != 0 || found["after"] != 1 {
		t.Errorf("the refused write is there %d times, the last %d", found["during"], found["after"])
	}
	for _, key := range append(acked[0], acked[1]...) {
		if found[key] != 1 {
			t.Errorf("acknowledged %s is there %d times", key, found[key])
		}
	}
	if len(acked[0])+len(acked[1]) < 10 {
		t.Errorf("only %d of 24 writes came through the storm", len(acked[0])+len(acked[1]))
	}
}

// filling is a file system whose disk can be full.
type filling struct {
	object.FS
	full atomic.Bool
}

func (d *filling) Create(name string) (object.File, error) {
	f, err := d.FS.Create(name)
	if err == nil {
		f = &fillingFile{f, d}
	}
	return f, err
}

type fillingFile struct {
	object.File
	on *filling
}

func (f *fillingFile) Write(p []byte) (int, error) {
	if f.on.full.Load() {
		return 0, &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return f.File.Write(p)
}

// TestAFullDisk: writes are refused with the cause, reads go on, applies wait, and
// with room again everything that was acknowledged is there, once.
func TestAFullDisk(t *testing.T) {
	disk := &filling{FS: object.OS()}
	clk := clock.Real()
	ids := clock.RandomIDs(clk)
	files, err := object.OpenFile(t.TempDir(), ids, object.FileOptions{FS: disk})
	if err != nil {
		t.Fatal(err)
	}
	var told atomic.Int64
	e := mustOpen(t, loam.Config{Clock: clk, IDs: ids, WrapStore: func(object.Store) object.Store { return files },
		Collection: collection.Options{BatchInterval: 20 * time.Millisecond},
		OnError: func(_ string, err error) {
			if fail.Is(err, fail.DiskFull) {
				told.Add(1)
			}
		}})
	s := e.NewSession(loam.SessionConfig{})
	askRows(t, s, "CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT)")
	askRows(t, s, "INSERT INTO docs VALUES ('a', 1), ('b', 2)")
	disk.full.Store(true)
	_, err = tryRows(t.Context(), s, "INSERT INTO docs VALUES ('c', 3)")
	if got := fail.Render(err, ""); !fail.Is(err, fail.DiskFull) || !strings.Contains(got, "Free space on the disk") {
		t.Errorf("%s", got)
	}
	for end := time.Now().Add(10 * time.Second); told.Load() == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		continue // an apply fails, and is told of
	}
	if told.Load() == 0 {
		t.Error("nobody was told that the apply has no room")
	}
	if got := askRows(t, s, "SELECT sum(n) FROM docs"); got[0] != "3" {
		t.Errorf("while the disk is full: %q", got)
	}
	disk.full.Store(false)
	askRows(t, s, "INSERT INTO docs VALUES ('d', 4)")
	if _, err := s.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: "docs"}, Tail: loam.TailWait}); err != nil {
		t.Errorf("an apply with room again: %v", err)
	}
	if got := askRows(t, s, "SELECT count(*), sum(n) FROM docs"); got[0] != "3,7" {
		t.Errorf("after all: %q", got)
	}
}

// TestAClockThatStepsOnOneNode: a node's wall clock is set an hour forward or back
// while both work: writes, reads, applies and leases of both go on.
func TestAClockThatStepsOnOneNode(t *testing.T) {
	for name, step := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			a := c.join("a")
			stepping := &steppingClock{Clock: c.clk}
			of := *c
			of.clk, of.ids = stepping, clock.RandomIDs(stepping)
			b := of.join("b")
			a.ask("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT)")
			for i := range 60 {
				if i == 20 {
					stepping.by.Store(int64(step))
				}
				[]*member{a, b}[i%2].ask("INSERT INTO docs VALUES ('%d', %d)", i, i)
			}
			id := a.object("docs")
			c.until("an apply", func() bool { v, _ := c.state(id); return v > 0 })
			c.until("all applied", func() bool { _, waiting := c.state(id); return waiting == 0 })
			for _, m := range []*member{a, b} {
				if got := m.ask("SELECT count(*), count(DISTINCT id) FROM docs"); got[0] != "60,60" {
					t.Errorf("%q", got)
				}
				if got := m.ask("SELECT count(*) FROM system.nodes WHERE live"); got[0] != "2" {
					t.Errorf("%q nodes live", got)
				}
				if got := m.ask("SELECT max(_ingest_ts) - min(_ingest_ts) < INTERVAL '10 minutes' FROM docs"); got[0] != "true" {
					t.Errorf("the step is in the rows' times: %q", m.ask("SELECT min(_ingest_ts), max(_ingest_ts) FROM docs"))
				}
			}
		})
	}
}

// steppingClock is a clock whose wall time is off by what is set.
type steppingClock struct {
	clock.Clock
	by atomic.Int64
}

func (c *steppingClock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.by.Load())) }

// TestSlowReaders: results that nobody reads on hold up no other statement.
func TestSlowReaders(t *testing.T) {
	s := open(t)
	askRows(t, s, "CREATE TABLE t AS SELECT g AS a FROM generate_series(1, 200000) x(g)")
	for range 40 {
		res, err := s.Query(t.Context(), "SELECT a FROM t")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Close() }()
		if _, err := res.Next(t.Context()); err != nil { // one chunk, and no more
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := tryRows(ctx, s, "INSERT INTO t VALUES (0)"); err != nil {
		t.Error(errors.Join(err, ctx.Err()))
	}
	if got, err := tryRows(ctx, s, "SELECT count(*) FROM t"); err != nil || got[0] != "200001" {
		t.Errorf("%q, %v", got, err)
	}
}
