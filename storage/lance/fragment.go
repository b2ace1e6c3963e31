package lance

import (
	"context"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
)

// OpenFragment is one fragment with some of its columns open. Read may be called by
// many goroutines; Close by one, after the last Read.
type OpenFragment struct {
	rows    int64
	deleted *roaring.Bitmap // nil: none
	columns []arrow.Field
	sources []columnSource // one per column
	files   []*openFile
}

// openFile is a data file that some column needs.
type openFile struct {
	*File
	stored StoredFile
	path   string
}

// columnSource is where a column comes from; file is nil for one that the fragment
// does not have.
type columnSource struct {
	file *openFile
	name string // in the file, which keeps the name that the column had then
}

// OpenFragment opens fragment i for the columns, which are positions in the schema.
func (t *Table) OpenFragment(ctx context.Context, i int, columns []int) (*OpenFragment, error) {
	f := &t.manifest.Fragments[i]
	o := &OpenFragment{rows: int64(f.PhysicalRows)}
	err := o.open(ctx, t, f, columns)
	if err != nil {
		_ = o.Close()
		return nil, fail.Wrap(fail.CodeOf(err), err, "Lance fragment %d", f.ID)
	}
	return o, nil
}

func (o *OpenFragment) open(ctx context.Context, t *Table, f *Fragment, columns []int) error {
	opened := map[*DataFile]*openFile{}
	for _, c := range columns {
		field := t.schema.Field(c)
		if t.refused[c] != nil {
			return t.refused[c]
		}
		o.columns = append(o.columns, field)
		d, err := fileOf(f, &t.tops[c], field.Name)
		if err != nil {
			return err
		}
		if d == nil {
			o.sources = append(o.sources, columnSource{})
			continue
		}
		if opened[d] == nil {
			if opened[d], err = o.openData(ctx, t, d); err != nil {
				return err
			}
		}
		src, err := sourceOf(opened[d], t.tops[c].id, field)
		if err != nil {
			return err
		}
		o.sources = append(o.sources, src)
	}
	if f.DeletionFile == nil {
		return nil
	}
	base, path := t.place(f.DeletionFile.BaseID, "", DeletionPath(f.ID, *f.DeletionFile))
	b, err := readWhole(ctx, t.store, base, path)
	if err != nil {
		return fail.Wrap(fail.CodeOf(err), err, "its deletion file")
	}
	o.deleted, err = DecodeDeletions(b, *f.DeletionFile, f.PhysicalRows)
	return err
}

// fileOf is the data file that holds the column, or nil if none does.
func fileOf(f *Fragment, top *topField, name string) (*DataFile, error) {
	var found *DataFile
	for i := range f.Files {
		for k, id := range f.Files[i].Fields {
			if !top.ids[id] || (id == top.id && f.Files[i].Columns[k] < 0 && len(top.ids) > 1) {
				continue
			}
			if found != nil && found != &f.Files[i] {
				return nil, fail.New(fail.Unsupported, "column %q lies in several files (%s, %s), which is not readable", name, found.Path, f.Files[i].Path).
					WithHint("Compact the dataset with Lance.")
			}
			found = &f.Files[i]
		}
	}
	return found, nil
}

func (o *OpenFragment) openData(ctx context.Context, t *Table, d *DataFile) (*openFile, error) {
	base, path := t.place(d.BaseID, dataDir, d.Path)
	stored, err := t.store.Open(ctx, base, path)
	if err != nil {
		return nil, err
	}
	file := &openFile{stored: stored, path: path}
	o.files = append(o.files, file)
	if d.Size != 0 && int64(d.Size) != stored.Size() {
		return nil, fail.New(fail.Corrupt, "file %s has %d bytes, the manifest says %d", path, stored.Size(), d.Size)
	}
	if file.File, err = OpenFile(ctx, stored, stored.Size()); err != nil {
		return nil, fail.Wrap(fail.CodeOf(err), err, "file %s", path)
	}
	if file.NumRows() != o.rows {
		return nil, fail.New(fail.Corrupt, "file %s has %d rows, the fragment %d", path, file.NumRows(), o.rows)
	}
	folder := strings.TrimSuffix(d.Path, dataSuffix) + "/"
	file.BlobsFrom(func(ctx context.Context, name string) (Sidecar, error) {
		base, path := t.place(d.BaseID, dataDir, folder+name)
		return t.store.Open(ctx, base, path)
	})
	return file, nil
}

// sourceOf finds a column in its file by field id. Its type must be the table's.
func sourceOf(file *openFile, id int32, field arrow.Field) (columnSource, error) {
	at := -1
	for _, f := range file.Fields() {
		if f.ParentID >= 0 || loose(&f) {
			continue
		}
		at++
		if f.ID != id {
			continue
		}
		have := file.Schema().Field(at)
		if err := file.Refused(at); err != nil {
			return columnSource{}, fail.Wrap(fail.CodeOf(err), err, "file %s", file.path)
		}
		if !arrow.TypeEqual(have.Type, field.Type) {
			return columnSource{}, fail.New(fail.Unsupported, "column %q is %s in file %s and %s in the table, which is not readable", field.Name, have.Type, file.path, field.Type).
				WithHint("Compact the dataset with Lance.")
		}
		return columnSource{file: file, name: have.Name}, nil
	}
	return columnSource{}, fail.New(fail.Corrupt, "file %s does not have the field %d of column %q", file.path, id, field.Name)
}

// Rows counts the rows of the fragment, deleted ones included; Read counts in them.
func (o *OpenFragment) Rows() int64 { return o.rows }

// Read returns the live rows of [from, from+n) in the order of the columns. The
// caller releases the batch, which may be empty.
func (o *OpenFragment) Read(ctx context.Context, from, n int64) (arrow.RecordBatch, error) {
	live, all := o.liveRows(from, n)
	if !all {
		n = int64(len(live))
	}
	arrs := make([]arrow.Array, 0, len(o.columns))
	defer func() {
		for _, a := range arrs {
			a.Release()
		}
	}()
	for i, src := range o.sources {
		if src.file == nil {
			arrs = append(arrs, array.MakeArrayOfNull(memory.DefaultAllocator, o.columns[i].Type, int(n)))
			continue
		}
		var rec arrow.RecordBatch
		var err error
		if all {
			rec, err = src.file.Read(ctx, []string{src.name}, from, n)
		} else {
			rec, err = src.file.Take(ctx, []string{src.name}, live)
		}
		if err != nil {
			return nil, fail.Wrap(fail.CodeOf(err), err, "file %s", src.file.path)
		}
		a := rec.Column(0)
		a.Retain()
		rec.Release()
		arrs = append(arrs, a)
	}
	return array.NewRecordBatch(arrow.NewSchema(o.columns, nil), arrs, n), nil
}

// liveRows are the rows of the range that are not deleted, unless all are live.
func (o *OpenFragment) liveRows(from, n int64) (rows []uint32, all bool) {
	if o.deleted == nil {
		return nil, true
	}
	for r := from; r < from+n; r++ {
		if !o.deleted.Contains(uint32(r)) {
			rows = append(rows, uint32(r))
		}
	}
	return rows, int64(len(rows)) == n
}

// Close closes the files. The first error is returned.
func (o *OpenFragment) Close() error {
	var first error
	for _, f := range o.files {
		if err := f.stored.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
