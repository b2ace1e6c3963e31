package loam

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
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

	source  *collection.Snapshot
	target  *collection.Collection
	rows    *collection.Rows // nil for none
	written int
	bad     []link.Bad
	badRows []int32 // the records of bad
}

// readLinkBatch reads the records from the offsets from to the offsets to of a
// source, as it is at one revision, and makes rows of the target. Its errors are
// those of the surroundings; those of records are in the batch.
func (e *Engine) readLinkBatch(ctx context.Context, obj *schema.Object, t *plan.Transform, at metastore.ObjectState, from, to []uint64) (*linkBatch, error) {
	c, err := e.byID(ctx, obj.Link.Source)
	if err != nil {
		return nil, err
	}
	b := &linkBatch{}
	if b.source, err = c.At(ctx, at.Head, at.Partitions); err != nil {
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
	for p := range from {
		if from[p] < to[p] {
			if err := b.records(env, p, from[p], to[p]); err != nil {
				return nil, err
			}
		}
	}
	return b, b.make(env, t)
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

// records reads a window of one partition, in the order of offsets.
func (b *linkBatch) records(env *expr.Env, p int, from, to uint64) error {
	next := expr.ColumnID(0)
	for _, c := range b.read {
		next = max(next, c.ID)
	}
	part := plan.ScanColumn{Column: plan.Column{ID: next + 1, Name: string(schema.ColPartition), Type: types.Of(types.Int32)}, Field: string(schema.ColPartition)}
	off := plan.ScanColumn{Column: plan.Column{ID: next + 2, Name: string(schema.ColOffset), Type: types.Of(types.Int64)}, Field: string(schema.ColOffset)}
	cols := append(slices.Clone(b.read), part, off)
	scan, err := b.source.Scan(env, &plan.Scan{Object: b.source.Object(), Cols: cols, Limit: plan.NoLimit, Filter: expr.AllOf([]expr.Expr{
		&expr.Compare{Op: expr.Eq, Left: part.Ref(), Right: &expr.Const{Value: vec.Int32(int32(p))}},
		&expr.Compare{Op: expr.Ge, Left: off.Ref(), Right: &expr.Const{Value: vec.Int64(int64(from))}},
		&expr.Compare{Op: expr.Lt, Left: off.Ref(), Right: &expr.Const{Value: vec.Int64(int64(to))}}})})
	if err != nil {
		return err
	}
	ts := make([]types.Type, len(cols))
	for i, c := range cols {
		ts[i] = c.Type
	}
	all := vec.NewChunk(ts, 0)
	for {
		c, err := scan.Next(env.Ctx)
		if err != nil {
			return err
		}
		if c == nil {
			break
		}
		all.AppendRows(c)
	}
	b.take(p, all)
	return nil
}

// take appends a partition's records, sorted by offset; the last column holds it.
func (b *linkBatch) take(p int, all *vec.Chunk) {
	offsets := all.Cols[len(all.Cols)-1].Int64s
	order := make([]int32, all.N)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(offsets[a], offsets[b]) })
	if b.cols == nil {
		for _, c := range b.read {
			b.cols = append(b.cols, vec.New(c.Type, all.N))
		}
	}
	for i, c := range b.cols {
		c.AppendRows(all.Cols[i], order, len(order))
	}
	for _, i := range order {
		b.partitions = append(b.partitions, int32(p))
		b.offsets = append(b.offsets, uint64(offsets[i]))
	}
	b.bytes += sizeOf(all.Cols)
}

// sizeOf is about the memory of flat columns.
func sizeOf(cols []*vec.Vector) int64 {
	n := int64(0)
	for _, c := range cols {
		switch {
		case c.Child != nil:
			n += 4*int64(c.N) + sizeOf([]*vec.Vector{c.Child})
		case len(c.Fields) > 0:
			n += sizeOf(c.Fields)
		case c.Type.Kind == types.Vector:
			n += 4 * int64(len(c.Float32s))
		case len(c.Strings.Views) > 0:
			for i := range c.N {
				n += 16 + int64(len(c.Strings.At(i)))
			}
		default:
			n += 8 * int64(c.N)
		}
	}
	return n
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
		return collection.FromColumns(m.target, byField, n)
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
