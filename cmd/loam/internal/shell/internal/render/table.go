package render

import (
	"io"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// sampleRows is how many rows decide the widths of the columns; the rows after
// them are printed as they come, in these widths.
const sampleRows = 1000

// minCell is what a column of text is not shrunk below, in cells.
const minCell = 10

// tableWriter keeps the first rows until it knows the widths.
type tableWriter struct {
	out    io.Writer
	o      Options
	cols   []plan.Column
	sample [][]vec.Value
	began  bool
	width  []int
	// tall takes over when the columns do not fit.
	tall *verticalWriter
}

func newTable(out io.Writer, cols []plan.Column, o Options) *tableWriter {
	return &tableWriter{out: out, o: o, cols: cols}
}

// Chunk implements Writer.
func (t *tableWriter) Chunk(c *vec.Chunk) error {
	var b strings.Builder
	for i := range c.Rows() {
		row := make([]vec.Value, len(c.Cols))
		for j, col := range c.Cols {
			row[j] = col.Value(c.RowAt(i))
		}
		switch {
		case t.tall != nil:
			t.tall.row(&b, row)
		case t.began:
			t.row(&b, row)
		default:
			if t.sample = append(t.sample, row); len(t.sample) == sampleRows {
				t.begin(&b)
			}
		}
	}
	return flush(t.out, &b)
}

func flush(out io.Writer, b *strings.Builder) error {
	if b.Len() == 0 {
		return nil
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// End implements Writer.
func (t *tableWriter) End() error {
	var b strings.Builder
	if !t.began {
		t.begin(&b)
	}
	return flush(t.out, &b)
}

// begin decides the widths and prints head and sample.
func (t *tableWriter) begin(b *strings.Builder) {
	t.began = true
	natural, least := t.natural()
	var fits bool
	t.width, fits = fit(natural, least, t.room())
	if len(t.sample) == 1 {
		fits = fits && slices.Equal(t.width, natural) // a lone row is read, not compared: whole rather than cut
	}
	if !fits && t.o.Expanded == ExpandedAuto && len(t.sample) > 0 {
		t.tall = newVertical(t.out, t.cols, t.o)
		t.tall.short = true
	} else {
		t.head(b)
	}
	for _, row := range t.sample {
		if t.tall != nil {
			t.tall.row(b, row)
		} else {
			t.row(b, row)
		}
	}
	t.sample = nil
}

// whole says that nothing is cut: there is no terminal to fit, or a lone column,
// as a plan or a document.
func (t *tableWriter) whole() bool { return t.o.Width <= 0 || len(t.cols) == 1 }

// room is how many cells the columns may take together, without what is between
// them; -1 is as many as they like.
func (t *tableWriter) room() int {
	if t.whole() {
		return -1
	}
	return max(t.o.Width-3*(len(t.cols)-1), 0)
}

// natural are the widths that show every cell of the sample whole, and the least
// widths that each column can live with. Numbers are never cut: half a number
// reads as another one.
func (t *tableWriter) natural() (natural, least []int) {
	natural, least = make([]int, len(t.cols)), make([]int, len(t.cols))
	for j, c := range t.cols {
		body := 0
		for _, row := range t.sample {
			body = max(body, Width(t.text(row[j])))
		}
		head := Width(Clean(c.Name))
		natural[j] = max(body, head)
		least[j] = min(natural[j], minCell)
		if c.Type.Numeric() {
			least[j] = max(body, least[j])
		}
	}
	return natural, least
}

func (t *tableWriter) text(v vec.Value) string {
	if v.Null {
		return t.o.Null
	}
	return short(v)
}

// fit shrinks the widest columns to one common width so that all of them fit
// room, and no column below its least width; false when that is not possible.
// What is left over goes to the cut columns from the left.
func fit(natural, least []int, room int) ([]int, bool) {
	out := append([]int(nil), natural...)
	sum := func(limit int) int {
		n := 0
		for j := range natural {
			n += min(natural[j], max(limit, least[j]))
		}
		return n
	}
	if room < 0 || sum(1<<30) <= room {
		return out, true
	}
	lo, hi := 0, room
	for lo < hi {
		if mid := (lo + hi + 1) / 2; sum(mid) <= room {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	left := room - sum(lo)
	for j := range out {
		out[j] = min(natural[j], max(lo, least[j]))
		if left > 0 && out[j] == lo && out[j] < natural[j] {
			out[j]++
			left--
		}
	}
	return out, sum(lo) <= room
}

func (t *tableWriter) head(b *strings.Builder) {
	for j, c := range t.cols {
		t.cell(b, j, Clean(c.Name), bold)
	}
	b.WriteByte('\n')
	var rule strings.Builder
	for j, w := range t.width {
		if j > 0 {
			rule.WriteString("─┼─")
		}
		if t.o.Width > 0 {
			w = min(w, t.o.Width)
		}
		rule.WriteString(strings.Repeat("─", w))
	}
	b.WriteString(t.o.paint(dim, rule.String()))
	b.WriteByte('\n')
}

func (t *tableWriter) row(b *strings.Builder, row []vec.Value) {
	for j, v := range row {
		style := ""
		if v.Null {
			style = dim
		}
		t.cell(b, j, t.text(v), style)
	}
	b.WriteByte('\n')
}

// cell writes one padded cell and what stands before it.
func (t *tableWriter) cell(b *strings.Builder, j int, s, style string) {
	if j > 0 {
		b.WriteString(t.o.paint(dim, " │ "))
	}
	right := t.cols[j].Type.Numeric()
	if !t.whole() && (!right || style == bold) {
		s = Cut(s, t.width[j])
	}
	pad := strings.Repeat(" ", max(t.width[j]-Width(s), 0))
	if style != "" {
		s = t.o.paint(style, s)
	}
	switch {
	case right:
		b.WriteString(pad + s)
	case j < len(t.cols)-1:
		b.WriteString(s + pad)
	default:
		b.WriteString(s)
	}
}
