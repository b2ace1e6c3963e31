package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/planner"
)

// writer draws random queries over the tables t and u.
type writer struct {
	t     *rapid.T
	depth int
}

func (w *writer) pick(label string, options ...string) string {
	return rapid.SampledFrom(options).Draw(w.t, label)
}

func (w *writer) chance(label string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(w.t, label) < percent
}

// number is an expression of type BIGINT over the aliases in scope.
func (w *writer) number(from []string) string {
	col := w.pick("table", from...) + "."
	switch w.pick("number", "col", "col", "col", "lit", "add", "case", "coalesce", "scalar") {
	case "lit":
		return w.pick("literal", "0", "1", "2", "3", "20", "200", "NULL::BIGINT")
	case "add":
		return "(" + col + "a + " + w.pick("addend", "1", "10", "-1") + ")"
	case "case":
		return "CASE WHEN " + w.cond(from, false) + " THEN " + col + "a ELSE 7 END"
	case "coalesce":
		return "coalesce(" + col + "a, 0)"
	case "scalar":
		if w.depth < 2 {
			return w.scalar(from)
		}
	}
	return col + "a"
}

// scalar is a scalar subquery of exactly one row, most often correlated.
func (w *writer) scalar(from []string) string {
	w.depth++
	defer func() { w.depth-- }()
	alias := fmt.Sprintf("q%d", w.depth)
	agg := w.pick("aggregate", "count(*)", "max("+alias+".a)", "sum("+alias+".a)", "count("+alias+".a)", "coalesce(min("+alias+".a), 5)")
	tail := ""
	if w.chance("having", 20) {
		tail = " HAVING count(*) > 1"
	}
	if w.chance("first", 20) {
		key := w.pick("key", "a", "s")
		op := w.pick("first op", " = ", " < ")
		return "(SELECT " + alias + ".a FROM u " + alias + " WHERE " + alias + "." + key + op + w.pick("table", from...) + "." + key +
			" AND " + w.cond([]string{alias}, false) + " ORDER BY " + alias + ".c DESC LIMIT 1)"
	}
	return "(SELECT " + agg + " FROM " + w.pick("inner", "t", "u") + " " + alias + " WHERE " + w.cond(append([]string{alias}, from...), true) + tail + ")"
}

// cond is a condition; subqueries only where sub is set.
func (w *writer) cond(from []string, sub bool) string {
	col := w.pick("table", from...) + "."
	other := w.pick("other", from...) + "."
	switch w.pick("cond", "cmp", "cmp", "eq", "eq", "in", "null", "and", "or", "not", "text", "exists", "insub", "between") {
	case "eq":
		return col + "a = " + other + "a"
	case "in":
		return col + "a " + w.pick("in", "IN", "NOT IN") + " (1, 2, " + w.pick("element", "3", "NULL", "2") + ")"
	case "null":
		return col + w.pick("column", "a", "s") + w.pick("null", " IS NULL", " IS NOT NULL")
	case "and":
		return "(" + w.cond(from, sub) + " AND " + w.cond(from, sub) + ")"
	case "or":
		return "(" + w.cond(from, sub) + " OR " + w.cond(from, sub) + ")"
	case "not":
		return "NOT (" + w.cond(from, sub) + ")"
	case "text":
		return col + "s " + w.pick("like", "= 'x'", "LIKE '%y%'", "< 'z'", "= "+other+"s")
	case "exists":
		if sub && w.depth < 2 {
			return w.pick("exists", "EXISTS (", "NOT EXISTS (") + w.inner(from, "1") + ")"
		}
	case "insub":
		if sub && w.depth < 2 {
			return col + "a " + w.pick("insub", "IN (", "NOT IN (") + w.inner(from, "%s.a") + ")"
		}
	case "between":
		return col + "a BETWEEN 1 AND " + w.pick("upper", "2", "5", other+"a")
	}
	return col + "a " + w.pick("op", "<", ">", "<=", "<>", "IS DISTINCT FROM") + " " + w.pick("right", "1", "2", "3", other+"a")
}

// inner is a subquery for EXISTS and IN.
func (w *writer) inner(from []string, output string) string {
	w.depth++
	defer func() { w.depth-- }()
	alias := fmt.Sprintf("q%d", w.depth)
	if strings.Contains(output, "%s") {
		output = fmt.Sprintf(output, alias)
	}
	sql := "SELECT " + output + " FROM " + w.pick("inner", "t", "u") + " " + alias + " WHERE " + w.cond(append([]string{alias}, from...), true)
	if w.chance("group", 15) && output != "1" {
		sql += " GROUP BY " + output
	}
	return sql
}

// source is a FROM clause and the aliases that it shows.
func (w *writer) source() (string, []string) {
	first := w.pick("first", "t x", "u x", "(SELECT a, s FROM t WHERE b > 10) x", "(SELECT a, max(s) AS s FROM u GROUP BY a) x",
		"(SELECT a, s FROM t UNION ALL SELECT a, s FROM u) x")
	if w.chance("single", 40) {
		return first, []string{"x"}
	}
	if w.chance("unnest", 20) {
		return w.unnested(first)
	}
	second := w.pick("second", "t y", "u y", "(SELECT c AS a, s FROM u) y")
	both := []string{"x", "y"}
	switch kind := w.pick("join", ", ", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"); kind {
	case ", ":
		if w.chance("lateral", 50) {
			w.depth++
			defer func() { w.depth-- }()
			sub := "SELECT q.a + x.a AS a, q.s FROM u q WHERE " + w.cond([]string{"q", "x"}, true)
			if w.chance("union", 40) {
				sub += " UNION ALL SELECT x.a, q.s FROM t q WHERE " + w.cond([]string{"q", "x"}, true)
			}
			return first + w.pick("lateral join", ", LATERAL (", " CROSS JOIN LATERAL (") + sub + ") y", both
		}
		return first + ", " + second, both
	case "LEFT JOIN":
		if w.chance("lateral", 30) {
			return first + " LEFT JOIN LATERAL (SELECT q.a, coalesce(q.s, x.s) AS s FROM u q WHERE " + w.cond([]string{"q", "x"}, false) + ") y ON " +
				w.pick("on", "true", "y.a > 1", "x.a < 3"), both
		}
		return first + " LEFT JOIN " + second + " ON " + w.cond(both, false), both
	case "LEFT SEMI JOIN", "LEFT ANTI JOIN":
		return first + " " + kind + " " + second + " ON " + w.cond(both, false), []string{"x"}
	default:
		return first + " " + kind + " " + second + " ON " + w.cond(both, false), both
	}
}

// window is a window call whose value does not depend on the order of ties.
func (w *writer) window(from []string) string {
	order := ""
	if w.chance("ordered", 60) {
		order = " ORDER BY " + w.number(from) + w.pick("direction", "", " DESC", " NULLS FIRST")
	}
	return w.pick("window call", "rank()", "dense_rank()", "sum(x.a)", "count(*)", "count(*) FILTER (WHERE x.a > 1)", "max("+w.number(from)+")") +
		" OVER (PARTITION BY " + w.pick("partition", "x.s", "x.s, x.a", "x.s", w.number(from)) + order + ")"
}

// unnested joins a source with a set-returning function over its columns.
func (w *writer) unnested(first string) (string, []string) {
	list := w.pick("list", "[x.a, 2, NULL]", "CASE WHEN x.a > 1 THEN [x.a, x.a + 1] END")
	y := w.pick("rows", "unnest("+list+")", "generate_series(1, x.a)", "range(x.a, 4)") + " AS y(a)"
	switch w.pick("unnest join", ", ", "LEFT JOIN", "LATERAL", "JOIN") {
	case "LEFT JOIN":
		return first + " LEFT JOIN " + y + " ON " + w.pick("on", "true", "y.a > 1"), []string{"x"}
	case "LATERAL":
		return first + ", LATERAL (SELECT y.a + 1 AS a, x.s FROM " + y + " WHERE y.a < 9) y", []string{"x", "y"}
	case "JOIN":
		return first + " JOIN " + y + " ON y.a > 0", []string{"x"}
	}
	return first + ", " + y, []string{"x"}
}

func (w *writer) query() string {
	from, aliases := w.source()
	where := ""
	if w.chance("where", 80) {
		where = " WHERE " + w.cond(aliases, true)
	}
	switch w.pick("shape", "plain", "plain", "group", "sets", "distinct", "nested", "aggregate", "window", "qualify", "first", "copies") {
	case "sets":
		sets := w.pick("sets", "ROLLUP (x.s, x.a)", "CUBE (x.a, x.s)", "GROUPING SETS ((x.s), (x.a, x.s))", "x.s, ROLLUP (x.a)", "GROUPING SETS ((x.a), (x.s), ())")
		sql := "SELECT x.s, x.a, count(*) AS n, grouping(x.s, x.a) FROM " + from + where + " GROUP BY " + sets
		if w.chance("outside", 50) {
			return "SELECT * FROM (" + sql + ") z WHERE " + w.pick("outer", "z.s = 'x'", "z.a > 1", "z.s IS NULL", "z.n > 1")
		}
		return sql
	case "group":
		having := ""
		if w.chance("having", 40) {
			having = " HAVING count(*) > 1"
		}
		return "SELECT x.s, count(*), sum(" + w.number(aliases) + ") FROM " + from + where + " GROUP BY x.s" + having
	case "window":
		return "SELECT z.s, z.n, z.w FROM (SELECT x.s AS s, " + w.number(aliases) + " AS n, " + w.window(aliases) + " AS w FROM " + from + where + ") z" +
			w.pick("outer", "", " WHERE z.s = 'x'", " WHERE z.w > 1", " WHERE z.s IS NOT NULL AND z.n > 1")
	case "qualify":
		return "SELECT x.s, sum(x.a) AS n FROM " + from + where + " GROUP BY x.s QUALIFY rank() OVER (ORDER BY count(*)) " + w.pick("qualify", "= 1", "< 3", "> 1")
	case "first":
		return "SELECT z.s, z.n FROM (SELECT DISTINCT ON (x.s) x.s AS s, " + w.number(aliases) + " AS n FROM " + from + where + " ORDER BY x.s, n) z" +
			w.pick("outer", "", " WHERE z.s = 'x'", " WHERE z.n > 1")
	case "copies":
		return "SELECT z.a FROM (SELECT x.a FROM " + from + where + w.pick("all", " EXCEPT ALL ", " INTERSECT ALL ") + "SELECT a FROM u) z" +
			w.pick("outer", "", " WHERE z.a > 1", " WHERE z.a IS NULL")
	case "distinct":
		return "SELECT DISTINCT " + w.number(aliases) + " FROM " + from + where
	case "nested":
		return "SELECT z.n FROM (SELECT " + w.number(aliases) + " AS n, x.s AS s FROM " + from + where + ") z WHERE " +
			w.pick("outer", "z.n > 1", "z.s = 'x'", "z.n IS NULL OR z.s IS NOT NULL", "coalesce(z.n, 1) = 1")
	case "aggregate":
		return "SELECT count(*), max(" + w.number(aliases) + ") FROM " + from + where
	}
	return "SELECT x.a, " + w.number(aliases) + " FROM " + from + where
}

// TestRandomQueries compares the rows of random queries with all passes, without
// any, and with dependent joins run row by row; whatever is believed of the tables.
func TestRandomQueries(t *testing.T) {
	ran, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		p := newPlanner().WithStats(randomStats(rt))
		w := &writer{t: rt}
		sql := w.query()
		plain, all := runText(p, sql, "all"), runText(p, sql, "")
		if strings.HasPrefix(plain, "error 0A000") {
			refused++
		} else {
			ran++
			if naive := runText(p.WithDependent(), sql, "all"); naive != plain {
				rt.Fatalf("%s\nrow by row\n%s%s\nunnested\n%s%s", sql, naive, explained(p.WithDependent(), sql, "all"), plain, explained(p, sql, "all"))
			}
		}
		if strings.HasPrefix(plain, "error") && !strings.HasPrefix(plain, "error 0A000") {
			rt.Fatalf("%s\n%s", sql, plain)
		}
		checkRows(rt, p, sql)
		if plain != all {
			rt.Fatalf("%s\nwithout passes\n%s%s\nwith all\n%s%s", sql, plain, explained(p, sql, "all"), all, explained(p, sql, ""))
		}
	})
	t.Logf("%d queries ran, %d were refused", ran, refused)
}

func explained(p *planner.Planner, sql, off string) string {
	return planText(p, planner.Session{Options: map[string]string{planner.OptionDisabledPasses: off}}, sql)
}
