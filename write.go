package loam

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/collection"
)

// opColumn carries the operation of each row of a record batch.
const opColumn = "_op"

// find resolves a target to its object and opened collection.
func (s *Session) find(ctx context.Context, t Target) (*collection.Collection, *schema.Object, error) {
	ns := t.Namespace
	if ns == "" {
		ns = s.Namespace()
	}
	obj, err := s.engine.lookup(ctx, ns, t.Name)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.engine.collection(ctx, obj)
	return c, obj, err
}

// AppendRecords writes a record batch. Columns are matched to fields by name;
// _op, if present, says what each row does: upsert (default), delete or patch. A
// column that is missing is NULL for upsert and unchanged for patch. The batch
// stays the caller's.
func (s *Session) AppendRecords(ctx context.Context, t Target, rec arrow.RecordBatch) (Ack, error) {
	c, obj, err := s.find(ctx, t)
	if err != nil {
		return Ack{}, err
	}
	b, err := readBatch(obj, rec)
	if err != nil {
		return Ack{}, err
	}
	for try := 1; ; try++ {
		ack, err := s.appendBatch(ctx, c, obj, b)
		if !fail.Is(err, fail.Conflict) || try == dmlTries {
			return ack, err
		}
	}
}

// batch is a record batch by field, with the rows of each operation.
type batch struct {
	cols                    []*vec.Vector // one a field, nil where absent
	n                       int
	upserts, deletes, patch []int32
}

func readBatch(obj *schema.Object, rec arrow.RecordBatch) (*batch, error) {
	b := &batch{cols: make([]*vec.Vector, len(obj.Fields)), n: int(rec.NumRows())}
	var ops *vec.Vector
	for i, f := range rec.Schema().Fields() {
		if f.Name == opColumn {
			var err error
			if ops, err = vec.FromArrow(rec.Column(i), types.Of(types.Text)); err != nil {
				return nil, columnError(f.Name, err)
			}
			continue
		}
		field, n := obj.FieldByName(f.Name, false)
		if field == nil {
			return nil, noField(obj, f.Name, n)
		}
		at, err := fieldNamed(obj, field.Name)
		if err != nil {
			return nil, err
		}
		if b.cols[at] != nil {
			return nil, fail.New(fail.DuplicateColumn, "column %q appears twice in the batch", f.Name)
		}
		if b.cols[at], err = vec.FromArrow(rec.Column(i), field.Type); err != nil {
			return nil, columnError(f.Name, err)
		}
	}
	return b, b.sortOps(obj, ops)
}

func columnError(name string, err error) error {
	e := *fail.As(err)
	e.Message = "column \"" + name + "\": " + e.Message
	return &e
}

func noField(obj *schema.Object, name string, matches int) error {
	if matches > 1 {
		return fail.New(fail.AmbiguousColumn, "column %q of the batch matches %d fields of %s", name, matches, obj.Name)
	}
	e := fail.New(fail.UndefinedColumn, "%s %s has no field %q", obj.Kind, obj.Name, name)
	if near := fail.Closest(name, obj.FieldNames()); near != "" {
		return e.WithHint("Did you mean %q?", near)
	}
	return e.WithHint("Its fields are %s.", strings.Join(obj.FieldNames(), ", "))
}

func (b *batch) sortOps(obj *schema.Object, ops *vec.Vector) error {
	for i := range b.n {
		op := "upsert"
		if ops != nil && !ops.IsNull(i) {
			op = strings.ToLower(ops.Value(i).Str)
		}
		switch op {
		case "upsert", "insert":
			b.upserts = append(b.upserts, int32(i))
		case "delete":
			b.deletes = append(b.deletes, int32(i))
		case "patch", "update":
			b.patch = append(b.patch, int32(i))
		default:
			return fail.New(fail.InvalidParameter, "row %d: _op is %q", i+1, op).WithHint("_op is upsert, delete or patch.")
		}
	}
	if obj.Kind == schema.Table && len(b.deletes)+len(b.patch) > 0 {
		return fail.New(fail.WrongObjectType, "%s is a table, whose rows have no key: only upsert works", obj.Name).
			WithHint("Use DELETE or UPDATE in SQL.")
	}
	return nil
}

// pick is the batch's columns cut to some rows.
func (b *batch) pick(rows []int32) []*vec.Vector {
	out := make([]*vec.Vector, len(b.cols))
	for i, c := range b.cols {
		if c == nil {
			continue
		}
		if len(rows) == b.n {
			out[i] = c
			continue
		}
		out[i] = vec.New(c.Type, len(rows))
		out[i].AppendRows(c, rows, len(rows))
	}
	return out
}

// appendBatch writes the operations of one batch: patches are computed from a
// snapshot and give Conflict when their documents changed meanwhile.
func (s *Session) appendBatch(ctx context.Context, c *collection.Collection, obj *schema.Object, b *batch) (Ack, error) {
	ack := Ack{Rows: int64(b.n)}
	if len(b.upserts) > 0 || b.n == 0 {
		rows, err := collection.FromColumns(obj, b.pick(b.upserts), len(b.upserts))
		if err != nil {
			return ack, err
		}
		if b.n > 0 {
			if ack.Token, err = c.Append(ctx, rows); err != nil {
				return ack, err
			}
		}
		b.upserts = nil
	}
	if len(b.deletes) > 0 {
		keys, err := collection.KeysOf(obj, b.pick(b.deletes), len(b.deletes))
		if err != nil {
			return ack, err
		}
		t, err := c.Append(ctx, collection.DeleteKeys(obj, keys))
		if err != nil {
			return ack, err
		}
		ack.Token, b.deletes = ack.Token.Merge(t), nil
	}
	if len(b.patch) > 0 {
		t, err := patch(ctx, c, obj, b)
		if err != nil {
			return ack, err
		}
		ack.Token = ack.Token.Merge(t)
	}
	return s.acked(c, ack), nil
}

func (s *Session) acked(c *collection.Collection, ack Ack) Ack {
	left := c.Backlog()
	ack.UnappliedRecords, ack.UnappliedBytes = left.Records, left.Bytes
	return ack
}

// AppendDocuments upserts JSON documents into a collection, all or none.
func (s *Session) AppendDocuments(ctx context.Context, t Target, docs [][]byte) (Ack, error) {
	c, obj, err := s.find(ctx, t)
	if err != nil {
		return Ack{}, err
	}
	rows, err := collection.FromDocuments(obj, docs)
	if err != nil {
		return Ack{}, err
	}
	ack := Ack{Rows: int64(len(docs))}
	if len(docs) > 0 {
		if ack.Token, err = c.Append(ctx, rows); err != nil {
			return ack, err
		}
	}
	return s.acked(c, ack), nil
}

// PrepareIngest makes the target of a bulk ingest ready: a new table of the
// Arrow schema, a replaced one, or the one that is there. Errors:
// UndefinedTable, DuplicateObject, DatatypeMismatch.
func (s *Session) PrepareIngest(ctx context.Context, t Target, sch *arrow.Schema, mode IngestMode) (*schema.Object, error) {
	_, obj, err := s.find(ctx, t)
	switch {
	case err == nil && mode.IfExists == "append":
		return obj, compatible(obj, sch)
	case err == nil && mode.IfExists == "replace":
		if err := s.engine.cat.Drop(ctx, obj.ID); err != nil {
			return nil, err
		}
		s.engine.forget(obj.ID)
	case err == nil:
		return nil, fail.New(fail.DuplicateObject, "%s %s exists already", obj.Kind, obj.Name).
			WithHint("Ingest with mode append or replace.")
	case !fail.Is(err, fail.UndefinedTable) || !mode.Create:
		return nil, err
	}
	ns := t.Namespace
	if ns == "" {
		ns = s.Namespace()
	}
	fresh := &schema.Object{Namespace: ns, Name: t.Name, Kind: schema.Table, Partitions: 1}
	for _, f := range sch.Fields() {
		ft, err := types.FromArrow(f.Type)
		if err != nil {
			return nil, columnError(f.Name, err)
		}
		if ft.Kind == types.Unknown {
			ft = types.Of(types.Text)
		}
		fresh.Fields = append(fresh.Fields, schema.Field{Name: f.Name, Type: ft})
	}
	if len(fresh.Fields) == 0 {
		return nil, fail.New(fail.InvalidParameter, "a table needs at least one column")
	}
	return s.engine.createObject(ctx, fresh)
}

// compatible checks that the columns of an ingest exist and can be cast.
func compatible(obj *schema.Object, sch *arrow.Schema) error {
	for _, f := range sch.Fields() {
		if f.Name == opColumn {
			continue
		}
		field, n := obj.FieldByName(f.Name, false)
		if field == nil {
			return noField(obj, f.Name, n)
		}
		from, err := types.FromArrow(f.Type)
		if err != nil {
			return columnError(f.Name, err)
		}
		if types.Cast(from, field.Type) != types.ImplicitCast && !from.Equal(field.Type) {
			return fail.New(fail.DatatypeMismatch, "column %q is %s, field %q of %s is %s", f.Name, f.Type, field.Name, obj.Name, field.Type)
		}
	}
	return nil
}
