package datafile

import (
	"errors"
	"fmt"
	"io"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Input is one file. Reader delivers it from its start; At and Size are set when
// it can also be read at any place, which Parquet needs.
type Input struct {
	Name   string
	Reader io.Reader
	At     io.ReaderAt
	Size   int64
}

// Options say what is known about a file; the zero value finds all of it out.
type Options struct {
	// Format is what the file is; "" goes by its name, then by its first bytes.
	Format Format
	// Delimiter and Quote of CSV; 0 goes by the first lines.
	Delimiter, Quote byte
	// Header says whether the first line of CSV names the columns; nil goes by
	// the lines.
	Header *bool
	// Nulls are unquoted texts of CSV that mean NULL; nil means [DefaultNulls].
	Nulls []string
	// Names are names that columns probably have: a line of them is a header.
	Names []string
}

// Column is a column of a file and the type that suits the rows seen so far.
type Column struct {
	Name string
	Type types.Type
}

// Place says where a row stands: its number among the file's rows, from 1, and
// the line where it begins, from 1, or 0 in files without lines.
type Place struct{ Row, Line int64 }

// RowError is a row, or one value of it, that cannot be taken.
type RowError struct {
	Place
	// Column and Value are empty when the row as a whole is wrong.
	Column, Value string
	Err           error
}

// Batch is a run of a file's rows. The columns of a JSON file grow from batch to
// batch as members turn up; earlier batches do not have the later ones.
type Batch struct {
	Columns []Column
	Cols    []*vec.Vector
	N       int
	// Places has one entry for each of the N rows.
	Places []Place
	// Bad are rows that are not among the N.
	Bad []RowError
	// From and To are the row numbers that the batch covers, bad ones included:
	// [From, To), from 1.
	From, To int64
}

// source reads one format.
type source interface {
	// next is the next batch, nil at the end.
	next() (*Batch, error)
	// columns are those known so far; types are the file's own, UNKNOWN where
	// only the values tell.
	columns() []Column
}

// Reader reads one file. One goroutine uses it at a time. Close it once.
type Reader struct {
	name   string
	format Format
	note   string
	src    source
	infer  func(t types.Type, col *vec.Vector) types.Type // nil: the types are the file's
	queue  []*Batch
	ended  bool
	failed error
	close  func()
}

// Format is the file's format.
func (r *Reader) Format() Format { return r.format }

// Describe says in a few words what the file is: "CSV, delimiter ';', header".
func (r *Reader) Describe() string { return r.note }

// Columns are the columns known so far: for CSV, Parquet and Arrow all of them;
// for JSON those of the sample. Their types are certain in Parquet and Arrow,
// and those of the sample's values after [Reader.Sample] otherwise.
func (r *Reader) Columns() []Column { return r.src.columns() }

// Close frees what the reader holds; it does not close the Input.
func (r *Reader) Close() {
	if r.close != nil {
		r.close()
		r.close = nil
	}
}

// Sample is what the first rows of a file say about it.
type Sample struct {
	Columns []Column
	// Rows were looked at; All says that there are no more.
	Rows int64
	All  bool
	// Lengths are the lengths that all lists of a column share, or 0.
	Lengths []int
}

// Sample looks at the first rows, at least the number asked for if there are as
// many, and infers the columns' types from them. Next delivers them afterwards.
func (r *Reader) Sample(rows int64) (*Sample, error) {
	s := &Sample{}
	for s.Rows < rows {
		b, err := r.read()
		if err != nil {
			return nil, err
		}
		if b == nil {
			s.All = true
			break
		}
		r.queue = append(r.queue, b)
		s.Rows += int64(b.N)
	}
	s.Columns = append([]Column(nil), r.src.columns()...)
	s.Lengths = make([]int, len(s.Columns))
	for i := range s.Columns {
		s.Columns[i].Type, s.Lengths[i] = r.inferColumn(i, s.Columns[i].Type)
	}
	return s, nil
}

func (r *Reader) inferColumn(i int, t types.Type) (types.Type, int) {
	length := -1
	for _, b := range r.queue {
		if i >= len(b.Cols) {
			continue
		}
		if r.infer != nil {
			t = r.infer(t, b.Cols[i])
		}
		length = commonLength(length, b.Cols[i])
	}
	if t.Kind == types.Unknown {
		t = types.Of(types.Text)
	}
	return t, max(length, 0)
}

// Next is the next batch, or nil at the end. After an error it gives the same
// error again.
func (r *Reader) Next() (*Batch, error) {
	if len(r.queue) > 0 {
		b := r.queue[0]
		r.queue = r.queue[1:]
		return b, nil
	}
	return r.read()
}

func (r *Reader) read() (*Batch, error) {
	if r.failed != nil || r.ended {
		return nil, r.failed
	}
	b, err := r.src.next()
	if err != nil {
		r.failed = r.inFile(err)
		return nil, r.failed
	}
	r.ended = b == nil
	return b, nil
}

// inFile names the file in an error.
func (r *Reader) inFile(err error) error { return named(r.name, err) }

func named(name string, err error) error {
	var own *fail.Error
	switch {
	case errors.As(err, &own):
		e := *own
		e.Message = name + ": " + e.Message
		return &e
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fail.New(fail.InvalidParameter, "%s ends in the middle", name).WithHint("It was not written or copied completely.")
	}
	return fail.Wrap(fail.InvalidParameter, err, "%s", name)
}

// Error is the row's error with its place, as one line of text.
func (e *RowError) Error() string { return e.place() + ": " + e.Err.Error() }

func (e *RowError) place() string {
	at := fmt.Sprintf("row %d", e.Row)
	if e.Line > 0 {
		at = fmt.Sprintf("line %d", e.Line)
	}
	if e.Column != "" {
		at += fmt.Sprintf(", column %q", e.Column)
	}
	return at
}

// In is the row's error as a person reads it: file, line, column, reason, cure.
func (e *RowError) In(file string) error {
	out := *fail.As(e.Err)
	out.Message = file + " " + e.place() + ": " + out.Message
	return &out
}

// Unwrap is the cause.
func (e *RowError) Unwrap() error { return e.Err }

// Infer is the type that suits column i of a batch by its values.
func (r *Reader) Infer(b *Batch, i int) types.Type {
	t := b.Columns[i].Type
	if r.infer != nil {
		t = r.infer(t, b.Cols[i])
	}
	if t.Kind == types.Unknown {
		t = types.Of(types.Text)
	}
	return t
}
