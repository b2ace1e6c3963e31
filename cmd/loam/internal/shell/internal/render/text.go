package render

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strings"

	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// csvWriter prints RFC 4180 with bare line feeds. NULL is nothing and an empty
// text is "", as COPY of PostgreSQL has it.
type csvWriter struct {
	out  io.Writer
	cols int
}

func newCSV(out io.Writer, cols []plan.Column) (*csvWriter, error) {
	var b strings.Builder
	for i, c := range cols {
		csvField(&b, i, c.Name)
	}
	b.WriteByte('\n')
	return &csvWriter{out: out, cols: len(cols)}, flush(out, &b)
}

func csvField(b *strings.Builder, i int, s string) {
	if i > 0 {
		b.WriteByte(',')
	}
	if s != "" && !strings.ContainsAny(s, ",\"\r\n") && s[0] != ' ' && s[len(s)-1] != ' ' && s != `\.` {
		b.WriteString(s)
		return
	}
	b.WriteByte('"')
	b.WriteString(strings.ReplaceAll(s, `"`, `""`))
	b.WriteByte('"')
}

// Chunk implements Writer.
func (w *csvWriter) Chunk(c *vec.Chunk) error {
	var b strings.Builder
	for i := range c.Rows() {
		for j, col := range c.Cols {
			v := col.Value(c.RowAt(i))
			if !v.Null {
				csvField(&b, j, v.String())
			} else if j > 0 {
				b.WriteByte(',')
			}
		}
		b.WriteByte('\n')
	}
	return flush(w.out, &b)
}

// End implements Writer.
func (w *csvWriter) End() error { return nil }

// jsonWriter prints an array of objects, one a line, or the objects alone.
type jsonWriter struct {
	out   io.Writer
	lines bool
	rows  int
	keys  []string // "name": of each column
}

func newJSON(out io.Writer, cols []plan.Column, lines bool) *jsonWriter {
	w := &jsonWriter{out: out, lines: lines}
	for i, c := range cols {
		var b bytes.Buffer
		if i > 0 {
			b.WriteByte(',')
		}
		quoteJSON(&b, c.Name)
		b.WriteByte(':')
		w.keys = append(w.keys, b.String())
	}
	return w
}

// Chunk implements Writer.
func (w *jsonWriter) Chunk(c *vec.Chunk) error {
	var b bytes.Buffer
	for i := range c.Rows() {
		switch {
		case w.lines:
		case w.rows == 0:
			b.WriteString("[\n ")
		default:
			b.WriteString(",\n ")
		}
		w.rows++
		b.WriteByte('{')
		for j, col := range c.Cols {
			b.WriteString(w.keys[j])
			writeJSON(&b, col.Value(c.RowAt(i)), w.lines)
		}
		b.WriteByte('}')
		if w.lines {
			b.WriteByte('\n')
		}
	}
	_, err := w.out.Write(b.Bytes())
	return err
}

// End implements Writer.
func (w *jsonWriter) End() error {
	text := "\n]\n"
	switch {
	case w.lines:
		return nil
	case w.rows == 0:
		text = "[]\n"
	}
	_, err := io.WriteString(w.out, text)
	return err
}

// writeJSON writes one value; compact keeps a JSON document on one line.
func writeJSON(b *bytes.Buffer, v vec.Value, compact bool) {
	switch {
	case v.Null, v.Type.Kind == types.Double && (math.IsNaN(v.Float) || math.IsInf(v.Float, 0)):
		b.WriteString("null")
		return
	}
	switch v.Type.Kind {
	case types.Boolean, types.Int32, types.Int64, types.Double, types.Decimal, types.Vector:
		b.WriteString(v.String())
	case types.JSON:
		if !compact || json.Compact(b, []byte(v.Str)) != nil {
			b.WriteString(v.Str)
		}
	case types.Binary:
		quoteJSON(b, base64.StdEncoding.EncodeToString([]byte(v.Str)))
	case types.List:
		b.WriteByte('[')
		for i, e := range v.List {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, e, compact)
		}
		b.WriteByte(']')
	case types.Struct, types.Map:
		writeObject(b, v, compact)
	default:
		quoteJSON(b, v.String())
	}
}

// quoteJSON writes a string. Most have nothing to escape.
func quoteJSON(b *bytes.Buffer, s string) {
	if plain(s) && strings.IndexByte(s, '"') < 0 && strings.IndexByte(s, '\\') < 0 {
		b.WriteByte('"')
		b.WriteString(s)
		b.WriteByte('"')
		return
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	b.Truncate(b.Len() - 1)
}

// writeObject writes a struct, or a map by the texts of its keys.
func writeObject(b *bytes.Buffer, v vec.Value, compact bool) {
	b.WriteByte('{')
	for i, e := range v.List {
		if i > 0 {
			b.WriteByte(',')
		}
		name := vec.Text("")
		if v.Type.Kind == types.Map {
			name.Str, e = e.List[0].String(), e.List[1]
		} else {
			name.Str = v.Type.Fields[i].Name
		}
		writeJSON(b, name, compact)
		b.WriteByte(':')
		writeJSON(b, e, compact)
	}
	b.WriteByte('}')
}

// markdownWriter prints a table of GitHub's Markdown.
type markdownWriter struct {
	out io.Writer
	o   Options
}

var markdownEscapes = strings.NewReplacer("|", `\|`, "\r\n", "<br>", "\n", "<br>", "\r", "<br>")

func newMarkdown(out io.Writer, cols []plan.Column, o Options) (*markdownWriter, error) {
	var head, rule strings.Builder
	for _, c := range cols {
		head.WriteString("| " + Clean(markdownEscapes.Replace(c.Name)) + " ")
		if c.Type.Numeric() {
			rule.WriteString("| ---: ")
		} else {
			rule.WriteString("| --- ")
		}
	}
	head.WriteString("|\n" + rule.String() + "|\n")
	return &markdownWriter{out: out, o: o}, flush(out, &head)
}

// Chunk implements Writer.
func (w *markdownWriter) Chunk(c *vec.Chunk) error {
	var b strings.Builder
	for i := range c.Rows() {
		for _, col := range c.Cols {
			v := col.Value(c.RowAt(i))
			text := w.o.Null
			if !v.Null {
				if text = v.String(); !plain(text) || strings.IndexByte(text, '|') >= 0 {
					text = Clean(markdownEscapes.Replace(text))
				}
			}
			b.WriteString("| " + text + " ")
		}
		b.WriteString("|\n")
	}
	return flush(w.out, &b)
}

// End implements Writer.
func (w *markdownWriter) End() error { return nil }
