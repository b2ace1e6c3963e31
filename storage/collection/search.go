package collection

import (
	"context"
	"math"
	"sort"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/dense"
	"github.com/loamdb/loam/storage/internal/postings"
	"github.com/loamdb/loam/storage/internal/text"
)

// scored is a ranked row: where it is and how good it is.
type scored struct {
	view  *view
	row   uint32
	score float64
	// rank is the best rank in any leg, from 1; it breaks ties of fused scores.
	rank int
}

// Search ranks rows of a snapshot by a plan's legs. Its rows come in total
// order: score descending, best rank, primary key ascending by bytes.
type Search struct {
	snap *Snapshot
	env  *expr.Env
	node *plan.SearchScan
	cols []colRef

	mu   sync.Mutex // guards the fields below
	hits []scored
	done bool
	at   int
}

// Search starts a search. Nothing is read before the first Next.
func (s *Snapshot) Search(env *expr.Env, n *plan.SearchScan) (*Search, error) {
	if s.obj.Kind != schema.Collection {
		return nil, fail.New(fail.WrongObjectType, "%s is a %s; only collections are searched", s.obj.Name, s.obj.Kind)
	}
	out := &Search{snap: s, env: env, node: n}
	for _, c := range n.Cols {
		ref, err := resolve(s.obj, c.Field)
		if err != nil {
			return nil, err
		}
		out.cols = append(out.cols, ref)
	}
	return out, nil
}

// Next returns the next chunk of ranked rows with the score as the last column, or nil.
func (s *Search) Next(ctx context.Context) (*vec.Chunk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.done {
		hits, err := s.rank(ctx)
		if err != nil {
			return nil, err
		}
		s.hits, s.done = hits, true
	}
	if s.at >= len(s.hits) {
		return nil, nil
	}
	part := s.hits[s.at:min(s.at+vec.ChunkRows, len(s.hits))]
	c, err := s.materialize(ctx, part)
	if err != nil {
		return nil, err
	}
	c.Seq = uint64(s.at)
	s.at += len(part)
	return c, nil
}

// Close ends the search.
func (s *Search) Close() error { return nil }

func (s *Search) rank(ctx context.Context) ([]scored, error) {
	n := s.node
	var hits []scored
	var err error
	if len(n.Legs) == 1 && n.RRFK == 0 {
		leg := n.Legs[0]
		if n.Limit >= 0 && n.Limit+n.Offset > leg.Limit || leg.Limit < 0 {
			leg.Limit = n.Limit + n.Offset
		}
		if hits, err = s.leg(ctx, &leg); err != nil {
			return nil, err
		}
	} else if hits, err = s.fuse(ctx); err != nil {
		return nil, err
	}
	if n.MinScore != nil {
		if hits, err = s.above(hits); err != nil {
			return nil, err
		}
	}
	hits = hits[min(int(n.Offset), len(hits)):]
	if n.Limit >= 0 && int64(len(hits)) > n.Limit {
		hits = hits[:n.Limit]
	}
	return hits, nil
}

func (s *Search) above(hits []scored) ([]scored, error) {
	min, err := expr.EvalConst(s.env, s.node.MinScore)
	if err != nil || min.Null {
		return hits, err
	}
	n := sort.Search(len(hits), func(i int) bool { return hits[i].score < min.Float })
	return hits[:n], nil
}

// fuse joins the legs by reciprocal rank: Σ weight / (k + rank) over the legs
// that have the row (Cormack, Clarke, Büttcher 2009), rank from 1.
func (s *Search) fuse(ctx context.Context) ([]scored, error) {
	type place struct {
		view *view
		row  uint32
	}
	index := map[place]int{}
	var out []scored
	for i := range s.node.Legs {
		leg := &s.node.Legs[i]
		hits, err := s.leg(ctx, leg)
		if err != nil {
			return nil, err
		}
		for r, h := range hits {
			at, ok := index[place{h.view, h.row}]
			if !ok {
				at = len(out)
				index[place{h.view, h.row}] = at
				out = append(out, scored{view: h.view, row: h.row, rank: r + 1})
			}
			out[at].score += leg.Weight / (s.node.RRFK + float64(r+1))
			out[at].rank = min(out[at].rank, r+1)
		}
	}
	return out, s.order(ctx, out)
}

// order sorts by the total order.
func (s *Search) order(ctx context.Context, hits []scored) error {
	var err error
	sort.Slice(hits, func(i, j int) bool {
		a, b := &hits[i], &hits[j]
		if a.score != b.score {
			return a.score > b.score
		}
		if a.rank != b.rank {
			return a.rank < b.rank
		}
		ka, e1 := a.view.part.key(ctx, int(a.row))
		kb, e2 := b.view.part.key(ctx, int(b.row))
		if e1 != nil {
			err = e1
		} else if e2 != nil {
			err = e2
		}
		return ka < kb
	})
	return err
}

// leg ranks one leg over all parts.
func (s *Search) leg(ctx context.Context, leg *plan.Leg) ([]scored, error) {
	filter := s.node.Filter
	if leg.Filter != nil {
		filter = expr.AllOf(append(expr.Conjuncts(filter), leg.Filter))
	}
	pred, err := compileFilter(s.snap.obj, s.node.Cols, filter)
	if err != nil {
		return nil, err
	}
	matches := make([]*roaring.Bitmap, len(s.snap.views))
	for i, v := range s.snap.views {
		if matches[i], err = pred.matches(s.env, v); err != nil {
			return nil, err
		}
	}
	query, err := expr.EvalConst(s.env, leg.Query)
	if err != nil {
		return nil, err
	}
	if query.Null {
		return nil, nil
	}
	var hits []scored
	if leg.Kind == plan.TextLeg {
		hits, err = s.textLeg(ctx, leg, query.Str, matches)
	} else {
		hits, err = s.vectorLeg(ctx, leg, query.Vec, matches)
	}
	if err != nil {
		return nil, err
	}
	if err := s.order(ctx, hits); err != nil {
		return nil, err
	}
	if leg.Limit >= 0 && int64(len(hits)) > leg.Limit {
		hits = hits[:leg.Limit]
	}
	return hits, nil
}

// limitOf is the number of hits to ask each part for.
func limitOf(leg *plan.Leg) int {
	if leg.Limit < 0 || leg.Limit > 1<<30 {
		return 1 << 30
	}
	return int(leg.Limit)
}

func (s *Search) textLeg(ctx context.Context, leg *plan.Leg, q string, matches []*roaring.Bitmap) ([]scored, error) {
	fields, _ := textFields(s.snap.obj)
	if len(fields) == 0 {
		return nil, fail.New(fail.InvalidParameter, "%s has no FULLTEXT field", s.snap.obj.Name).
			WithHint("Declare one, such as body TEXT FULLTEXT 'english'.")
	}
	opt := text.QueryOptions{}
	for _, f := range leg.Fields {
		opt.Fields = append(opt.Fields, text.FieldBoost{Name: f.Field, Boost: f.Boost})
	}
	switch leg.Mode {
	case "match", "simple":
		opt.Mode = text.ModeMatch
	case "phrase":
		opt.Mode = text.ModePhrase
	}
	if leg.And {
		opt.Operator = text.And
	}
	query, err := text.ParseQuery(q, fields, opt)
	if err != nil {
		return nil, err
	}
	bound := make([]*text.Bound, len(s.snap.views))
	var stats text.Stats
	for i, v := range s.snap.views {
		part, err := v.part.text(ctx)
		if err != nil {
			return nil, err
		}
		if part == nil {
			continue
		}
		if bound[i], err = part.Bind(ctx, query, v.exclusion()); err != nil {
			return nil, err
		}
		stats.Add(bound[i].Stats())
	}
	return s.textHits(ctx, leg, bound, stats, matches)
}

func (s *Search) textHits(ctx context.Context, leg *plan.Leg, bound []*text.Bound, stats text.Stats, matches []*roaring.Bitmap) ([]scored, error) {
	var out []scored
	floor := 0.0
	k := limitOf(leg)
	for i, b := range bound {
		if b == nil || matches[i] != nil && matches[i].IsEmpty() {
			continue
		}
		v := s.snap.views[i]
		hits, err := b.Search(ctx, stats, text.SearchOptions{Match: matches[i], K: k, Floor: floor, Less: v.less(ctx)})
		if err != nil {
			return nil, err
		}
		for _, h := range hits {
			out = append(out, scored{view: v, row: uint32(h.Doc), score: h.Score})
		}
		floor = kth(out, k, floor)
	}
	return out, nil
}

// kth is the k-th best score so far: a lower bound for what can still get in.
func kth(hits []scored, k int, floor float64) float64 {
	if len(hits) < k || k == 0 {
		return floor
	}
	scores := make([]float64, len(hits))
	for i, h := range hits {
		scores[i] = h.score
	}
	sort.Float64s(scores)
	return max(floor, scores[len(scores)-k])
}

// less orders rows of the view by primary key. A key that cannot be read orders
// by row here; the final order reports the error.
func (v *view) less(ctx context.Context) func(a, b text.DocID) bool {
	return func(a, b text.DocID) bool {
		ka, e1 := v.part.key(ctx, int(a))
		kb, e2 := v.part.key(ctx, int(b))
		if e1 != nil || e2 != nil {
			return a < b
		}
		return ka < kb
	}
}

func (s *Search) vectorLeg(ctx context.Context, leg *plan.Leg, q []float32, matches []*roaring.Bitmap) ([]scored, error) {
	ref, err := resolve(s.snap.obj, leg.Field)
	if err != nil {
		return nil, err
	}
	if ref.t.Kind != types.Vector {
		return nil, fail.New(fail.DatatypeMismatch, "field %q of %s is a %s, not a VECTOR", leg.Field, s.snap.obj.Name, ref.t)
	}
	metric, err := dense.MetricByName(string(leg.Metric))
	if err != nil {
		return nil, err
	}
	query, err := dense.NewQuery(metric, int(ref.t.Dim), q)
	if err != nil {
		return nil, err
	}
	var out []scored
	for i, v := range s.snap.views {
		if matches[i] != nil && matches[i].IsEmpty() {
			continue
		}
		top := postings.NewTopK(limitOf(leg), math.Inf(-1), v.less(ctx))
		if err := v.scanVectors(ctx, query, ref, matches[i], top); err != nil {
			return nil, err
		}
		for _, h := range top.Sorted() {
			out = append(out, scored{view: v, row: uint32(h.Doc), score: h.Score})
		}
	}
	return out, nil
}

// scanVectors offers the view's rows to top, chunk by chunk; rows without a vector do not count.
func (v *view) scanVectors(ctx context.Context, q *dense.Query, ref colRef, allowed *roaring.Bitmap, top *postings.TopK) error {
	room := &vec.Vector{}
	for chunk := range chunksOf(v.part.rows()) {
		col, err := v.vectorChunk(ctx, ref, chunk, room)
		if err != nil {
			return err
		}
		if col == nil { // the next fragment may have the column
			continue
		}
		from := chunk * vec.ChunkRows
		excluded := v.excluded
		if nulls := nullRows(col, from); nulls != nil {
			nulls.Or(excluded)
			excluded = nulls
		}
		err = dense.ScanTopK(ctx, q, dense.Scan{Rows: col.Float32s, First: text.DocID(from), Allowed: allowed, Excluded: excluded}, top)
		if err != nil {
			return err
		}
	}
	return nil
}

// vectorChunk is a chunk of a vector column, which may lie in room.
func (v *view) vectorChunk(ctx context.Context, ref colRef, chunk int, room *vec.Vector) (*vec.Vector, error) {
	if s, ok := v.part.(*split); ok && s.inLance(ref) {
		return s.vectors(ctx, ref, chunk, room)
	}
	return v.part.column(ctx, ref, chunk)
}

// nullRows are the rows of a chunk without a value, numbered from from; nil for none.
func nullRows(col *vec.Vector, from int) *roaring.Bitmap {
	if !col.HasNulls() {
		return nil
	}
	out := roaring.New()
	for i := range col.N {
		if col.IsNull(i) {
			out.Add(uint32(from + i))
		}
	}
	return out
}

// materialize reads the columns of ranked rows, part by part, and puts them in rank order.
func (s *Search) materialize(ctx context.Context, hits []scored) (*vec.Chunk, error) {
	c := &vec.Chunk{N: len(hits)}
	for _, ref := range s.cols {
		col, err := s.gather(ctx, ref, hits)
		if err != nil {
			return nil, err
		}
		c.Cols = append(c.Cols, col)
	}
	score := vec.New(types.Of(types.Double), len(hits))
	for _, h := range hits {
		score.Append(vec.Double(h.score))
	}
	c.Cols = append(c.Cols, score)
	return c, nil
}

// gather reads one column of the hits.
func (s *Search) gather(ctx context.Context, ref colRef, hits []scored) (*vec.Vector, error) {
	rows := map[*view][]uint32{}
	for _, h := range hits {
		rows[h.view] = append(rows[h.view], h.row)
	}
	taken := map[*view]*vec.Vector{}
	for v, list := range rows {
		sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
		col, err := v.takeOf(ctx, ref, list)
		if err != nil {
			return nil, err
		}
		taken[v] = col
	}
	out := vec.New(ref.t, len(hits))
	sel := make([]int32, 1)
	for _, h := range hits {
		list := rows[h.view]
		sel[0] = int32(sort.Search(len(list), func(i int) bool { return list[i] >= h.row }))
		out.AppendRows(taken[h.view], sel, 1)
	}
	return out, nil
}
