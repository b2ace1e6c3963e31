package schema_test

import (
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
)

func TestFieldByName(t *testing.T) {
	obj := &schema.Object{Fields: []schema.Field{{ID: 1, Name: "id"}, {ID: 2, Name: "Title"}, {ID: 3, Name: "title"}, {ID: 4, Name: "TITLE"}, {ID: 5, Name: "Größe"}}, Key: []int{0}}
	for _, c := range []struct {
		name   string
		quoted bool
		id     int32 // 0: none
		n      int
	}{
		{"id", false, 1, 1}, {"ID", false, 1, 1}, {"ID", true, 0, 0}, {"id", true, 1, 1},
		{"title", false, 3, 1}, {"Title", true, 2, 1}, {"tITLE", false, 0, 3}, {"tITLE", true, 0, 0},
		{"GRÖSSE", false, 0, 0}, {"größe", false, 5, 1}, {"", false, 0, 0},
	} {
		f, n := obj.FieldByName(c.name, c.quoted)
		if n != c.n || (f == nil) != (c.id == 0) || f != nil && f.ID != c.id {
			t.Errorf("%q quoted %t: %v, %d", c.name, c.quoted, f, n)
		}
	}
	if !obj.IsKey(0) || obj.IsKey(1) {
		t.Error("the key is id")
	}
	if got := strings.Join(obj.FieldNames(), " "); got != "id Title title TITLE Größe" {
		t.Error(got)
	}
}

// TestSystemColumns pins the names and types that clients select.
func TestSystemColumns(t *testing.T) {
	list := func(kind schema.Kind) string {
		var out []string
		for _, f := range schema.SystemColumns(kind) {
			out = append(out, f.Name+" "+f.Type.String())
		}
		return strings.Join(out, ", ")
	}
	table := "_ingest_partition INT, _ingest_offset BIGINT, _ingest_ts TIMESTAMP, _rowid BIGINT"
	if got := list(schema.Table); got != table {
		t.Error(got)
	}
	if got := list(schema.Collection); got != "_pk TEXT, _source BINARY, "+table {
		t.Error(got)
	}
	if !schema.SystemColumns(schema.Collection)[0].Type.Equal(types.Of(types.Text)) {
		t.Error("_pk is TEXT")
	}
}
