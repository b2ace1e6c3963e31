package loam_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

func opened(t *testing.T) *node {
	t.Helper()
	n := &node{t: t, dir: t.TempDir()}
	n.open()
	t.Cleanup(n.close)
	return n
}

func (n *node) ok(statements ...string) {
	n.t.Helper()
	for _, sql := range statements {
		if _, _, err := n.query(sql); err != nil {
			n.t.Fatalf("%s: %v", sql, err)
		}
	}
}

// TestReplacedWhileRead: a view that is replaced all the time has one of its two
// queries for every reader, never none and never half of each.
func TestReplacedWhileRead(t *testing.T) {
	n := opened(t)
	n.ok("CREATE TABLE odd (x INT, y INT)", "CREATE TABLE even (x INT, y INT)",
		"INSERT INTO odd VALUES (1, 1), (3, 3)", "INSERT INTO even VALUES (2, 2), (4, 4), (6, 6)",
		"CREATE VIEW v AS SELECT x, y FROM odd", "CREATE VIEW sum AS SELECT count(*) AS n, sum(x + y) AS total FROM v")
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				rows, _, err := n.query("SELECT n, total FROM sum")
				if err != nil || rows[0] != "2\t8" && rows[0] != "3\t24" {
					t.Errorf("%v %v", rows, err)
					return
				}
			}
		})
	}
	for i := range 2 {
		writers.Go(func() {
			for k := range 20 {
				sql := "CREATE OR REPLACE VIEW v AS SELECT x, y FROM " + []string{"odd", "even"}[(i+k)%2]
				if _, _, err := n.query(sql); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

// TestViewRaces: whoever makes views over a table and whoever drops it at the same
// time leave no view that reads what is gone.
func TestViewRaces(t *testing.T) {
	n := opened(t)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for k := range 12 {
				sql := "CREATE TABLE IF NOT EXISTS base (a INT)"
				switch {
				case i == 1:
					sql = fmt.Sprintf("CREATE OR REPLACE VIEW v%d AS SELECT a FROM base", k%3)
				case i == 2:
					sql = "DROP TABLE IF EXISTS base" + []string{"", " CASCADE"}[k%2]
				case i == 3:
					sql = fmt.Sprintf("CREATE OR REPLACE VIEW w%d AS SELECT a FROM v%d", k%3, (k+1)%3)
				}
				_, _, err := n.query(sql)
				switch fail.CodeOf(err) {
				case fail.OK, fail.UndefinedTable, fail.Dependents, fail.DuplicateObject:
				default:
					t.Errorf("%s: %v", sql, err)
				}
				if rows, _, err := n.query("SELECT name, error FROM system.views WHERE error IS NOT NULL"); err != nil || len(rows) > 0 {
					t.Errorf("%v %v", rows, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestPinnedView: a pin that was made before a view got another query is refused,
// also when both queries read the same objects and have the same columns.
func TestPinnedView(t *testing.T) {
	ctx := context.Background()
	n := opened(t)
	n.ok("CREATE TABLE t (a INT)", "CREATE TABLE u (a INT)", "INSERT INTO t VALUES (1), (2)", "CREATE VIEW v AS SELECT a FROM t")
	prepare := func() *loam.Statement {
		st, err := n.session.Prepare(ctx, "SELECT a FROM v", nil)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	pin, err := prepare().Pin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	run := func() error {
		r, err := prepare().ExecutePinned(ctx, pin)
		if err != nil {
			return err
		}
		return r.Close()
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"SELECT a FROM t WHERE a > 1", "SELECT a FROM u"} {
		n.ok("CREATE OR REPLACE VIEW v AS " + query)
		if err := run(); !fail.Is(err, fail.SnapshotExpired) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// TestDeepViews: views stand in each other up to a limit, which is an error with
// the name of the view, and large numbers of views go in several steps.
func TestDeepViews(t *testing.T) {
	n := opened(t)
	n.ok("CREATE TABLE v0 (a INT)", "INSERT INTO v0 VALUES (7)")
	var err error
	depth := 0
	for err == nil && depth < 100 {
		depth++
		_, _, err = n.query(fmt.Sprintf("CREATE VIEW v%d AS SELECT a FROM v%d", depth, depth-1))
	}
	if !fail.Is(err, fail.TooDeep) || depth < 20 {
		t.Fatalf("depth %d: %v", depth, err)
	}
	n.want(fmt.Sprintf("SELECT a FROM v%d", depth-1), "7")
	if _, _, err = n.query("DROP TABLE v0"); !fail.Is(err, fail.Dependents) || !strings.Contains(err.Error(), "more depend") {
		t.Error(err)
	}
	n.ok("DROP TABLE v0 CASCADE")
	n.want("SELECT count(*) FROM system.tables WHERE namespace = 'public'", "0")
}

// TestViewsAreNotWritten: no way of writing takes a view for a table.
func TestViewsAreNotWritten(t *testing.T) {
	ctx := context.Background()
	n := opened(t)
	n.ok("CREATE TABLE t (a INT)", "CREATE VIEW v AS SELECT a FROM t")
	_, docs := n.session.AppendDocuments(ctx, loam.Target{Name: "v"}, [][]byte{[]byte(`{"a": 1}`)})
	_, scan := n.session.ScanPlan(ctx, loam.ScanRequest{Target: loam.Target{Name: "v"}})
	_, ingest := n.session.PrepareIngest(ctx, loam.Target{Name: "v"}, nil, loam.IngestMode{IfExists: "replace"})
	for what, err := range map[string]error{"documents": docs, "scan": scan, "ingest": ingest} {
		if !fail.Is(err, fail.WrongObjectType) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
