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

// TestAlterWhileWriting: columns come, go and change their names while rows are
// written and updated. No value ends up in another column.
func TestAlterWhileWriting(t *testing.T) {
	n := opened(t)
	n.ok("CREATE TABLE t (a TEXT, b TEXT, c TEXT)")
	allowed := func(sql string, err error) {
		switch fail.CodeOf(err) {
		case fail.OK, fail.UndefinedColumn, fail.DuplicateColumn, fail.Conflict:
		default:
			t.Errorf("%s: %v", sql, err)
		}
	}
	stop := make(chan struct{})
	var writers, changes sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				col := []string{"b", "x"}[i%2]
				sql := fmt.Sprintf("INSERT INTO t (a, %s, c) VALUES ('a%d-%d', '%s', 'c')", col, w, i, "b")
				if i%5 == 4 {
					sql = fmt.Sprintf("UPDATE t SET c = 'c' WHERE a = 'a%d-%d'", w, i-1)
				}
				_, _, err := n.query(sql)
				allowed(sql, err)
			}
		})
	}
	for w := range 2 {
		changes.Go(func() {
			for i := range 12 {
				sql := []string{"ALTER TABLE t RENAME COLUMN b TO x", "ALTER TABLE t ADD COLUMN d TEXT", "ALTER TABLE t RENAME COLUMN x TO b", "ALTER TABLE t DROP COLUMN d"}[(i+w)%4]
				_, _, err := n.query(sql)
				allowed(sql, err)
			}
		})
	}
	changes.Wait()
	close(stop)
	writers.Wait()
	if _, _, err := n.query("ALTER TABLE t RENAME COLUMN x TO b"); err != nil {
		allowed("rename", err)
	}
	n.want("SELECT count(*) FROM t WHERE a NOT LIKE 'a%' OR b <> 'b' OR c <> 'c' OR b IS NULL", "0")
}

// TestPinAfterAlter: a state that was read before under the old columns is read
// under the new ones, although no row was written between.
func TestPinAfterAlter(t *testing.T) {
	ctx := context.Background()
	n := opened(t)
	n.ok("CREATE TABLE t (a INT, b TEXT)", "INSERT INTO t VALUES (1, 'x')")
	pinned := func(sql, want string) {
		t.Helper()
		st, err := n.session.Prepare(ctx, sql, nil)
		if err != nil {
			t.Fatal(err)
		}
		pin, err := st.Pin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		r, err := st.ExecutePinned(ctx, pin)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		defer func() { _ = r.Close() }()
		c, err := r.Next(ctx)
		if err != nil || c == nil || c.Cols[0].Value(c.RowAt(0)).String() != want {
			t.Errorf("%s: %v, %v", sql, c, err)
		}
	}
	for range 2 {
		pinned("SELECT b FROM t", "x")
		n.ok("ALTER TABLE t RENAME b TO c, ADD d INT")
		pinned("SELECT c FROM t WHERE d IS NULL", "x")
		n.ok("ALTER TABLE t DROP d", "ALTER TABLE t RENAME c TO b")
		n.apply()
	}
}

// TestScanPlanOfAnAddedVector: the plan of the current state names the column, whose
// fragments have it from then on or not at all; that of an older version does not.
func TestScanPlanOfAnAddedVector(t *testing.T) {
	n := opened(t)
	n.ok("CREATE COLLECTION docs (id TEXT PRIMARY KEY, emb VECTOR(2))", "INSERT INTO docs VALUES ('a', [1, 0]), ('b', NULL)")
	n.apply()
	ask := func(req loam.ScanRequest) (*loam.ScanPlan, error) {
		req.Target = loam.Target{Name: "docs"}
		return n.session.ScanPlan(context.Background(), req)
	}
	columns := func(req loam.ScanRequest) (names []string) {
		t.Helper()
		plan, err := ask(req)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Columns {
			names = append(names, c.Name)
		}
		return names[4:]
	}
	before, err := ask(loam.ScanRequest{})
	if err != nil {
		t.Fatal(err)
	}
	n.ok("ALTER COLLECTION docs ADD COLUMN emb2 VECTOR(3)", "INSERT INTO docs VALUES ('c', [0, 1], [1, 2, 3])")
	for _, tail := range []loam.ScanTail{loam.TailMerge, loam.TailNone, loam.TailWait} {
		if got := columns(loam.ScanRequest{Tail: tail}); fmt.Sprint(got) != "[emb emb2]" {
			t.Errorf("tail %s: %v", tail, got)
		}
	}
	then := before.ManifestVersion
	if got := columns(loam.ScanRequest{ManifestVersion: &then}); fmt.Sprint(got) != "[emb]" {
		t.Errorf("the version from before: %v", got)
	}
	_, err = ask(loam.ScanRequest{ManifestVersion: &then, Columns: []string{"_pk", "emb2"}})
	if !fail.Is(err, fail.UndefinedColumn) || !strings.Contains(err.Error(), "added later") {
		t.Errorf("a column that the version does not have: %v", err)
	}
	n.want(fmt.Sprintf("SELECT id, emb2 FROM docs AT (VERSION => %d)", then), "a\tNULL\nb\tNULL")
	n.want("SELECT id, emb2 FROM docs", "a\tNULL\nb\tNULL\nc\t[1, 2, 3]")
	part := before.Parts[0]
	part.Columns = append(part.Columns, "emb2")
	rows, err := n.session.ScanPart(context.Background(), part)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	c, err := rows.Next(context.Background())
	if err != nil || c.Rows() != 2 || !c.Cols[5].IsNull(0) {
		t.Errorf("an older ticket: %v, %v", c, err)
	}
}
