package rest

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// stream is an Arrow stream of one batch a list, with the columns id and n.
func stream(t *testing.T, batches ...[]int64) string {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "n", Type: arrow.BinaryTypes.String}}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	for _, ids := range batches {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		b.Field(0).(*array.Int64Builder).AppendValues(ids, nil)
		for range ids {
			b.Field(1).(*array.StringBuilder).Append("x")
		}
		rec := b.NewRecordBatch()
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		b.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestUploads: an Arrow stream goes into collections and tables; what stops it
// says what is written.
func TestUploads(t *testing.T) {
	s := real(t, Options{MaxBulkBytes: 1 << 20})
	s.run("CREATE COLLECTION docs (id BIGINT PRIMARY KEY, n TEXT)", "CREATE TABLE tab (id BIGINT, n TEXT)")
	whole := stream(t, []int64{1, 2}, []int64{}, []int64{2, 3})
	big := make([]int64, 200_000)
	for _, c := range []struct {
		name, path, body string
		status           int
		words            string
	}{
		{"a collection", "collections/docs", whole, 200, `"rows":4`},
		{"a table", "tables/tab", whole, 200, `"rows":4`},
		{"no batch", "tables/tab", stream(t), 200, `"rows":0`},
		{"nothing", "tables/tab", "", 400, "holds no Arrow stream"},
		{"not Arrow", "tables/tab", `{"id": 1}`, 400, "malformed"},
		{"cut", "tables/tab", whole[:len(whole)-100], 400, `"bulk":{"rows":2,`},
		{"too large", "tables/tab", stream(t, []int64{7}, big), 413, `"bulk":{"rows":1,`},
		{"no such table", "tables/nope", whole, 404, ""},
		{"a table among the collections", "collections/tab", whole, 400, "/tables/tab"},
	} {
		r := s.do("POST", "/v1/namespaces/public/"+c.path+"/rows", c.body, "Content-Type", mediaArrow)
		if r.StatusCode != c.status || !strings.Contains(r.body, c.words) {
			t.Errorf("%s: %d %s", c.name, r.StatusCode, r.body)
		}
		if c.status == http.StatusOK && c.words != `"rows":0` && !strings.HasPrefix(r.Header.Get(headerToken), "v1:") {
			t.Errorf("%s: no token", c.name)
		}
	}
	if r := s.do("POST", "/v1/namespaces/public/tables/tab/rows", `[]`); r.StatusCode != 415 || !strings.Contains(r.body, mediaArrow) {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	r := s.sql(`{"sql":"SELECT (SELECT count(*) FROM docs), (SELECT count(*) FROM tab), (SELECT max(id) FROM tab)"}`)
	if !strings.Contains(r.body, "[[3,7,7]]") {
		t.Error(r.body)
	}
}
