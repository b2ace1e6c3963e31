package loam_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// textBatch is a record batch of text columns, whose rows are separated by commas.
func textBatch(columns ...string) arrow.RecordBatch {
	var fields []arrow.Field
	var cols []arrow.Array
	for i := 0; i < len(columns); i += 2 {
		fields = append(fields, arrow.Field{Name: columns[i], Type: arrow.BinaryTypes.String, Nullable: true})
		b := array.NewStringBuilder(memory.DefaultAllocator)
		for v := range strings.SplitSeq(columns[i+1], ",") {
			if v == "NULL" {
				b.AppendNull()
			} else {
				b.Append(v)
			}
		}
		cols = append(cols, b.NewArray())
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, int64(cols[0].Len()))
}

func (n *node) batch(name string, columns ...string) error {
	_, err := n.session.AppendRecords(context.Background(), loam.Target{Name: name}, textBatch(columns...))
	return err
}

// TestDefaultsOfBatches: a column that a batch leaves out has its default in
// upserts, is left alone by patches, and a key is made up only where no row of the
// batch is named by it.
func TestDefaultsOfBatches(t *testing.T) {
	n := opened(t)
	n.ok("CREATE COLLECTION c (id TEXT PRIMARY KEY DEFAULT 'made', t TEXT DEFAULT 'none', k INT DEFAULT 1 + 1, at TIMESTAMP DEFAULT now(), x TEXT, v VECTOR(2) DEFAULT [1, 0])",
		"CREATE TABLE r (u UUID DEFAULT uuid(), s TEXT, l INT[] DEFAULT [1, NULL], d DECIMAL(6,2) DEFAULT 1.005)")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(n.batch("c", "id", "a,b", "x", "1,2"))
	n.want("SELECT id, t, k, x, v, at IS NOT NULL FROM c ORDER BY id", "a\tnone\t2\t1\t[1, 0]\ttrue\nb\tnone\t2\t2\t[1, 0]\ttrue")
	n.want("SELECT count(DISTINCT at) FROM c", "1")
	must(n.batch("c", "id", "a,b,d,a", "x", "3,4,5,6", "_op", "patch,delete,upsert,patch", "t", "T,T,NULL,U"))
	n.want("SELECT id, t, k, x FROM c ORDER BY id", "a\tU\t2\t6\nd\tNULL\t2\t5")
	must(n.batch("c", "x", "7"))
	n.want("SELECT t, k FROM c WHERE id = 'made'", "none\t2")
	if err := n.batch("c", "x", "7", "_op", "delete"); !fail.Is(err, fail.NotNull) {
		t.Errorf("a delete without a key: %v", err)
	}
	n.want("SELECT count(*) FROM c WHERE id = 'made'", "1")
	must(n.batch("r", "s", "a,b,c"))
	n.want("SELECT s, l, d FROM r ORDER BY s", "a\t[1, NULL]\t1.01\nb\t[1, NULL]\t1.01\nc\t[1, NULL]\t1.01")
	n.want("SELECT count(DISTINCT u), count(u) FROM r", "3\t3")

	n.ok("ALTER TABLE r ALTER d SET DEFAULT 99998 + 1")
	if err := n.batch("r", "s", "d"); !fail.Is(err, fail.OutOfRange) || !strings.Contains(err.Error(), "DEFAULT") {
		t.Errorf("a default that does not fit: %v", err)
	}
	n.want("SELECT count(*) FROM r", "3")
}

// TestDefaultsOfDocuments: documents are kept as they are sent, so that one
// without the member of a default is refused.
func TestDefaultsOfDocuments(t *testing.T) {
	n := opened(t)
	n.ok("CREATE COLLECTION docs (id TEXT PRIMARY KEY, t TEXT DEFAULT 'none')")
	if err := n.documents(`{"id":"a","t":"x"}`, `{"id":"b"}`); !fail.Is(err, fail.Unsupported) || !strings.Contains(err.Error(), `document 2 has no member "t"`) {
		t.Errorf("got %v", err)
	}
	if err := n.documents(`{"id":"a","t":"x"}`, `{"id":"b","t":null}`); err != nil {
		t.Error(err)
	}
	if err := n.documents(`{"id":`); err == nil || !strings.Contains(err.Error(), "not a JSON object") {
		t.Errorf("got %v", err)
	}
	n.want("SELECT id, t FROM docs ORDER BY id", "a\tx\nb\tNULL")
}
