package loam

import (
	"context"
	"math"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
	"github.com/loamdb/loam/storage/collection"
)

// Statistics implements planner.Stats: of an object that is about to be read, which
// is opened if it is not.
func (e *Engine) Statistics(ctx context.Context, obj *schema.Object) (planner.ObjectStats, bool) {
	st, err := e.statistics(ctx, obj)
	if err != nil {
		return planner.ObjectStats{}, false // whoever reads the object is told
	}
	out := planner.ObjectStats{Rows: float64(st.Rows), Columns: make(map[int32]planner.ColumnStats, len(st.Fields))}
	for id, f := range st.Fields {
		out.Columns[id] = planner.ColumnStats(f)
	}
	return out, true
}

// statistics are those of an object as this node has it.
func (e *Engine) statistics(ctx context.Context, obj *schema.Object) (collection.Statistics, error) {
	c, err := e.collection(ctx, obj)
	if err != nil {
		return collection.Statistics{}, err
	}
	return c.Statistics(ctx)
}

// openRows estimates the rows of an object; false when it is not open.
func (e *Engine) openRows(id uint64) (float64, bool) {
	e.mu.Lock()
	c := e.open[id]
	e.mu.Unlock()
	if c == nil {
		return 0, false
	}
	return float64(c.EstimateRows()), true
}

// columnStatisticsRecords lists what the planner knows of each field. What it does not
// know is NULL.
func columnStatisticsRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		if !versioned(o) {
			continue
		}
		st, err := s.engine.statistics(ctx, o)
		if fail.Is(err, fail.UndefinedTable) { // dropped meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, f := range o.Fields {
			r := record{"namespace": vec.Text(o.Namespace), "name": vec.Text(o.Name), "object_id": vec.Int64(int64(o.ID)),
				"column": vec.Text(f.Name), "rows": vec.Int64(st.Rows)}
			if k, ok := st.Fields[f.ID]; ok {
				r["null_fraction"] = vec.Double(k.Nulls)
				if k.Distinct > 0 {
					r["distinct_values"] = vec.Int64(int64(math.Round(k.Distinct)))
				}
				if !k.Min.Null {
					r["min"], r["max"] = vec.Text(k.Min.String()), vec.Text(k.Max.String())
				}
			}
			out = append(out, r)
		}
	}
	return out, nil
}
