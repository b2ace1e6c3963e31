package loam_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/etcdtest"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

// swift is a clock on which waiting takes a twentieth of the time.
type swift struct{ clock.Clock }

const swiftly = 20

func (s swift) Now() time.Time {
	t := s.Clock.Now()
	return t.Add((swiftly - 1) * s.Clock.Mono())
}
func (s swift) Mono() time.Duration                  { return swiftly * s.Clock.Mono() }
func (s swift) NewTimer(d time.Duration) clock.Timer { return s.Clock.NewTimer(d / swiftly) }
func (s swift) Sleep(ctx context.Context, d time.Duration) error {
	return s.Clock.Sleep(ctx, d/swiftly)
}

// cluster is one metastore and one store in memory, and the nodes on them.
type cluster struct {
	t     *testing.T
	clk   clock.Clock
	ids   clock.IDs
	meta  metastore.Store
	store object.Store
	opt   collection.Options
	gc    time.Duration
}

func newCluster(t *testing.T) *cluster {
	clk := swift{clock.Real()}
	ids := clock.RandomIDs(clk)
	c := &cluster{t: t, clk: clk, ids: ids, store: object.NewMem(), meta: metastore.NewMem(clk, ids, metastore.Options{Shared: true}),
		opt: collection.Options{ApplyRows: 40, BatchInterval: time.Second, MaxSplits: 3, MinFragment: 1, MaxDeleted: 50}}
	t.Cleanup(func() { _ = c.meta.Close() })
	return c
}

// member is a node of the cluster.
type member struct {
	*loam.Engine
	*loam.Session
	t    *testing.T
	meta *hooked // this node's view; closing it cuts the node off
}

// hooked is a metastore that does something before it reads offsets, once.
type hooked struct {
	metastore.Store
	before atomic.Pointer[func()]
}

func (h *hooked) Heads(ctx context.Context, id uint64) (metastore.Head, []metastore.PartitionState, int64, error) {
	if do := h.before.Swap(nil); do != nil {
		(*do)()
	}
	return h.Store.Heads(ctx, id)
}

func (h *hooked) Snapshot(ctx context.Context, ids []uint64) (metastore.Snapshot, error) {
	if do := h.before.Swap(nil); do != nil {
		(*do)()
	}
	return h.Store.Snapshot(ctx, ids)
}

func (c *cluster) join(name string) *member {
	c.t.Helper()
	meta, err := metastore.JoinMem(c.t.Context(), c.meta, c.clk, c.ids, metastore.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	view := &hooked{Store: meta}
	e := mustOpen(c.t, loam.Config{
		Cluster: true, Endpoint: "grpc://" + name, Clock: c.clk, IDs: c.ids, Collection: c.opt, GCInterval: c.gc,
		WrapStore: func(object.Store) object.Store { return c.store },
		WrapMeta:  func(metastore.Store) metastore.Store { return view },
	})
	return &member{Engine: e, Session: e.NewSession(loam.SessionConfig{}), t: c.t, meta: view}
}

func (m *member) ask(sql string, args ...any) []string {
	m.t.Helper()
	return askRows(m.t, m.Session, fmt.Sprintf(sql, args...))
}

func (m *member) wants(code fail.Code, sql string) {
	m.t.Helper()
	if _, err := tryRows(m.t.Context(), m.Session, sql); !fail.Is(err, code) {
		m.t.Errorf("%s: %v, want %v", sql, err, code)
	}
}

// until waits for a state of the cluster.
func (c *cluster) until(what string, reached func() bool) {
	c.t.Helper()
	for end := time.Now().Add(20 * time.Second); !reached(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("%s: never", what)
		}
	}
}

// state is the head's version and how many records wait for an apply.
func (c *cluster) state(id uint64) (version uint64, waiting int64) {
	head, parts, _, err := c.meta.Heads(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, p := range parts {
		waiting += int64(p.Next - p.Applied)
	}
	return head.Version, waiting
}

// TestTwoNodesAreOneDatabase: statements on either node at random, while both apply
// and merge; after each the other node's strong read shows what a map does.
func TestTwoNodesAreOneDatabase(t *testing.T) {
	c := newCluster(t)
	nodes := []*member{c.join("a"), c.join("b")}
	nodes[0].ask("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT, body TEXT FULLTEXT 'english') WITH (partitions = 2)")
	nodes[1].ask("CREATE TABLE t (id INT, n INT)")
	rng := rand.New(rand.NewPCG(7, uint64(time.Now().UnixNano())))
	docs, rows := map[string]int{}, map[string]int{}
	for step := range 500 {
		at, other := nodes[step%2], nodes[(step+1+step/7)%2]
		key, n := fmt.Sprint(rng.IntN(30)), rng.IntN(1000)
		switch rng.IntN(5) {
		case 0:
			at.ask("DELETE FROM docs WHERE id = '%s'", key)
			delete(docs, key)
			at.ask("DELETE FROM t WHERE id = %s", key)
			delete(rows, key)
		case 1:
			at.ask("UPDATE docs SET n = %d WHERE id = '%s'", n, key)
			at.ask("UPDATE t SET n = %d WHERE id = %s", n, key)
			if _, ok := docs[key]; ok {
				docs[key] = n
			}
			if _, ok := rows[key]; ok {
				rows[key] = n
			}
		default:
			at.ask("INSERT INTO docs VALUES ('%s', %d, 'word%s fox')", key, n, key)
			docs[key] = n
			if _, ok := rows[key]; !ok {
				at.ask("INSERT INTO t VALUES (%s, %d)", key, n)
				rows[key] = n
			}
		}
		for what, want := range map[string]map[string]int{"SELECT id, n FROM docs": docs, "SELECT id, n FROM t": rows} {
			got := other.ask("%s", what)
			if slices.Sort(got); !slices.Equal(got, lines(want)) {
				t.Fatalf("step %d: %s on the other node gives %q, want %q", step, what, got, lines(want))
			}
		}
		if got := len(other.ask("SELECT id FROM text_search(docs, 'fox', limit => 1000)")); got != len(docs) {
			t.Fatalf("step %d: text search finds %d of %d", step, got, len(docs))
		}
	}
	for _, name := range []string{"docs", "t"} {
		if v, _ := c.state(nodes[0].object(name)); v < 2 {
			t.Errorf("%s is at version %d: nothing was applied beside the statements", name, v)
		}
	}
}

func lines(m map[string]int) []string {
	var out []string
	for k := range maps.Keys(m) {
		out = append(out, fmt.Sprintf("%s,%d", k, m[k]))
	}
	slices.Sort(out)
	return out
}

func (m *member) object(name string) uint64 {
	m.t.Helper()
	objs, err := m.Catalog().Objects(m.t.Context(), "public")
	if err != nil {
		m.t.Fatal(err)
	}
	for _, o := range objs {
		if o.Name == name {
			return o.ID
		}
	}
	m.t.Fatalf("there is no %s", name)
	return 0
}

// TestConcurrentWritersOfTwoNodes: each row that either node acknowledged is there
// once, on both, and the counters that both raise lose nothing.
func TestConcurrentWritersOfTwoNodes(t *testing.T) {
	c := newCluster(t)
	nodes := []*member{c.join("a"), c.join("b")}
	nodes[0].ask("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT)")
	nodes[0].ask("INSERT INTO docs VALUES ('counter', 0)")
	var all sync.WaitGroup
	const each, raises = 40, 15
	for i, m := range nodes {
		all.Go(func() {
			for k := range each {
				m.ask("INSERT INTO docs VALUES ('%d-%d', 1)", i, k)
			}
		})
		all.Go(func() {
			for done := 0; done < raises; {
				_, err := tryRows(t.Context(), m.Session, "UPDATE docs SET n = n + 1 WHERE id = 'counter'")
				switch {
				case err == nil:
					done++
				case !fail.Is(err, fail.Conflict):
					t.Errorf("update on node %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	for _, m := range nodes {
		if got := m.ask("SELECT count(*), count(DISTINCT id), max(CASE WHEN id = 'counter' THEN n END) FROM docs"); got[0] != fmt.Sprintf("%d,%d,%d", 2*each+1, 2*each+1, 2*raises) {
			t.Errorf("after all: %q", got)
		}
	}
}

// TestDDLOfAnotherNode is seen at once: what one node makes, changes and drops, the
// other reads, also out of records that it had no description for.
func TestDDLOfAnotherNode(t *testing.T) {
	c := newCluster(t)
	c.opt = collection.Options{BatchInterval: time.Hour, MaxBatchInterval: time.Hour} // all stays in the tails
	a, b := c.join("a"), c.join("b")
	a.ask("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT) WITH (dynamic = true)")
	b.ask("INSERT INTO docs VALUES ('x', 1)")
	if got := a.ask("SELECT id, n FROM docs"); !slices.Equal(got, []string{"x,1"}) {
		t.Fatalf("%q", got)
	}
	a.ask("CREATE TABLE grows (a INT)")
	// Between the moment when b reads the description and the one when it reads the
	// offsets: b's tail takes in a record of a schema that the statement does not know.
	meanwhile := func() {
		a.ask("ALTER COLLECTION docs ADD COLUMN tag TEXT")
		a.ask("INSERT INTO docs (id, n, tag) VALUES ('y', 2, 'red')")
		a.ask("ALTER TABLE grows ADD COLUMN b TEXT")
		a.ask("INSERT INTO grows VALUES (1, 'red')")
	}
	b.meta.before.Store(&meanwhile)
	if got := b.ask("SELECT id FROM docs ORDER BY id"); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("beside an ALTER: %q", got)
	}
	if got := b.ask("SELECT id, tag FROM docs ORDER BY id"); !slices.Equal(got, []string{"x,NULL", "y,red"}) {
		t.Errorf("after ALTER on the other node: %q", got)
	}
	b.meta.before.Store(&meanwhile)
	meanwhile = func() {
		a.ask("ALTER TABLE grows ADD COLUMN c TEXT")
		a.ask("INSERT INTO grows VALUES (2, 'blue', 'x')")
	}
	if _, err := b.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: "grows"}}); err != nil {
		t.Error(err)
	}
	if got := b.ask("SELECT a, b, c FROM grows ORDER BY a"); !slices.Equal(got, []string{"1,red,NULL", "2,blue,x"}) {
		t.Errorf("after ALTER on the other node: %q", got)
	}
	a.ask("CREATE VIEW v AS SELECT id FROM docs WHERE n > 1")
	if got := b.ask("SELECT * FROM v"); !slices.Equal(got, []string{"y"}) {
		t.Errorf("the view: %q", got)
	}
	b.wants(fail.Dependents, "DROP COLLECTION docs")
	b.ask("DROP VIEW v")
	a.wants(fail.UndefinedTable, "SELECT * FROM v")
	a.ask("CREATE TABLE t AS SELECT 1 AS a")
	b.ask("SELECT * FROM t")
	a.ask("CREATE OR REPLACE TABLE t AS SELECT 2 AS a")
	if got := b.ask("SELECT a FROM t"); !slices.Equal(got, []string{"2"}) {
		t.Errorf("after the replacement: %q", got)
	}
	a.ask("DROP TABLE t")
	b.wants(fail.UndefinedTable, "SELECT * FROM t")
	b.wants(fail.UndefinedTable, "INSERT INTO t VALUES (3)")
	a.ask("CREATE TABLE t (b TEXT)")
	b.ask("INSERT INTO t VALUES ('new')")
	if got := a.ask("SELECT b FROM t"); !slices.Equal(got, []string{"new"}) {
		t.Errorf("a new object of the old name: %q", got)
	}
}

// TestAPinMovesToAnotherNode: what one node has pinned, the other runs, with the tail
// as it was.
func TestAPinMovesToAnotherNode(t *testing.T) {
	c := newCluster(t)
	a, b := c.join("a"), c.join("b")
	a.ask("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT)")
	a.ask("INSERT INTO docs VALUES ('x', 1), ('y', 2)")
	const sql = "SELECT sum(n) FROM docs"
	st, err := a.Prepare(t.Context(), sql, nil)
	if err != nil {
		t.Fatal(err)
	}
	pin, err := st.Pin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan, err := a.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: "docs"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		a.ask("INSERT INTO docs VALUES ('more%d', 100)", i)
	}
	id := a.object("docs")
	c.until("an apply", func() bool { v, _ := c.state(id); return v > 0 })
	there, err := b.Prepare(t.Context(), sql, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := there.ExecutePinned(t.Context(), pin)
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := res.Next(t.Context())
	if err != nil || chunk.Cols[0].Value(0).String() != "3" {
		t.Errorf("the pinned sum is %v, %v", chunk, err)
	}
	_ = res.Close()
	rows := 0
	for _, part := range plan.Parts {
		res, err := b.ScanPart(t.Context(), part)
		if err != nil {
			t.Fatal(err)
		}
		for {
			chunk, err := res.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if chunk == nil {
				break
			}
			rows += chunk.N
		}
		_ = res.Close()
	}
	if rows != 2 {
		t.Errorf("the scan plan has %d rows on the other node, want 2", rows)
	}
	if x, err := a.Secret(t.Context(), "flight-tickets", 32); err != nil {
		t.Error(err)
	} else if y, err := b.Secret(t.Context(), "flight-tickets", 32); err != nil || !slices.Equal(x, y) {
		t.Errorf("the nodes seal with different keys, %v", err)
	}
}

// TestAKilledNode: its backlog is applied and its lease taken over by the node that
// lives, system.nodes shows it dead, and what it was making is swept by the next start.
func TestAKilledNode(t *testing.T) {
	c := newCluster(t)
	c.opt = collection.Options{BatchInterval: 10 * time.Minute, MaxBatchInterval: 10 * time.Minute}
	a := c.join("a")
	c.opt = collection.Options{BatchInterval: time.Second}
	b := c.join("b")
	a.ask("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT)")
	a.ask("INSERT INTO docs VALUES ('x', 1), ('y', 2)")
	if got := b.ask("SELECT endpoint, live, this FROM system.nodes ORDER BY endpoint"); !slices.Equal(got, []string{"grpc://a,true,false", "grpc://b,true,true"}) {
		t.Errorf("the nodes: %q", got)
	}
	id := a.object("docs")
	nodes, err := a.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var self string
	for _, n := range nodes {
		if n.Endpoint == "grpc://a" {
			self = n.ID
		}
	}
	if _, err := a.meta.AcquireLease(t.Context(), fmt.Sprintf("task/segments/%d", id), "node/"+self, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	c.unfinished(self)
	time.Sleep(2 * time.Second / swiftly) // a survey of b: a lives, and nothing of it is touched
	if v, waiting := c.state(id); v != 0 || waiting != 2 {
		t.Fatalf("version %d, %d records wait", v, waiting)
	}
	_ = a.meta.Close() // a is cut off: no more signs of life, no release of its lease
	c.until("the take-over", func() bool { v, waiting := c.state(id); return v == 1 && waiting == 0 })
	if got := b.ask("SELECT id, n FROM docs ORDER BY id"); !slices.Equal(got, []string{"x,1", "y,2"}) {
		t.Errorf("after the take-over: %q", got)
	}
	if got := b.ask("SELECT live FROM system.nodes WHERE endpoint = 'grpc://a'"); !slices.Equal(got, []string{"false"}) {
		t.Errorf("the dead node is listed as %q", got)
	}
	if _, err := tryRows(t.Context(), a.Session, "SELECT * FROM docs"); !fail.Is(err, fail.Unavailable) {
		t.Errorf("the node that is cut off answers: %v", err)
	}
	third := c.join("c")
	if got := third.ask("SELECT name FROM system.tables WHERE name LIKE '%%loam_new%%'"); len(got) != 0 {
		t.Errorf("left of the dead node: %q", got)
	}
	mustClose(t, third.Engine)
	if got := b.ask("SELECT endpoint FROM system.nodes WHERE live"); !slices.Equal(got, []string{"grpc://b"}) {
		t.Errorf("after a node has left in peace: %q", got)
	}
}

// TestWhatNobodyAsksForIsLookedAfter: a node that starts releases, mirrors and collects
// what no statement of it has named.
func TestWhatNobodyAsksForIsLookedAfter(t *testing.T) {
	c := newCluster(t)
	c.gc = 10 * time.Second
	a := c.join("a")
	a.ask("CREATE NAMESPACE attic")
	a.ask("CREATE COLLECTION attic.docs (id TEXT PRIMARY KEY, n INT) WITH (time_travel = '2s')")
	id, err := strconv.ParseUint(a.ask("SELECT id FROM system.tables WHERE namespace = 'attic'")[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		a.ask("INSERT INTO attic.docs VALUES ('a', %d)", i)
		a.ask("CREATE TAG t%d ON attic.docs WITH (expires_at => now() + interval '%d minutes')", i, 1+1000*(i/2))
	}
	keep := collection.MirrorKeys(id, "t2")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.store.Delete(t.Context(), keep...); err != nil {
		t.Fatal(err)
	}
	c.join("b")
	c.until("tags expire and versions are released", func() bool {
		root, err := c.meta.Root(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return len(root.Tags) == 1 && root.Tags[0].Name == "t2" && root.Head.Oldest == root.Head.Version
	})
	c.until("the mirrors of the tag that is left are there again", func() bool {
		for _, key := range keep {
			if _, err := c.store.Head(t.Context(), key); err != nil {
				return false
			}
		}
		return true
	})
	c.until("no manifest is left but the head's", func() bool {
		manifests := 0
		for info, err := range object.All(t.Context(), c.store, collection.Prefix(id)) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(info.Key, ".lman") {
				manifests++
			}
		}
		return manifests == 1
	})
}

// TestAQuotaHoldsOnEveryNode: what one node writes, or allows, the others count.
func TestAQuotaHoldsOnEveryNode(t *testing.T) {
	c := newCluster(t)
	a, b := c.join("a"), c.join("b")
	a.ask("CREATE NAMESPACE small WITH (storage_quota = 1000)")
	a.ask("CREATE TABLE small.t (k TEXT)")
	b.ask("INSERT INTO small.t VALUES ('b')")
	a.ask("INSERT INTO small.t VALUES ('%s')", strings.Repeat("x", 2000))
	write := func() error {
		_, err := tryRows(t.Context(), b.Session, "INSERT INTO small.t VALUES ('more')")
		return err
	}
	c.until("the other node refuses too", func() bool { return fail.Is(write(), fail.DiskFull) })
	a.ask("ALTER NAMESPACE small RESET (storage_quota)")
	c.until("the other node writes again", func() bool { return write() == nil })
}

// TestABacklogCountsOnEveryNode: what any node has written and nobody has applied holds
// up the writes of all, and no longer than until it is applied.
func TestABacklogCountsOnEveryNode(t *testing.T) {
	c := newCluster(t)
	c.opt = collection.Options{ApplyRows: 1 << 30, BatchInterval: time.Hour, MaxBatchInterval: time.Hour, MaxUnappliedRecords: 50}
	a, b := c.join("a"), c.join("b")
	a.ask("CREATE TABLE t (k INT)")
	a.ask("INSERT INTO t SELECT i FROM generate_series(1, 60) AS g(i)")
	write := func() (loam.Ack, error) {
		return b.AppendDocuments(t.Context(), loam.Target{Name: "s"}, [][]byte{[]byte(`{"n": 1}`)})
	}
	a.ask("CREATE STREAM s (n INT)")
	a.ask("INSERT INTO s SELECT i FROM generate_series(1, 60) AS g(i)")
	c.until("the other node refuses too", func() bool {
		_, err := write()
		return fail.Is(err, fail.BacklogFull)
	})
	b.wants(fail.BacklogFull, "INSERT INTO t VALUES (1)")
	if _, err := a.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: "s"}, Tail: loam.TailWait}); err != nil {
		t.Fatal(err)
	}
	if ack, err := write(); err != nil || ack.UnappliedRecords > 1 {
		t.Errorf("once all is applied: %+v, %v", ack, err)
	}
	b.wants(fail.BacklogFull, "INSERT INTO t VALUES (1)")
}

// TestOneNodeCollectsGarbage, and another when it is gone.
func TestOneNodeCollectsGarbage(t *testing.T) {
	c := newCluster(t)
	c.gc = time.Second
	a, b := c.join("a"), c.join("b")
	a.ask("CREATE TABLE t AS SELECT 1 AS x")
	passes := func(m *member) bool { return m.ask("SELECT max(passes) > 1 FROM system.gc")[0] == "true" }
	c.until("passes of the first node", func() bool { return passes(a) })
	if got := b.ask("SELECT max(passes) FROM system.gc"); got[0] != "0" {
		t.Errorf("the second node has done %q passes", got)
	}
	_ = a.meta.Close()
	c.until("passes of the second node", func() bool { return passes(b) })
}

// unfinished is what a CREATE OR REPLACE of a node has made so far.
func (c *cluster) unfinished(node string) {
	c.t.Helper()
	_, err := catalog.New(c.meta).Create(c.t.Context(), &schema.Object{Namespace: "public", Name: "_loam_new_" + node + "_01", Kind: schema.Table, Partitions: 1,
		Fields: []schema.Field{{Name: "a", Type: types.Of(types.Text)}}})
	if err != nil {
		c.t.Fatal(err)
	}
}

// TestAStartSparesWhatALiveNodeMakes: CREATE OR REPLACE in the making on one node is
// not swept by the start of another.
func TestAStartSparesWhatALiveNodeMakes(t *testing.T) {
	c := newCluster(t)
	a := c.join("a")
	nodes, err := a.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.unfinished(nodes[0].ID)
	b := c.join("b")
	if got := b.ask("SELECT name FROM system.tables WHERE name LIKE '%%loam_new%%'"); len(got) != 1 || !strings.Contains(got[0], nodes[0].ID) {
		t.Errorf("what a live node makes is %q", got)
	}
}

// TestAClusterOnEtcd: two engines on a bucket and an etcd outside. The second learns
// the bucket from the metastore; what does not belong together is refused.
func TestAClusterOnEtcd(t *testing.T) {
	server := bucket(t)
	etcd := func() string {
		c, err := etcdtest.Start(t.TempDir(), etcdtest.Options{Members: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return "etcd://" + c.Hosts()[0]
	}
	one, two := etcd(), etcd()
	_, err := loam.Open(t.Context(), loam.Config{Meta: loam.MetaConfig{Address: one}})
	if got := fail.Render(err, ""); !fail.Is(err, fail.InvalidParameter) || !strings.Contains(got, "Name it with --store s3://") {
		t.Errorf("a cluster without a store: %s", got)
	}
	a := mustOpen(t, loam.Config{Store: at(server, "p"), Meta: loam.MetaConfig{Address: one}, Endpoint: "grpc://a"})
	b := mustOpen(t, loam.Config{Store: loam.StoreConfig{Endpoint: server.URL}, Meta: loam.MetaConfig{Address: one}, Endpoint: "grpc://b"})
	askRows(t, a.NewSession(loam.SessionConfig{}), "CREATE TABLE t AS SELECT 41 AS a")
	s := b.NewSession(loam.SessionConfig{})
	if got := askRows(t, s, "SELECT a + 1 FROM t"); !slices.Equal(got, []string{"42"}) {
		t.Errorf("on the second node: %q", got)
	}
	if got := askRows(t, s, "SELECT endpoint, live, this FROM system.nodes ORDER BY endpoint"); !slices.Equal(got, []string{"grpc://a,true,false", "grpc://b,true,true"}) {
		t.Errorf("nodes: %q", got)
	}
	for name, c := range map[string]struct {
		store loam.StoreConfig
		etcd  string
		want  string
	}{
		"another etcd":                {at(server, "p"), two, "two metastores cannot share a store"},
		"another prefix":              {at(server, "q"), one, "the metastore's data lies in s3://loam-test/p; s3://loam-test/q has none of it"},
		"another prefix of that etcd": {at(server, "p"), one + "/x", "two metastores cannot share a store"},
	} {
		_, err := loam.Open(t.Context(), loam.Config{Store: c.store, Meta: loam.MetaConfig{Address: c.etcd}})
		if got := fail.Render(err, ""); !fail.Is(err, fail.InvalidParameter) || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
