package planner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner"
)

// TestComplexity plans short texts that stand for huge plans: each must end in a
// plan or in the error for statements that are too complex, and soon; without
// bounds these would not end at all.
func TestComplexity(t *testing.T) {
	for name, sql := range map[string]string{
		"doubling projections": nested(60, "SELECT x + x AS x FROM (%s) y", "SELECT a AS x FROM t") + " WHERE x > 1",
		"doubling subquery":    "SELECT (SELECT max(x) FROM (" + nested(60, "SELECT x + x AS x FROM (%s) y", "SELECT u.a + t.a AS x FROM u WHERE u.a = t.a") + ") z) FROM t",
		"doubling above":       "SELECT (" + nested(60, "SELECT x + x AS x FROM (%s) y", "SELECT sum(a) AS x FROM u WHERE u.a = t.a") + ") FROM t",
		"aliases":              "SELECT a + 1 AS c0" + chain(60, ", c%d + c%d AS c%d") + " FROM t",
		"tables of WITH":       "WITH c0 AS (SELECT a FROM t)" + chainWith(60) + " SELECT count(*) FROM c60",
		"nested correlation":   "SELECT a FROM t t0 WHERE " + correlated(0, 12),
		"groups":               nested(60, "SELECT x, x + x AS y FROM (%s) z GROUP BY x", "SELECT a AS x FROM t"),
		"many conditions":      "SELECT a FROM t WHERE a = 0" + strings.Repeat(" OR (a = 1 AND b = 2)", 5000),
		"many tables":          "SELECT 1 FROM t t0" + cross(60),
	} {
		prepared, err := newPlanner().Prepare(context.Background(), planner.Session{}, sql, nil)
		switch {
		case err != nil && !fail.Is(err, fail.TooDeep) && !fail.Is(err, fail.Unsupported):
			t.Errorf("%s: %.300v", name, err)
		case err != nil:
			t.Logf("%s: %.120v", name, err)
		default:
			t.Logf("%s: planned, %d bytes of text", name, len(statement(prepared[0].Statement)))
		}
	}
}

func nested(n int, outer, inner string) string {
	for range n {
		inner = fmt.Sprintf(outer, inner)
	}
	return inner
}

func chain(n int, item string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, item, i, i, i+1)
	}
	return b.String()
}

func chainWith(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", c%d AS (SELECT x.a FROM c%d x JOIN c%d y ON x.a = y.a)", i+1, i, i)
	}
	return b.String()
}

func cross(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " JOIN t t%d ON t%d.a = t%d.a", i+1, i, i+1)
	}
	return b.String()
}

func correlated(from, to int) string {
	if from == to {
		return "true"
	}
	return fmt.Sprintf("EXISTS (SELECT 1 FROM u t%d WHERE t%d.a < t%d.a AND (t%d.c IS NULL OR %s))", from+1, from+1, from, from+1, correlated(from+1, to))
}
