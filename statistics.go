package loam

import (
	"context"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/planner"
)

// Statistics implements planner.Stats: of an object that is about to be read, which
// is opened if it is not.
func (e *Engine) Statistics(ctx context.Context, obj *schema.Object) (planner.ObjectStats, bool) {
	c, err := e.collection(ctx, obj)
	if err != nil {
		return planner.ObjectStats{}, false // whoever reads the object is told
	}
	st := c.Statistics()
	out := planner.ObjectStats{Rows: float64(st.Rows), Columns: make(map[int32]planner.ColumnStats, len(st.Fields))}
	for id, f := range st.Fields {
		out.Columns[id] = planner.ColumnStats(f)
	}
	return out, true
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
