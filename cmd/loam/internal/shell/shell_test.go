package shell

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// fixed answers every statement with the same rows.
type fixed struct {
	cols []plan.Column
	rows []*vec.Chunk
}

func (f *fixed) Next(context.Context) (*vec.Chunk, error) {
	if len(f.rows) == 0 {
		return nil, nil
	}
	c := f.rows[0]
	f.rows = f.rows[1:]
	return c, nil
}

func (f *fixed) Close() error { return nil }

func sample() *fixed {
	cols := []plan.Column{{Name: "name", Type: types.Of(types.Text)}, {Name: "n", Type: types.Of(types.Int64)}, {Name: "v", Type: types.VectorOf(2)}, {Name: "raw", Type: types.Of(types.Binary)}}
	c := &vec.Chunk{N: 3, Sel: []int32{0, 2}}
	for _, col := range cols {
		c.Cols = append(c.Cols, vec.New(col.Type, 3))
	}
	add := func(vals ...vec.Value) {
		for i, v := range vals {
			c.Cols[i].Append(v)
		}
	}
	bin := func(s string) vec.Value { return vec.Value{Type: types.Of(types.Binary), Str: s} }
	add(vec.Text("Zoë \"Q\""), vec.Int64(7), vec.VectorValue([]float32{1, 0.5}), bin("a"))
	add(vec.Text("left out"), vec.Int64(0), vec.VectorValue([]float32{0, 0}), bin(""))
	add(vec.Text("two\nlines"), vec.Null(types.Of(types.Int64)), vec.Null(types.VectorOf(2)), bin("\x00\xff"))
	return &fixed{cols, []*vec.Chunk{c}}
}

func TestFormats(t *testing.T) {
	want := map[Format]string{
		Table: "name      │    n │ v        │ raw\n" +
			"──────────┼──────┼──────────┼───────\n" +
			"Zoë \"Q\"   │    7 │ [1, 0.5] │ \\x61\n" +
			"two⏎lines │ NULL │ NULL     │ \\x00ff\n" +
			"(2 rows)\n",
		CSV:  "name,n,v,raw\n\"Zoë \"\"Q\"\"\",7,\"[1, 0.5]\",\\x61\n\"two\nlines\",,,\\x00ff\n",
		JSON: "[\n {\"name\":\"Zoë \\\"Q\\\"\",\"n\":7,\"v\":[1, 0.5],\"raw\":\"YQ==\"},\n {\"name\":\"two\\nlines\",\"n\":null,\"v\":null,\"raw\":\"AP8=\"}\n]\n",
	}
	for f, text := range want {
		var out, errs bytes.Buffer
		run := func(context.Context, string) (*Answer, error) {
			s := sample()
			return &Answer{Columns: s.cols, Affected: -1, Rows: s}, nil
		}
		if !Run(context.Background(), run, "SELECT 1", f, &out, &errs) || out.String() != text {
			t.Errorf("%s:\n%s%s", f, out.String(), errs.String())
		}
	}
}

func TestOnlyTheLastResultIsPrinted(t *testing.T) {
	var ran []string
	run := func(_ context.Context, sql string) (*Answer, error) {
		ran = append(ran, sql)
		if strings.Contains(sql, "fail") {
			return nil, fail.New(fail.UndefinedColumn, "no such column").At(sql, 7)
		}
		return &Answer{Affected: int64(len(ran))}, nil
	}
	var out, errs bytes.Buffer
	if !Run(context.Background(), run, "SELECT 1; ; SELECT 2 ; ", Table, &out, &errs) || out.String() != "OK, 2 rows\n" {
		t.Errorf("out %q, err %q", out.String(), errs.String())
	}
	out.Reset()
	if Run(context.Background(), run, "SELECT 1; SELECT failing; SELECT 3", Table, &out, &errs) {
		t.Error("a script with a failing statement succeeded")
	}
	if len(ran) != 4 {
		t.Errorf("after the error the script went on: %q", ran)
	}
	if want := "ERROR 42703: no such column\nLINE 1, COLUMN 18:\n  SELECT 1; SELECT failing; SELECT 3\n                   ^\n"; errs.String() != want {
		t.Errorf("error\n%s\nwant\n%s", errs.String(), want)
	}
}

// TestThePlaceIsTheStatements, not that of a comment with the same words.
func TestThePlaceIsTheStatements(t *testing.T) {
	run := func(_ context.Context, sql string) (*Answer, error) {
		return nil, fail.New(fail.UndefinedColumn, "no such column").At(sql, 7)
	}
	var out, errs bytes.Buffer
	Run(context.Background(), run, "-- SELECT a\n  SELECT a ;", Table, &out, &errs)
	if want := "ERROR 42703: no such column\nLINE 2, COLUMN 10:\n    SELECT a ;\n           ^\n"; errs.String() != want {
		t.Errorf("error\n%s\nwant\n%s", errs.String(), want)
	}
}

func TestWideCellsAreCut(t *testing.T) {
	if got := cell(vec.Text(strings.Repeat("ä", 100)), false); len([]rune(got)) != 100 {
		t.Errorf("a lone column was cut: %q", got)
	}
	if got := cell(vec.Text(strings.Repeat("ä", 100)), true); len([]rune(got)) != maxCell || !strings.HasSuffix(got, "…") {
		t.Errorf("cell %q", got)
	}
}
