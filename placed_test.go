package loam_test

import (
	"context"
	"strings"
	"testing"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// TestRunningErrorsHaveAPlace: an error that only rows bring about points into the
// statement like one that the planner finds.
func TestRunningErrorsHaveAPlace(t *testing.T) {
	ctx := context.Background()
	e, err := loam.Open(ctx, loam.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	s := e.NewSession(loam.SessionConfig{})
	mustRun := func(sql string) {
		if err := drained(ctx, s, sql); err != nil {
			t.Fatal(err)
		}
	}
	mustRun("CREATE TABLE t (a INT, b TEXT)")
	mustRun("INSERT INTO t VALUES (1, '1'), (0, 'x')")
	mustRun("CREATE VIEW v AS SELECT b::INT AS n FROM t")
	for _, c := range []struct{ sql, code, under string }{
		{"SELECT 1 / 0", "22012", "/ 0"},
		{"SELECT a,\n 10 / a FROM t", "22012", "/ a FROM"},
		{"SELECT 1 FROM t WHERE CAST(b AS INT) > 0", "22P02", "b AS"},
		{"SELECT a FROM t ORDER BY sqrt(a - 1)", "22", "sqrt("},
		{"UPDATE t SET a = 5 / a", "22012", "/ a"},
		{"INSERT INTO t SELECT 7 % a, b FROM t", "22012", "% a"},
		{"SELECT sum(n) FROM v", "22P02", "v"},
		{"SELECT CASE WHEN a = 0 THEN 1 / a END FROM t", "22012", "/ a END"},
	} {
		err := drained(ctx, s, c.sql)
		f := fail.As(err)
		if err == nil || !strings.HasPrefix(f.Code.SQLState(), c.code) || f.Pos.Line < 1 || !strings.HasPrefix(c.sql[f.Pos.Offset:], c.under) {
			t.Errorf("%s: %v at %+v, want %s at %q", c.sql, err, f.Pos, c.code, c.under)
		}
	}
}

// drained runs a statement to its end and returns its error.
func drained(ctx context.Context, s *loam.Session, sql string) error {
	r, err := s.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	for {
		if c, err := r.Next(ctx); err != nil || c == nil {
			return err
		}
	}
}

// TestAPinSeesTheSchemaOfItsTime: the snapshot of an unchanged object is kept, but not
// over a change of its columns.
func TestAPinSeesTheSchemaOfItsTime(t *testing.T) {
	ctx := context.Background()
	e, err := loam.Open(ctx, loam.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	s := e.NewSession(loam.SessionConfig{})
	for _, sql := range []string{"CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)", "SELECT a FROM t", "ALTER TABLE t ADD COLUMN b INT"} {
		if err := drained(ctx, s, sql); err != nil {
			t.Fatal(err)
		}
	}
	st, err := s.Prepare(ctx, "SELECT b FROM t", nil)
	if err != nil {
		t.Fatal(err)
	}
	pin, err := st.Pin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r, err := st.ExecutePinned(ctx, pin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if c, err := r.Next(ctx); err != nil || c == nil || c.Rows() != 1 {
		t.Errorf("chunk %v, error %v", c, err)
	}
}
