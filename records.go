package loam

import (
	"context"
	"iter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Schema is the Arrow schema of the rows; it has no fields for statements without rows.
func (r *Result) Schema() *arrow.Schema {
	names, ts := make([]string, len(r.Columns)), make([]types.Type, len(r.Columns))
	for i, c := range r.Columns {
		names[i], ts[i] = c.Name, c.Type
	}
	return vec.Schema(names, ts)
}

// Records are the rows as record batches of Schema, of 2,048 rows at most. The batch
// belongs to the loop's body, which may keep it with Retain. After an error there is
// nothing more. The result is closed when the loop ends, also early.
func (r *Result) Records(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		sch := r.Schema()
		more := true
		for more {
			var rec arrow.RecordBatch
			c, err := r.Next(ctx)
			if err == nil && c == nil {
				break
			}
			if err == nil {
				rec, err = vec.ChunkToRecord(c, sch, memory.DefaultAllocator)
			}
			if err != nil {
				_ = r.Close()
				yield(nil, err)
				return
			}
			more = yield(rec, nil)
			rec.Release()
		}
		if err := r.Close(); err != nil && more {
			yield(nil, err)
		}
	}
}

// argument is a parameter's value of a Go value.
func argument(v any) (vec.Value, error) {
	switch x := v.(type) {
	case nil:
		return vec.Null(types.Of(types.Unknown)), nil
	case vec.Value:
		return x, nil
	case bool:
		return vec.Bool(x), nil
	case int:
		return vec.Int64(int64(x)), nil
	case int32:
		return vec.Int32(x), nil
	case int64:
		return vec.Int64(x), nil
	case float32:
		return vec.Double(float64(x)), nil
	case float64:
		return vec.Double(x), nil
	case string:
		return vec.Text(x), nil
	case []byte:
		return vec.Value{Type: types.Of(types.Binary), Str: string(x)}, nil
	case []float32:
		return vec.VectorValue(x), nil
	case []string:
		out := vec.Value{Type: types.ListOf(types.Of(types.Text))}
		for _, s := range x {
			out.List = append(out.List, vec.Text(s))
		}
		return out, nil
	case time.Time:
		return vec.Value{Type: types.Of(types.Timestamp), Int: x.UnixMicro()}, nil
	}
	return vec.Value{}, fail.New(fail.InvalidParameter, "a parameter cannot be a %T", v).
		WithHint("It may be nil, a bool, an int, int32 or int64, a float32 or float64, a string, a time.Time, a []byte, a []float32 or a []string.")
}
