package planner_test

import (
	"context"
	"testing"

	"github.com/loamdb/loam/functions"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/planner"
)

// FuzzPrepare feeds any text to the planner. It must end in plans without
// dependent joins and unknown columns, or in an error that is the user's.
func FuzzPrepare(f *testing.F) {
	for _, file := range []string{"clients.sql", "datafusion.sql", "expressions.sql", "statements.sql", "tpch.sql"} {
		for _, sql := range corpus(f, file) {
			f.Add(sql)
		}
	}
	for _, sql := range []string{
		"SELECT a, (SELECT count(*) FROM u WHERE u.a = t.a) FROM t WHERE s IN (SELECT s FROM u WHERE u.c > t.b)",
		"SELECT * FROM rrf(vector_search(docs, ?), text_search(docs, 'x', columns => ['title^2']), k => 3) LIMIT ?",
		"INSERT INTO docs (id, emb) VALUES ('a', [1, 2, 3]), (?, '[1,2,3]')",
		"UPDATE t SET a = (SELECT max(c) FROM u WHERE u.a = t.a), (b, s) = (1, 'x') WHERE d > '2020-01-01'",
		"WITH c(x) AS (SELECT a FROM t UNION SELECT c FROM u) SELECT x, count(*) FROM c GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL",
		"CREATE COLLECTION c (id TEXT PRIMARY KEY, v VECTOR(2) DISTANCE l2) WITH (partitions = 2)",
	} {
		f.Add(sql)
	}
	p := planner.New(testCatalog(), functions.Default()).WithFiles(fakeFiles{})
	f.Fuzz(func(t *testing.T, sql string) {
		prepared, err := p.Prepare(context.Background(), planner.Session{}, sql, nil)
		if err != nil {
			if fail.CodeOf(err) == fail.Internal {
				t.Fatalf("%q: %v", sql, err)
			}
			return
		}
		for _, pr := range prepared {
			if q, ok := pr.Statement.(*plan.Query); ok {
				checkPlan(t, q.Root, sql)
			}
		}
	})
}

// checkPlan holds what is true of every plan: expressions read columns of the
// inputs alone, and join keys have equal types.
func checkPlan(t *testing.T, n plan.Node, sql string) {
	have := map[int32]bool{}
	for _, k := range n.Children() {
		checkPlan(t, k, sql)
		for _, c := range k.Columns() {
			have[int32(c.ID)] = true
		}
	}
	if len(n.Children()) == 0 {
		for _, c := range n.Columns() {
			have[int32(c.ID)] = true
		}
	}
	if j, ok := n.(*plan.Join); ok {
		if j.Apply {
			t.Fatalf("%q: a dependent join is left\n%s", sql, render(n))
		}
		for _, k := range j.Keys {
			if !k.Left.Type().Equal(k.Right.Type()) {
				t.Fatalf("%q: join key of %s and %s", sql, k.Left.Type(), k.Right.Type())
			}
		}
	}
	if s, ok := n.(*plan.SearchScan); ok {
		have[int32(s.Score.ID)] = true
	}
	for id, name := range ownReads(n) {
		if !have[id] {
			t.Fatalf("%q: %s reads %s#%d, which its input does not have\n%s", sql, n.Name(), name, id, render(n))
		}
	}
}
