package planner_test

import (
	"fmt"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// runWindow adds the calls of a window to rows in their order. Frames: rows and
// peers, no offsets of RANGE and GROUPS.
func runWindow(x *plan.Window, in relation) (relation, error) {
	out := relation{cols: x.Columns()}
	const at = expr.ColumnID(-9)
	tagged := relation{cols: append(append([]plan.Column(nil), in.cols...), plan.Column{ID: at, Type: types.Of(types.Int64)})}
	for i, values := range in.rows {
		tagged.rows = append(tagged.rows, append(append(row(nil), values...), vec.Int64(int64(i))))
		out.rows = append(out.rows, append(row(nil), values...))
	}
	sorted, err := runSort(&plan.Sort{Keys: x.OrderBy, Limit: plan.NoLimit}, tagged)
	if err != nil {
		return out, err
	}
	parts := map[string]relation{}
	for _, values := range sorted.rows {
		var key row
		for _, e := range x.PartitionBy {
			v, err := sorted.eval(e, values)
			if err != nil {
				return out, err
			}
			key = append(key, v)
		}
		k := keyOf(key)
		part := parts[k]
		part.cols = sorted.cols
		part.rows = append(part.rows, values)
		parts[k] = part
	}
	for _, part := range parts {
		peers, err := peersOf(x, part)
		if err != nil {
			return out, err
		}
		for _, c := range x.Calls {
			for i, values := range part.rows {
				v, err := windowValue(c, part, peers, i)
				if err != nil {
					return out, err
				}
				r := values[len(values)-1].Int
				out.rows[r] = append(out.rows[r], v)
			}
		}
	}
	return out, nil
}

// peersOf numbers the peer groups of a sorted partition.
func peersOf(x *plan.Window, part relation) ([]int, error) {
	out := make([]int, len(part.rows))
	last := ""
	for i, values := range part.rows {
		var key row
		for _, k := range x.OrderBy {
			v, err := part.eval(k.Expr, values)
			if err != nil {
				return nil, err
			}
			key = append(key, v)
		}
		if i > 0 {
			out[i] = out[i-1]
			if keyOf(key) != last {
				out[i]++
			}
		}
		last = keyOf(key)
	}
	return out, nil
}

// windowValue is one call for row i of a sorted partition.
func windowValue(c plan.WindowCall, part relation, peers []int, i int) (vec.Value, error) {
	if c.Agg != nil {
		lo, hi, err := frameRows(c.Frame, peers, i)
		if err != nil {
			return vec.Value{}, err
		}
		frame := relation{cols: part.cols, rows: part.rows[lo:hi]}
		v, err := runCall(plan.AggCall{Column: c.Column, Fn: c.Agg, Args: c.Args, Filter: c.Filter}, frame, make([]uint32, hi-lo), 1)
		if err != nil {
			return vec.Value{}, err
		}
		return v.Value(0), nil
	}
	switch c.Fn.Kind {
	case expr.RowNumber:
		return vec.Int64(int64(i + 1)), nil
	case expr.Rank:
		n := 0
		for n < i && peers[n] < peers[i] {
			n++
		}
		return vec.Int64(int64(n + 1)), nil
	case expr.DenseRank:
		return vec.Int64(int64(peers[i] + 1)), nil
	case expr.Lag:
		if i == 0 {
			return vec.Null(c.Type), nil
		}
		return part.eval(c.Args[0], part.rows[i-1])
	}
	return vec.Value{}, fmt.Errorf("the reference does not run %s", c)
}

func frameRows(f plan.Frame, peers []int, i int) (lo, hi int, err error) {
	off := func(b plan.Bound) int {
		if b.Offset == nil {
			return 0
		}
		v, _ := relation{}.eval(b.Offset, nil)
		if b.Kind == plan.Preceding {
			return -int(v.Int)
		}
		return int(v.Int)
	}
	lo, hi = i+off(f.Lo), i+off(f.Hi)+1
	if f.Unit != plan.FrameRows {
		if f.Lo.Offset != nil || f.Hi.Offset != nil || f.Exclude != plan.ExcludeNothing {
			return 0, 0, fmt.Errorf("the reference has no %s", f)
		}
		for lo > 0 && peers[lo-1] == peers[i] {
			lo--
		}
		for hi < len(peers) && peers[hi] == peers[i] {
			hi++
		}
	}
	if f.Lo.Kind == plan.UnboundedPreceding {
		lo = 0
	}
	if f.Hi.Kind == plan.UnboundedFollowing {
		hi = len(peers)
	}
	lo = max(0, min(lo, len(peers)))
	return lo, max(lo, min(hi, len(peers))), nil
}
