package loam_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// endless is a query that no machine finishes, and that gives no row.
const endless = "SELECT a FROM generate_series(1, 1000000000) x(a), generate_series(1, 1000) y(b) WHERE a + b < 0"

// TestKillQuery ends a statement whose rows are computed, one whose rows wait to be
// fetched, and one that writes; each fails with 57014 and says so in system.queries.
func TestKillQuery(t *testing.T) {
	n := opened(t)
	n.ok("CREATE TABLE t (a BIGINT)")
	ctx := context.Background()

	res, err := n.session.Query(ctx, endless)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := res.Next(ctx)
		got <- err
	}()
	n.ok(fmt.Sprintf("KILL QUERY %d", res.QueryID))
	wantKilled(t, <-got)
	if err := res.Close(); err != nil {
		t.Error(err)
	}

	waiting, err := n.session.Query(ctx, "SELECT a FROM generate_series(1, 10) x(a)")
	if err != nil {
		t.Fatal(err)
	}
	n.ok(fmt.Sprintf("cancel query %d", waiting.QueryID))
	c, err := waiting.Next(ctx)
	wantKilled(t, err)
	if c != nil {
		t.Error("a killed query gives rows")
	}
	if err := waiting.Close(); err != nil {
		t.Error(err)
	}

	go func() {
		_, err := n.session.Query(ctx, "INSERT INTO t "+endless)
		got <- err
	}()
	for {
		rows, _, err := n.query("SELECT id FROM system.queries WHERE state = 'running' AND sql LIKE 'INSERT%'")
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 1 {
			n.ok("KILL " + rows[0])
			break
		}
	}
	wantKilled(t, <-got)
	n.want("SELECT count(*) FROM t", "0")
	n.want("SELECT state, error FROM system.queries WHERE error IS NOT NULL",
		strings.Repeat("failed\tthe statement was ended by KILL QUERY\n", 2)+"failed\tthe statement was ended by KILL QUERY")

	for _, id := range []int64{res.QueryID, 1 << 40} {
		if _, _, err := n.query(fmt.Sprintf("KILL QUERY %d", id)); !fail.Is(err, fail.UndefinedObject) {
			t.Errorf("an id of nothing that runs: %v", err)
		}
	}
}

func wantKilled(t *testing.T, err error) {
	t.Helper()
	if !fail.Is(err, fail.Canceled) || !strings.Contains(err.Error(), "KILL QUERY") {
		t.Errorf("the killed statement: %v", err)
	}
}

// TestQueryTimes: what a statement took lies in its row, in parts that add up.
func TestQueryTimes(t *testing.T) {
	n := opened(t)
	res, err := n.session.Query(context.Background(), "SELECT count(*) FROM generate_series(1, 100000) x(a)")
	if err != nil {
		t.Fatal(err)
	}
	for c := (*vec.Chunk)(nil); ; {
		if c, err = res.Next(context.Background()); err != nil {
			t.Fatal(err)
		}
		if c == nil {
			break
		}
	}
	if err := res.Close(); err != nil {
		t.Fatal(err)
	}
	n.want(fmt.Sprintf("SELECT rows, plan_ms > 0, execute_ms > 0, fetch_ms >= 0, abs(execute_ms + fetch_ms - total_ms) < 0.01 FROM system.queries WHERE id = %d", res.QueryID),
		"1\ttrue\ttrue\ttrue\ttrue")
}
