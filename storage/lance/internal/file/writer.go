package file

import (
	"encoding/binary"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// Numbers of the format.
const (
	// Major and Minor are the version in the footer and in manifests.
	Major, Minor = 2, 1
	footerSize   = 40
	magic        = "LANC"
	// bufferAlign: page and global buffers start at multiples of it.
	bufferAlign = 64
	// padByte fills the gaps between buffers.
	padByte = 72
)

// Default bounds of a page.
const (
	// DefaultPageBytes is the raw size at which a page of a column is cut.
	DefaultPageBytes = 8 << 20
	// DefaultPageRows is the most rows of a page.
	DefaultPageRows = 1 << 20
)

// WriterOptions are the choices of a Writer; the zero value is the default.
type WriterOptions struct {
	// FieldIDs are the Lance field ids of the schema's fields in pre-order
	// (struct and list fields before their children). Nil numbers from 0.
	FieldIDs []int32
	// PageBytes and PageRows bound a page; 0 means the defaults. A page holds at
	// least one row.
	PageBytes, PageRows int
}

// Info is what a finished file holds.
type Info struct {
	// Rows is the number of rows, Size the file's bytes.
	Rows, Size int64
	// Fields are the Lance field ids of the leaves, Columns the file's column of each.
	Fields, Columns []int32
}

// Writer writes one data file, front to back. It is used by one goroutine. Write
// any number of batches, then call Close once; a Writer that failed stays failed.
// It buffers up to one page per column.
type Writer struct {
	w      io.Writer
	schema *arrow.Schema
	fields []pb.Field
	opts   WriterOptions
	cols   []*columnWriter
	off    int64
	rows   int64
	err    error
	closed bool
}

type columnWriter struct {
	pending pending
	pages   []pb.Page
	written int64 // rows in pages
}

// NewWriter starts a file of the schema. It writes nothing yet. Field types that
// the format subset lacks are Unsupported, naming the column.
func NewWriter(w io.Writer, schema *arrow.Schema, opts WriterOptions) (*Writer, error) {
	fields, err := FieldsOf(schema, opts.FieldIDs)
	if err != nil {
		return nil, err
	}
	leaves, err := leavesOf(schema)
	if err != nil {
		return nil, err
	}
	if opts.PageBytes <= 0 {
		opts.PageBytes = DefaultPageBytes
	}
	if opts.PageRows <= 0 {
		opts.PageRows = DefaultPageRows
	}
	out := &Writer{w: w, schema: schema, fields: fields, opts: opts}
	for _, l := range leaves {
		if err := l.writable(); err != nil {
			return nil, err
		}
		out.cols = append(out.cols, &columnWriter{pending: pending{leaf: l}})
	}
	return out, nil
}

// writable refuses the shapes that are read but not written.
func (l *leaf) writable() error {
	sh := &l.shape
	if sh.members != nil || sh.json || (sh.empty() && len(l.path) > 1) || (sh.bits && sh.width > maxChunkValues) {
		return fail.New(fail.Unsupported, "lance: column %q: type %s is not written", l.name, sh.typ)
	}
	return nil
}

// Write appends the rows of a batch, whose schema must have the writer's types.
// The batch is not kept: the caller may release it at once.
func (w *Writer) Write(rec arrow.RecordBatch) error {
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return fail.Bug("lance: write to a closed file writer")
	}
	if err := w.check(rec); err != nil {
		return err
	}
	n := int(rec.NumRows())
	for _, c := range w.cols {
		if w.err = w.addColumn(c, rec.Column(c.pending.leaf.top), n); w.err != nil {
			return w.err
		}
	}
	w.rows += int64(n)
	return nil
}

func (w *Writer) check(rec arrow.RecordBatch) error {
	if int(rec.NumCols()) != w.schema.NumFields() {
		return fail.New(fail.InvalidParameter, "lance: batch has %d columns, the file %d", rec.NumCols(), w.schema.NumFields())
	}
	for i, f := range w.schema.Fields() {
		col := rec.Column(i)
		if !arrow.TypeEqual(col.DataType(), f.Type) {
			return fail.New(fail.DatatypeMismatch, "lance: column %q is %s, the file wants %s", f.Name, col.DataType(), f.Type)
		}
		if !f.Nullable && col.NullN() > 0 {
			return fail.New(fail.NotNull, "lance: column %q has %d nulls but is declared without", f.Name, col.NullN())
		}
	}
	return nil
}

func (w *Writer) addColumn(c *columnWriter, arr arrow.Array, rows int) error {
	p := &c.pending
	for at := 0; at < rows; {
		n := p.fits(arr, at, rows, w.opts.PageBytes-p.bytes())
		n = max(1, min(n, w.opts.PageRows-int(p.rows)))
		if err := p.add(arr, at, at+n); err != nil {
			return err
		}
		at += n
		if p.bytes() >= w.opts.PageBytes || int(p.rows) >= w.opts.PageRows {
			if err := w.flush(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes the pending rows of a column as pages.
func (w *Writer) flush(c *columnWriter) error {
	for _, s := range c.pending.segments() {
		pg, err := s.encode()
		if err != nil {
			return err
		}
		meta := pb.Page{Rows: uint64(pg.rows), FirstRow: uint64(c.written), TypeURL: pb.PageLayoutURL, Encoding: pg.layout.Append(nil)}
		for _, buf := range pg.buffers {
			if err := w.align(); err != nil {
				return err
			}
			meta.BufferOffsets = append(meta.BufferOffsets, uint64(w.off))
			meta.BufferSizes = append(meta.BufferSizes, uint64(len(buf)))
			if err := w.put(buf); err != nil {
				return err
			}
		}
		c.pages = append(c.pages, meta)
		c.written += pg.rows
	}
	c.pending.reset()
	return nil
}

func (w *Writer) put(p []byte) error {
	n, err := w.w.Write(p)
	w.off += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	return err
}

func (w *Writer) align() error {
	var fill [bufferAlign]byte
	for i := range fill {
		fill[i] = padByte
	}
	if rest := w.off % bufferAlign; rest > 0 {
		return w.put(fill[:bufferAlign-rest])
	}
	return nil
}

// Close writes the last pages, the metadata and the footer. It does not close
// the underlying writer.
func (w *Writer) Close() (Info, error) {
	if w.err == nil && w.closed {
		w.err = fail.Bug("lance: file writer closed twice")
	}
	w.closed = true
	for _, c := range w.cols {
		if w.err == nil {
			w.err = w.flush(c)
		}
	}
	if w.err == nil {
		w.err = w.finish()
	}
	if w.err != nil {
		return Info{}, w.err
	}
	info := Info{Rows: w.rows, Size: w.off}
	for i, id := range LeafIDs(w.fields) {
		info.Fields = append(info.Fields, id)
		info.Columns = append(info.Columns, int32(i))
	}
	return info, nil
}

// LeafIDs are the ids of the leaves of a field list, in column order.
func LeafIDs(fields []pb.Field) []int32 {
	var out []int32
	for i := range fields {
		if fields[i].Type == pb.Leaf {
			out = append(out, fields[i].ID)
		}
	}
	return out
}

// finish writes global buffer 0 (the schema), the column metadata, the two
// offset tables and the footer.
func (w *Writer) finish() error {
	if err := w.align(); err != nil {
		return err
	}
	desc := pb.FileDescriptor{Fields: w.fields, Rows: uint64(w.rows)}
	if md := w.schema.Metadata(); md.Len() > 0 {
		desc.Metadata = md.ToMap()
	}
	var gbo, cmo, tail []byte
	tail = desc.Append(tail)
	gbo = binary.LittleEndian.AppendUint64(gbo, uint64(w.off))
	gbo = binary.LittleEndian.AppendUint64(gbo, uint64(len(tail)))
	columnsAt := uint64(w.off) + uint64(len(tail))
	for _, c := range w.cols {
		at := len(tail)
		meta := pb.ColumnMetadata{Pages: c.pages}
		tail = meta.Append(tail)
		cmo = binary.LittleEndian.AppendUint64(cmo, uint64(w.off)+uint64(at))
		cmo = binary.LittleEndian.AppendUint64(cmo, uint64(len(tail)-at))
	}
	cmoAt := uint64(w.off) + uint64(len(tail))
	tail = append(tail, cmo...)
	gboAt := uint64(w.off) + uint64(len(tail))
	tail = append(tail, gbo...)
	tail = binary.LittleEndian.AppendUint64(tail, columnsAt)
	tail = binary.LittleEndian.AppendUint64(tail, cmoAt)
	tail = binary.LittleEndian.AppendUint64(tail, gboAt)
	tail = binary.LittleEndian.AppendUint32(tail, 1)
	tail = binary.LittleEndian.AppendUint32(tail, uint32(len(w.cols)))
	tail = binary.LittleEndian.AppendUint16(tail, Major)
	tail = binary.LittleEndian.AppendUint16(tail, Minor)
	tail = append(tail, magic...)
	return w.put(tail)
}
