package loam_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// A tag holds what was written before it, and nothing after it, whatever comes.
func TestTagHoldsWhatWasWritten(t *testing.T) {
	p := newPast(t, loam.Config{TimeTravel: time.Minute})
	p.do("CREATE COLLECTION docs (id TEXT PRIMARY KEY, body TEXT FULLTEXT, n INT) WITH (partitions = 3, max_splits = 1)")
	p.do("CREATE TABLE t (a INT)")
	for i := range 5 {
		p.do(fmt.Sprintf("INSERT INTO docs VALUES ('a', 'red fox', %d), ('k%d', 'fox', 0)", i, i))
		p.do(fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		p.do(fmt.Sprintf("CREATE TAG v%d ON docs", i))
		p.do(fmt.Sprintf("CREATE TAG v%d ON t", i))
		p.do("DELETE FROM docs WHERE id = 'a'")
	}
	p.clk.Advance(time.Hour)
	p.maintain()
	p.maintain()
	check := func() {
		t.Helper()
		for i := range 5 {
			p.want(fmt.Sprintf("SELECT count(*), max(n) FROM docs AT (TAG => 'v%d')", i), fmt.Sprintf("%d,%d", i+2, i))
			p.want(fmt.Sprintf("SELECT count(*) FROM text_search(docs AT (TAG => 'V%d'), 'red')", i), "1")
			p.want(fmt.Sprintf("SELECT count(*) FROM t FOR VERSION AS OF 'v%d'", i), fmt.Sprint(i+1))
			p.want(fmt.Sprintf("SELECT count(*) FROM docs AT (TAG => 'v%d') d JOIN t AT (TAG => 'v0') ON d.n = t.a", i), map[bool]string{true: "2", false: fmt.Sprint(i + 1)}[i == 0])
		}
	}
	check()
	p.want("SELECT count(*) FROM docs", "5")
	tag := "v2"
	plan, err := p.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: "docs"}, Tag: &tag})
	if err != nil || plan.LiveRows != 4 || !plan.ExpiresAt.IsZero() || plan.Tail != loam.TailNone {
		t.Fatalf("%+v, %v", plan, err)
	}
	// What only a tag keeps goes with the tag.
	p.do("DROP TAG v0, V1 ON docs")
	p.refused("SELECT * FROM docs AT (TAG => 'v1')", fail.UndefinedTag, "Did you mean", "^")
	p.want("SELECT tag FROM system.tags WHERE name = 'docs'", "v2 v3 v4")
}

// Each way to say what is tagged.
func TestCreateTagAt(t *testing.T) {
	p, times, tokens := story(t)
	p.do("CREATE TAG one ON docs AT (VERSION => 1)")
	p.do("CREATE TAG again ON docs AT (TAG => 'ONE') WITH (comment = 'the first')")
	p.do("CREATE TAG two ON docs AT (TIMESTAMP => '" + times[1].UTC().Format("2006-01-02 15:04:05.000Z") + "')")
	p.do("CREATE TAG three ON docs AT (TOKEN => '" + tokens[2] + "')")
	p.do("CREATE TAG IF NOT EXISTS one ON docs AT (VERSION => 3)") // it is there, and stays
	for name, rows := range map[string]string{"one": "a", "again": "a", "two": "a b", "three": "b c"} {
		p.want("SELECT id FROM docs AT (TAG => '"+name+"')", rows)
	}
	p.want("SELECT max(version) FROM system.tags", "3") // no tag took the tail with it
	p.do("CREATE TAG now ON docs")
	p.want("SELECT id FROM docs AT (TAG => 'now')", "b c d")
	p.want("SELECT tag, version, comment FROM system.tags WHERE version = 1", "again,1,the first one,1,NULL")
	// A token that waits in the tail is applied first.
	p.do("INSERT INTO docs (id) VALUES ('e')")
	plan, err := p.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: "docs"}})
	if err != nil || plan.TailRecords != 1 {
		t.Fatalf("%+v %v", plan, err)
	}
	last := plan.DurableToken
	last.Offsets[0]++
	p.do("CREATE TAG late ON docs AT (TOKEN => '" + last.String() + "')")
	p.want("SELECT id FROM docs AT (TAG => 'late')", "b c d e")
}

func TestTagRefusals(t *testing.T) {
	p, _, _ := story(t)
	p.do("CREATE TABLE empty (a INT)")
	p.do("CREATE VIEW v AS SELECT * FROM docs")
	p.do("CREATE TAG one ON docs")
	for _, name := range []string{"a/b", "ünïcode", ".hidden", "end.", "a..b", "x.lock", "two words", strings.Repeat("x", 129)} {
		p.refused(`CREATE TAG "`+name+`" ON docs`, fail.InvalidParameter)
	}
	for _, name := range []string{"2026-01-30_eval.v2", "-", "v1.0-rc"} {
		p.do(`CREATE TAG "` + name + `" ON docs`)
	}
	p.refused("CREATE TAG ONE ON docs", fail.DuplicateObject, "A tag never moves")
	p.refused("CREATE TAG x ON empty", fail.InvalidParameter, "no version", "Write rows")
	p.refused("CREATE TAG x ON v", fail.WrongObjectType, "Tag what it reads", "^")
	p.refused("CREATE TAG x ON nope", fail.UndefinedTable)
	p.refused("CREATE OR REPLACE TAG one ON docs", fail.Unsupported, "never moves", "DROP TAG one ON docs")
	p.refused("CREATE TAG x ON docs AT (VERSION => 99)", fail.InvalidParameter, "the newest is", "^")
	p.refused("CREATE TAG x ON docs AT (TAG => 'on')", fail.UndefinedTag, `Did you mean "one"`, "^")
	p.refused("CREATE TAG x ON docs WITH (protected = true)", fail.InvalidParameter, "Did you mean protect?", "^")
	p.refused("CREATE TAG x ON docs WITH (protect = 'maybe')", fail.InvalidParameter, "true or false")
	p.refused("CREATE TAG x ON docs WITH (expires_at => '2001-01-01')", fail.InvalidParameter, "is over")
	p.refused("CREATE TAG x ON docs WITH (expires_at => 'soon')", fail.InvalidDatetime, "interval '30 days'")
	p.refused("CREATE TAG x ON docs AT (VERSION => ?)", fail.UndefinedParameter)
	p.refused("DROP TAG nope ON docs", fail.UndefinedTag, "^")
	p.refused("DROP TAG v1.0 ON docs", fail.Syntax)
	p.do("DROP TAG IF EXISTS nope, one ON docs")
	p.do("DROP TAG IF EXISTS nope ON nothing")
	p.want("SELECT count(*) FROM system.tags WHERE tag = 'one'", "0")
	p.do("CREATE TABLE few (a INT) WITH (max_tags = 1)")
	p.do("INSERT INTO few VALUES (1)")
	p.do("CREATE TAG a ON few")
	p.refused("CREATE TAG b ON few", fail.TooLarge, "1 tag", "Drop a tag")
	p.want("SHOW TAGS ON few", "public,few,a,1,"+p.rows("SELECT created FROM system.tags WHERE name = 'few'")+",NULL,false,NULL,NULL")
	p.refused("SHOW TAGS ON v", fail.WrongObjectType)
}

// A protected tag keeps its object, also from CREATE OR REPLACE and DROP NAMESPACE,
// and goes at its time.
func TestProtectedTagsAndExpiry(t *testing.T) {
	p := newPast(t, loam.Config{})
	p.do("CREATE NAMESPACE lab")
	for i := range 30 { // more than one change of the catalog drops
		p.do(fmt.Sprintf("CREATE TABLE lab.t%d (a INT)", i))
	}
	p.do("INSERT INTO lab.t29 VALUES (1)")
	p.do("CREATE TAG held ON lab.t29 WITH (protect => true, expires_at => now() + interval '1 hour')")
	p.refused("DROP TABLE lab.t29", fail.Dependents, `protected tag "held"`, "Drop the tag first")
	p.refused("CREATE OR REPLACE TABLE lab.t29 (b INT)", fail.Dependents, "held")
	p.refused("DROP NAMESPACE lab CASCADE", fail.Dependents, "held")
	p.want("SELECT count(*) FROM system.tables WHERE namespace = 'lab'", "30")
	p.clk.Advance(59 * time.Minute)
	p.maintain()
	p.want("SELECT tag, protected FROM system.tags", "held,true")
	p.clk.Advance(time.Minute)
	p.maintain()
	p.want("SELECT tag FROM system.tags", "")
	p.do("DROP NAMESPACE lab CASCADE")
}
