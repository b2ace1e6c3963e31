package render

import (
	"io"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// Format is how results are printed.
type Format string

// The formats.
const (
	Table    Format = "table"
	Vertical Format = "vertical"
	CSV      Format = "csv"
	JSON     Format = "json"
	JSONL    Format = "jsonl"
	Markdown Format = "markdown"
	Arrow    Format = "arrow"
	Parquet  Format = "parquet"
)

// Formats lists what a result can be printed in; Parquet is for files only.
var Formats = []Format{Table, Vertical, CSV, JSON, JSONL, Markdown, Arrow}

// ParseFormat checks a format's name.
func ParseFormat(s string) (Format, error) {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		if string(f) == strings.ToLower(s) {
			return f, nil
		}
		names[i] = string(f)
	}
	e := fail.New(fail.InvalidParameter, "there is no format %q", s)
	if near := fail.Closest(s, names); near != "" {
		return "", e.WithHint("Did you mean %s? The formats are %s.", near, strings.Join(names, ", "))
	}
	return "", e.WithHint("The formats are %s.", strings.Join(names, ", "))
}

// ForPeople reports a format that is read by people and not by programs.
func (f Format) ForPeople() bool { return f == Table || f == Vertical }

// Expanded says when a table is printed one column a line instead.
type Expanded string

// The values of Expanded. Auto: when the columns do not fit the terminal, or the
// only row does not.
const (
	ExpandedOff  Expanded = "off"
	ExpandedOn   Expanded = "on"
	ExpandedAuto Expanded = "auto"
)

// Options say how.
type Options struct {
	Format Format
	// Width is the width of the terminal in cells; 0 is no terminal, and no fitting.
	Width int
	// Color allows escape sequences.
	Color bool
	// Null stands for NULL in tables; "" is "NULL".
	Null     string
	Expanded Expanded
}

// Writer prints one result. Chunks stay the caller's; End must be called, once,
// also for a result without rows.
type Writer interface {
	Chunk(*vec.Chunk) error
	End() error
}

// New starts to print a result of these columns.
func New(out io.Writer, cols []plan.Column, o Options) (Writer, error) {
	if o.Null == "" {
		o.Null = "NULL"
	}
	switch o.Format {
	case CSV:
		return newCSV(out, cols)
	case JSON:
		return newJSON(out, cols, false), nil
	case JSONL:
		return newJSON(out, cols, true), nil
	case Markdown:
		return newMarkdown(out, cols, o)
	case Arrow:
		return newArrow(out, cols)
	case Parquet:
		return newParquet(out, cols)
	case Vertical:
		return newVertical(out, cols, o), nil
	}
	if o.Expanded == ExpandedOn {
		return newVertical(out, cols, o), nil
	}
	return newTable(out, cols, o), nil
}

// Head is the first n rows of a chunk; it shares the chunk's columns.
func Head(c *vec.Chunk, n int) *vec.Chunk {
	if n >= c.Rows() {
		return c
	}
	h := *c
	h.Sel = make([]int32, n)
	for i := range h.Sel {
		h.Sel[i] = int32(c.RowAt(i))
	}
	return &h
}
