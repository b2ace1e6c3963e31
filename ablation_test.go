package loam_test

import (
	"sort"
	"strings"
	"testing"

	"github.com/loamdb/loam/planner"
)

// ablationSetup makes two tables and two collections with NULLs, repeated keys
// and rows both applied and in the tail.
var ablationSetup = []string{
	"CREATE TABLE emp (id INT, name TEXT, dept INT, sal INT, hired DATE)",
	"CREATE TABLE dept (id INT, name TEXT, cap INT)",
	"CREATE TABLE none (id INT, x TEXT)",
	"CREATE TABLE nums AS SELECT x, x % 7 AS m, CASE WHEN x % 5 = 0 THEN NULL ELSE x % 11 END AS n FROM generate_series(1, 3000) s(x)",
	"CREATE COLLECTION docs (id TEXT PRIMARY KEY, title TEXT FULLTEXT 'english', lang TEXT, year INT, emb VECTOR(2) DISTANCE cosine)",
	"INSERT INTO emp VALUES (1,'ann',10,100,'2020-01-01'),(2,'bob',10,200,'2020-02-01'),(3,'cid',20,150,NULL),(4,'dan',20,NULL,'2021-01-01'),(5,'eve',NULL,300,'2021-06-01')",
	"INSERT INTO dept VALUES (10,'ten',150),(20,'twenty',400),(30,'thirty',NULL)",
	"INSERT INTO docs VALUES ('a','quick brown fox','en',2020,[1,0]),('b','lazy dog','en',2021,[0,1]),('c','foxes and dogs','de',2022,[1,1])",
	"apply",
	"INSERT INTO emp VALUES (6,'fay',30,50,'2022-01-01'),(7,'gus',99,70,NULL),(8,'hal',10,100,'2020-01-01')",
	"INSERT INTO dept VALUES (40,'forty',10)",
	"INSERT INTO docs VALUES ('a','slow brown fox','en',2023,[1,0.5]),('d','a fox a dog','fr',NULL,[-1,0]),('e',NULL,'en',2021,NULL)",
	"DELETE FROM docs WHERE id = 'b'",
}

// ablationQueries are queries whose answer no pass may change. Where ORDER BY
// leaves ties, the select list does too.
var ablationQueries = []string{
	"SELECT * FROM emp",
	"SELECT id FROM emp WHERE sal > 90 AND sal < 250 ORDER BY id",
	"SELECT id FROM emp WHERE NOT (sal > 100 OR dept IS NULL)",
	"SELECT id FROM emp WHERE 1 = 1 AND (false OR dept = 10)",
	"SELECT id FROM emp WHERE sal + 0 = 100 AND 2 > 1",
	"SELECT id FROM emp WHERE false",
	"SELECT id FROM emp WHERE NULL",
	"SELECT id FROM emp WHERE name LIKE 'a%' OR name IN ('bob', 'gus')",
	"SELECT id FROM emp WHERE hired BETWEEN '2020-01-15' AND '2021-12-31'",
	"SELECT sal * 2 AS d FROM emp WHERE d > 150",
	"SELECT e.name, d.name FROM emp e JOIN dept d ON e.dept = d.id",
	"SELECT e.name, d.name FROM emp e LEFT JOIN dept d ON e.dept = d.id",
	"SELECT e.name, d.name FROM emp e RIGHT JOIN dept d ON e.dept = d.id",
	"SELECT e.name, d.name FROM emp e FULL JOIN dept d ON e.dept = d.id",
	"SELECT e.name, d.name FROM emp e LEFT JOIN dept d ON e.dept = d.id WHERE d.cap > 100",
	"SELECT e.name, d.name FROM emp e LEFT JOIN dept d ON e.dept = d.id WHERE d.cap IS NULL",
	"SELECT e.name, d.name FROM emp e LEFT JOIN dept d ON e.dept = d.id AND e.sal > 100",
	"SELECT e.name, d.name FROM emp e LEFT JOIN dept d ON e.dept = d.id AND d.cap > 200 WHERE coalesce(d.cap, 0) < 500",
	"SELECT e.name, d.name FROM emp e FULL JOIN dept d ON e.dept = d.id WHERE e.sal > 60",
	"SELECT e.name, d.name FROM emp e FULL JOIN dept d ON e.dept = d.id WHERE d.id > 10 AND e.id IS NOT NULL",
	"SELECT e.name, n.x FROM emp e LEFT JOIN none n ON e.id = n.id WHERE n.x IS NULL",
	"SELECT e.name FROM emp e SEMI JOIN dept d ON e.dept = d.id AND d.cap > e.sal",
	"SELECT e.name FROM emp e ANTI JOIN dept d ON e.dept = d.id AND d.cap > e.sal",
	"SELECT a.name, b.name FROM emp a, emp b WHERE a.dept = b.dept AND a.id < b.id",
	"SELECT a.id, b.id, d.name FROM emp a, emp b, dept d WHERE a.dept = d.id AND b.dept = d.id AND a.sal < b.sal",
	"SELECT count(*) FROM emp, dept, none",
	"SELECT count(*) FROM nums a JOIN nums b ON a.x = b.x JOIN nums c ON b.x = c.x AND c.m = 3",
	"SELECT a.m, count(*) FROM nums a LEFT JOIN nums b ON a.n = b.x WHERE a.x < 200 GROUP BY a.m",
	"SELECT dept, count(*), sum(sal), min(name) FROM emp GROUP BY dept",
	"SELECT dept, count(*) FROM emp WHERE sal IS NOT NULL GROUP BY dept HAVING count(*) > 1 AND dept = 10",
	"SELECT m, n, count(*) FROM nums GROUP BY m, n HAVING sum(x) > 50000",
	"SELECT g.dept, g.c FROM (SELECT dept, count(*) AS c FROM emp GROUP BY dept) g WHERE g.dept > 10 AND g.c > 1",
	"SELECT count(*), count(DISTINCT m), sum(n) FILTER (WHERE m = 2) FROM nums",
	"SELECT count(*), max(sal) FROM emp WHERE false",
	"SELECT DISTINCT dept FROM emp WHERE dept < 50",
	"SELECT x FROM nums ORDER BY n DESC NULLS LAST, x LIMIT 5",
	"SELECT x FROM nums ORDER BY m, x LIMIT 5 OFFSET 100",
	"SELECT id FROM (SELECT id, sal FROM emp ORDER BY sal DESC NULLS LAST, id LIMIT 4) s WHERE id > 1 ORDER BY id",
	"SELECT id FROM (SELECT id FROM emp ORDER BY id LIMIT 5) s ORDER BY id DESC LIMIT 2",
	"SELECT count(*) FROM (SELECT x FROM nums LIMIT 10) s",
	"SELECT count(*) FROM (SELECT x FROM nums WHERE m = 1 LIMIT 7 OFFSET 2) s",
	"SELECT count(*) FROM (SELECT e.id FROM emp e LEFT JOIN dept d ON e.dept = d.id LIMIT 3) s",
	"SELECT x FROM (SELECT x FROM nums UNION ALL SELECT x + 10000 FROM nums) u WHERE x % 1000 = 1 ORDER BY x DESC LIMIT 3",
	"SELECT m FROM nums UNION SELECT dept FROM emp",
	"SELECT m FROM nums INTERSECT SELECT n FROM nums WHERE n > 3",
	"SELECT n FROM nums EXCEPT SELECT m FROM nums",
	"SELECT name FROM emp WHERE dept IN (SELECT id FROM dept WHERE cap > 100)",
	"SELECT name FROM emp WHERE dept NOT IN (SELECT id FROM dept WHERE cap > 100)",
	"SELECT name FROM dept WHERE id NOT IN (SELECT dept FROM emp)",
	"SELECT name FROM emp e WHERE EXISTS (SELECT 1 FROM dept d WHERE d.id = e.dept AND d.cap > e.sal) OR e.sal = 70",
	"SELECT d.name, (SELECT count(*) FROM emp e WHERE e.dept = d.id) AS n, (SELECT max(sal) FROM emp e WHERE e.dept = d.id) FROM dept d",
	"SELECT name FROM emp e WHERE sal = (SELECT max(sal) FROM emp x WHERE x.dept = e.dept)",
	"SELECT name FROM emp WHERE sal > (SELECT avg(sal) FROM emp) AND id < 100",
	"SELECT e.id, l.s FROM emp e, LATERAL (SELECT sum(cap) AS s FROM dept d WHERE d.id >= e.dept) l WHERE l.s > 100",
	"WITH a AS (SELECT dept, sum(sal) AS s FROM emp GROUP BY dept) SELECT d.name, a.s FROM a JOIN dept d ON d.id = a.dept WHERE a.s > 100",
	"SELECT CASE WHEN sal > 100 THEN 'hi' ELSE 'lo' END AS k, count(*) FROM emp GROUP BY k",
	"SELECT coalesce(1, sal / 0) FROM emp WHERE id = 1",
	"SELECT id FROM emp WHERE sal <> 0 AND 1000 / sal > 5",
	"SELECT id, lang, year FROM docs WHERE lang = 'en' AND year > 2020",
	"SELECT id, title FROM docs WHERE id = 'a'",
	"SELECT id, _score FROM vector_search(docs, [1, 0])",
	"SELECT id, _score FROM vector_search(docs, [1, 0], limit => 2) WHERE lang = 'en'",
	"SELECT id FROM vector_search(docs, [1, 0]) WHERE lang = 'de' AND _score > 0.1 LIMIT 2",
	"SELECT id FROM vector_search(docs, [1, 0]) ORDER BY _score DESC LIMIT 2",
	"SELECT id, _score FROM text_search(docs, 'fox') WHERE year IS NOT NULL",
	"SELECT s.id FROM (SELECT id, lang FROM text_search(docs, 'fox dog')) s WHERE s.lang <> 'fr' LIMIT 1",
	"SELECT id, _fused_score FROM rrf(text_search(docs, 'fox'), vector_search(docs, [1, 0])) WHERE lang <> 'de'",
	"SELECT s.id, e.name FROM text_search(docs, 'fox') s JOIN emp e ON e.id = s.year - 2019",
	"SELECT lang, count(*) FROM vector_search(docs, [0, 1]) GROUP BY lang",
	"SELECT e.id, s.id FROM emp e LEFT JOIN vector_search(docs, [1, 0.5], limit => 1) s ON e.id = s.year - 2019 WHERE s.lang = 'de'",
	"SELECT e.id, s.id FROM emp e LEFT JOIN vector_search(docs, [1, 0.5], limit => 1) s ON e.id = s.year - 2019 AND s.lang = 'de'",
	"SELECT id FROM vector_search(docs, [1, 0.5], limit => 1) WHERE lang = 'de' OR (_score > 5 AND false)",
	"SELECT id FROM (SELECT id, lang FROM vector_search(docs, [1, 0.5]) LIMIT 1) s WHERE lang = 'de'",
	"SELECT lang, count(*) FROM vector_search(docs, [1, 0.5], limit => 1) GROUP BY lang HAVING lang = 'de'",
}

// TestAblation runs queries with all optimizer passes, with none, and with each
// one off: the rows are the same.
func TestAblation(t *testing.T) {
	n := &node{t: t, dir: t.TempDir()}
	n.open()
	defer n.close()
	for _, sql := range ablationSetup {
		if sql == "apply" {
			n.apply()
			continue
		}
		if _, _, err := n.query(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	want := make([]string, len(ablationQueries))
	for i, sql := range ablationQueries {
		want[i] = n.answer(sql)
		if strings.HasPrefix(want[i], "error") {
			t.Errorf("%s: %s", sql, want[i])
		}
	}
	for _, off := range append([]string{"all"}, planner.PassNames()...) {
		if _, _, err := n.query("SET disabled_passes = '" + off + "'"); err != nil {
			t.Fatal(err)
		}
		for i, sql := range ablationQueries {
			if got := n.answer(sql); got != want[i] {
				t.Errorf("without %s: %s\ngot\n%s\nwith all passes\n%s", off, sql, got, want[i])
			}
		}
	}
}

// answer is the rows of a query, in order when it asks for one.
func (n *node) answer(sql string) string {
	rows, _, err := n.query(sql)
	if err != nil {
		return "error " + err.Error()
	}
	if !strings.Contains(sql, "ORDER BY") || strings.HasPrefix(sql, "SELECT count") {
		sort.Strings(rows)
	}
	return strings.Join(rows, "\n")
}
