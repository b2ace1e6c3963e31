package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/loamdb/loam/flightsql/client"
)

var (
	soakFor   = flag.Duration("soak", 0, "how long TestSoak inserts; 0 skips it")
	soakRate  = flag.Int("soak-rate", 100, "inserts per second of TestSoak")
	soakEvery = flag.Duration("soak-every", 30*time.Second, "time between two samples of TestSoak")
)

// sample is what the soak measures at one moment.
type sample struct {
	at                     time.Duration
	inserted               int64
	etcdDB, metaDir        int64 // bytes
	walFiles, wal          int64 // objects of the log, bytes
	data                   int64 // bytes of everything else
	rss, heap              int64 // bytes; heap is what the last collection left alive
	splits, backlog, count int64
	slowest                time.Duration // the slowest insert since the sample before
}

// TestSoak sends single-row inserts to a server at a steady rate and watches
// sizes. It fails when the metastore, the log or the memory of the last third of
// the run is larger than in the middle third by more than a quarter.
func TestSoak(t *testing.T) {
	if *soakFor == 0 {
		t.Skip("run with -soak 1h")
	}
	srv := startServer(t)
	ctx := context.Background()
	c, err := client.Dial("grpc://"+srv.flight, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	run(t, c, "CREATE COLLECTION soak (id TEXT PRIMARY KEY, n BIGINT, body TEXT FULLTEXT 'english', emb VECTOR(8) DISTANCE l2)")

	var inserted, slowest atomic.Int64
	ctx, stop := context.WithTimeout(ctx, *soakFor)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- insertSteadily(ctx, c, &inserted, &slowest) }()

	start := time.Now()
	var samples []sample
	fmt.Println(sampleHead)
	tick := time.NewTicker(*soakEvery)
	defer tick.Stop()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("insert: %v", err)
			}
			running = false
		case <-tick.C:
		}
		s := srv.sample(t, c)
		s.at, s.inserted, s.slowest = time.Since(start), inserted.Load(), time.Duration(slowest.Swap(0))
		samples = append(samples, s)
		fmt.Println(s)
	}
	if n := count(t, c, "soak"); n != inserted.Load() {
		t.Errorf("%d rows after %d acknowledged inserts", n, inserted.Load())
	}
	verdict(t, samples)
}

// insertSteadily inserts until the context ends; a late insert is caught up.
func insertSteadily(ctx context.Context, c *client.Client, inserted, slowest *atomic.Int64) error {
	gap := time.Second / time.Duration(*soakRate)
	next := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		time.Sleep(time.Until(next))
		next = next.Add(gap)
		began := time.Now()
		sql := fmt.Sprintf("INSERT INTO soak VALUES ('k%09d', %d, 'document number %d of the soak, word w%d', [%d,%d,1,2,3,4,5,6])", i, i, i, i%997, i%7, i%11)
		rows, err := c.Query(context.Background(), sql)
		if err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
		_ = rows.Close()
		inserted.Add(1)
		for took := int64(time.Since(began)); ; {
			if old := slowest.Load(); took <= old || slowest.CompareAndSwap(old, took) {
				break
			}
		}
	}
	return nil
}

// server is a loam serve of this test.
type server struct {
	dir, flight, web string
	cmd              *exec.Cmd
	heap             atomic.Int64
}

// startServer builds the binary and serves a fresh directory on free ports.
func startServer(t *testing.T) *server {
	t.Helper()
	tmp := t.TempDir()
	bin := filepath.Join(tmp, "loam")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/loam").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	s := &server{dir: filepath.Join(tmp, "data"), flight: freePort(t), web: freePort(t)}
	s.cmd = exec.Command(bin, "serve", "--data", s.dir, "--flight", s.flight, "--http", s.web)
	s.cmd.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	log, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.watch(log)
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	})
	for range 200 {
		if res, err := http.Get("http://" + s.web + "/readyz"); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return s
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the server does not become ready")
	return nil
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// watch reads the collector's trace: "… 4->5->2 MB …" says that 2 MB stayed alive.
// Anything else that the server says is passed on.
func (s *server) watch(log io.Reader) {
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "gc ") {
			fmt.Println("server:", line)
			continue
		}
		sizes, _, _ := strings.Cut(line, " MB,")
		if at := strings.LastIndex(sizes, "->"); at >= 0 {
			if mb, err := strconv.ParseInt(sizes[at+2:], 10, 64); err == nil {
				s.heap.Store(mb << 20)
			}
		}
	}
}

const sampleHead = "   time   inserted  etcd db  meta dir  wal files  wal bytes     data      rss     heap  splits  backlog     count   slowest"

// String is one line of the table; sizes in MiB.
func (s sample) String() string {
	mb := func(n int64) string { return fmt.Sprintf("%.2f", float64(n)/(1<<20)) }
	return fmt.Sprintf("%7s %10d %8s %9s %10d %10s %8s %8s %8s %7d %8d %9d %9s", s.at.Round(time.Second), s.inserted, mb(s.etcdDB), mb(s.metaDir),
		s.walFiles, mb(s.wal), mb(s.data), mb(s.rss), mb(s.heap), s.splits, s.backlog, s.count, s.slowest.Round(time.Millisecond))
}

func (s *server) sample(t *testing.T, c *client.Client) sample {
	t.Helper()
	out := sample{heap: s.heap.Load(), rss: residentBytes(s.cmd.Process.Pid), count: count(t, c, "soak")}
	_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // it went away meanwhile
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // so did this one
		}
		rel, _ := filepath.Rel(s.dir, path)
		switch {
		case rel == filepath.Join("meta", "member", "snap", "db"):
			out.etcdDB = info.Size()
			out.metaDir += info.Size()
		case strings.HasPrefix(rel, "meta"):
			out.metaDir += info.Size()
		case strings.HasPrefix(rel, "wal"):
			out.walFiles++
			out.wal += info.Size()
		default:
			out.data += info.Size()
		}
		return nil
	})
	out.splits, out.backlog = s.scanPlan(t, "soak")
	return out
}

// scanPlan asks for a plan and counts its fragments and unapplied records.
func (s *server) scanPlan(t *testing.T, name string) (fragments, backlog int64) {
	t.Helper()
	url := "http://" + s.web + "/v1/namespaces/public/collections/" + name + "/scan"
	res, err := http.Post(url, "application/json", strings.NewReader(`{"columns":["_pk"],"tail":"merge"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("scan plan: %s %v %s", res.Status, err, body)
	}
	var plan struct {
		Fragments []json.RawMessage `json:"fragments"`
		Offsets   []struct {
			Applied, Target uint64
		} `json:"offsets"`
	}
	if err := json.Unmarshal(body, &plan); err != nil {
		t.Fatalf("scan plan: %v\n%s", err, body)
	}
	for _, o := range plan.Offsets {
		backlog += int64(o.Target - o.Applied)
	}
	return int64(len(plan.Fragments)), backlog
}

// residentBytes is the resident memory of a process, 0 where /proc does not tell.
func residentBytes(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	if f := strings.Fields(string(b)); len(f) > 1 {
		if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			return n * int64(os.Getpagesize())
		}
	}
	return 0
}

func run(t *testing.T, c *client.Client, sql string) {
	t.Helper()
	rows, err := c.Query(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	_ = rows.Close()
}

func count(t *testing.T, c *client.Client, name string) int64 {
	t.Helper()
	rows, err := c.Query(context.Background(), "SELECT count(*) FROM "+name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	chunk, err := rows.Next(context.Background())
	if err != nil || chunk == nil || chunk.Rows() != 1 {
		t.Fatalf("count: %v", err)
	}
	return chunk.Cols[0].Value(chunk.RowAt(0)).Int
}

// verdict compares the last third of the run with the middle third.
func verdict(t *testing.T, samples []sample) {
	t.Helper()
	if len(samples) < 6 {
		t.Log("soak: too few samples for a verdict")
		return
	}
	third := len(samples) / 3
	mid, last := samples[third:2*third], samples[2*third:]
	ok := true
	for _, m := range []struct {
		name  string
		value func(sample) int64
		slack int64 // bytes of growth that say nothing
	}{
		{"etcd db", func(s sample) int64 { return s.etcdDB }, 1 << 20},
		{"meta dir", func(s sample) int64 { return s.metaDir }, 64 << 20},
		{"wal bytes", func(s sample) int64 { return s.wal }, 1 << 20},
		{"wal files", func(s sample) int64 { return s.walFiles }, 1000},
		{"rss", func(s sample) int64 { return s.rss }, 16 << 20},
		{"heap", func(s sample) int64 { return s.heap }, 8 << 20},
		{"splits", func(s sample) int64 { return s.splits }, 4},
	} {
		a, b := mean(mid, m.value), mean(last, m.value)
		flat := b <= a+a/4+m.slack
		ok = ok && flat
		word := "levels off"
		if !flat {
			word = "GROWS"
			t.Errorf("%s grows: %d in the middle third, %d in the last", m.name, a, b)
		}
		fmt.Printf("soak: %-9s middle third %12d, last third %12d: %s\n", m.name, a, b, word)
	}
	fmt.Printf("soak: %s, %d inserts, flat: %v\n", samples[len(samples)-1].at.Round(time.Second), samples[len(samples)-1].inserted, ok)
}

func mean(list []sample, value func(sample) int64) int64 {
	sum := int64(0)
	for _, s := range list {
		sum += value(s)
	}
	return sum / int64(len(list))
}
