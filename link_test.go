package loam_test

import (
	"fmt"
	"testing"
	"time"
)

// linked makes a source, a target and a link, and waits until the link has read all.
func linked(t *testing.T, rows, options string) *node {
	t.Helper()
	n := opened(t)
	n.ok("CREATE TABLE src (id BIGINT, body TEXT)", "CREATE TABLE dst (id BIGINT NOT NULL, n INT)", rows,
		"CREATE LINK l FROM TABLE src INTO TABLE dst TRANSFORM (SELECT id, CAST(body AS INT) AS n) WITH (batch_interval = '10ms', "+options+")")
	if why := n.links(); why != "" {
		t.Fatal(why)
	}
	return n
}

// Few bad records among many do not make a batch slow: the good ones go on together.
func TestBadRecordsAmongMany(t *testing.T) {
	const rows = 60_000
	n := linked(t, fmt.Sprintf("INSERT INTO src SELECT CASE WHEN i %% 20000 = 7 THEN NULL ELSE i END, CASE WHEN i %% 20000 = 9999 THEN 'bad' ELSE i::TEXT END FROM generate_series(0, %d) AS g(i)", rows-1),
		"on_error = 'dead_letter'")
	n.want("SELECT read, written, dead, skipped, lag_records FROM system.links", fmt.Sprintf("%d\t%d\t6\t0\t0", rows, rows-6))
	n.want("SELECT count(*), count(DISTINCT id), sum(n) FROM dst", fmt.Sprintf("%d\t%d\t%d", rows-6, rows-6, rows*(rows-1)/2-3*7-3*20000-3*9999-3*20000))
	n.want("SELECT source_offset, error_code, record FROM l_dead ORDER BY source_offset LIMIT 2",
		"7\t23502\t{\"id\":null,\"body\":\"7\"}\n9999\t22P02\t{\"id\":9999,\"body\":\"bad\"}")
}

// All records bad is slow at most in proportion, and none is lost.
func TestAllRecordsBad(t *testing.T) {
	const rows = 5_000
	start := time.Now()
	n := linked(t, fmt.Sprintf("INSERT INTO src SELECT i, 'x' || i FROM generate_series(0, %d) AS g(i)", rows-1), "on_error = 'dead_letter'")
	n.want("SELECT read, written, dead FROM system.links", fmt.Sprintf("%d\t0\t%d", rows, rows))
	n.want("SELECT count(*), count(DISTINCT source_offset) FROM l_dead", fmt.Sprintf("%d\t%d", rows, rows))
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

// A link that fails in the middle of a batch has committed what lies before.
func TestFailsAtTheRecord(t *testing.T) {
	n := linked(t, "INSERT INTO src SELECT i, CASE WHEN i IN (137, 140) THEN 'bad' ELSE i::TEXT END FROM generate_series(0, 199) AS g(i)", "on_error = 'fail'")
	n.want("SELECT state, error_offset, read, written, offsets FROM system.links", "failed\t137\t137\t137\t{0: 137}")
	n.want("SELECT count(*), max(id) FROM dst", "137\t136")
	n.close()
	n.open()
	n.want("SELECT state, error_offset FROM system.links", "failed\t137")
	n.ok("RESUME LINK l")
	if why := n.links(); why != "" {
		t.Fatal(why)
	}
	n.want("SELECT state, error_offset, read FROM system.links", "failed\t137\t137")
}

// A batch is as large as its option says, about.
func TestBatchBytes(t *testing.T) {
	n := linked(t, "INSERT INTO src SELECT i, '1' || repeat(' ', 990) FROM generate_series(0, 1999) AS g(i)", "batch_bytes = '100KiB', on_error = 'skip'")
	n.want("SELECT read, batches BETWEEN 15 AND 40 FROM system.links", "2000\ttrue")
}

// A link into a target that takes nothing waits, and skips nothing.
func TestFullTarget(t *testing.T) {
	n := opened(t)
	n.ok("CREATE TABLE src (id BIGINT)", "CREATE TABLE dst (id BIGINT) WITH (max_unapplied_records = 10, batch_interval = '50ms')",
		"INSERT INTO src SELECT i FROM generate_series(0, 99) AS g(i)", "INSERT INTO dst SELECT -i FROM generate_series(1, 20) AS g(i)",
		"CREATE LINK l FROM TABLE src INTO TABLE dst WITH (batch_interval = '10ms')")
	if why := n.links(); why != "" {
		t.Fatal(why)
	}
	n.want("SELECT count(*), count(DISTINCT id) FROM dst", "120\t120")
}

// Two links into one target, one into another that feeds a third: chains work.
func TestChains(t *testing.T) {
	n := opened(t)
	n.ok("CREATE TABLE a (id BIGINT)", "CREATE TABLE b (id BIGINT)", "CREATE TABLE c (id BIGINT, via TEXT)",
		"CREATE LINK ab FROM TABLE a INTO TABLE b WITH (batch_interval = '10ms')",
		"CREATE LINK ac FROM TABLE a INTO TABLE c TRANSFORM (SELECT id, 'a' AS via) WITH (batch_interval = '10ms')",
		"CREATE LINK bc FROM TABLE b INTO TABLE c TRANSFORM (SELECT id, 'b' AS via WHERE id >= 5) WITH (batch_interval = '10ms')",
		"INSERT INTO a SELECT i FROM generate_series(0, 9) AS g(i)")
	for range 3 { // bc has nothing to read until ab has
		if why := n.links(); why != "" {
			t.Fatal(why)
		}
	}
	n.want("SELECT via, count(*), sum(id) FROM c GROUP BY via ORDER BY via", "a\t10\t45\nb\t5\t35")
}

// A source of several partitions is a table with several partitions of rows: the
// offsets of each are kept.
func TestDirectWritesBesideALink(t *testing.T) {
	n := opened(t)
	n.ok("CREATE TABLE src (id TEXT, n INT)", "CREATE COLLECTION dst (id TEXT PRIMARY KEY, n INT) WITH (partitions = 4)",
		"CREATE LINK l FROM TABLE src INTO COLLECTION dst WITH (batch_interval = '10ms')")
	for i := range 20 {
		n.ok(fmt.Sprintf("INSERT INTO src VALUES ('k%d', %d)", i%7, i), fmt.Sprintf("INSERT INTO dst VALUES ('d%d', %d)", i, i))
	}
	if why := n.links(); why != "" {
		t.Fatal(why)
	}
	n.want("SELECT count(*), sum(n) FROM dst WHERE id LIKE 'd%'", "20\t190")
	n.want("SELECT count(*), sum(n) FROM dst WHERE id LIKE 'k%'", "7\t112")
}

// Whatever is wrong with a record, it goes to the dead letters with its code, and
// the good one beside it into the target.
func TestEveryKindOfBadRecord(t *testing.T) {
	n := opened(t)
	n.ok("CREATE STREAM src (kind TEXT, key TEXT, body TEXT)",
		"CREATE COLLECTION dst (id TEXT PRIMARY KEY, n INT, must INT NOT NULL, small VARCHAR(3), x DOUBLE, j JSON, v VECTOR(2), at TIMESTAMP)",
		`CREATE LINK l FROM STREAM src INTO COLLECTION dst TRANSFORM (SELECT key AS id,
			CASE kind WHEN 'cast' THEN body::INT WHEN 'overflow' THEN (body::BIGINT * 1000000)::INT WHEN 'division' THEN 1 / body::INT END AS n,
			CASE WHEN kind <> 'null' THEN 1 END AS must,
			CASE WHEN kind = 'long' THEN body END AS small,
			CASE WHEN kind = 'nan' THEN body::DOUBLE END AS x,
			CASE WHEN kind = 'json' THEN body::JSON END AS j,
			CASE WHEN kind = 'vector' THEN body::VECTOR(2) END AS v,
			CASE WHEN kind = 'time' THEN body::TIMESTAMP END AS at
		WHERE CASE WHEN kind = 'filter' THEN body::BOOLEAN ELSE true END) WITH (on_error = 'dead_letter', batch_interval = '10ms')`,
		`INSERT INTO src VALUES ('good', 'g1', ''), ('cast', 'a', 'x'), ('overflow', 'b', '99999'), ('division', 'c', '0'), ('null', 'd', ''), ('long', 'e', 'abcd'),
		('nan', 'f', 'NaN'), ('json', 'h', '{'), ('vector', 'i', '[1,2,3]'), ('time', 'j', 'soon'), ('filter', 'k', 'maybe'), ('key', NULL, ''), ('good', 'g2', '')`)
	if why := n.links(); why != "" {
		t.Fatal(why)
	}
	n.want("SELECT id FROM dst ORDER BY id", "g1\ng2")
	n.want("SELECT read, written, dead FROM system.links", "13\t2\t11")
	if all, err := n.engine.Links(t.Context()); err != nil || len(all) != 1 || all[0].Read != 13 || all[0].Written != 2 || all[0].Dead != 11 || all[0].State != "running" || all[0].LagRecords != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	n.ok("PAUSE LINK l", "INSERT INTO src VALUES ('good', 'g3', '')")
	if all, err := n.engine.Links(t.Context()); err != nil || len(all) != 1 || all[0].State != "paused" || all[0].LagRecords != 1 || all[0].Lag < 0 || all[0].Offsets[0] != 13 {
		t.Errorf("paused: %+v, %v", all, err)
	}
	n.want("SELECT record->>'kind', error_code FROM l_dead ORDER BY source_offset",
		"cast\t22P02\noverflow\t22003\ndivision\t22012\nnull\t23502\nlong\t22001\nnan\t22003\njson\t22032\nvector\t22L01\ntime\t22007\nfilter\t22P02\nkey\t23502")
	n.want("SELECT error_message FROM l_dead WHERE error_code = '23502' ORDER BY source_offset", "field \"must\" of dst may not be NULL\nkey field \"id\" of dst is NULL")
}

// A link that a stream's retention has overtaken says so instead of passing over
// records, and goes on where the user says.
func TestOvertakenByRetention(t *testing.T) {
	n := opened(t)
	n.ok("CREATE STREAM src (id BIGINT) WITH (retention = '1s', batch_interval = '20ms')", "CREATE TABLE dst (id BIGINT)",
		"CREATE LINK l FROM STREAM src INTO TABLE dst PAUSED WITH (batch_interval = '10ms')", "CREATE LINK fresh FROM STREAM src INTO TABLE dst TRANSFORM (SELECT -id AS id) PAUSED",
		"INSERT INTO src VALUES (1), (2)", "RESUME LINK l")
	if why := n.links(); why != "" {
		t.Fatal(why)
	}
	n.ok("PAUSE LINK l", "INSERT INTO src VALUES (3)")
	n.apply()
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		n.ok("INSERT INTO src VALUES (4)")
		n.apply()
		if rows, _, err := n.query("SELECT count(*) FROM src WHERE id <= 3"); err != nil || rows[0] == "0" {
			break
		}
		if time.Since(start) > time.Minute {
			t.Fatal("retention drops nothing")
		}
	}
	n.want("SELECT oldest_offset >= 3, oldest_offset <= next_offset FROM system.partitions WHERE name = 'src'", "true\ttrue")
	n.ok("RESUME LINK l")
	if why := n.links(); why != "" {
		t.Fatal(why)
	}
	n.want("SELECT state, error_code, read FROM system.links WHERE name = 'l'", "failed\t72001\t2")
	n.ok("RESUME LINK l START EARLIEST", "ALTER LINK fresh SET (batch_interval = '10ms')", "RESUME LINK fresh")
	if why := n.links(); why != "" {
		t.Fatal(why)
	}
	n.want("SELECT name, state, read > 0, lag_records FROM system.links ORDER BY name", "fresh\trunning\ttrue\t0\nl\trunning\ttrue\t0")
	n.want("SELECT count(*) FROM dst WHERE abs(id) = 3", "0")
}
