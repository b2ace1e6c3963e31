package loam_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam"
)

// patchBatch gives the documents d0 to d(n-1) the vector [i, x].
func patchBatch(n int, x float32) arrow.RecordBatch {
	ids, ops := array.NewStringBuilder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	emb := array.NewFixedSizeListBuilder(memory.DefaultAllocator, 2, arrow.PrimitiveTypes.Float32)
	items := emb.ValueBuilder().(*array.Float32Builder)
	for i := range n {
		ids.Append(fmt.Sprint("d", i))
		ops.Append("patch")
		emb.Append(true)
		items.AppendValues([]float32{float32(i), x}, nil)
	}
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "_op", Type: arrow.BinaryTypes.String}, {Name: "emb", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)},
	}, nil), []arrow.Array{ids.NewArray(), ops.NewArray(), emb.NewArray()}, int64(n))
}

// TestVectorsChangeInPlace: an UPDATE and a patch of vectors alone leave the rows where
// they are, wherever they are read; older versions and pins read what they did.
func TestVectorsChangeInPlace(t *testing.T) {
	n := opened(t)
	ctx := context.Background()
	n.ok("CREATE COLLECTION docs (id TEXT PRIMARY KEY, body TEXT FULLTEXT 'english', n INT, emb VECTOR(2) DISTANCE l2)",
		"INSERT INTO docs SELECT 'd' || x, 'fox ' || x, x, [x, 0]::VECTOR(2) FROM generate_series(0, 19) AS s(x)")
	n.apply()
	files := func() string {
		t.Helper()
		plan, err := n.session.ScanPlan(ctx, loam.ScanRequest{Target: loam.Target{Name: "docs"}, Tail: loam.TailWait})
		if err != nil {
			t.Fatal(err)
		}
		out := fmt.Sprint("version ", plan.ManifestVersion)
		for _, f := range plan.Fragments {
			out += fmt.Sprintf(", fragment %d: %d of %d rows, %d files", f.ID, f.LiveRows, f.PhysicalRows, len(f.Files))
		}
		return out
	}
	is := func(want string) {
		t.Helper()
		if got := files(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	is("version 1, fragment 0: 20 of 20 rows, 1 files")
	st, err := n.session.Prepare(ctx, "SELECT emb FROM docs WHERE id = 'd3'", nil)
	if err != nil {
		t.Fatal(err)
	}
	pin, err := st.Pin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rowIDs, _, err := n.query("SELECT id, _rowid, _source FROM docs ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}

	n.ok("UPDATE docs SET emb = [0, n] WHERE n < 8")
	is("version 2, fragment 0: 20 of 20 rows, 2 files")
	if _, err := n.session.AppendRecords(ctx, loam.Target{Name: "docs"}, patchBatch(5, 7)); err != nil {
		t.Fatal(err)
	}
	n.want("SELECT emb FROM docs WHERE id = 'd4'", "[4, 7]") // out of the tail
	is("version 3, fragment 0: 20 of 20 rows, 2 files")
	n.want("SELECT id, _rowid, _source FROM docs ORDER BY id", strings.Join(rowIDs, "\n"))
	n.want("SELECT id, emb FROM docs WHERE n BETWEEN 3 AND 9 ORDER BY n", "d3\t[3, 7]\nd4\t[4, 7]\nd5\t[0, 5]\nd6\t[0, 6]\nd7\t[0, 7]\nd8\t[8, 0]\nd9\t[9, 0]")
	n.want("SELECT id FROM vector_search(docs, [4, 7], limit => 3)", "d4\nd3\nd2")
	n.want("SELECT id FROM vector_search(docs AT (VERSION => 2), [0, 4], limit => 3)", "d4\nd3\nd5")
	n.want("SELECT id FROM vector_search(docs AT (VERSION => 1), [4, 0], limit => 1)", "d4")
	n.want("SELECT id FROM text_search(docs, '4') WHERE n < 8", "d4")
	n.want("SELECT count(*), count(DISTINCT _ingest_offset), max(_ingest_offset) FROM docs", "20\t20\t32")
	n.want("SELECT count(*) FROM docs WHERE _ingest_ts > (SELECT max(_ingest_ts) FROM docs AT (VERSION => 2))", "5")
	old, err := st.ExecutePinned(ctx, pin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Close() }()
	if c, err := old.Next(ctx); err != nil || c.Cols[0].Value(c.RowAt(0)).String() != "[3, 0]" {
		t.Errorf("the pin: %v, %v", c, err)
	}

	n.ok("UPDATE docs SET emb = [1, 1] WHERE n = 19") // one row of twenty moves
	is("version 4, fragment 0: 19 of 20 rows, 2 files, fragment 1: 1 of 1 rows, 1 files")
	n.ok("UPDATE docs SET emb = [1, 1], n = n + 100 WHERE n < 10") // not vectors alone
	is("version 5, fragment 0: 9 of 20 rows, 2 files, fragment 1: 1 of 1 rows, 1 files, fragment 2: 10 of 10 rows, 1 files")
	n.want("SELECT count(*), count(DISTINCT id), sum(n) FROM docs", "20\t20\t1190")
}
