package loam

import (
	"context"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/collection"
)

// deadLetters are the batch's bad records as rows of the link's dead letters.
func (w *linkWork) deadLetters(ctx context.Context) (collection.Linked, error) {
	b := w.batch
	to, err := w.e.byID(ctx, w.run.obj.Link.Dead)
	if err != nil {
		return collection.Linked{}, err
	}
	records, err := w.e.recordsJSON(ctx, b)
	if err != nil {
		return collection.Linked{}, err
	}
	obj := to.Object()
	cols := make([]*vec.Vector, len(obj.Fields))
	for i, f := range obj.Fields {
		if _, ours := deadValues[f.Name]; ours {
			cols[i] = vec.New(f.Type, len(b.bad))
		}
	}
	for n := range b.bad {
		for i, f := range obj.Fields {
			if cols[i] == nil {
				continue
			}
			if f.Name == "record" {
				cols[i].AppendRows(records, []int32{int32(n)}, 1)
				continue
			}
			cols[i].Append(deadValues[f.Name](w, n))
		}
	}
	rows, err := collection.FromColumns(obj, cols, len(b.bad))
	return collection.Linked{To: to, Rows: rows}, err
}

// deadValues are the columns of dead letter n.
var deadValues = map[string]func(w *linkWork, n int) vec.Value{
	"link":             func(w *linkWork, _ int) vec.Value { return vec.Text(w.run.obj.QualifiedName()) },
	"source_partition": func(w *linkWork, n int) vec.Value { return vec.Int32(int32(w.batch.bad[n].Partition)) },
	"source_offset":    func(w *linkWork, n int) vec.Value { return vec.Int64(int64(w.batch.bad[n].Offset)) },
	"error_code":       func(w *linkWork, n int) vec.Value { return vec.Text(fail.CodeOf(w.batch.bad[n].Err).SQLState()) },
	"error_message":    func(w *linkWork, n int) vec.Value { return vec.Text(fail.As(w.batch.bad[n].Err).Message) },
	"record":           nil,
}

// recordsJSON writes the bad records as JSON objects, one row each. A value that
// JSON does not have is left out of its object.
func (e *Engine) recordsJSON(ctx context.Context, b *linkBatch) (*vec.Vector, error) {
	env := &expr.Env{Ctx: ctx}
	c := &vec.Chunk{N: len(b.badRows)}
	layout := map[expr.ColumnID]int{}
	var names []string
	var fields []expr.Expr
	for i, col := range b.read {
		v := vec.New(col.Type, len(b.badRows))
		v.AppendRows(b.cols[i], b.badRows, len(b.badRows))
		c.Cols = append(c.Cols, v)
		layout[col.ID] = i
		names, fields = append(names, col.Field), append(fields, col.Ref())
	}
	out, err := e.structJSON(env, names, fields, layout, c)
	if err == nil || !ofRecord(err) {
		return out, err
	}
	out = vec.New(types.Of(types.JSON), c.N)
	for i := range c.N {
		v, err := e.recordJSON(env, names, fields, layout, c, i)
		if err != nil {
			return nil, err
		}
		out.AppendRows(v, []int32{int32(i)}, 1)
	}
	return out, nil
}

// recordJSON writes one record without the fields that cannot be JSON.
func (e *Engine) recordJSON(env *expr.Env, names []string, fields []expr.Expr, layout map[expr.ColumnID]int, c *vec.Chunk, row int) (*vec.Vector, error) {
	one := &vec.Chunk{Cols: c.Cols, N: c.N, Sel: []int32{int32(row)}}
	var keptNames []string
	var kept []expr.Expr
	for i := range fields {
		_, err := e.structJSON(env, names[i:i+1], fields[i:i+1], layout, one)
		switch {
		case err == nil:
			keptNames, kept = append(keptNames, names[i]), append(kept, fields[i])
		case !ofRecord(err):
			return nil, err
		}
	}
	return e.structJSON(env, keptNames, kept, layout, one)
}

func (e *Engine) structJSON(env *expr.Env, names []string, fields []expr.Expr, layout map[expr.ColumnID]int, c *vec.Chunk) (*vec.Vector, error) {
	if len(fields) == 0 {
		return vec.Const(types.Of(types.JSON), vec.Value{Type: types.Of(types.JSON), Str: "{}"}, c.N), nil
	}
	whole := expr.StructOf(names, fields, -1)
	f, err := e.fns.Scalar("to_json", []types.Type{whole.Type()})
	if err != nil {
		return nil, err
	}
	p, err := expr.Compile(&expr.Call{Fn: f.Scalar, Args: []expr.Expr{whole}, T: f.Ret, Offset: -1}, layout)
	if err != nil {
		return nil, err
	}
	return p.Eval(env, c)
}
