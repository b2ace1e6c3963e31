package loam_test

import "testing"

// TestLargeStatements writes more than one log block per statement, as one unit.
func TestLargeStatements(t *testing.T) {
	n := &node{t: t}
	n.open()
	defer n.close()
	for _, sql := range []string{
		"CREATE TABLE big AS SELECT x AS a, repeat('abcdefghij', 20) || x AS b FROM generate_series(1, 60000) g(x)",
		"CREATE COLLECTION docs (id BIGINT PRIMARY KEY, b TEXT)",
		"INSERT INTO docs SELECT a, b FROM big",
		"UPDATE big SET b = 'x' WHERE a <= 1000",
		"DELETE FROM docs WHERE id % 2 = 0",
	} {
		if _, _, err := n.query(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	n.want("SELECT count(*), sum(a), count(DISTINCT b) FROM big", "60000\t1800030000\t59001")
	n.want("SELECT count(*), sum(id) FROM docs", "30000\t900000000")
	n.apply()
	n.want("SELECT count(*), sum(a), count(DISTINCT b) FROM big", "60000\t1800030000\t59001")
	n.want("SELECT count(*), sum(id) FROM docs", "30000\t900000000")
}
