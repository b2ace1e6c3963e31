package datafile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// jsonSource reads objects: one a line, one after the other, or in an array. All
// columns are JSON; a member that is absent or null is NULL.
type jsonSource struct {
	docs  func() (doc []byte, line int64, err error)
	cols  []Column
	index map[string]int
	row   int64
	seen  []bool // columns of the current row, reused
}

func (s *jsonSource) columns() []Column { return s.cols }

// openJSON tells lines from a stream of objects by the first line.
func (r *Reader) openJSON(in *bufio.Reader, head []byte) error {
	if err := checkText(head); err != nil {
		return err
	}
	if bytes.HasPrefix(head, utf8BOM) {
		_, _ = in.Discard(len(utf8BOM))
		head = head[len(utf8BOM):]
	}
	s := &jsonSource{index: map[string]int{}}
	r.src, r.infer = s, inferJSON
	text := bytes.TrimLeft(head, " \t\r\n")
	first, _, more := bytes.Cut(text, []byte("\n"))
	first = bytes.TrimSpace(first)
	switch {
	case len(text) > 0 && text[0] == '[':
		d := &documents{in: in, line: 1, array: true}
		s.docs, r.note = d.next, "JSON, an array"
	case len(first) > 0 && first[len(first)-1] != '}' && more && !gjson.ValidBytes(first), len(first) > 1 && gjson.ValidBytes(text) && more && !gjson.ValidBytes(first):
		d := &documents{in: in, line: 1}
		s.docs, r.note = d.next, "JSON, objects"
	default:
		l := &csvParser{in: in}
		s.docs, r.note = func() ([]byte, int64, error) { return nextLine(l) }, "JSON, one object a line"
	}
	return nil
}

// nextLine is the next line that is not blank.
func nextLine(l *csvParser) ([]byte, int64, error) {
	for {
		b, err := l.readLine()
		if err != nil {
			return nil, 0, err
		}
		if b = bytes.TrimSpace(b); len(b) > 0 {
			return b, l.line, nil
		}
	}
}

func (s *jsonSource) next() (*Batch, error) {
	b := &Batch{From: s.row + 1}
	for range s.cols {
		b.Cols = append(b.Cols, vec.New(types.Of(types.JSON), vec.ChunkRows))
	}
	size := 0
	for b.N+len(b.Bad) < vec.ChunkRows && size < batchBytes {
		doc, line, err := s.docs()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		s.row++
		size += len(doc)
		at := Place{Row: s.row, Line: line}
		if bad := s.take(b, doc); bad != nil {
			b.Bad = append(b.Bad, RowError{Place: at, Value: clip(string(bytes.ToValidUTF8(doc, []byte("\uFFFD")))), Err: bad})
			continue
		}
		b.N++
		b.Places = append(b.Places, at)
	}
	b.To, b.Columns = s.row+1, s.cols[:len(s.cols):len(s.cols)]
	if b.From == b.To {
		return nil, nil
	}
	return b, nil
}

// take appends one object to the columns, or nothing.
func (s *jsonSource) take(b *Batch, doc []byte) error {
	switch {
	case !utf8.Valid(doc):
		return notUTF8(doc)
	case !vec.ValidJSON(string(doc)):
		return fail.New(fail.InvalidJSON, "it is not JSON").WithHint("Each line is one JSON object, or the file is one array of objects.")
	}
	root := gjson.ParseBytes(doc)
	if !root.IsObject() {
		return fail.New(fail.InvalidJSON, "%s is not a JSON object", clip(root.Raw)).WithHint("A row is an object: {\"column\": value, …}.")
	}
	s.seen = append(s.seen[:0], make([]bool, len(s.cols))...)
	var err error
	root.ForEach(func(k, v gjson.Result) bool {
		i := s.column(b, k.String())
		if s.seen[i] {
			err = fail.New(fail.InvalidJSON, "the member %q is there twice", k.String())
			return false
		}
		s.seen[i] = true
		if v.Type == gjson.Null {
			b.Cols[i].AppendNull()
		} else {
			b.Cols[i].Append(vec.Value{Type: types.Of(types.JSON), Str: v.Raw})
		}
		return true
	})
	if err != nil {
		s.undo(b)
		return err
	}
	for i, seen := range s.seen {
		if !seen {
			b.Cols[i].AppendNull()
		}
	}
	return nil
}

// undo takes the values of a row back that is refused halfway.
func (s *jsonSource) undo(b *Batch) {
	for i, c := range b.Cols {
		if c.N > b.N {
			kept := vec.New(c.Type, vec.ChunkRows)
			kept.AppendRows(c.Slice(0, b.N), nil, b.N)
			b.Cols[i] = kept
		}
	}
}

// column is the position of a member's column, a new one if need be.
func (s *jsonSource) column(b *Batch, name string) int {
	if i, ok := s.index[name]; ok {
		return i
	}
	i := len(s.cols)
	s.index[name] = i
	s.cols = append(s.cols[:i:i], Column{Name: name})
	s.seen = append(s.seen, false)
	col := vec.New(types.Of(types.JSON), vec.ChunkRows)
	for range b.N {
		col.AppendNull()
	}
	b.Cols = append(b.Cols, col)
	return i
}

// documents cuts JSON objects out of an array or out of a row of them.
type documents struct {
	in    *bufio.Reader
	line  int64
	array bool
	begun bool
	ended bool
	buf   []byte
}

// next is the next object's text and the line where it begins; io.EOF at the end.
func (d *documents) next() ([]byte, int64, error) {
	c, err := d.start()
	if err != nil {
		return nil, d.line, err
	}
	line := d.line
	d.buf = append(d.buf[:0], c)
	depth, inString, escaped := 0, false, false
	for {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth == 0 && !inString {
			return d.buf, line, nil
		}
		if len(d.buf) > maxRecordBytes {
			return nil, line, fail.New(fail.TooLarge, "the object in line %d is longer than %d MiB", line, maxRecordBytes>>20)
		}
		if c, err = d.byte(); err != nil {
			return nil, line, unexpectedEnd(err)
		}
		d.buf = append(d.buf, c)
	}
}

func (d *documents) byte() (byte, error) {
	c, err := d.in.ReadByte()
	if c == '\n' {
		d.line++
	}
	return c, err
}

func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// start passes over blanks, commas and the array's brackets to the first byte
// of an object.
func (d *documents) start() (byte, error) {
	comma := false
	for {
		c, err := d.byte()
		switch {
		case errors.Is(err, io.EOF) && d.array && !d.ended:
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case d.ended:
			return 0, d.misplaced(c)
		case c == '[' && d.array && !d.begun:
			d.begun, comma = true, true
		case c == ']' && d.array && d.begun:
			d.ended = true
		case c == ',' && d.array && !comma:
			comma = true
		case c == '{' && (!d.array || comma):
			return c, nil
		default:
			return 0, d.misplaced(c)
		}
	}
}

func (d *documents) misplaced(c byte) error {
	return fail.New(fail.InvalidJSON, "line %d: %q is not where an object begins", d.line, rune(c)).
		WithHint("The file is an array of objects, [{…}, {…}], or objects one after the other.")
}
