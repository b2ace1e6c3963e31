package collection

import (
	"bytes"
	"context"
	"sync"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/column"
	"github.com/loamdb/loam/storage/internal/sketch"
)

// Statistics are estimates of what an object holds: rows that were deleted count in
// its fields, rows of the tail in the number of rows alone.
type Statistics struct {
	Rows int64
	// Fields are by id; of one that is not there nothing is known.
	Fields map[int32]FieldStatistics
}

// FieldStatistics are estimates of one field.
type FieldStatistics struct {
	// Distinct is the number of different values, 0 where they are not counted.
	Distinct float64
	// Nulls is the part of the rows, from 0 to 1.
	Nulls float64
	// Min and Max bound the values; both NULL where no bounds are known.
	Min, Max vec.Value
}

// foldedStatistics are those of the fields of one version, found once.
type foldedStatistics struct {
	mu       sync.Mutex // guards the fields below
	manifest *Manifest
	obj      *schema.Object
	fields   map[int32]FieldStatistics
}

// Statistics estimates what the newest version holds that this node has. Nothing is
// read for it, but for the tail if nobody has read it since the start.
func (c *Collection) Statistics(ctx context.Context) (Statistics, error) {
	if !c.reached.Load() {
		if _, err := c.Strong(ctx); err != nil {
			return Statistics{}, err
		}
	}
	rows := c.EstimateRows()
	c.mu.Lock()
	st, obj := c.st, c.obj
	c.mu.Unlock()
	f := &c.folded
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.manifest != st.manifest || f.obj != obj {
		f.manifest, f.obj, f.fields = st.manifest, obj, foldFields(obj, st.splits)
	}
	return Statistics{Rows: rows, Fields: f.fields}, nil
}

// foldFields joins the statistics of splits.
func foldFields(obj *schema.Object, splits []*split) map[int32]FieldStatistics {
	if len(splits) == 0 {
		return nil
	}
	out := map[int32]FieldStatistics{}
	for i := range obj.Fields {
		f := &obj.Fields[i]
		fold := fieldFold{field: f}
		for _, s := range splits {
			fold.add(s)
		}
		if st, ok := fold.finish(); ok {
			out[f.ID] = st
		}
	}
	return out
}

// fieldFold joins the statistics of one field.
type fieldFold struct {
	field       *schema.Field
	rows, nulls int
	distinct    sketch.Sketch
	lo, hi      vec.Value
	any         bool // lo and hi are set
	known       bool // some split has statistics
	// uncounted and unbounded say that of some values nothing is known.
	uncounted, unbounded bool
}

func (f *fieldFold) add(s *split) {
	f.rows += s.rows()
	b := s.fieldOf(f.field.ID)
	switch {
	case b == nil:
		f.nulls += s.rows() // it came later: old rows have it only in their documents
		return
	case b.Stats == nil:
		f.uncounted, f.unbounded = true, true
		return
	}
	f.known = true
	f.nulls += b.Stats.Nulls
	if b.Stats.Nulls == s.rows() {
		return
	}
	if sk, err := sketch.Decode(b.Stats.Distinct); err == nil {
		f.distinct.Merge(sk)
	} else {
		f.uncounted = true
	}
	lo, hi, ok := b.Stats.Bounds(f.field.Type)
	if !ok {
		f.unbounded = true
		return
	}
	if !f.any || column.Less(lo, f.lo) {
		f.lo = lo
	}
	if !f.any || column.Less(f.hi, hi) {
		f.hi = hi
	}
	f.any = true
}

func (f *fieldFold) finish() (FieldStatistics, bool) {
	out := FieldStatistics{Min: vec.Null(f.field.Type), Max: vec.Null(f.field.Type)}
	if !f.known {
		return out, false
	}
	if f.any && !f.unbounded {
		out.Min, out.Max = f.lo, f.hi
	}
	if !f.uncounted {
		out.Distinct = min(f.distinct.Count(), float64(f.rows-f.nulls))
	}
	out.Nulls = float64(f.nulls) / float64(f.rows)
	return out, true
}

// maxSketches bounds the fields of a split whose different values are counted: the
// table of a split is read and kept whole.
const maxSketches = 64

// bundleFields describe the fields of an object, with the statistics of those that
// are among the columns.
func bundleFields(obj *schema.Object, columns []colRef, stats []column.Statistics) []bundleField {
	out := make([]bundleField, len(obj.Fields))
	for i, f := range obj.Fields {
		out[i] = bundleField{ID: f.ID, Name: f.Name, Type: f.Type.String(), FullText: f.FullText}
	}
	sketches := 0
	for i, ref := range columns {
		if ref.field < 0 {
			continue
		}
		st := stats[i]
		if st.Distinct != nil {
			if sketches++; sketches > maxSketches {
				st.Distinct = nil
			}
		}
		out[ref.field].Stats = &st
	}
	return out
}

// fieldOf is a field as it was when the split was built; nil when there was none.
func (s *split) fieldOf(id int32) *bundleField {
	for i := range s.bundle.table.Fields {
		if f := &s.bundle.table.Fields[i]; f.ID == id {
			return f
		}
	}
	return nil
}

// verifyStatistics compares the statistics of a split's table with its columns.
func verifyStatistics(sec *column.Section, fields []bundleField) error {
	for i := range fields {
		f := &fields[i]
		name := columnName(f.ID)
		if f.Stats == nil {
			if sec.Has(name) {
				return fail.New(fail.Corrupt, "field %q has no statistics", f.Name)
			}
			continue
		}
		if !sec.Has(name) {
			return fail.New(fail.Corrupt, "field %q has statistics and no column", f.Name)
		}
		want := sec.Statistics(name)
		if f.Stats.Nulls != want.Nulls || !bytes.Equal(f.Stats.Min, want.Min) || !bytes.Equal(f.Stats.Max, want.Max) {
			return fail.New(fail.Corrupt, "the statistics of field %q are not those of its column", f.Name)
		}
		if f.Stats.Distinct == nil {
			continue
		}
		if _, err := sketch.Decode(f.Stats.Distinct); err != nil {
			return fail.Wrap(fail.Corrupt, err, "field %q", f.Name)
		}
	}
	return nil
}
