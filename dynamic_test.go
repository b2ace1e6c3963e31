package loam_test

import (
	"context"
	"strings"
	"testing"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// documents posts JSON documents to the collection docs.
func (n *node) documents(docs ...string) error {
	var list [][]byte
	for _, d := range docs {
		list = append(list, []byte(d))
	}
	_, err := n.session.AppendDocuments(context.Background(), loam.Target{Name: "docs"}, list)
	return err
}

func (n *node) want(sql, rows string) {
	n.t.Helper()
	got, _, err := n.query(sql)
	if err != nil {
		n.t.Fatal(fail.Render(err, sql))
	}
	if text := strings.Join(got, "\n"); text != rows {
		n.t.Errorf("%s: got\n%s\nwant\n%s", sql, text, rows)
	}
}

// TestDynamicFields lets unknown members of documents join the schema. Rows that
// were written before read them from _source, in the tail, in splits of either
// age, and after a restart.
func TestDynamicFields(t *testing.T) {
	for _, applied := range []bool{false, true} {
		n := &node{t: t, dir: t.TempDir()}
		n.open()
		step := func() {
			if applied {
				n.apply()
			}
		}
		if _, _, err := n.query("CREATE COLLECTION docs (id TEXT PRIMARY KEY, lang TEXT) WITH (dynamic = true)"); err != nil {
			t.Fatal(err)
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(n.documents(`{"id":"a","year":1991,"Tags":["x","y"],"_private":1,"gone":null}`, `{"id":"b","year":1992.5,"deep":{"k":[1]}}`))
		step()
		n.want("SELECT id, year, \"Tags\", deep FROM docs ORDER BY id", "a\t1991.0\t[x, y]\tNULL\nb\t1992.5\tNULL\t{\"k\":[1]}")
		must(n.documents(`{"id":"c","year":1,"late":"new","lang":"en"}`))
		step()
		n.want("SELECT id, late, lang, year FROM docs ORDER BY id", "a\tNULL\tNULL\t1991.0\nb\tNULL\tNULL\t1992.5\nc\tnew\ten\t1.0")
		n.want("SELECT count(*) FROM docs WHERE late IS NULL AND year > 1991", "1")
		n.close()
		n.open()
		n.want("SELECT id, late FROM docs WHERE year < 1992 ORDER BY id", "a\tNULL\nc\tnew")
		err := n.documents(`{"id":"d","late":5}`)
		if !fail.Is(err, fail.DatatypeMismatch) || !strings.Contains(err.Error(), "late") {
			t.Errorf("a number for a TEXT field: %v", err)
		}
		n.want("SELECT column, type FROM system.columns WHERE \"table\" = 'docs' ORDER BY position",
			"id\tTEXT\nlang\tTEXT\nyear\tDOUBLE\nTags\tTEXT[]\ndeep\tJSON\nlate\tTEXT")
		n.close()
	}
}

// TestUnknownMembersOfStaticCollections stay in _source.
func TestUnknownMembersOfStaticCollections(t *testing.T) {
	n := &node{t: t}
	n.open()
	defer n.close()
	if _, _, err := n.query("CREATE COLLECTION docs (id TEXT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	if err := n.documents(`{"id":"a","extra": 1.50}`); err != nil {
		t.Fatal(err)
	}
	n.want("SELECT octet_length(_source) FROM docs", "24")
	if _, _, err := n.query("SELECT extra FROM docs"); !fail.Is(err, fail.UndefinedColumn) {
		t.Errorf("error %v", err)
	}
}
