package file

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// tailRead is the first read of an open: it holds the metadata of most files.
const tailRead = 64 << 10

// File is an open data file. It is immutable and may be used by many goroutines
// at once; it holds no buffers of the source and needs no close. Layouts of
// pages, chunk tables and repetition indexes are cached for its life.
type File struct {
	src    Source
	size   int64
	rows   int64
	minor  uint16
	fields []pb.Field
	schema *arrow.Schema
	// refused[i] says why top-level field i cannot be read.
	refused []error
	cols    []*column
	// byTop[i] are the columns of top-level field i, in leaf order.
	byTop [][]*column
	// sidecars opens the files of blobs beside this one; nil where it lies alone.
	sidecars OpenSidecar
}

// column is one leaf with its pages.
type column struct {
	leaf  *leaf
	index int
	pages []*storedPage
	// arrays are the pages of each node of the path, in format 2.0 only.
	arrays []*arrayNode
	limit  int64 // the file's size
}

// storedPage is a page's place and layout, and what was decoded of it so far.
type storedPage struct {
	col     *column
	index   int
	first   int64 // file row of its first row
	rows    int64
	buffers []span
	layout  pb.PageLayout
	levels  levelMap
	blobs   *storedPage // the places of a blob page's values

	symbols symbolTable // parsed once, guards itself
	// members are the symbol tables of a packed struct's members; decodeMembers says
	// that some member is compressed.
	members       []symbolTable
	decodeMembers bool

	mu sync.Mutex // guards the caches below
	// starts is the repetition index of a full-zip page once it is kept, parts how often
	// only parts of it were read.
	starts []uint64
	parts  int
	// chunks caches the chunk table of a mini-block page.
	chunks []chunk
	// dictionary caches the values a mini-block page's indices point at.
	dictionary *values
	// constant caches the value of a constant page that keeps it in a buffer.
	constant []byte
	// holes caches the levels of a constant page with levels.
	holes *levelRun
}

// footer is the last 40 bytes.
type footer struct {
	columnsAt, cmoAt, gboAt uint64
	globalBuffers, columns  uint32
	major, minor            uint16
}

func parseFooter(p []byte) (footer, error) {
	if string(p[36:40]) != magic {
		return footer{}, corrupt("the last four bytes are %q, not %q", p[36:40], magic)
	}
	le := binary.LittleEndian
	f := footer{
		columnsAt: le.Uint64(p), cmoAt: le.Uint64(p[8:]), gboAt: le.Uint64(p[16:]),
		globalBuffers: le.Uint32(p[24:]), columns: le.Uint32(p[28:]),
		major: le.Uint16(p[32:]), minor: le.Uint16(p[34:]),
	}
	if f.major == 0 && f.minor == 3 { // how 2.0 writes its number
		f.major, f.minor = Major, 0
	}
	if f.major != Major || f.minor > 2 {
		return f, unsupported("file version %d.%d is not readable; 2.0, 2.1 and 2.2 are", f.major, f.minor)
	}
	return f, nil
}

// Open reads the metadata of a file of the size. Errors: Corrupt with the place,
// Unsupported for versions and types outside the readable set, and the source's own.
func Open(ctx context.Context, src Source, size int64) (*File, error) {
	if size < footerSize {
		return nil, corrupt("%d bytes are too few for a footer", size)
	}
	tailAt := max(0, size-tailRead)
	tail := make([]byte, size-tailAt)
	if err := readInto(ctx, src, tail, tailAt); err != nil {
		return nil, err
	}
	foot, err := parseFooter(tail[len(tail)-footerSize:])
	if err != nil {
		return nil, err
	}
	f := &File{src: src, size: size, minor: foot.minor}
	body := size - footerSize
	r := &metaReader{ctx: ctx, src: src, tail: tail, tailAt: tailAt, limit: body}
	if err := f.readSchema(r, foot); err != nil {
		return nil, err
	}
	return f, f.readColumns(r, foot)
}

// metaReader reads pieces of the metadata, from the tail where it holds them.
type metaReader struct {
	ctx    context.Context
	src    Source
	tail   []byte
	tailAt int64
	limit  int64 // no piece may end beyond it
}

func (r *metaReader) read(what string, off, size uint64) ([]byte, error) {
	if off > uint64(r.limit) || size > uint64(r.limit)-off {
		return nil, corrupt("%s: bytes %d+%d lie outside the file of %d", what, off, size, r.limit+footerSize)
	}
	if int64(off) >= r.tailAt {
		at := int64(off) - r.tailAt
		return r.tail[at : at+int64(size)], nil
	}
	// One read from here to the tail serves all later pieces.
	if gap := r.tailAt - int64(off); gap <= int64(len(r.tail))*16 {
		grown := make([]byte, gap+int64(len(r.tail)))
		if err := readInto(r.ctx, r.src, grown[:gap], int64(off)); err != nil {
			return nil, err
		}
		copy(grown[gap:], r.tail)
		r.tail, r.tailAt = grown, int64(off)
		return r.tail[:size], nil
	}
	p := make([]byte, size)
	return p, readInto(r.ctx, r.src, p, int64(off))
}

func (f *File) readSchema(r *metaReader, foot footer) error {
	if foot.globalBuffers == 0 {
		return corrupt("it has no global buffer, so no schema")
	}
	entry, err := r.read("global buffer table", foot.gboAt, 16)
	if err != nil {
		return err
	}
	at, size := binary.LittleEndian.Uint64(entry), binary.LittleEndian.Uint64(entry[8:])
	buf, err := r.read("schema", at, size)
	if err != nil {
		return err
	}
	desc, err := pb.DecodeFileDescriptor(buf)
	if err != nil {
		return fail.Wrap(fail.Corrupt, err, "lance data file: schema at byte %d", at)
	}
	if desc.Rows > math.MaxUint32 {
		return corrupt("schema claims %d rows", desc.Rows)
	}
	f.rows, f.fields = int64(desc.Rows), desc.Fields
	f.schema, f.refused, err = ReadSchema(desc.Fields, desc.Metadata)
	return err
}

// columnsPlan is the columns of each top-level field, in file order; refused fields
// take their columns too.
func (f *File) columnsPlan() (perTop [][]*leaf, counts []int, err error) {
	at := 0
	for i, field := range f.schema.Fields() {
		end := at + 1
		for end < len(f.fields) && (f.fields[end].ParentID >= 0 || Loose(&f.fields[end])) {
			end++
		}
		var leaves []*leaf
		if f.refused[i] == nil {
			leaves, err = collectLeaves(field, i, field.Name, nil, 0)
		}
		if err != nil && !fail.Is(err, fail.Unsupported) {
			return nil, nil, err
		}
		if err != nil {
			f.refused[i], leaves, err = err, nil, nil
		}
		markDictionaries(leaves, f.fields[at:end])
		n := len(leaves)
		switch {
		case n > 0 && f.minor == 0:
			n = arrayColumns(leaves)
		case n == 0:
			n = storedColumns(f.fields[at:end], f.minor == 0)
		}
		perTop, counts = append(perTop, leaves), append(counts, n)
		at = end
	}
	return perTop, counts, nil
}

// markDictionaries tells the leaves of a top-level field, given with all fields below
// it, whose own type is a dictionary.
func markDictionaries(leaves []*leaf, tree []pb.Field) {
	at := 0
	for i := range tree {
		if i+1 < len(tree) && tree[i+1].ParentID == tree[i].ID {
			continue
		}
		if at < len(leaves) && leaves[at].shape.members == nil {
			leaves[at].shape.dictionary = strings.HasPrefix(tree[i].LogicalType, "dict:")
			at++
		}
	}
}

// storedColumns is how many columns a top-level field has whose type is unknown,
// given with all fields below it: the leaves of its tree, or all of its nodes.
func storedColumns(tree []pb.Field, nodes bool) int {
	parents := map[int32]bool{}
	for i := range tree {
		parents[tree[i].ParentID] = true
	}
	n := 0
	for i := range tree {
		if (nodes || !parents[tree[i].ID]) && !Loose(&tree[i]) {
			n++
		}
	}
	return n
}

func (f *File) readColumns(r *metaReader, foot footer) error {
	perTop, counts, err := f.columnsPlan()
	if err != nil {
		return err
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	if int64(foot.columns) != int64(total) {
		return f.wrongCount(foot, total)
	}
	table, err := r.read("column table", foot.cmoAt, 16*uint64(foot.columns))
	if err != nil {
		return err
	}
	f.byTop = make([][]*column, f.schema.NumFields())
	at := 0
	for top, leaves := range perTop {
		cols, err := f.readTop(r, leaves, table, at)
		if err != nil && !fail.Is(err, fail.Unsupported) {
			return err
		}
		if err != nil {
			f.refused[top], cols = err, nil
		}
		f.cols = append(f.cols, cols...)
		f.byTop[top] = cols
		at += counts[top]
	}
	return nil
}

// readTop reads the metadata of the columns of a top-level field, the first of
// which has the number first.
func (f *File) readTop(r *metaReader, leaves []*leaf, table []byte, first int) ([]*column, error) {
	if f.minor == 0 {
		return f.readArrayField(r, leaves, table, first)
	}
	var out []*column
	for i, l := range leaves {
		c := &column{leaf: l, index: first + i, limit: f.size}
		out = append(out, c)
		if l.shape.hollow && l.lists == 0 {
			continue // its page says nothing: the client stores only structs that are there
		}
		if err := f.readColumn(r, c, table[16*c.index:]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// wrongCount is the error of a file whose columns are not those of its schema. A
// column that cannot be read may be the cause.
func (f *File) wrongCount(foot footer, total int) error {
	for _, err := range f.refused {
		if err != nil {
			return fail.Wrap(fail.Unsupported, err, "lance data file: %d columns where the schema gives %d", foot.columns, total)
		}
	}
	return corrupt("footer counts %d columns, the schema has %d leaves", foot.columns, total)
}

func (f *File) readColumn(r *metaReader, c *column, entry []byte) error {
	at, size := binary.LittleEndian.Uint64(entry), binary.LittleEndian.Uint64(entry[8:])
	buf, err := r.read("metadata of column "+c.leaf.name, at, size)
	if err != nil {
		return err
	}
	if err := f.readPages(c, buf); err != nil {
		return fail.Wrap(fail.CodeOf(err), err, "column %q (metadata at byte %d)", c.leaf.name, at)
	}
	return nil
}

func (f *File) readPages(c *column, buf []byte) error {
	meta, err := pb.DecodeColumnMetadata(buf)
	if err != nil {
		return err
	}
	var first int64
	for i := range meta.Pages {
		p, err := f.readPage(c, &meta.Pages[i])
		if err != nil {
			return fail.Wrap(fail.CodeOf(err), err, "page %d", i)
		}
		if p.rows == 0 {
			continue
		}
		p.index, p.first = i, first
		first += p.rows
		c.pages = append(c.pages, p)
	}
	if first != f.rows {
		return corrupt("its pages hold %d rows, the file %d", first, f.rows)
	}
	return nil
}

func (f *File) readPage(c *column, meta *pb.Page) (*storedPage, error) {
	if meta.TypeURL != pb.PageLayoutURL {
		return nil, unsupported("page encoding %q is not readable", meta.TypeURL)
	}
	if meta.Rows > uint64(f.rows) {
		return nil, corrupt("it claims %d of the file's %d rows", meta.Rows, f.rows)
	}
	p := &storedPage{col: c, rows: int64(meta.Rows)}
	var err error
	if p.buffers, err = f.spansOf(meta); err != nil {
		return nil, err
	}
	if p.layout, err = pb.DecodePageLayout(meta.Encoding); err != nil {
		return nil, err
	}
	return p, p.validate()
}

// NumRows is the number of rows.
func (f *File) NumRows() int64 { return f.rows }

// Size is the file's bytes, as given to Open.
func (f *File) Size() int64 { return f.size }

// Schema is the Arrow schema, rebuilt from the Lance fields. A column that cannot
// be read has the null type; see Refused.
func (f *File) Schema() *arrow.Schema { return f.schema }

// Refused says why column i of the schema cannot be read (Unsupported), or nil.
func (f *File) Refused(i int) error { return f.refused[i] }

// Fields are the Lance fields with their ids, in pre-order. Do not change them.
func (f *File) Fields() []pb.Field { return f.fields }

// Version is the format version in the footer, such as 2 and 1.
func (f *File) Version() (major, minor int) { return Major, int(f.minor) }
