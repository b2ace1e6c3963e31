package datafile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// DefaultNulls are the unquoted texts of CSV that mean NULL.
var DefaultNulls = []string{"", `\N`, "NULL"}

// maxRecordBytes bounds one record of CSV and one document of JSON.
const maxRecordBytes = 64 << 20

// dialect is how a CSV file is written. Quote 0 means that nothing is quoted.
type dialect struct {
	delimiter, quote byte
	header           bool
}

// csvParser splits text into records. A quoted field begins right at its start;
// two quotes inside it stand for one, and it may hold line breaks.
type csvParser struct {
	in   *bufio.Reader
	d    dialect
	line int64 // lines read so far
	long []byte
	// fields of the last record; they alias the parser's memory.
	fields []csvField
	text   []byte
}

type csvField struct {
	text   []byte
	quoted bool
}

// readLine is the next line with its end; valid until the following call.
func (p *csvParser) readLine() ([]byte, error) {
	b, err := p.in.ReadSlice('\n')
	if err == nil {
		p.line++
		return b, nil
	}
	p.long = append(p.long[:0], b...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(p.long) > maxRecordBytes {
			return nil, fail.New(fail.TooLarge, "line %d is longer than %d MiB", p.line+1, maxRecordBytes>>20).
				WithHint("Is it a text file with records, a line each?")
		}
		b, err = p.in.ReadSlice('\n')
		p.long = append(p.long, b...)
	}
	if errors.Is(err, io.EOF) && len(p.long) > 0 {
		err = nil
	}
	if err == nil {
		p.line++
	}
	return p.long, err
}

func trimEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

// record reads the next record into p.fields and returns the line where it
// begins. A malformed record is a *RowError: the next one can be read after it.
// Errors besides: io.EOF, and those of reading.
func (p *csvParser) record() (line int64, err error) {
	text, err := p.readLine()
	if err != nil {
		return p.line + 1, err
	}
	line = p.line
	p.fields = p.fields[:0]
	if p.d.quote == 0 || bytes.IndexByte(text, p.d.quote) < 0 {
		p.split(trimEnd(text))
		return line, nil
	}
	return line, p.quotedRecord(text)
}

// split cuts a record without quotes.
func (p *csvParser) split(text []byte) {
	for {
		i := bytes.IndexByte(text, p.d.delimiter)
		if i < 0 {
			p.fields = append(p.fields, csvField{text: text})
			return
		}
		p.fields = append(p.fields, csvField{text: text[:i]})
		text = text[i+1:]
	}
}

// quotedRecord cuts a record that has quotes, reading more lines as need be. The
// fields' bytes are collected in p.text, which may move while it grows: fields
// are cut out of it at the end.
func (p *csvParser) quotedRecord(rest []byte) error {
	p.text = p.text[:0]
	var ends []int
	first := p.line
	for {
		if len(rest) == 0 || rest[0] != p.d.quote {
			line := trimEnd(rest)
			i := bytes.IndexByte(line, p.d.delimiter)
			last := i < 0
			if last {
				i = len(line)
			}
			p.text = append(p.text, line[:i]...)
			p.fields, ends = append(p.fields, csvField{}), append(ends, len(p.text))
			if last {
				break
			}
			rest = rest[i+1:]
			continue
		}
		var err error
		if rest, err = p.quoted(rest[1:], first); err != nil {
			return err
		}
		p.fields, ends = append(p.fields, csvField{quoted: true}), append(ends, len(p.text))
		if len(trimEnd(rest)) == 0 {
			break
		}
		if rest[0] != p.d.delimiter {
			return p.afterQuote(first, rest)
		}
		rest = rest[1:]
	}
	from := 0
	for i, end := range ends {
		p.fields[i].text = p.text[from:end:end]
		from = end
	}
	return nil
}

// quoted reads a field up to its closing quote and returns what follows on the line.
func (p *csvParser) quoted(rest []byte, first int64) ([]byte, error) {
	opened := p.line
	for {
		i := bytes.IndexByte(rest, p.d.quote)
		if i < 0 {
			p.text = append(p.text, rest...)
			more, err := p.readLine()
			if errors.Is(err, io.EOF) || err == nil && len(p.text) > maxRecordBytes {
				return nil, fail.New(fail.InvalidText, "line %d: a quote is opened and never closed", opened).
					WithHint("Close it, or say that quotes mean nothing here: --quote none")
			}
			if err != nil {
				return nil, err
			}
			rest = more
			continue
		}
		p.text = append(p.text, rest[:i]...)
		rest = rest[i+1:]
		if len(rest) == 0 || rest[0] != p.d.quote {
			return rest, nil
		}
		p.text = append(p.text, p.d.quote)
		rest = rest[1:]
	}
}

func (p *csvParser) afterQuote(line int64, rest []byte) error {
	return &RowError{Place: Place{Line: line}, Value: clip(string(trimEnd(rest))),
		Err: fail.New(fail.InvalidText, "text follows the closing quote: %s", clip(string(trimEnd(rest)))).
			WithHint("A quote inside of a quoted field is written twice; --quote none takes quotes as they are.")}
}

func clip(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// csvSource reads batches of a CSV file; all columns are TEXT.
type csvSource struct {
	p     csvParser
	cols  []Column
	nulls []string
	ts    []types.Type
	row   int64
	size  int // bytes of a batch so far
}

func (s *csvSource) columns() []Column { return s.cols }

// batchBytes ends a batch before it has all its rows.
const batchBytes = 4 << 20

func (s *csvSource) next() (*Batch, error) {
	c := vec.NewChunk(s.ts, vec.ChunkRows)
	b := &Batch{Columns: s.cols, Cols: c.Cols, From: s.row + 1}
	s.size = 0
	for b.N+len(b.Bad) < vec.ChunkRows && s.size < batchBytes {
		line, err := s.p.record()
		if errors.Is(err, io.EOF) {
			break
		}
		var bad *RowError
		isRow := errors.As(err, &bad)
		switch {
		case err != nil && !isRow:
			return nil, err
		case err == nil && s.blank():
			continue
		}
		s.row++
		at := Place{Row: s.row, Line: line}
		if bad == nil {
			bad = s.check()
		}
		if bad != nil {
			bad.Place = at
			b.Bad = append(b.Bad, *bad)
			continue
		}
		s.take(b, at)
	}
	b.To = s.row + 1
	if b.From == b.To {
		return nil, nil
	}
	return b, nil
}

// blank lines separate nothing; in a file of one column they are NULL.
func (s *csvSource) blank() bool {
	return len(s.p.fields) == 1 && len(s.cols) != 1 && len(s.p.fields[0].text) == 0 && !s.p.fields[0].quoted
}

func (s *csvSource) check() *RowError {
	fields := s.p.fields
	if len(fields) != len(s.cols) {
		value := ""
		if len(fields) > 0 {
			value = clip(string(fields[len(fields)-1].text))
		}
		return &RowError{Value: value, Err: fail.New(fail.InvalidText, "%s where %s", count(len(fields), "field"), are(len(s.cols))).
			WithHint("Quote fields that hold the delimiter %s, or set it with --delim.", showByte(s.p.d.delimiter))}
	}
	for i, f := range fields {
		if !utf8.Valid(f.text) {
			return &RowError{Column: s.cols[i].Name, Value: clip(strings.ToValidUTF8(string(f.text), "\uFFFD")), Err: notUTF8(f.text)}
		}
	}
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func are(n int) string {
	if n == 1 {
		return "1 is expected"
	}
	return fmt.Sprintf("%d are expected", n)
}

func (s *csvSource) take(b *Batch, at Place) {
	for i, f := range s.p.fields {
		s.size += len(f.text)
		text := unsafe.String(unsafe.SliceData(f.text), len(f.text)) // Append copies it
		if !f.quoted && s.null(text) {
			b.Cols[i].AppendNull()
			continue
		}
		b.Cols[i].Append(vec.Text(text))
	}
	b.N++
	b.Places = append(b.Places, at)
}

func (s *csvSource) null(text string) bool {
	if len(text) > 16 {
		return false
	}
	for _, n := range s.nulls {
		if n == text {
			return true
		}
	}
	return false
}

// openCSV finds the dialect in the head and reads the header.
func (r *Reader) openCSV(in *bufio.Reader, head []byte, whole bool, o Options) error {
	if err := checkText(head); err != nil {
		return err
	}
	if bytes.HasPrefix(head, utf8BOM) {
		_, _ = in.Discard(len(utf8BOM))
		head = head[len(utf8BOM):]
	}
	if r.format == TSV && o.Delimiter == 0 {
		o.Delimiter = '\t'
	}
	d, width := sniffDialect(head, whole, o)
	s := &csvSource{p: csvParser{in: in, d: d}, nulls: o.Nulls}
	if s.nulls == nil {
		s.nulls = DefaultNulls
	}
	names := make([]string, width)
	if d.header {
		if _, err := s.p.record(); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		names = names[:0]
		for _, f := range s.p.fields {
			if !utf8.Valid(f.text) {
				return notUTF8(f.text)
			}
			names = append(names, strings.TrimSpace(string(f.text)))
		}
	}
	var err error
	if s.cols, err = csvColumns(names); err != nil {
		return err
	}
	for range s.cols {
		s.ts = append(s.ts, types.Of(types.Text))
	}
	r.src, r.infer, r.note = s, inferText, d.String()
	return nil
}

// csvColumns names the columns: column1, column2 … where the header is silent.
func csvColumns(names []string) ([]Column, error) {
	var out []Column
	seen := map[string]bool{}
	for i, n := range names {
		if n == "" {
			n = fmt.Sprintf("column%d", i+1)
		}
		if seen[n] {
			return nil, fail.New(fail.DuplicateColumn, "the header names %q twice", n).
				WithHint("Give each column its own name, or read the line as data: --header no")
		}
		seen[n] = true
		out = append(out, Column{Name: n})
	}
	return out, nil
}
