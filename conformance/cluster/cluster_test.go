package cluster

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loamdb/loam/flightsql/client"
	"github.com/loamdb/loam/internal/etcdtest"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/versitygw"
)

var length = flag.Duration("length", 16*time.Second, "how long the writers write")

// process is one loam serve.
type process struct {
	args     []string
	bin      string
	endpoint string
	cmd      *exec.Cmd
	log      string
}

// start starts it and waits until it answers.
func (p *process) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	p.cmd = exec.Command(p.bin, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(40 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err := p.ask("SELECT 1"); err == nil {
			return
		} else if time.Now().After(end) {
			text, _ := os.ReadFile(p.log)
			t.Fatalf("%s does not answer: %v\n%s", p.endpoint, err, text)
		}
	}
}

func (p *process) kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// ask runs a statement on a connection of its own and returns its rows.
func (p *process) ask(sql string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := client.Dial(p.endpoint, client.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []string
	for {
		chunk, err := rows.Next(ctx)
		if err != nil || chunk == nil {
			return out, err
		}
		for row := range chunk.N {
			var cells []string
			for _, v := range chunk.Cols {
				cells = append(cells, v.Value(row).String())
			}
			out = append(out, strings.Join(cells, ","))
		}
	}
}

func (p *process) must(t *testing.T, sql string) []string {
	t.Helper()
	rows, err := p.ask(sql)
	if err != nil {
		t.Fatalf("%s on %s: %s", sql, p.endpoint, fail.Render(err, sql))
	}
	return rows
}

// world is the servers that the nodes stand on.
type world struct {
	t     *testing.T
	bin   string
	etcd  *etcdtest.Cluster
	s3    *versitygw.Server
	nodes []*process
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, bin: filepath.Join(t.TempDir(), "loam")}
	if out, err := exec.Command("go", "build", "-trimpath", "-o", w.bin, "../../cmd/loam").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": versitygw.AccessKey, "AWS_SECRET_ACCESS_KEY": versitygw.SecretKey, "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	var err error
	if w.s3, err = versitygw.Start(t.TempDir(), false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.s3.Close)
	if w.etcd, err = etcdtest.Start(t.TempDir(), etcdtest.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.etcd.Close)
	return w
}

// node makes a node that is not started yet.
func (w *world) node(more ...string) *process {
	w.t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	address := lis.Addr().String()
	_ = lis.Close()
	dir := w.t.TempDir()
	p := &process{bin: w.bin, endpoint: "grpc://" + address, log: filepath.Join(dir, "log"), args: append([]string{"serve", "--data", filepath.Join(dir, "data"),
		"--store", "s3://" + versitygw.Bucket + "/cluster", "--store-endpoint", w.s3.URL, "--meta", "etcd://" + strings.Join(w.etcd.Hosts(), ","),
		"--flight", address, "--http", ""}, more...)}
	w.nodes = append(w.nodes, p)
	w.t.Cleanup(p.kill)
	return p
}

// writer inserts keys of its own, one statement each, through one node.
type writer struct {
	name           string
	to             *process
	acked, unknown []string
	problem        error
}

func (w *writer) run(stop *atomic.Bool) {
	for n := 0; !stop.Load(); n++ {
		key := fmt.Sprintf("%s-%04d", w.name, n)
		_, err := w.to.ask("INSERT INTO docs (id, n, body) VALUES ('" + key + "', " + fmt.Sprint(n) + ", 'word of " + w.name + "')")
		switch {
		case err == nil:
			w.acked = append(w.acked, key)
		case fail.Is(err, fail.Unavailable), fail.Is(err, fail.CommitUnknown), fail.Is(err, fail.Conflict), fail.Is(err, fail.Internal), fail.Is(err, fail.DeadlineExceeded):
			w.unknown = append(w.unknown, key) // the node was killed, or its metastore had no leader
			time.Sleep(50 * time.Millisecond)
		default:
			w.problem = fmt.Errorf("%s: %w", key, err)
			return
		}
	}
}

// TestCluster writes through two nodes while one is killed and comes back and the
// etcd's leader is stopped hard and comes back.
func TestCluster(t *testing.T) {
	if versitygw.Program() == "" {
		t.Skip("LOAM_VERSITYGW names no server; make cluster does")
	}
	w := newWorld(t)
	a, b := w.node(), w.node()
	a.start(t)
	b.start(t)
	t.Run("statements", func(t *testing.T) { statements(t, a, b) })
	t.Run("wrong metastore", func(t *testing.T) { w.wrongMetastore(t) })
	var stop atomic.Bool
	var all sync.WaitGroup
	writers := []*writer{{name: "a1", to: a}, {name: "a2", to: a}, {name: "b1", to: b}, {name: "b2", to: b}}
	for _, wr := range writers {
		all.Go(func() { wr.run(&stop) })
	}
	quarter := *length / 4
	t.Run("killed node", func(t *testing.T) {
		time.Sleep(quarter)
		b.kill()
		time.Sleep(quarter)
		b.start(t)
	})
	t.Run("stopped leader", func(t *testing.T) {
		leader := w.etcd.Leader()
		w.etcd.Stop(leader)
		stopped := time.Now()
		a.must(t, "INSERT INTO docs (id, n, body) VALUES ('after', 0, 'no leader')")
		resumed := time.Since(stopped)
		t.Logf("writes resumed %v after the leader's stop", resumed.Round(10*time.Millisecond))
		if resumed > 10*time.Second {
			t.Error("that is too long")
		}
		time.Sleep(quarter)
		if err := w.etcd.Restart(leader); err != nil {
			t.Fatal(err)
		}
		time.Sleep(quarter)
	})
	stop.Store(true)
	all.Wait()
	t.Run("nothing lost", func(t *testing.T) {
		acked, unknown := check(t, writers, a, b)
		t.Logf("%d rows acknowledged, %d unknown, on two nodes", acked, unknown)
	})
	t.Run("take-over", func(t *testing.T) { takeOver(t, a, b) })
}

// statements: what one node writes, makes and changes, the other reads at once.
func statements(t *testing.T, a, b *process) {
	a.must(t, "CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT, body TEXT FULLTEXT 'english')")
	b.must(t, "INSERT INTO docs VALUES ('first', 1, 'from b')")
	if got := a.must(t, "SELECT id, n FROM docs"); !slices.Equal(got, []string{"first,1"}) {
		t.Errorf("a write of the other node: %q", got)
	}
	b.must(t, "ALTER COLLECTION docs ADD COLUMN tag TEXT")
	a.must(t, "UPDATE docs SET tag = 'seen' WHERE id = 'first'")
	if got := b.must(t, "SELECT tag FROM docs"); !slices.Equal(got, []string{"seen"}) {
		t.Errorf("after DDL of the other node: %q", got)
	}
	if got := a.must(t, "SELECT count(*) FROM system.nodes WHERE live"); !slices.Equal(got, []string{"2"}) {
		t.Errorf("live nodes: %q", got)
	}
}

// wrongMetastore: a node with another metastore on the same prefix is refused.
func (w *world) wrongMetastore(t *testing.T) {
	p := w.node()
	p.args = slices.DeleteFunc(p.args, func(s string) bool { return s == "--meta" || strings.HasPrefix(s, "etcd://") })
	out, err := exec.Command(p.bin, p.args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "two metastores cannot share a store") {
		t.Errorf("another metastore on the prefix: %v\n%s", err, out)
	}
}

// check holds that each acknowledged row is there once, on both nodes and by every road.
func check(t *testing.T, writers []*writer, nodes ...*process) (acked, unknown int) {
	for _, p := range nodes {
		times := map[string]int{}
		for _, id := range p.must(t, "SELECT id FROM docs") {
			times[id]++
		}
		for id, n := range times {
			if n != 1 {
				t.Errorf("%s is there %d times on %s", id, n, p.endpoint)
			}
		}
		for _, wr := range writers {
			if wr.problem != nil {
				t.Error(wr.problem)
			}
			for _, id := range wr.acked {
				if times[id] != 1 {
					t.Errorf("acknowledged %s is there %d times on %s", id, times[id], p.endpoint)
				}
			}
			if found := p.must(t, "SELECT count(*) FROM text_search(docs, '"+wr.name+"', limit => 100000)"); found[0] != p.must(t, "SELECT count(*) FROM docs WHERE id LIKE '"+wr.name+"-%'")[0] {
				t.Errorf("text search for %s finds %q on %s", wr.name, found, p.endpoint)
			}
			if p == nodes[0] {
				acked, unknown = acked+len(wr.acked), unknown+len(wr.unknown)
				if len(wr.acked) < 5 {
					t.Errorf("writer %s got only %d rows in", wr.name, len(wr.acked))
				}
			}
		}
	}
	return acked, unknown
}

// takeOver: what a killed node has left in its tail is applied by the one that lives.
func takeOver(t *testing.T, a, b *process) {
	b.must(t, "INSERT INTO docs (id, n, body) VALUES ('last words', 0, 'of b')")
	b.kill()
	const waiting = "SELECT (SELECT coalesce(sum(rows), 0) FROM system.segments WHERE name = 'docs' AND kind = 'tail'), (SELECT count(*) FROM system.nodes WHERE live)"
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(500 * time.Millisecond) {
		got := a.must(t, waiting)
		if slices.Equal(got, []string{"0,1"}) { // all is applied, and one node lives
			break
		}
		if time.Now().After(end) {
			t.Fatalf("rows that wait, and nodes that live: %q, long after the kill", got)
		}
	}
	if got := a.must(t, "SELECT id FROM docs WHERE id = 'last words'"); len(got) != 1 {
		t.Errorf("the dead node's last row: %q", got)
	}
}
