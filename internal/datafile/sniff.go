package datafile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/loamdb/loam/internal/types"
)

// String says how a CSV file is written.
func (d dialect) String() string {
	header := "no header"
	if d.header {
		header = "header"
	}
	quote := ""
	if d.quote == '\'' {
		quote = ", quote '"
	}
	if d.quote == 0 {
		quote = ", no quotes"
	}
	return fmt.Sprintf("CSV, delimiter %s%s, %s", showByte(d.delimiter), quote, header)
}

func showByte(b byte) string {
	if b == '\t' {
		return "tab"
	}
	return "'" + string(rune(b)) + "'"
}

// sniffRecords is how many records decide the dialect.
const sniffRecords = 200

// candidate is a dialect with the records that it makes of the sample.
type candidate struct {
	d       dialect
	records [][]csvField
	width   int // the commonest number of fields
	even    int // records of that width
	quoted  int // quoted fields
	broken  int // records that do not parse
}

// sniffDialect finds delimiter and quote by trying them: the best make the most
// records of the same width. It returns the width too, 0 for a file without any record.
func sniffDialect(head []byte, whole bool, o Options) (dialect, int) {
	if !whole {
		if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
			head = head[:i+1] // the last line may be cut
		}
	}
	delimiters := []byte{',', '\t', ';', '|'}
	if o.Delimiter != 0 {
		delimiters = []byte{o.Delimiter}
	}
	quotes := []byte{'"', '\''}
	if o.Quote != 0 {
		quotes = []byte{o.Quote}
	}
	var best *candidate
	for _, q := range quotes {
		for _, delim := range delimiters {
			if q == NoQuote {
				q = 0
			}
			c := try(head, dialect{delimiter: delim, quote: q})
			if best == nil || c.better(best) {
				best = c
			}
		}
	}
	best.d.header = best.hasHeader(o)
	if whole && len(best.records)+best.broken == 0 {
		return best.d, 0
	}
	return best.d, max(best.width, 1)
}

// NoQuote as Options.Quote says that quotes mean nothing.
const NoQuote byte = 1

func try(head []byte, d dialect) *candidate {
	c := &candidate{d: d}
	p := csvParser{in: bufio.NewReader(bytes.NewReader(head)), d: d}
	widths := map[int]int{}
	for len(c.records) < sniffRecords {
		_, err := p.record()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			c.broken++
			if row := (*RowError)(nil); !errors.As(err, &row) {
				break
			}
			continue
		}
		if len(p.fields) == 1 && len(p.fields[0].text) == 0 {
			continue
		}
		rec := make([]csvField, len(p.fields))
		for i, f := range p.fields {
			rec[i] = csvField{text: bytes.Clone(f.text), quoted: f.quoted}
			if f.quoted {
				c.quoted++
			}
		}
		c.records = append(c.records, rec)
		widths[len(rec)]++
	}
	for w, n := range widths {
		if n > c.even || n == c.even && w > c.width {
			c.width, c.even = w, n
		}
	}
	if len(c.records) > 0 && len(c.records[0]) > 1 && 2*widths[len(c.records[0])] >= c.even {
		c.width, c.even = len(c.records[0]), widths[len(c.records[0])] // a header counts for more
	}
	return c
}

// better compares candidates. A file of one column says nothing for a
// delimiter; another quote than " must have quoted something.
func (c *candidate) better(o *candidate) bool {
	if c.d.quote != o.d.quote && (c.quoted == 0 || o.quoted > 0) {
		return false
	}
	if (c.width > 1) != (o.width > 1) {
		return c.width > 1 && c.share() >= 0.5
	}
	if c.share() != o.share() {
		return c.share() > o.share()
	}
	return c.width > o.width
}

func (c *candidate) share() float64 {
	return float64(c.even) / float64(max(1, len(c.records)+c.broken))
}

// hasHeader reports whether the first record names the columns: its fields are
// there, differ, and are no values, while another record has values in them; or
// they are names that were asked for; or everything is text and they look like names.
func (c *candidate) hasHeader(o Options) bool {
	if o.Header != nil {
		return *o.Header
	}
	if len(c.records) == 0 {
		return false
	}
	names, twice := map[string]bool{}, false
	for i, f := range c.records[0] {
		name := strings.TrimSpace(string(f.text))
		if name == "" && i == 0 {
			continue // the index column of a data frame
		}
		if name == "" || cellKind(name) != types.Text {
			return false
		}
		twice = twice || names[name]
		names[name] = true
	}
	for _, want := range o.Names {
		for name := range names {
			if strings.EqualFold(name, want) {
				return true
			}
		}
	}
	if c.typed() {
		return true
	}
	for name := range names {
		if len(name) > 64 || strings.ContainsAny(name, "\n.!?") {
			return false
		}
	}
	return len(c.records) > 1 && !twice
}

// typed reports whether some column has values other than text behind the first record.
func (c *candidate) typed() bool {
	for i := range c.width {
		kind := types.Unknown
		for _, rec := range c.records[1:] {
			if i < len(rec) && len(rec[i].text) > 0 {
				kind = joinKinds(kind, cellKind(string(rec[i].text)))
			}
		}
		if kind != types.Unknown && kind != types.Text {
			return true
		}
	}
	return false
}
