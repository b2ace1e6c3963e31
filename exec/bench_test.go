package exec

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/loamdb/loam/functions"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// benchSources are columns in memory, cut into chunks without a copy.
type benchSources struct {
	memSources
	chunksOf map[string][]*vec.Chunk
}

func (b *benchSources) Scan(_ context.Context, n *plan.Scan) (Source, error) {
	return &memSource{m: &b.memSources, chunks: b.chunksOf[n.Object.Name]}, nil
}

// add makes a table of columns filled by functions of the row.
func (b *benchSources) add(name string, n int, base int, cols ...any) *plan.Scan {
	scan := &plan.Scan{Object: &schema.Object{Name: name}, Limit: plan.NoLimit}
	var whole []*vec.Vector
	for i, c := range cols {
		var v *vec.Vector
		switch f := c.(type) {
		case func(int) int64:
			v = vec.NewFlat(types.Of(types.Int64), n)
			for r := range n {
				v.Int64s[r] = f(r)
			}
		case func(int) float64:
			v = vec.NewFlat(types.Of(types.Double), n)
			for r := range n {
				v.Float64s[r] = f(r)
			}
		}
		whole = append(whole, v)
		scan.Cols = append(scan.Cols, plan.ScanColumn{Field: string(rune('0' + i)), Column: plan.Column{ID: colID(base + i), Name: name, Type: v.Type}})
	}
	var out []*vec.Chunk
	for from := 0; from < n; from += vec.ChunkRows {
		to := min(n, from+vec.ChunkRows)
		c := &vec.Chunk{N: to - from, Seq: uint64(len(out))}
		for _, v := range whole {
			c.Cols = append(c.Cols, v.Slice(from, to))
		}
		out = append(out, c)
	}
	b.chunksOf[name] = out
	return scan
}

func benchAgg(b *testing.B, name string, c plan.Column, id int) plan.AggCall {
	r, err := functions.Default().Aggregate(name, []types.Type{c.Type})
	if err != nil {
		b.Fatal(err)
	}
	return plan.AggCall{Fn: r.Agg, Args: []expr.Expr{c.Ref()}, Column: plan.Column{ID: colID(id), Name: name, Type: r.Ret}}
}

// cpuNanos is the processor time of this process, collector included.
func cpuNanos() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkPlans reports wall and processor nanoseconds a row of the (larger)
// input of LOAM_BENCH_ROWS rows (a million) in memory, with one worker.
func BenchmarkPlans(b *testing.B) {
	rows := 1 << 20
	if n, err := strconv.Atoi(os.Getenv("LOAM_BENCH_ROWS")); err == nil {
		rows = n
	}
	rng := rand.New(rand.NewPCG(1, 1))
	src := &benchSources{chunksOf: map[string][]*vec.Chunk{}}
	random := func(bound int64) func(int) int64 { return func(int) int64 { return rng.Int64N(bound) * 7919 } }
	t := src.add("t", rows, 1, random(1000), random(int64(rows/10)), func(int) float64 { return rng.Float64() }, func(r int) int64 { return int64(r) })
	u := src.add("u", rows/10, 21, func(r int) int64 { return int64(r) * 7919 }, func(r int) int64 { return int64(r) })
	few, many, f, v := t.Columns()[0], t.Columns()[1], t.Columns()[2], t.Columns()[3]
	group := func(in plan.Node, keys ...plan.Column) plan.Node {
		g := &plan.Aggregate{Input: in, Aggs: []plan.AggCall{benchAgg(b, "sum", v, 50), benchAgg(b, "count", v, 51)}}
		for i, k := range keys {
			g.Groups = append(g.Groups, plan.NamedExpr{Column: plan.Column{ID: colID(60 + i), Name: "k", Type: k.Type}, Expr: k.Ref()})
		}
		return g
	}
	join := &plan.Join{Left: t, Right: u, Keys: []plan.EquiKey{{Left: many.Ref(), Right: u.Columns()[0].Ref()}}}
	window := func(order plan.Column, calls ...plan.WindowCall) plan.Node {
		return &plan.Window{Input: t, PartitionBy: []expr.Expr{few.Ref()}, OrderBy: []plan.SortKey{{Expr: order.Ref()}}, Calls: calls}
	}
	around := plan.Frame{Lo: plan.Bound{Kind: plan.Preceding, Offset: bigConst(50)}, Hi: plan.Bound{Kind: plan.Following, Offset: bigConst(50)}}
	mean := benchAgg(b, "avg", f, 53)
	plans := []struct {
		name string
		root plan.Node
	}{
		{"filter+sum 30%", group(&plan.Filter{Input: t, Pred: &expr.Compare{Op: expr.Lt, Left: f.Ref(), Right: &expr.Const{Value: vec.Double(0.3)}}})},
		{"group 1000", group(t, few)},
		{"group rows÷10", group(t, many)},
		{"group two keys", group(t, few, f)},
		{"join", &plan.Aggregate{Input: join, Aggs: []plan.AggCall{benchAgg(b, "sum", u.Columns()[1], 52)}}},
		{"top 100", &plan.Sort{Input: t, Keys: []plan.SortKey{{Expr: f.Ref()}}, Limit: 100}},
		{"sort", &plan.Sort{Input: t, Keys: []plan.SortKey{{Expr: f.Ref()}}, Limit: plan.NoLimit}},
		{"row_number", window(many, plan.WindowCall{Fn: &expr.WindowFunc{Kind: expr.RowNumber}, Column: plan.Column{ID: 54, Type: bigint}})},
		{"moving avg", window(many, plan.WindowCall{Agg: mean.Fn, Args: mean.Args, Column: mean.Column, Frame: around})},
		{"scan", t},
	}
	for _, p := range plans {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			start := cpuNanos()
			for b.Loop() {
				r, err := Run(context.Background(), p.root, nil, src, Options{Workers: 1})
				if err != nil {
					b.Fatal(err)
				}
				for {
					c, err := r.Next(context.Background())
					if err != nil {
						b.Fatal(err)
					}
					if c == nil {
						break
					}
				}
				_ = r.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
			b.ReportMetric(float64(cpuNanos()-start)/float64(b.N)/float64(rows), "cpu-ns/row")
		})
	}
}
