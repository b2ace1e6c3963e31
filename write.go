package loam

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/collection"
)

// opColumn carries the operation of each row of a record batch, and partitionColumn
// the partition of a stream that the row goes to.
const (
	opColumn        = "_op"
	partitionColumn = "_partition"
)

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
	if obj.Kind == schema.View {
		return nil, nil, fail.New(fail.WrongObjectType, "%s is a view: it has no rows of its own", obj.QualifiedName()).
			WithHint("SELECT from it, or name a collection or a table.")
	}
	if obj.Kind == schema.Link {
		return nil, nil, fail.New(fail.WrongObjectType, "%s is a link: it has no rows of its own", obj.QualifiedName()).
			WithHint("Name its source or its target.")
	}
	c, err := s.engine.collection(ctx, obj)
	return c, obj, err
}

// AppendRecords writes a record batch. Columns are matched to fields by name;
// _op, if present, says what each row does: upsert (default), delete or patch. A
// column that is missing has its default for upsert and is unchanged for patch. The batch
// stays the caller's.
func (s *Session) AppendRecords(ctx context.Context, t Target, rec arrow.RecordBatch) (Ack, error) {
	c, obj, err := s.find(ctx, t)
	if err != nil {
		return Ack{}, err
	}
	if obj.Kind == schema.Stream {
		return s.Produce(ctx, t, nil, rec)
	}
	if obj.Dynamic {
		fields, err := undeclared(obj, rec.Schema())
		if err != nil {
			return Ack{}, err
		}
		if obj, err = s.grow(ctx, c, obj, fields); err != nil {
			return Ack{}, err
		}
	}
	b, err := readBatch(obj, rec)
	if err != nil {
		return Ack{}, err
	}
	if err := s.fillDefaults(ctx, obj, b); err != nil {
		return Ack{}, err
	}
	ack := Ack{Rows: int64(b.n)}
	from := 0
	for try := 1; ; try++ {
		t, err := s.appendBatch(ctx, c, obj, b, &from)
		ack.Token = ack.Token.Merge(t)
		if err == nil {
			return s.acked(c, ack), nil
		}
		if !fail.Is(err, fail.Conflict) || try == dmlTries {
			return ack, err
		}
	}
}

// undeclared are the columns of a batch that a dynamic collection takes into its
// schema. Vectors must be declared: they need a distance.
func undeclared(obj *schema.Object, sch *arrow.Schema) ([]schema.Field, error) {
	var out []schema.Field
	for _, f := range sch.Fields() {
		if have, n := obj.FieldByName(f.Name, false); have != nil || n > 0 || strings.HasPrefix(f.Name, "_") {
			continue
		}
		t, err := types.FromArrow(f.Type)
		if err != nil {
			return nil, columnError(f.Name, err)
		}
		if t.Kind == types.Vector || t.Kind == types.Sparse || t.Kind == types.Unknown {
			return nil, noField(obj, f.Name, 0)
		}
		out = append(out, schema.Field{Name: f.Name, Type: t})
	}
	return out, nil
}

// batch is a record batch by field with the operation of each row.
type batch struct {
	cols []*vec.Vector // one a field, nil where absent
	n    int
	ops  []rowOp
	// to are the partitions that rows name, below 0 for none; nil without the column.
	to []int32
	// defaults are the values that upserts have in absent columns, nil for NULL.
	defaults []*vec.Vector
}

// rowOp is what a row of a batch does.
type rowOp uint8

const (
	opUpsert rowOp = iota
	opDelete
	opPatch
)

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
		if f.Name == partitionColumn && obj.Kind == schema.Stream {
			if err := b.readPartitions(rec.Column(i)); err != nil {
				return nil, err
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
	return b, b.readOps(obj, ops)
}

// readPartitions reads the column of partitions; NULL names none.
func (b *batch) readPartitions(col arrow.Array) error {
	v, err := vec.FromArrow(col, types.Of(types.Int32))
	if err != nil {
		return columnError(partitionColumn, err)
	}
	b.to = make([]int32, b.n)
	for i := range b.to {
		switch {
		case v.IsNull(i):
			b.to[i] = -1
		case v.Value(i).Int < 0:
			return fail.New(fail.InvalidParameter, "row %d: %s is %d", i+1, partitionColumn, v.Value(i).Int).
				WithHint("Partitions are counted from 0; NULL leaves the choice to the key.")
		default:
			b.to[i] = int32(v.Value(i).Int)
		}
	}
	return nil
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

func (b *batch) readOps(obj *schema.Object, ops *vec.Vector) error {
	b.ops = make([]rowOp, b.n)
	if ops == nil {
		return nil
	}
	for i := range b.n {
		if ops.IsNull(i) {
			continue
		}
		switch op := strings.ToLower(ops.Value(i).Str); op {
		case "upsert", "insert":
		case "delete":
			b.ops[i] = opDelete
		case "patch", "update":
			b.ops[i] = opPatch
		default:
			return fail.New(fail.InvalidParameter, "row %d: _op is %q", i+1, op).WithHint("_op is upsert, delete or patch.")
		}
		if obj.Kind.Tabular() && b.ops[i] != opUpsert {
			e := fail.New(fail.WrongObjectType, "row %d: %s is a %s, whose rows have no key: only upsert works", i+1, obj.Name, obj.Kind)
			if obj.Kind == schema.Stream {
				return e.WithHint("Records of a stream are only added, and leave by retention.")
			}
			return e.WithHint("Use DELETE or UPDATE in SQL.")
		}
	}
	return nil
}

// run is the end of the run of rows from from that one append can take: upserts
// and deletes go together, patches are computed first.
func (b *batch) run(from int) int {
	to := from + 1
	for to < b.n && (b.ops[to] == opPatch) == (b.ops[from] == opPatch) {
		to++
	}
	return to
}

// slice is the batch's columns cut to rows [from, to).
func (b *batch) slice(from, to int) []*vec.Vector {
	out := make([]*vec.Vector, len(b.cols))
	for i, c := range b.cols {
		if c != nil {
			out[i] = c.Flatten().Slice(from, to)
		}
	}
	return out
}

// appendBatch writes the rows in their order, run by run. A patch gives Conflict
// when its documents changed meanwhile; from says where to go on then.
func (s *Session) appendBatch(ctx context.Context, c *collection.Collection, obj *schema.Object, b *batch, from *int) (snapshot.Token, error) {
	var token snapshot.Token
	for *from < b.n {
		to := b.run(*from)
		var t snapshot.Token
		var err error
		if b.ops[*from] == opPatch {
			t, err = patch(ctx, c, obj, b.slice(*from, to), to-*from)
		} else {
			t, err = upsertDelete(ctx, c, obj, b, *from, to)
		}
		if err != nil {
			return token, err
		}
		token, *from = token.Merge(t), to
	}
	return token, nil
}

// upsertDelete appends a run of upserts and deletes as one unit.
func upsertDelete(ctx context.Context, c *collection.Collection, obj *schema.Object, b *batch, from, to int) (snapshot.Token, error) {
	cols := b.slice(from, to)
	for i, d := range b.defaults {
		if d != nil {
			cols[i] = d.Slice(from, to)
		}
	}
	var rows *collection.Rows
	var err error
	if slices.Contains(b.ops[from:to], opDelete) {
		gone := make([]bool, to-from)
		for i := range gone {
			gone[i] = b.ops[from+i] == opDelete
		}
		rows, err = collection.FromColumnsWithDeletes(obj, cols, gone)
	} else {
		rows, err = collection.FromColumns(obj, cols, to-from)
	}
	if err != nil {
		return snapshot.Token{}, err
	}
	return c.Append(ctx, rows)
}

func (s *Session) acked(c *collection.Collection, ack Ack) Ack {
	left := c.Waiting()
	ack.UnappliedRecords, ack.UnappliedBytes = left.Records, left.Bytes
	return ack
}

// AppendDocuments upserts JSON documents into a collection, or appends JSON records to
// a stream, all or none.
func (s *Session) AppendDocuments(ctx context.Context, t Target, docs [][]byte) (Ack, error) {
	c, obj, err := s.find(ctx, t)
	if err != nil {
		return Ack{}, err
	}
	if obj.Kind == schema.Stream {
		return s.ProduceDocuments(ctx, t, nil, docs)
	}
	if err := checkDefaults(obj, docs); err != nil {
		return Ack{}, err
	}
	rows, err := collection.FromDocuments(obj, docs)
	if err == nil && obj.Dynamic {
		if obj, err = s.grow(ctx, c, obj, collection.Discover(obj, docs)); err == nil {
			rows, err = collection.FromDocuments(obj, docs)
		}
	}
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

// grow adds discovered fields to a dynamic collection.
func (s *Session) grow(ctx context.Context, c *collection.Collection, obj *schema.Object, fields []schema.Field) (*schema.Object, error) {
	if len(fields) == 0 {
		return obj, nil
	}
	obj, err := s.engine.cat.AddFields(ctx, obj, fields)
	if err == nil {
		c.SetObject(obj)
	}
	return obj, err
}

// PrepareIngest makes the target of a bulk ingest ready: a new table of the
// Arrow schema, a replaced one, or the one that is there. Errors:
// UndefinedTable, DuplicateObject, DatatypeMismatch.
func (s *Session) PrepareIngest(ctx context.Context, t Target, sch *arrow.Schema, mode IngestMode) (*schema.Object, error) {
	_, obj, err := s.find(ctx, t)
	switch {
	case err == nil && mode.IfExists == "append":
		return obj, compatible(obj, sch)
	case err == nil && mode.IfExists == "replace" && obj.Kind == schema.Stream:
		return nil, fail.New(fail.WrongObjectType, "%s is a stream, and an ingest that replaces it would make a table of it", obj.Name).
			WithHint("Ingest with mode append.")
	case err == nil && mode.IfExists == "replace":
		if err := s.engine.drop(ctx, obj); err != nil {
			return nil, err
		}
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
		if f.Name == opColumn || f.Name == partitionColumn && obj.Kind == schema.Stream {
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
