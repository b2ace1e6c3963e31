package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// table reads a result of test text: a line of name:type, then a JSON array a row.
func table(t *testing.T, text string) ([]plan.Column, *vec.Chunk) {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n")
	var cols []plan.Column
	for f := range strings.FieldsSeq(head) {
		name, kind, _ := strings.Cut(f, ":")
		typ, ok := map[string]types.Type{"text": types.Of(types.Text), "int": types.Of(types.Int64), "double": types.Of(types.Double),
			"json": types.Of(types.JSON), "binary": types.Of(types.Binary), "vector": types.VectorOf(0)}[kind]
		if !ok {
			t.Fatalf("no type %q", kind)
		}
		cols = append(cols, plan.Column{Name: strings.ReplaceAll(name, "_", " "), Type: typ})
	}
	var rows [][]json.RawMessage
	for line := range strings.Lines(body) {
		var row []json.RawMessage
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rows = append(rows, row)
		for j, raw := range row {
			var v []float32
			if cols[j].Type.Kind == types.Vector && json.Unmarshal(raw, &v) == nil && v != nil {
				cols[j].Type = types.VectorOf(int32(len(v)))
			}
		}
	}
	c := &vec.Chunk{N: len(rows)}
	for j, col := range cols {
		v := vec.New(col.Type, len(rows))
		for _, row := range rows {
			v.Append(value(t, col.Type, row[j]))
		}
		c.Cols = append(c.Cols, v)
	}
	return cols, c
}

func value(t *testing.T, typ types.Type, raw json.RawMessage) vec.Value {
	t.Helper()
	v := vec.Value{Type: typ}
	if string(raw) == "null" {
		return vec.Null(typ)
	}
	var err error
	switch typ.Kind {
	case types.Int64:
		err = json.Unmarshal(raw, &v.Int)
	case types.Double:
		err = json.Unmarshal(raw, &v.Float)
	case types.Vector:
		err = json.Unmarshal(raw, &v.Vec)
	default:
		err = json.Unmarshal(raw, &v.Str)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRender: what people and programs see, as text. Trailing spaces are shown as ·.
func TestRender(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			o := Options{Expanded: ExpandedAuto, Format: Format(d.Cmd), Color: d.HasArg("color")}
			if d.HasArg("width") {
				d.ScanArgs(t, "width", &o.Width)
			}
			if d.HasArg("null") {
				d.ScanArgs(t, "null", &o.Null)
			}
			if d.HasArg("expanded") {
				var e string
				d.ScanArgs(t, "expanded", &e)
				o.Expanded = Expanded(e)
			}
			cols, c := table(t, d.Input)
			var out bytes.Buffer
			w, err := New(&out, cols, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Chunk(c); err != nil {
				t.Fatal(err)
			}
			if err := w.End(); err != nil {
				t.Fatal(err)
			}
			if o.Width > 0 && !o.Color {
				for line := range strings.Lines(out.String()) {
					if n := Width(strings.TrimSuffix(line, "\n")); n > o.Width && o.Format == Table && o.Expanded == ExpandedAuto && len(cols) > 1 && !strings.Contains(out.String(), "── row") {
						t.Errorf("%d cells, %d are there: %s", n, o.Width, line)
					}
				}
			}
			var b strings.Builder
			for line := range strings.Lines(strings.ReplaceAll(out.String(), "\x1b", "␛")) {
				text := strings.TrimSuffix(line, "\n")
				kept := strings.TrimRight(text, " ")
				b.WriteString(kept + strings.Repeat("·", len(text)-len(kept)) + "\n")
			}
			return b.String()
		})
	})
}

func TestParseFormat(t *testing.T) {
	for _, f := range Formats {
		if got, err := ParseFormat(strings.ToUpper(string(f))); err != nil || got != f {
			t.Errorf("%s: %v %v", f, got, err)
		}
	}
	_, err := ParseFormat("jsn")
	if !fail.Is(err, fail.InvalidParameter) || !strings.Contains(err.Error(), "Did you mean json?") {
		t.Errorf("error %v", err)
	}
	if _, err := ParseFormat("parquet"); err == nil {
		t.Error("parquet goes to files only")
	}
}

func TestWidths(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "Zoë": 3, "Zoe\u0308": 3, "日本": 4, "👍🏽": 2, "👩‍👩‍👧": 2, "🇩🇪": 2, "❤️": 2, "…": 1, "ﾊﾝ": 2,
	} {
		if got := Width(s); got != want {
			t.Errorf("%q is %d cells wide, want %d", s, got, want)
		}
	}
	for _, c := range []struct {
		s     string
		width int
		want  string
	}{{"abcdef", 6, "abcdef"}, {"abcdef", 4, "abc…"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {"👩‍👩‍👧👩‍👩‍👧", 3, "👩‍👩‍👧…"}, {"abc", 0, ""}} {
		if got := Cut(c.s, c.width); got != c.want {
			t.Errorf("cut %q to %d: %q, want %q", c.s, c.width, got, c.want)
		}
	}
}

// TestNothingMovesTheCursor: whatever a cell holds, the table has no character that
// a terminal obeys.
func TestNothingMovesTheCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOf(rapid.Byte()).Draw(t, "raw")
		text := Clean(string(raw) + rapid.String().Draw(t, "text"))
		for _, r := range text {
			if strange(r) {
				t.Fatalf("%q holds %U", text, r)
			}
		}
	})
}

// TestFit: the columns fit where they can, none is below its least width, and no
// cell of room is wasted while a column is cut.
func TestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		natural := rapid.SliceOfN(rapid.IntRange(1, 100), 1, 12).Draw(t, "natural")
		least := make([]int, len(natural))
		sum, sumLeast := 0, 0
		for i, n := range natural {
			least[i] = min(n, rapid.IntRange(1, 20).Draw(t, "least"))
			sum += n
			sumLeast += least[i]
		}
		room := rapid.IntRange(0, 300).Draw(t, "room")
		got, ok := fit(natural, least, room)
		total := 0
		for i, w := range got {
			if w < least[i] || w > natural[i] {
				t.Fatalf("column %d is %d wide, between %d and %d was asked: %v", i, w, least[i], natural[i], got)
			}
			total += w
		}
		switch {
		case ok != (sumLeast <= room):
			t.Fatalf("fits %v, least %d, room %d", ok, sumLeast, room)
		case ok && total != min(sum, room):
			t.Fatalf("%v takes %d of %d cells, natural %v", got, total, room, natural)
		}
	})
}

// TestLongResultsStream: rows after the sample go out as they come.
func TestLongResultsStream(t *testing.T) {
	cols, c := table(t, "id:int s:text\n[1, \"a\"]\n")
	var out bytes.Buffer
	w, err := New(&out, cols, Options{Format: Table, Width: 80})
	if err != nil {
		t.Fatal(err)
	}
	for i := range sampleRows + 5 {
		if err := w.Chunk(c); err != nil {
			t.Fatal(err)
		}
		if lines, want := strings.Count(out.String(), "\n"), i+3; i >= sampleRows-1 && lines != want {
			t.Fatalf("after row %d there are %d lines, want %d", i, lines, want)
		} else if i < sampleRows-1 && lines != 0 {
			t.Fatalf("row %d went out before the widths were known", i)
		}
	}
	_, wide := table(t, "id:int s:text\n[123456, \"much wider than the sample\"]\n")
	if err := w.Chunk(wide); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "\n123456 │ …\n") {
		t.Errorf("a late wide row: %q", out.String()[out.Len()-40:])
	}
}

// TestWholeWithoutTerminal: what a pipe gets is whole, also behind the sample.
func TestWholeWithoutTerminal(t *testing.T) {
	cols, c := table(t, "id:int s:text b:text\n[1, \"a\", \"yes\"]\n")
	var out bytes.Buffer
	w, err := New(&out, cols, Options{Format: Table})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("long ", 50) + "end"
	_, wide := table(t, fmt.Sprintf("id:int s:text b:text\n[123456, %q, \"no\"]\n", long))
	for range sampleRows {
		if err := w.Chunk(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Chunk(wide), w.End()); err != nil {
		t.Fatal(err)
	}
	if want := "\n123456 │ " + long + " │ no\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("a late wide row: %q", out.String()[out.Len()-2*len(long):])
	}
}

func TestHead(t *testing.T) {
	c := &vec.Chunk{N: 4, Sel: []int32{1, 3}}
	if h := Head(c, 1); h.Rows() != 1 || h.RowAt(0) != 1 || Head(c, 2) != c {
		t.Errorf("head %+v", h)
	}
	if h := Head(&vec.Chunk{N: 3}, 2); h.Rows() != 2 || h.RowAt(1) != 1 {
		t.Errorf("head %+v", h)
	}
}

func TestArrowAndParquet(t *testing.T) {
	cols, c := table(t, "id:int title:text emb:vector\n[1, \"a\", [1, 0.5]]\n[2, null, null]\n")
	for _, f := range []Format{Arrow, Parquet} {
		var out bytes.Buffer
		w, err := New(&out, cols, Options{Format: f})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := w.Chunk(c); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
		rows := int64(0)
		if f == Parquet {
			r, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			rows = r.NumRows()
		} else {
			r, err := ipc.NewReader(&out)
			if err != nil {
				t.Fatal(err)
			}
			for r.Next() {
				rows += r.RecordBatch().NumRows()
				if got := fmt.Sprint(r.RecordBatch().Column(1)); got != `["a" (null)]` {
					t.Errorf("titles %s", got)
				}
			}
			if r.Err() != nil {
				t.Error(r.Err())
			}
		}
		if rows != 4 {
			t.Errorf("%s: %d rows", f, rows)
		}
	}
}
