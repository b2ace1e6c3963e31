package shell

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// writer prints chunks and, at the end, what is left.
type writer interface {
	chunk(*vec.Chunk) error
	end() error
}

func newWriter(f Format, out io.Writer, cols []plan.Column) writer {
	switch f {
	case CSV:
		return newCSV(out, cols)
	case JSON:
		return &jsonWriter{out: out, cols: cols}
	}
	return newTable(out, cols)
}

// maxCell is the widest cell of a table of several columns, in characters. A lone
// column, as a plan or a document, is printed whole.
const maxCell = 60

// tableWriter keeps all cells, for widths are known at the end.
type tableWriter struct {
	out   io.Writer
	right []bool
	rows  [][]string
	width []int
}

func newTable(out io.Writer, cols []plan.Column) *tableWriter {
	t := &tableWriter{out: out, width: make([]int, len(cols))}
	var head []string
	for _, c := range cols {
		head = append(head, c.Name)
		t.right = append(t.right, c.Type.Numeric())
	}
	t.add(head)
	return t
}

func (t *tableWriter) add(cells []string) {
	for i, c := range cells {
		t.width[i] = max(t.width[i], utf8.RuneCountInString(c))
	}
	t.rows = append(t.rows, cells)
}

func (t *tableWriter) chunk(c *vec.Chunk) error {
	for i := range c.Rows() {
		var cells []string
		for _, col := range c.Cols {
			cells = append(cells, cell(col.Value(c.RowAt(i)), len(c.Cols) > 1))
		}
		t.add(cells)
	}
	return nil
}

// cell is a value on one line; cut shortens it where it is too wide.
func cell(v vec.Value, cut bool) string {
	s := strings.NewReplacer("\n", "⏎", "\r", "", "\t", " ").Replace(v.String())
	if !cut || utf8.RuneCountInString(s) <= maxCell {
		return s
	}
	return string([]rune(s)[:maxCell-1]) + "…"
}

func (t *tableWriter) end() error {
	var b strings.Builder
	for i, row := range t.rows {
		for j, c := range row {
			if j > 0 {
				b.WriteString(" │ ")
			}
			pad := strings.Repeat(" ", t.width[j]-utf8.RuneCountInString(c))
			switch {
			case t.right[j]:
				b.WriteString(pad + c)
			case j < len(row)-1:
				b.WriteString(c + pad)
			default:
				b.WriteString(c)
			}
		}
		b.WriteByte('\n')
		if i == 0 {
			for j, w := range t.width {
				if j > 0 {
					b.WriteString("─┼─")
				}
				b.WriteString(strings.Repeat("─", w))
			}
			b.WriteByte('\n')
		}
	}
	n := len(t.rows) - 1
	plural := "s"
	if n == 1 {
		plural = ""
	}
	fmt.Fprintf(&b, "(%d row%s)\n", n, plural)
	_, err := io.WriteString(t.out, b.String())
	return err
}

type csvWriter struct {
	w    *csv.Writer
	cols []plan.Column
}

func newCSV(out io.Writer, cols []plan.Column) *csvWriter {
	w := &csvWriter{w: csv.NewWriter(out), cols: cols}
	var head []string
	for _, c := range cols {
		head = append(head, c.Name)
	}
	_ = w.w.Write(head) // an error shows at the flush
	return w
}

func (w *csvWriter) chunk(c *vec.Chunk) error {
	for i := range c.Rows() {
		var rec []string
		for _, col := range c.Cols {
			v := col.Value(c.RowAt(i))
			if v.Null {
				rec = append(rec, "")
			} else {
				rec = append(rec, v.String())
			}
		}
		if err := w.w.Write(rec); err != nil {
			return err
		}
	}
	return nil
}

func (w *csvWriter) end() error {
	w.w.Flush()
	return w.w.Error()
}

// jsonWriter prints an array of objects, one a line.
type jsonWriter struct {
	out  io.Writer
	cols []plan.Column
	rows int
}

func (w *jsonWriter) chunk(c *vec.Chunk) error {
	var b bytes.Buffer
	for i := range c.Rows() {
		if w.rows == 0 {
			b.WriteString("[\n ")
		} else {
			b.WriteString(",\n ")
		}
		w.rows++
		b.WriteByte('{')
		for j, col := range c.Cols {
			if j > 0 {
				b.WriteByte(',')
			}
			writeJSON(&b, vec.Text(w.cols[j].Name))
			b.WriteByte(':')
			writeJSON(&b, col.Value(c.RowAt(i)))
		}
		b.WriteByte('}')
	}
	_, err := w.out.Write(b.Bytes())
	return err
}

func (w *jsonWriter) end() error {
	text := "\n]\n"
	if w.rows == 0 {
		text = "[]\n"
	}
	_, err := io.WriteString(w.out, text)
	return err
}

func writeJSON(b *bytes.Buffer, v vec.Value) {
	switch {
	case v.Null, v.Type.Kind == types.Double && (math.IsNaN(v.Float) || math.IsInf(v.Float, 0)):
		b.WriteString("null")
		return
	}
	switch v.Type.Kind {
	case types.Boolean, types.Int32, types.Int64, types.Double, types.Decimal, types.Vector:
		b.WriteString(v.String())
	case types.JSON:
		b.WriteString(v.Str)
	case types.Binary:
		writeJSON(b, vec.Text(base64.StdEncoding.EncodeToString([]byte(v.Str))))
	case types.List:
		b.WriteByte('[')
		for i, e := range v.List {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, e)
		}
		b.WriteByte(']')
	default:
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(v.String()) // a string always encodes
		b.Truncate(b.Len() - 1)
	}
}
