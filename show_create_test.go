package loam_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
)

// TestShowCreateMakesTheSame: what SHOW CREATE gives makes the very object again,
// whatever its names, columns and options.
func TestShowCreateMakesTheSame(t *testing.T) {
	n := opened(t)
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	for seed := range uint64(rounds) {
		g := &creator{rand.New(rand.NewPCG(seed, 11))}
		kind := []string{"COLLECTION", "TABLE", "STREAM"}[g.IntN(3)]
		name := g.name()
		sql := "CREATE " + kind + " " + name + " " + g.definition(kind)
		if _, _, err := n.query(sql); err != nil {
			t.Fatalf("seed %d: %s", seed, fail.Render(err, sql))
		}
		n.again(kind, name)
		n.around(g, kind, name)
		n.ok("DROP " + kind + " " + name)
	}
}

// around makes views and links of an object, and each of them again.
func (n *node) around(g *creator, kind, name string) {
	n.t.Helper()
	obj := n.described(name)
	cols := make([]string, 0, len(obj.Fields))
	for _, f := range obj.Fields {
		cols = append(cols, inQuotes(f.Name))
	}
	one := cols[g.IntN(len(cols))]
	n.ok(fmt.Sprintf(`CREATE VIEW "a view" AS SELECT %s AS "x ""y""", %s IS NULL AS "SELECT", 'it''s' || 1 AS z FROM %s WHERE %s IS NOT NULL LIMIT 3`, one, one, name, one))
	n.again("VIEW", `"a view"`)
	n.ok(`DROP VIEW "a view"`)
	if kind == "COLLECTION" {
		return // a link has streams and tables for its source
	}
	link := g.of("l", `"the link"`, `"c.d"`, `"x ""y"""`)
	n.ok(`CREATE TABLE "Into" ("x ""y""" BOOLEAN, z TEXT)`,
		fmt.Sprintf(`CREATE LINK %s FROM %s %s INTO TABLE "Into" TRANSFORM (SELECT %s IS NULL AS "x ""y""", 'it''s' AS z WHERE %s IS NOT NULL) PAUSED COMMENT 'it''s' WITH (batch_interval = '%dms', batch_bytes = '1MiB', on_error = '%s')`,
			link, kind, name, one, one, 10+g.IntN(90), []string{"fail", "skip", "dead_letter"}[g.IntN(3)]))
	n.again("LINK", link)
	n.ok("DROP LINK "+link, `DROP TABLE "Into"`, "DROP STREAM IF EXISTS "+inQuotes(bare(link)+"_dead"))
}

func (n *node) described(name string) *schema.Object {
	n.t.Helper()
	obj, err := n.engine.Catalog().Lookup(n.t.Context(), catalog.Name{Text: "public"}, catalog.Name{Text: bare(name), Quoted: name[0] == '"'})
	if err != nil {
		n.t.Fatal(err)
	}
	return obj
}

// bare is a name as it is, of one that may stand in quotes.
func bare(name string) string {
	if name[0] != '"' {
		return name
	}
	return strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
}

func inQuotes(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// shown is the statement of SHOW CREATE.
func (n *node) shown(kind, name string) string {
	n.t.Helper()
	res, _, err := n.run(n.t.Context(), "SHOW CREATE "+kind+" "+name)
	if err != nil {
		n.t.Fatalf("SHOW CREATE %s %s: %v", kind, name, err)
	}
	defer func() { _ = res.Close() }()
	c, err := res.Next(n.t.Context())
	if err != nil || c == nil || c.Rows() != 1 {
		n.t.Fatalf("SHOW CREATE %s %s: %v, %v", kind, name, c, err)
	}
	return c.Cols[1].Value(c.RowAt(0)).Str
}

// again drops an object, makes it by what SHOW CREATE says, and compares.
func (n *node) again(kind, name string) {
	n.t.Helper()
	sql, before := n.shown(kind, name), n.described(name)
	n.ok("DROP " + kind + " " + name)
	if _, _, err := n.query(sql); err != nil {
		n.t.Fatal(fail.Render(err, sql))
	}
	if text := n.shown(kind, name); text != sql {
		n.t.Errorf("first %s\nthen  %s", sql, text)
	}
	was, is := *before, *n.described(name) // the catalog's own, which others read
	for _, o := range []*schema.Object{&was, &is} {
		o.ID, o.Incarnation, o.SchemaVersion = 0, "", 0
		o.Query = nil // it names fields by their ids; its text is compared above
	}
	if !reflect.DeepEqual(was, is) {
		n.t.Errorf("%s\nfirst %+v\nthen  %+v", sql, was, is)
	}
}

// creator makes up definitions.
type creator struct{ *rand.Rand }

func (g *creator) of(all ...string) string { return all[g.IntN(len(all))] }

func (g *creator) name() string {
	return g.of("plain", "Mixed", `"Quoted Name"`, `"select"`, `"user"`, `"a""b"`, `"größe"`, `"1st"`, `"a.b"`, "größe", `"'x'"`, "value", `"table"`, "key")
}

func (g *creator) definition(kind string) string {
	var cols, names []string
	for len(cols) < 2+g.IntN(5) {
		name := g.name()
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(bare(n), bare(name)) }) {
			continue
		}
		names = append(names, name)
		cols = append(cols, name+" "+g.column(kind, len(cols) == 0))
	}
	if kind == "COLLECTION" {
		if g.IntN(3) == 0 {
			cols[1] = names[1] + " BIGINT"
			cols = append(cols, fmt.Sprintf("PRIMARY KEY (%s, %s)", names[1], names[0]))
		} else {
			cols[0] += " PRIMARY KEY"
		}
	}
	return "(" + strings.Join(cols, ", ") + ")" + g.options(kind, names[0])
}

// column is a type with what may stand behind it; a first one can be a key.
func (g *creator) column(kind string, first bool) string {
	if first {
		return g.of("TEXT", "BIGINT", "INT", "UUID")
	}
	all := []string{
		"TEXT DEFAULT 'it''s'", "VARCHAR(7) NOT NULL", "INT DEFAULT 1 + 2", "BIGINT NOT NULL DEFAULT -5", "DOUBLE DEFAULT 1.5e10", "BOOLEAN DEFAULT true", "DATE DEFAULT DATE '2024-02-29'",
		"TIMESTAMP DEFAULT now()", "TIMESTAMP WITH TIME ZONE", "TIME", "INTERVAL", "DECIMAL(12, 3) DEFAULT 0.001", "JSON DEFAULT '{\"a\": 1}'", "UUID", "BINARY", "INT[]", "TEXT[][]",
		"MAP(TEXT, INT)", `STRUCT(a INT, "b c" TEXT)`, "VECTOR(3)",
	}
	if kind == "COLLECTION" {
		all = append(slices.DeleteFunc(all, func(s string) bool { return strings.HasPrefix(s, "TIME ") || s == "TIME" || s == "INTERVAL" }),
			"TEXT FULLTEXT", "TEXT FULLTEXT 'german'", "VECTOR(4) DISTANCE dot", "VECTOR(4) DISTANCE l2", "SPARSE VECTOR MODIFIER idf", "SPARSE VECTOR")
	}
	return g.of(all...)
}

func (g *creator) options(kind, key string) string {
	out := []string{fmt.Sprintf("partitions = %d", 1+g.IntN(4))}
	add := func(some ...string) {
		for _, o := range some {
			if g.IntN(2) == 0 {
				out = append(out, o)
			}
		}
	}
	add("batch_interval = '3s'", "batch_rows = 5000", "time_travel = '2d'", "max_unapplied_bytes = '1GiB'", "MAX_TAGS = 3")
	switch kind {
	case "COLLECTION":
		add("dynamic = true")
	case "STREAM":
		add("retention = '36h'", "'retention_bytes' = '10MiB'", "max_record_bytes = 2000")
		out = append(out, "key = "+g.of("''", "'"+strings.ReplaceAll(bare(key), "'", "''")+"'"))
	}
	g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return " WITH (" + strings.Join(out, ", ") + ")"
}
