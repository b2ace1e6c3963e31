package loam

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/link"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
)

// linkBatch is what a link has read and what it makes of it.
type linkBatch struct {
	// partitions and offsets name the records in their order, cols are the columns
	// that were read of them.
	partitions []int32
	offsets    []uint64
	cols       []*vec.Vector
	read       []plan.ScanColumn
	bytes      int64
	to         []uint64 // where to go on

	source  *collection.Snapshot
	target  *collection.Collection
	rows    *collection.Rows // nil for none
	written int
	bad     []link.Bad
	badRows []int32 // the records of bad
}

// readLinkBatch reads records of a source, as it is at one revision, as a says, and
// makes rows of the target. Its errors are those of the surroundings; those of
// records are in the batch.
func (e *Engine) readLinkBatch(ctx context.Context, obj *schema.Object, t *plan.Transform, at metastore.ObjectState, a link.Action) (*linkBatch, error) {
	b := &linkBatch{to: slices.Clone(a.From)}
	var err error
	if b.source, err = e.sourceAt(ctx, obj, at); err != nil {
		return nil, err
	}
	if b.target, err = e.byID(ctx, obj.Link.Target); err != nil {
		return nil, err
	}
	now, err := e.meta.Now(ctx)
	if err != nil {
		return nil, err
	}
	env := &expr.Env{Ctx: ctx, Now: time.UnixMilli(now).UTC(), Namespace: obj.Query.Namespace, Random: e.cfg.IDs.Uint64}
	b.read = columnsRead(t, b.source.Object(), obj.Link.OnError == schema.DeadLetter)
	for _, c := range b.read {
		b.cols = append(b.cols, vec.New(c.Type, 0))
	}
	for p, from := range a.From {
		r := collection.RecordRange{Partition: p, From: from, Rows: a.Records, Bytes: max(1, obj.Link.BatchBytes/int64(len(a.From)))}
		end := uint64(math.MaxUint64)
		if a.To != nil {
			end, r.Bytes = a.To[p], math.MaxInt64 // it was read before
		}
		if from < end && from < at.Partitions[p].Next {
			if err := b.records(ctx, r, end); err != nil {
				return nil, err
			}
		}
	}
	return b, b.make(env, t)
}

// sourceAt is a link's source at one revision.
func (e *Engine) sourceAt(ctx context.Context, obj *schema.Object, at metastore.ObjectState) (*collection.Snapshot, error) {
	c, err := e.byID(ctx, obj.Link.Source)
	if err != nil {
		return nil, err
	}
	return c.At(ctx, at.Head, at.Partitions)
}

// columnsRead are the columns that the transform reads, and with all every field.
func columnsRead(t *plan.Transform, source *schema.Object, all bool) []plan.ScanColumn {
	used := map[expr.ColumnID]bool{}
	for _, e := range append([]expr.Expr{t.Where}, t.Exprs...) {
		if e != nil {
			expr.Columns(e, used)
		}
	}
	var out []plan.ScanColumn
	next := expr.ColumnID(0)
	for _, c := range t.Cols {
		next = max(next, c.ID)
		if used[c.ID] {
			out = append(out, c)
		}
	}
	if !all {
		return out
	}
	for _, f := range source.Fields {
		if !slices.ContainsFunc(out, func(c plan.ScanColumn) bool { return c.Field == f.Name }) {
			next++
			out = append(out, plan.ScanColumn{Column: plan.Column{ID: next, Name: f.Name, Type: f.Type}, Field: f.Name})
		}
	}
	return out
}

// The columns of records that are no fields, in their order.
var recordColumns = []string{string(schema.ColPartition), string(schema.ColOffset), string(schema.ColIngestTS)}

// records reads records of one partition that lie below end.
func (b *linkBatch) records(ctx context.Context, r collection.RecordRange, end uint64) error {
	r.Fields = []string{}
	place := make([]int, len(b.read)) // of each column, in the answer
	for i, c := range b.read {
		if place[i] = slices.Index(recordColumns, c.Field); place[i] < 0 {
			place[i] = len(recordColumns) + len(r.Fields)
			r.Fields = append(r.Fields, c.Field)
		}
	}
	run, err := b.source.Records(ctx, r)
	if err != nil {
		return err
	}
	for _, c := range run.Chunks {
		offsets := c.Cols[1].Int64s
		n := c.N
		for n > 0 && uint64(offsets[n-1]) >= end {
			n--
		}
		for i, at := range place {
			b.cols[i].AppendRows(c.Cols[at], nil, n)
		}
		for _, o := range offsets[:n] {
			b.partitions, b.offsets = append(b.partitions, int32(r.Partition)), append(b.offsets, uint64(o))
		}
	}
	b.to[r.Partition] = min(run.Next, end)
	b.bytes += run.Bytes
	return nil
}

// rowMaker makes rows of a target out of records.
type rowMaker struct {
	env    *expr.Env
	where  *expr.Program
	exprs  []*expr.Program
	fields []int // positions in the target's fields
	target *schema.Object
}

func newRowMaker(env *expr.Env, t *plan.Transform, read []plan.ScanColumn, target *schema.Object) (*rowMaker, error) {
	layout := map[expr.ColumnID]int{}
	for i, c := range read {
		layout[c.ID] = i
	}
	m := &rowMaker{env: env, target: target}
	var err error
	if t.Where != nil {
		if m.where, err = expr.Compile(t.Where, layout); err != nil {
			return nil, err
		}
	}
	for i, e := range t.Exprs {
		p, err := expr.Compile(e, layout)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(target.Fields, func(f schema.Field) bool { return f.ID == t.Fields[i] })
		if at < 0 {
			return nil, fail.New(fail.Conflict, "the columns of %s changed meanwhile", target.QualifiedName())
		}
		m.exprs, m.fields = append(m.exprs, p), append(m.fields, at)
	}
	return m, nil
}

// run appends the rows that the given records of a chunk become to out, one column
// an expression, and returns the records that passed the filter.
func (m *rowMaker) run(c *vec.Chunk, rows []int32, out []*vec.Vector) ([]int32, error) {
	k := &vec.Chunk{Cols: c.Cols, N: c.N, Sel: rows}
	if m.where != nil {
		sel, err := m.where.Select(m.env, k)
		if err != nil {
			return nil, err
		}
		k.Sel = sel
	}
	if len(k.Sel) == 0 {
		return nil, nil
	}
	made := make([]*vec.Vector, len(m.exprs))
	for i, p := range m.exprs {
		var err error
		if made[i], err = p.Eval(m.env, k); err != nil {
			return nil, err
		}
	}
	if out != nil {
		for i, v := range made {
			out[i].AppendRows(v, k.Sel, len(k.Sel))
		}
	}
	return k.Sel, nil
}

// make turns the records into rows; those that cannot become rows are bad.
func (b *linkBatch) make(env *expr.Env, t *plan.Transform) error {
	n := len(b.offsets)
	if n == 0 {
		return nil
	}
	m, err := newRowMaker(env, t, b.read, b.target.Object())
	if err != nil {
		return err
	}
	out := make([]*vec.Vector, len(t.Exprs))
	for i, e := range t.Exprs {
		out[i] = vec.New(e.Type(), n)
	}
	bad := map[int32]error{}
	var made []int32 // the record of each row
	for from := 0; from < n; from += vec.ChunkRows {
		to := min(n, from+vec.ChunkRows)
		c := &vec.Chunk{N: to - from}
		for _, col := range b.cols {
			c.Cols = append(c.Cols, col.Slice(from, to))
		}
		sel, err := b.chunk(m, c, int32(from), out, bad)
		if err != nil {
			return err
		}
		for _, r := range sel {
			made = append(made, int32(from)+r)
		}
	}
	if err := b.encode(m, out, made, bad); err != nil {
		return err
	}
	b.list(bad)
	return nil
}

// chunk makes rows of the records of one chunk, which begin at first. Only where one
// of them is bad are they looked at in parts.
func (b *linkBatch) chunk(m *rowMaker, c *vec.Chunk, first int32, out []*vec.Vector, bad map[int32]error) ([]int32, error) {
	rows := make([]int32, c.N)
	for i := range rows {
		rows[i] = int32(i)
	}
	if _, err := m.run(c, rows, nil); err != nil {
		found, err := link.Sift(rows, func(rows []int32) error { _, err := m.run(c, rows, nil); return err }, ofRecord)
		if err != nil {
			return nil, err
		}
		for r, err := range found {
			bad[first+r] = err
		}
		rows = slices.DeleteFunc(rows, func(r int32) bool { return found[r] != nil })
	}
	return m.run(c, rows, out)
}

// ofRecord tells the errors that a record is to blame for.
func ofRecord(err error) bool {
	switch fail.CodeOf(err).SQLState()[:2] {
	case "21", "22", "23", "54":
		return true
	}
	return false
}

// encode makes rows of the columns. A row that the target does not take makes its
// record a bad one.
func (b *linkBatch) encode(m *rowMaker, cols []*vec.Vector, made []int32, bad map[int32]error) error {
	encode := func(rows []int32) (*collection.Rows, error) {
		byField := make([]*vec.Vector, len(m.target.Fields))
		for i, at := range m.fields {
			byField[at] = cols[i]
			if rows != nil {
				byField[at] = vec.New(cols[i].Type, len(rows))
				byField[at].AppendRows(cols[i], rows, len(rows))
			}
		}
		n := len(made)
		if rows != nil {
			n = len(rows)
		}
		made, err := collection.FromColumns(m.target, byField, n)
		if err == nil {
			err = b.target.CheckRows(made)
		}
		return made, err
	}
	if len(made) == 0 {
		return nil
	}
	rows, err := encode(nil)
	if err == nil {
		b.rows, b.written = rows, len(made)
		return nil
	}
	var good []int32
	for from := 0; from < len(made); from += vec.ChunkRows {
		var part []int32
		for i := from; i < min(len(made), from+vec.ChunkRows); i++ {
			part = append(part, int32(i))
		}
		found, err := link.Sift(part, func(rows []int32) error { _, err := encode(rows); return err }, ofRecord)
		if err != nil {
			return err
		}
		for _, r := range part {
			if err := found[r]; err != nil {
				bad[made[r]] = err
			} else {
				good = append(good, r)
			}
		}
	}
	if len(good) == 0 {
		return nil
	}
	if b.rows, err = encode(good); err != nil {
		return err
	}
	b.written = len(good)
	return nil
}

// list names the bad records in their order.
func (b *linkBatch) list(bad map[int32]error) {
	for r := range bad {
		b.badRows = append(b.badRows, r)
	}
	slices.Sort(b.badRows)
	for _, r := range b.badRows {
		e := *fail.As(bad[r])
		e.Message = strings.TrimPrefix(e.Message, "row 1: ") // it was tried alone
		b.bad = append(b.bad, link.Bad{Partition: int(b.partitions[r]), Offset: b.offsets[r], Err: &e})
	}
}
