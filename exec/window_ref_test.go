package exec

import (
	"math/big"
	"sort"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// refWindow is the definition of windows: for each row it walks all rows and asks
// of each whether it is in the frame.
func refWindow(n *plan.Window, rows []refRow) []refRow {
	cols := n.Input.Columns()
	out := make([]refRow, len(rows))
	for i, r := range rows {
		out[i] = append(refRow{}, r...)
	}
	var parts [][]int
	var keys []refRow
	for i, r := range rows {
		var key refRow
		for _, e := range n.PartitionBy {
			key = append(key, refEval(e, bind(cols, r)))
		}
		at := -1
		for k := range keys {
			if refSame(keys[k], key) {
				at = k
			}
		}
		if at < 0 {
			at = len(keys)
			keys, parts = append(keys, key), append(parts, nil)
		}
		parts[at] = append(parts[at], i)
	}
	for _, part := range parts {
		w := refPart{n: n}
		for _, i := range part {
			env := bind(cols, rows[i])
			w.rows = append(w.rows, refWindowRow{row: i, env: env, key: refKey(env, n.OrderBy)})
		}
		sort.SliceStable(w.rows, func(a, b int) bool { return refLess(w.rows[a].key, w.rows[b].key, n.OrderBy) < 0 })
		for i := range w.rows {
			if i > 0 {
				w.rows[i].group = w.rows[i-1].group
				if refLess(w.rows[i-1].key, w.rows[i].key, n.OrderBy) != 0 {
					w.rows[i].group++
				}
			}
		}
		for i, r := range w.rows {
			for _, c := range n.Calls {
				out[r.row] = append(out[r.row], w.call(c, i))
			}
		}
	}
	return out
}

type refWindowRow struct {
	row, group int
	env        refEnv
	key        refRow
}

// refPart is a partition in order.
type refPart struct {
	n    *plan.Window
	rows []refWindowRow
}

// after reports whether row j lies at or behind the bound of row i.
func (w refPart) after(f plan.Frame, b plan.Bound, i, j int) bool {
	off := refOffset(b)
	switch {
	case b.Kind == plan.UnboundedPreceding:
		return true
	case b.Kind == plan.UnboundedFollowing:
		return false
	case f.Unit == plan.FrameRows:
		return off < far && (off <= -far || int64(j) >= int64(i)+off)
	case f.Unit == plan.FrameGroups || b.Kind == plan.CurrentRow:
		return off < far && (off <= -far || int64(w.rows[j].group) >= int64(w.rows[i].group)+off)
	}
	x, y := refEval(f.Key, w.rows[i].env), refEval(f.Key, w.rows[j].env)
	if x.Null || y.Null {
		return w.rows[j].group >= w.rows[i].group
	}
	desc := w.n.OrderBy[0].Desc
	if desc {
		off = -off
	}
	c := big.NewInt(y.Int).Cmp(new(big.Int).Add(big.NewInt(x.Int), big.NewInt(off)))
	return c == 0 || c > 0 != desc
}

// behind reports whether row j lies behind the bound of row i.
func (w refPart) behind(f plan.Frame, b plan.Bound, i, j int) bool {
	switch {
	case b.Kind == plan.UnboundedPreceding:
		return true
	case b.Kind == plan.UnboundedFollowing:
		return false
	case f.Unit == plan.FrameRows:
		b = refBound(b, 1)
		return w.after(f, b, i, j)
	case f.Unit == plan.FrameGroups || b.Kind == plan.CurrentRow:
		return w.after(plan.Frame{Unit: plan.FrameGroups}, refBound(b, 1), i, j)
	}
	// The rows at the bound itself are not behind it.
	if !w.after(f, b, i, j) {
		return false
	}
	x, y := refEval(f.Key, w.rows[i].env), refEval(f.Key, w.rows[j].env)
	if x.Null || y.Null {
		return w.rows[j].group > w.rows[i].group
	}
	off := refOffset(b)
	if w.n.OrderBy[0].Desc {
		off = -off
	}
	return big.NewInt(y.Int).Cmp(new(big.Int).Add(big.NewInt(x.Int), big.NewInt(off))) != 0
}

// far is further than any row of a test.
const far = 1 << 40

// refOffset is the offset of a bound, back where it precedes.
func refOffset(b plan.Bound) int64 {
	switch b.Kind {
	case plan.Preceding:
		return -refEval(b.Offset, nil).Int
	case plan.Following:
		return refEval(b.Offset, nil).Int
	}
	return 0
}

// refBound is the bound by rows further on.
func refBound(b plan.Bound, by int64) plan.Bound {
	if by += max(-far, min(far, refOffset(b))); by < 0 {
		return plan.Bound{Kind: plan.Preceding, Offset: bigConst(-by)}
	}
	return plan.Bound{Kind: plan.Following, Offset: bigConst(by)}
}

// frame lists the rows that row i sees.
func (w refPart) frame(f plan.Frame, i int) []int {
	var out []int
	for j := range w.rows {
		peer := w.rows[j].group == w.rows[i].group
		left := f.Exclude == plan.ExcludeCurrentRow && i == j || f.Exclude == plan.ExcludeGroup && peer ||
			f.Exclude == plan.ExcludeTies && peer && i != j
		if !left && w.after(f, f.Lo, i, j) && !w.behind(f, f.Hi, i, j) {
			out = append(out, j)
		}
	}
	return out
}

func (w refPart) args(c plan.WindowCall, i int) refRow {
	var out refRow
	for _, e := range c.Args {
		out = append(out, refEval(e, w.rows[i].env))
	}
	return out
}

// call is the result of one call for row i.
func (w refPart) call(c plan.WindowCall, i int) vec.Value {
	if c.Agg != nil {
		var vals []refRow
		for _, j := range w.frame(c.Frame, i) {
			if c.Filter != nil {
				if v := refEval(c.Filter, w.rows[j].env); v.Null || !v.Bool {
					continue
				}
			}
			vals = append(vals, w.args(c, j))
		}
		return refFold(c.Agg.Name, vals)
	}
	args := w.args(c, i)
	switch c.Fn.Kind {
	case expr.Lag, expr.Lead:
		return w.shift(c, i, args)
	case expr.FirstValue, expr.LastValue, expr.NthValue:
		var seen []vec.Value
		for _, j := range w.frame(c.Frame, i) {
			if v := w.args(c, j)[0]; !v.Null || !c.IgnoreNulls {
				seen = append(seen, v)
			}
		}
		at := int64(0)
		switch c.Fn.Kind {
		case expr.LastValue:
			at = int64(len(seen)) - 1
		case expr.NthValue:
			if args[1].Null {
				return vec.Null(c.Type)
			}
			at = args[1].Int - 1
		}
		if at < 0 || at >= int64(len(seen)) {
			return vec.Null(c.Type)
		}
		return seen[at]
	}
	return w.rank(c, i, args)
}

func (w refPart) shift(c plan.WindowCall, i int, args refRow) vec.Value {
	by, step := args[1].Int, 1
	if c.Fn.Kind == expr.Lag {
		by = -by
	}
	if args[1].Null {
		return vec.Null(c.Type)
	}
	if by < 0 {
		by, step = -by, -1
	}
	for j := i; ; {
		if by == 0 {
			return w.args(c, j)[0]
		}
		for j += step; j >= 0 && j < len(w.rows) && c.IgnoreNulls && w.args(c, j)[0].Null; j += step {
		}
		if j < 0 || j >= len(w.rows) {
			return args[2]
		}
		by--
	}
}

func (w refPart) rank(c plan.WindowCall, i int, args refRow) vec.Value {
	rank, upTo := 1, 0
	for _, r := range w.rows {
		if r.group < w.rows[i].group {
			rank++
		}
		if r.group <= w.rows[i].group {
			upTo++
		}
	}
	n := len(w.rows)
	switch c.Fn.Kind {
	case expr.RowNumber:
		return vec.Int64(int64(i + 1))
	case expr.Rank:
		return vec.Int64(int64(rank))
	case expr.DenseRank:
		return vec.Int64(int64(w.rows[i].group + 1))
	case expr.PercentRank:
		return vec.Double(float64(rank-1) / float64(max(1, n-1)))
	case expr.CumeDist:
		return vec.Double(float64(upTo) / float64(n))
	}
	// ntile: deal the rows out one by one, and count how many each bucket has.
	sizes := make([]int, args[0].Int)
	for k := range n {
		sizes[k%len(sizes)]++
	}
	bucket := 0
	for at := i; at >= sizes[bucket]; bucket++ {
		at -= sizes[bucket]
	}
	return vec.Value{Type: types.Of(types.Int32), Int: int64(bucket + 1)}
}
