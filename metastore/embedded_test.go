package metastore

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

func TestReopen(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "new", "meta"))
	o := r.create("docs", 2)
	info := must(r.Info(ctx))(t)
	secret := must(r.Secret(ctx, "k", 16))(t)
	lease := must(r.AcquireLease(ctx, "l", "me", time.Hour))(t)
	for i := range 5 {
		r.add(o, 0, 1)
		must(r.commit(o, uint64(i+1), uint64(i+1), 0))(t)
		last := must(r.Now(ctx))(t)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r.clk.Jump(-time.Hour) // the wall clock is wrong after the restart
		r.open()
		if now := must(r.Now(ctx))(t); now < last {
			t.Fatalf("the clock went back from %d to %d", last, now)
		}
		if got := must(r.Info(ctx))(t); got != info {
			t.Fatalf("%+v became %+v", info, got)
		}
		if got := must(r.Secret(ctx, "k", 16))(t); string(got) != string(secret) {
			t.Fatal("the secret changed")
		}
		if p := r.part(o, 0); p.Next != uint64(i+1) || p.Applied != p.Next {
			t.Fatalf("%+v", p)
		}
		lease = must(r.RenewLease(ctx, lease, time.Hour))(t)
	}
}

func TestUnknownFormat(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, dir)
	future := newEnc()
	future.uint(formatMajor + 7)
	future.str("something new")
	if ok, err := r.Store.(*db).kv.write(ctx, nil, []op{{key: keyFormat, value: future.b}}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := OpenEmbedded(ctx, dir, r.clk, r.ids, EmbeddedOptions{})
	wantCode(t, err, fail.Unsupported)
	if err == nil || !strings.Contains(err.Error(), "version 7") {
		t.Error(err)
	}
}

func TestOpenFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	clk := clock.Real()
	_, err := OpenEmbedded(ctx, file, clk, clock.RandomIDs(clk), EmbeddedOptions{})
	wantCode(t, err, fail.Unavailable)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = OpenEmbedded(gone, t.TempDir(), clk, clock.RandomIDs(clk), EmbeddedOptions{})
	wantCode(t, err, fail.Unavailable)
}

// The store opens no socket.
func TestNoSockets(t *testing.T) {
	sockets := func() (n int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc to count open files in")
		}
		for _, fd := range fds {
			if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasPrefix(to, "socket:") {
				n++
			}
		}
		return n
	}
	before := sockets()
	r := newRig(t, t.TempDir())
	r.create("docs", 1)
	if after := sockets(); after != before {
		t.Fatalf("%d sockets more", after-before)
	}
}

// Under a stream of writes the database stays as large as its rows and a bounded
// history.
func TestSteadySize(t *testing.T) {
	s, err := OpenEmbedded(ctx, t.TempDir(), clock.Real(), clock.RandomIDs(clock.Real()), EmbeddedOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r := &rig{Store: s, t: t, ids: clock.RandomIDs(clock.Real())}
	o := r.create("docs", 1)
	for v := range uint64(300) {
		for range 40 {
			r.add(o, 0, 1)
		}
		must(r.commit(o, v+1, (v+1)*40))(t)
	}
	// 12,000 appends write about 2 KB each; without compaction that is above 24 MB
	// times the overhead of the tree.
	size := s.DBSize()
	t.Logf("database: %d KiB after 12300 transactions", size>>10)
	if size > 40<<20 {
		t.Fatalf("the database has grown to %d bytes", size)
	}
	if k := s.(*db).kv.(*etcdKV); k.compacted.Load() < 5000 {
		t.Fatalf("compacted to revision %d only", k.compacted.Load())
	}
}

func TestQuota(t *testing.T) {
	clk := clock.Real()
	dir := t.TempDir()
	s, err := OpenEmbedded(ctx, dir, clk, clock.RandomIDs(clk), EmbeddedOptions{NoSync: true, QuotaBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	must(s.CreateNamespace(ctx, "public", nil))(t)
	for i := range 5000 { // the size is looked at with a delay
		if _, err = s.CreateObject(ctx, Object{Namespace: "public", Name: fmt.Sprint("o", i), Definition: make([]byte, MaxValueBytes)}); err != nil {
			break
		}
	}
	wantCode(t, err, fail.Exhausted)
	if n := must(s.ListObjects(ctx, ""))(t); len(n) == 0 {
		t.Error("reads fail on a full store")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = OpenEmbedded(ctx, dir, clk, clock.RandomIDs(clk), EmbeddedOptions{QuotaBytes: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	must(s.CreateNamespace(ctx, "more", nil))(t)
}

// TestKill kills a process that appends, again and again, and checks that what
// it had acknowledged is there, and that offsets are dense.
func TestKill(t *testing.T) {
	if dir := os.Getenv("LOAM_TEST_KILL_DIR"); dir != "" {
		appendForever(t, dir)
		return
	}
	rounds := 4
	if testing.Short() {
		rounds = 1
	}
	dir := t.TempDir()
	acked, rng := uint64(0), rand.New(rand.NewPCG(1, 2))
	clk := clock.Real()
	for round := range rounds {
		acked = max(acked, killOne(t, dir, time.Duration(150+rng.IntN(200))*time.Millisecond))
		s, err := OpenEmbedded(ctx, dir, clk, clock.RandomIDs(clk), EmbeddedOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{Store: s, t: t}
		o := must(s.GetObject(ctx, "public", "docs"))(t)
		p := r.part(o, 0) // checks density
		if p.Next < acked {
			t.Fatalf("round %d: %d acknowledged, the log ends at %d", round, acked, p.Next)
		}
		t.Logf("round %d: %d acknowledged, %d there", round, acked, p.Next)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if acked == 0 {
		t.Fatal("nothing was acknowledged")
	}
}

func killOne(t *testing.T, dir string, after time.Duration) (acked uint64) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestKill$", "-test.count=1")
	cmd.Env = append(os.Environ(), "LOAM_TEST_KILL_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var timer *time.Timer
	for lines.Scan() {
		if n, _ := fmt.Sscanf(lines.Text(), "acked %d", &acked); n == 1 && timer == nil {
			timer = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait()
	if timer == nil {
		t.Fatal("the child acknowledged nothing")
	}
	timer.Stop()
	return acked
}

func appendForever(t *testing.T, dir string) {
	clk := clock.Real()
	s, err := OpenEmbedded(ctx, dir, clk, clock.RandomIDs(clk), EmbeddedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{Store: s, t: t, ids: clock.RandomIDs(clk)}
	o, err := s.GetObject(ctx, "public", "docs")
	if err != nil {
		o = r.create("docs", 1)
	}
	for {
		p := r.part(o, 0)
		if len(p.Refs) > 40 {
			if err := s.TrimRefs(ctx, o.ID, 0, p.Next); err != nil {
				t.Fatal(err)
			}
		}
		res := r.add(o, 0, 1)
		fmt.Printf("acked %d\n", res.Base+1)
	}
}

// A wrong wall clock when the store opens is taken as it is: nothing tells how
// long the store was down. After that it is held.
func TestClockOverDowntime(t *testing.T) {
	r := newRig(t, t.TempDir())
	before := must(r.Now(ctx))(t)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r.clk.Jump(72 * time.Hour)
	r.open()
	if d := must(r.Now(ctx))(t) - before; d < 72*3600*1000-1000 {
		t.Fatalf("after three days down the clock moved by %d ms", d)
	}
}
