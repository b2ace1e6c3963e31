package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// ruleWidth is the width of the line over a record where there is no terminal.
const ruleWidth = 40

// verticalWriter prints one column a line, text whole.
type verticalWriter struct {
	out   io.Writer
	o     Options
	names []string // padded
	pad   int
	short bool // long vectors are abbreviated
	rows  int
}

func newVertical(out io.Writer, cols []plan.Column, o Options) *verticalWriter {
	w := &verticalWriter{out: out, o: o}
	for _, c := range cols {
		w.names = append(w.names, Clean(c.Name))
		w.pad = max(w.pad, Width(w.names[len(w.names)-1]))
	}
	for i, n := range w.names {
		w.names[i] = n + strings.Repeat(" ", w.pad-Width(n))
	}
	return w
}

// Chunk implements Writer.
func (w *verticalWriter) Chunk(c *vec.Chunk) error {
	var b strings.Builder
	row := make([]vec.Value, len(c.Cols))
	for i := range c.Rows() {
		for j, col := range c.Cols {
			row[j] = col.Value(c.RowAt(i))
		}
		w.row(&b, row)
	}
	return flush(w.out, &b)
}

// End implements Writer.
func (w *verticalWriter) End() error { return nil }

func (w *verticalWriter) row(b *strings.Builder, row []vec.Value) {
	w.rows++
	title := fmt.Sprintf("── row %d ", w.rows)
	width := ruleWidth
	if w.o.Width > 0 {
		width = min(w.o.Width, 2*ruleWidth)
	}
	title += strings.Repeat("─", max(width-Width(title), 0))
	b.WriteString(w.o.paint(dim, title))
	b.WriteByte('\n')
	bar := w.o.paint(dim, " │ ")
	for j, v := range row {
		b.WriteString(w.o.paint(bold, w.names[j]))
		if v.Null {
			b.WriteString(bar + w.o.paint(dim, w.o.Null) + "\n")
			continue
		}
		text := v.String()
		if k := v.Type.Kind; w.short && (k == types.Vector || k == types.Sparse) {
			text = short(v)
		}
		for i, line := range strings.Split(text, "\n") {
			if i > 0 {
				b.WriteString(strings.Repeat(" ", w.pad))
			}
			b.WriteString(bar + Clean(line) + "\n")
		}
	}
}
