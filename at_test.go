package loam_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// rows are the rows of a query, a line each, sorted.
func (p *past) rows(sql string, args ...any) string {
	p.t.Helper()
	res, err := p.Query(context.Background(), sql, args...)
	if err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	return p.drain(res)
}

func (p *past) drain(res *loam.Result) string {
	p.t.Helper()
	defer func() { _ = res.Close() }()
	var out []string
	for {
		c, err := res.Next(context.Background())
		if err != nil {
			p.t.Fatal(err)
		}
		if c == nil {
			slices.Sort(out)
			return strings.Join(out, " ")
		}
		for i := range c.N {
			var cells []string
			for _, col := range c.Cols {
				cells = append(cells, col.Value(i).String())
			}
			out = append(out, strings.Join(cells, ","))
		}
	}
}

func (p *past) want(sql, rows string, args ...any) {
	p.t.Helper()
	if got := p.rows(sql, args...); got != rows {
		p.t.Errorf("%s %v\n got %s\nwant %s", sql, args, got, rows)
	}
}

// refused checks the error of a statement: its code, its line and place, its cure.
func (p *past) refused(sql string, code fail.Code, words ...string) {
	p.t.Helper()
	err := p.try(sql)
	text := fail.Render(err, sql)
	if !fail.Is(err, code) {
		p.t.Errorf("%s: %v, want %s", sql, err, code)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			p.t.Errorf("%s: no %q in\n%s", sql, w, text)
		}
	}
}

// story makes three versions of docs, a second apart, and a tail: a; a b; b' c; and d waiting.
func story(t *testing.T) (*past, []time.Time, []string) {
	p := newPast(t, loam.Config{})
	p.do("CREATE COLLECTION docs (id TEXT PRIMARY KEY, body TEXT FULLTEXT, n INT, emb VECTOR(2) DISTANCE l2)")
	var times []time.Time
	var tokens []string
	step := func(sqls ...string) {
		for _, sql := range sqls {
			p.do(sql)
		}
		plan := p.settle("docs")
		tokens = append(tokens, plan.DurableToken.String())
		p.clk.Advance(time.Second)
		times = append(times, p.clk.Now().Add(-500*time.Millisecond))
	}
	step("INSERT INTO docs VALUES ('a', 'red fox', 1, [1,0])")
	step("INSERT INTO docs VALUES ('b', 'blue fox', 2, [0,1])")
	step("INSERT INTO docs VALUES ('b', 'black cat', 20, [0,2]), ('c', 'red cat', 3, [2,0])", "DELETE FROM docs WHERE id = 'a'")
	p.do("INSERT INTO docs VALUES ('d', 'red dog', 4, [3,0])")
	return p, times, tokens
}

// Before the first version an object is empty at any time.
func TestAtBeforeTheFirstVersion(t *testing.T) {
	p := newPast(t, loam.Config{})
	p.do("CREATE TABLE t (a INT) WITH (partitions = 2)")
	p.want("SELECT a FROM t AT (TIMESTAMP => now())", "")
	p.want("SELECT a FROM t AT (VERSION => 0)", "")
}

// Every way of asking gives the rows of then, whatever came since.
func TestAt(t *testing.T) {
	p, times, tokens := story(t)
	states := []string{"a,1", "a,1 b,2", "b,20 c,3"}
	check := func(when string) {
		t.Helper()
		for i, rows := range states {
			v := i + 1
			p.want(fmt.Sprintf("SELECT id, n FROM docs AT (VERSION => %d)", v), rows)
			p.want("SELECT id, n FROM docs AT (VERSION => ?)", rows, v)
			p.want("SELECT id, n FROM docs FOR VERSION AS OF "+fmt.Sprint(v), rows)
			p.want("SELECT id, n FROM docs AT (TIMESTAMP => ?) AS d", rows, times[i])
			p.want("SELECT id, n FROM docs AT (TOKEN => ?)", rows, tokens[i])
			plan, err := p.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: "docs"}, Timestamp: &times[i]})
			if err != nil || plan.ManifestVersion != uint64(v) || plan.LiveRows != int64(len(strings.Fields(rows))) {
				t.Errorf("%s: a scan plan at %v: %+v, %v", when, times[i], plan, err)
			}
		}
		p.want("SELECT count(*) FROM docs AT (VERSION => 0)", "0")
		p.want("SELECT id FROM docs AT (TIMESTAMP => now())", "b c") // the newest version, without the tail
		p.want("SELECT id FROM text_search(docs AT (VERSION => 2), 'fox')", "a b")
		p.want("SELECT id FROM text_search(docs AT (VERSION => 3), 'fox')", "")
		p.want("SELECT id FROM vector_search(docs AT (VERSION => 1), [5,5], limit => 5)", "a")
		p.want("SELECT id FROM rrf(text_search(docs AT (VERSION => 2), 'red'), vector_search(docs AT (VERSION => 2), [0,1]))", "a b")
		// One statement, several objects and several times of one.
		p.want("SELECT new.id, old.n, new.n FROM docs AT (VERSION => 2) old JOIN docs AT (VERSION => 3) new USING (id)", "b,2,20")
		p.want("SELECT id FROM docs AT (VERSION => 2) EXCEPT SELECT id FROM docs", "a")
		p.want("SELECT (SELECT count(*) FROM docs AT (VERSION => 1)), (SELECT max(n) FROM docs AT (VERSION => 2)), (SELECT max(n) FROM docs AT (VERSION => 3))", "1,2,20")
		p.want("SELECT id FROM docs WHERE id IN (SELECT id FROM docs AT (VERSION => 2))", "b")
		p.want("WITH old AS (SELECT * FROM docs AT (VERSION => 1)) SELECT id FROM old", "a")
	}
	check("with a tail")
	p.want("SELECT id FROM docs", "b c d")
	plan := p.rows("EXPLAIN SELECT id FROM docs AT (VERSION => ?) WHERE id IN (SELECT id FROM text_search(docs AT (VERSION => 2), 'fox'))", 1)
	for _, line := range []string{"Scan public.docs AT (VERSION => 1)", "SearchScan public.docs AT (VERSION => 2)"} {
		if !strings.Contains(plan, line) {
			t.Errorf("no %q in\n%s", line, plan)
		}
	}
	p.settle("docs")
	p.want("SELECT id FROM docs AT (VERSION => 3)", "b c")
	p.do("ALTER COLLECTION docs ADD COLUMN extra INT")
	p.want("SELECT id, n, extra FROM docs AT (VERSION => 2)", "a,1,NULL b,2,NULL") // under the columns of today
}

// What is asked of a view is asked of what it reads; a view may also say itself.
func TestAtThroughViews(t *testing.T) {
	p, times, _ := story(t)
	p.do("CREATE TABLE t (id TEXT)")
	p.do("INSERT INTO t VALUES ('b')")
	p.settle("t")
	p.do("CREATE VIEW small AS SELECT id, n FROM docs WHERE n < 10")
	p.do("CREATE VIEW smaller AS SELECT id FROM small WHERE n < 2")
	p.do("CREATE VIEW was AS SELECT id, n FROM docs AT (VERSION => 2)")
	p.do("CREATE VIEW both_of AS SELECT d.id FROM docs d JOIN t USING (id)")
	p.do("CREATE VIEW nothing AS SELECT 1 AS one")
	p.want("SELECT id FROM small AT (VERSION => 2)", "a b")
	p.want("SELECT id FROM smaller AT (VERSION => 2)", "a")
	p.want("SELECT id FROM smaller", "")
	p.want("SELECT id FROM small AT (TIMESTAMP => ?) s JOIN docs USING (id)", "b", times[1])
	p.want("SELECT id, n FROM was", "a,1 b,2")
	p.want("SELECT id FROM both_of", "b")
	p.clk.Advance(time.Second)
	p.want("SELECT id FROM both_of AT (TIMESTAMP => now())", "b")
	p.do("CREATE OR REPLACE VIEW small AS SELECT id, n FROM docs AT (VERSION => 1) WHERE n < 10")
	p.want("SELECT id FROM small", "a")
	p.refused("SELECT * FROM both_of AT (VERSION => 1)", fail.InvalidParameter, "reads 2 objects", "Use TIMESTAMP", "^")
	p.refused("SELECT * FROM nothing AT (VERSION => 1)", fail.WrongObjectType, "reads nothing that has a past")
	p.refused("SELECT * FROM was AT (VERSION => 1)", fail.WrongObjectType, "says itself which state it reads")
	p.do("CREATE VIEW late AS SELECT * FROM docs AT (VERSION => 99)")
	p.refused("SELECT 1,\n * FROM late", fail.InvalidParameter, "LINE 2", "no version 99")
}

// A ticket reads the state that was pinned, a prepared statement that of each run.
func TestAtIsPinned(t *testing.T) {
	p, _, _ := story(t)
	st, err := p.Prepare(t.Context(), "SELECT old.id FROM docs AT (TIMESTAMP => now()) old LEFT JOIN docs USING (id) WHERE old.n > ?", nil)
	if err != nil {
		t.Fatal(err)
	}
	if st, err = st.Bind(t.Context(), []vec.Value{vec.Int32(1)}); err != nil {
		t.Fatal(err)
	}
	pin, err := st.Pin(t.Context())
	if err != nil || len(pin.Objects) != 2 {
		t.Fatalf("%+v, %v", pin, err)
	}
	sealed, err := json.Marshal(pin)
	if err != nil {
		t.Fatal(err)
	}
	p.do("DELETE FROM docs")
	p.settle("docs")
	p.clk.Advance(time.Second)
	var again loam.Pin
	if err := json.Unmarshal(sealed, &again); err != nil {
		t.Fatal(err)
	}
	res, err := st.ExecutePinned(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.drain(res); got != "b c" {
		t.Errorf("at the pin: %s", got)
	}
	if res, err = st.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := p.drain(res); got != "" {
		t.Errorf("a later run: %s", got)
	}
	// A pin of another statement does not fit.
	other, err := p.Prepare(t.Context(), "SELECT id FROM docs AT (VERSION => 1)", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecutePinned(t.Context(), again); !fail.Is(err, fail.SnapshotExpired) {
		t.Error(err)
	}
}

func TestAtRefusals(t *testing.T) {
	p, times, tokens := story(t)
	p.refused("SELECT *\nFROM docs AT (VERSION => 4)", fail.InvalidParameter, "no version 4; the newest is 3", "LINE 2, COLUMN 26", "^")
	p.refused("SELECT * FROM docs AT (VERSION => -1)", fail.InvalidParameter, "no version -1", "count from 1")
	p.refused("SELECT * FROM docs AT (TOKEN => 'v1:nonsense')", fail.InvalidParameter, "^")
	p.refused("SELECT * FROM docs AT (TIMESTAMP => '2031-01-01')", fail.InvalidParameter, "lies in the future", "Leave AT out")
	p.refused("SELECT * FROM docs AT (TIMESTAMP => '1999-01-01')", fail.InvalidParameter, "did not exist")
	p.refused("SELECT * FROM docs AT (TAG => 'v1')", fail.UndefinedTag, `no tag "v1"`, "CREATE TAG")
	p.do("CREATE TABLE t (a INT)")
	p.refused("SELECT * FROM t AT (TOKEN => '"+tokens[0]+"')", fail.InvalidParameter, "another object")
	if _, err := p.Query(t.Context(), "SELECT * FROM docs AT (VERSION => ?)", nil); !fail.Is(err, fail.InvalidParameter) {
		t.Error(err)
	}
	p.clk.Advance(25 * time.Hour)
	p.maintain()
	p.refused("SELECT * FROM docs AT (VERSION => 2)", fail.SnapshotExpired, "no longer kept", "CREATE TAG", "^")
	if _, err := p.Query(t.Context(), "SELECT * FROM docs AT (TIMESTAMP => ?)", times[0]); !fail.Is(err, fail.SnapshotExpired) {
		t.Error(err)
	}
	if err := p.try("EXPLAIN ANALYZE SELECT * FROM docs AT (VERSION => 1)"); !fail.Is(err, fail.SnapshotExpired) {
		t.Error(err)
	}
}
