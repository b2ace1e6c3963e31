package exec

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// heavyPlans use every operator that holds memory, over a table of a few thousand rows.
func heavyPlans() (map[string]plan.Node, map[string]*table) {
	t := &table{types: []types.Type{bigint, types.Of(types.Text)}}
	rng := rand.New(rand.NewPCG(5, 5))
	for range 5000 {
		t.rows = append(t.rows, refRow{vec.Int64(rng.Int64N(3000)), vec.Text(strings.Repeat("k", rng.IntN(30)))})
	}
	tables := map[string]*table{"t": t}
	scan := func(base int) *plan.Scan { return scanOf("t", t, base) }
	a, b := scan(1), scan(11)
	k, s := a.Columns()[0], a.Columns()[1]
	join := &plan.Join{Left: a, Right: b, Kind: plan.Full, Keys: []plan.EquiKey{{Left: k.Ref(), Right: b.Columns()[0].Ref()}}}
	list := plan.AggCall{Fn: testAgg("list"), Args: []expr.Expr{s.Ref()}, OrderBy: []plan.SortKey{{Expr: s.Ref()}},
		Column: plan.Column{ID: 31, Name: "list", Type: types.Of(types.Text)}}
	distinct := plan.AggCall{Fn: testAgg("count"), Args: []expr.Expr{s.Ref()}, Distinct: true, Column: plan.Column{ID: 32, Name: "n", Type: bigint}}
	group := func(c plan.Column, aggs ...plan.AggCall) plan.Node {
		return &plan.Aggregate{Input: a, Groups: []plan.NamedExpr{{Column: plan.Column{ID: 33, Name: "g", Type: c.Type}, Expr: c.Ref()}}, Aggs: aggs}
	}
	return map[string]plan.Node{
		"group":      group(k, list, distinct),
		"group text": group(s, distinct),
		"sort":       &plan.Sort{Input: a, Keys: []plan.SortKey{{Expr: s.Ref()}, {Expr: k.Ref()}}, Limit: plan.NoLimit},
		"window": &plan.Window{Input: a, PartitionBy: []expr.Expr{s.Ref()}, OrderBy: []plan.SortKey{{Expr: k.Ref()}}, Calls: []plan.WindowCall{
			{Column: plan.Column{ID: 34, Name: "n", Type: bigint}, Agg: distinct.Fn, Args: distinct.Args,
				Frame: plan.Frame{Lo: plan.Bound{Kind: plan.CurrentRow}, Hi: plan.Bound{Kind: plan.UnboundedFollowing}, Exclude: plan.ExcludeCurrentRow}},
			{Column: plan.Column{ID: 35, Name: "first", Type: s.Type}, Fn: &expr.WindowFunc{Kind: expr.FirstValue}, Args: []expr.Expr{s.Ref()}, IgnoreNulls: true,
				Frame: plan.Frame{Hi: plan.Bound{Kind: plan.CurrentRow}}},
		}},
		"topn":        &plan.Sort{Input: a, Keys: []plan.SortKey{{Expr: k.Ref()}}, Limit: 10},
		"join":        join,
		"nested loop": &plan.Join{Left: a, Right: b, Kind: plan.Semi, Residual: &expr.Compare{Op: expr.Lt, Left: k.Ref(), Right: b.Columns()[0].Ref()}},
		"limit":       &plan.Limit{Input: &plan.UnionAll{Inputs: []plan.Node{&plan.Limit{Input: a, Count: 3000}, b}, Cols: a.Columns()}, Count: 4000},
	}, tables
}

// TestRefusedReservations refuses the n-th reservation of each plan, for all n:
// the answer is right or the error is clean, and nothing stays reserved.
func TestRefusedReservations(t *testing.T) {
	plans, tables := heavyPlans()
	for name, root := range plans {
		t.Run(name, func(t *testing.T) {
			src := &memSources{tables: tables, chunkRows: 500}
			want, err := runWay(t, root, src, Options{Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			refused := false
			for n := int64(1); ; n++ {
				var calls atomic.Int64
				m := mem.New("query", mem.NoLimit)
				m.InjectFault(func(op string, bytes int64) error {
					if calls.Add(1) == n {
						return fail.New(fail.Exhausted, "%s may not have %d bytes", op, bytes)
					}
					return nil
				})
				chunks, err := RunAll(context.Background(), root, nil, src, Options{Workers: 1 + int(n%2), Memory: m})
				if m.Bytes() != 0 || src.opened.Load() != src.closed.Load() {
					t.Fatalf("n=%d: %d bytes, %d of %d sources closed", n, m.Bytes(), src.closed.Load(), src.opened.Load())
				}
				if err == nil {
					if calls.Load() >= n && name != "limit" {
						t.Fatalf("n=%d: the refusal was ignored", n)
					}
					compareRows(t, rendered(rowsOf(chunks)), want, true)
					break
				}
				refused = true
				if !fail.Is(err, fail.Exhausted) {
					t.Fatalf("n=%d: %v", n, err)
				}
			}
			if !refused && name != "limit" {
				t.Error("no reservation was made")
			}
		})
	}
}

func TestMemoryLimitNamesTheOperator(t *testing.T) {
	plans, tables := heavyPlans()
	m := mem.New("query 1", 200<<10)
	_, err := RunAll(context.Background(), plans["join"], nil, &memSources{tables: tables, chunkRows: 2048}, Options{Workers: 2, Memory: m})
	if !fail.Is(err, fail.Exhausted) || !strings.Contains(err.Error(), "Join FULL") || !strings.Contains(err.Error(), "query 1") {
		t.Errorf("error %v", err)
	}
	if m.Bytes() != 0 || m.Peak() > 200<<10 {
		t.Errorf("%d bytes left, peak %d", m.Bytes(), m.Peak())
	}
}

// TestCancelAnywhere cancels each plan at its n-th read of a source.
func TestCancelAnywhere(t *testing.T) {
	plans, tables := heavyPlans()
	for name, root := range plans {
		t.Run(name, func(t *testing.T) {
			canceled := 0
			for n := int64(1); n < 60; n += 3 {
				ctx, cancel := context.WithCancel(context.Background())
				var calls atomic.Int64
				src := &memSources{tables: tables, chunkRows: 100, before: func(context.Context) error {
					if calls.Add(1) == n {
						cancel()
					}
					return nil
				}}
				m := mem.New("query", mem.NoLimit)
				_, err := RunAll(ctx, root, nil, src, Options{Workers: 1 + int(n%3), Memory: m})
				if err != nil {
					canceled++
					if !fail.Is(err, fail.Canceled) {
						t.Fatalf("n=%d: %v", n, err)
					}
				}
				if m.Bytes() != 0 || src.opened.Load() != src.closed.Load() {
					t.Fatalf("n=%d: %d bytes, %d of %d sources closed", n, m.Bytes(), src.closed.Load(), src.opened.Load())
				}
				cancel()
			}
			if canceled == 0 {
				t.Error("nothing was canceled")
			}
		})
	}
}

// TestCloseWhileRunning closes a result whose reader has stopped.
func TestCloseWhileRunning(t *testing.T) {
	_, tables := heavyPlans()
	a, b := scanOf("t", tables["t"], 1), scanOf("t", tables["t"], 11)
	for _, reads := range []int{0, 1, 3} {
		m := mem.New("query", mem.NoLimit)
		src := &memSources{tables: tables, chunkRows: 50}
		r, err := Run(context.Background(), &plan.Join{Left: a, Right: b}, nil, src, Options{Workers: 3, Memory: m})
		if err != nil {
			t.Fatal(err)
		}
		for range reads {
			if c, err := r.Next(context.Background()); err != nil || c == nil {
				t.Fatal(c, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if m.Bytes() != 0 || src.opened.Load() != src.closed.Load() {
			t.Errorf("%d bytes, %d of %d sources closed", m.Bytes(), src.closed.Load(), src.opened.Load())
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if c, err := r.Next(context.Background()); c != nil || !fail.Is(err, fail.Canceled) {
			t.Errorf("after Close: %v %v", c, err)
		}
	}
}

// TestNextGivesUpAlone ends one Next by its own context; the query goes on.
func TestNextGivesUpAlone(t *testing.T) {
	gate := make(chan struct{})
	src := &memSources{tables: map[string]*table{"t": numbers(10)}, chunkRows: 5, before: func(ctx context.Context) error {
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return nil
	}}
	r, err := Run(context.Background(), scanOf("t", src.tables["t"], 1), nil, src, Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Next(ctx); !fail.Is(err, fail.Canceled) {
		t.Fatalf("error %v", err)
	}
	close(gate)
	if c, err := r.Next(context.Background()); err != nil || c.Rows() != 5 {
		t.Fatal(c, err)
	}
}

// bad is a predicate that fails for the value at.
func bad(col plan.Column, at int64, failure func() error) expr.Expr {
	fn := &expr.ScalarFunc{Name: "bad", Eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			if args[0].Value(i).Int == at {
				return failure()
			}
			out.Bools[i] = true
		}
		return nil
	}}
	return &expr.Call{Fn: fn, Args: []expr.Expr{col.Ref()}, T: types.Of(types.Boolean), Offset: -1}
}

func TestErrorsAndPanicsEndOneQuery(t *testing.T) {
	src := &memSources{tables: map[string]*table{"t": numbers(3000)}, chunkRows: 10}
	scan := scanOf("t", src.tables["t"], 1)
	wrap := map[string]func(plan.Node) plan.Node{
		"scan":  func(n plan.Node) plan.Node { return n },
		"limit": func(n plan.Node) plan.Node { return &plan.Limit{Input: n, Count: 2950} },
		"sort": func(n plan.Node) plan.Node {
			return &plan.Sort{Input: n, Limit: plan.NoLimit, Keys: []plan.SortKey{{Expr: scan.Columns()[0].Ref()}}}
		},
		"build": func(n plan.Node) plan.Node {
			return &plan.Join{Left: scanOf("t", src.tables["t"], 41), Right: n}
		},
	}
	for name, w := range wrap {
		for _, workers := range []int{1, 4} {
			m := mem.New("query", mem.NoLimit)
			failing := w(&plan.Filter{Input: scan, Pred: bad(scan.Columns()[0], 2900, func() error { return fail.New(fail.DivisionByZero, "no") })})
			_, err := RunAll(context.Background(), failing, nil, src, Options{Workers: workers, Memory: m})
			if !fail.Is(err, fail.DivisionByZero) {
				t.Errorf("%s: error %v", name, err)
			}
			panicking := w(&plan.Filter{Input: scan, Pred: bad(scan.Columns()[0], 2900, func() error { panic("oh") })})
			_, err = RunAll(context.Background(), panicking, nil, src, Options{Workers: workers, Memory: m})
			if !fail.Is(err, fail.Internal) || !strings.Contains(err.Error(), "oh") {
				t.Errorf("%s: error %v", name, err)
			}
			if m.Bytes() != 0 || src.opened.Load() != src.closed.Load() {
				t.Errorf("%s: %d bytes, %d of %d sources closed", name, m.Bytes(), src.closed.Load(), src.opened.Load())
			}
		}
	}
	// A limit that is satisfied before the bad row never meets it.
	early := &plan.Limit{Count: 5, Input: &plan.Filter{Input: scan, Pred: bad(scan.Columns()[0], 2900, func() error { return errors.New("met") })}}
	if chunks, err := RunAll(context.Background(), early, nil, src, Options{Workers: 1}); err != nil || len(rowsOf(chunks)) != 5 {
		t.Errorf("%v", err)
	}
}

func TestSourceErrors(t *testing.T) {
	src := &memSources{tables: map[string]*table{"t": numbers(100)}, chunkRows: 10}
	var calls atomic.Int64
	src.before = func(context.Context) error {
		if calls.Add(1) == 5 {
			return fail.New(fail.Corrupt, "block 5")
		}
		return nil
	}
	_, err := RunAll(context.Background(), scanOf("t", src.tables["t"], 1), nil, src, Options{Workers: 2})
	if !fail.Is(err, fail.Corrupt) {
		t.Errorf("error %v", err)
	}
	missing := scanOf("t", src.tables["t"], 1)
	missing.Object = &schema.Object{Name: "gone"}
	if _, err := RunAll(context.Background(), missing, nil, src, Options{Workers: 2}); !fail.Is(err, fail.UndefinedTable) {
		t.Errorf("error %v", err)
	}
}

// unknownNode is a plan node that the executor does not have.
type unknownNode struct{ plan.Values }

func (*unknownNode) Name() string { return "Teleport" }

func TestUnknownNodesAreRefused(t *testing.T) {
	_, err := Run(context.Background(), &plan.Limit{Input: &unknownNode{}}, nil, &memSources{}, Options{})
	if !fail.Is(err, fail.Unsupported) || !strings.Contains(err.Error(), "Teleport") {
		t.Errorf("error %v", err)
	}
	interval := &plan.Series{Col: plan.Column{ID: 1, Type: types.Of(types.Double)}, Start: &expr.Const{}, Stop: &expr.Const{}, Step: &expr.Const{}}
	if _, err := Run(context.Background(), interval, nil, &memSources{}, Options{}); !fail.Is(err, fail.Unsupported) {
		t.Errorf("error %v", err)
	}
}

func TestDeadline(t *testing.T) {
	src := &memSources{tables: map[string]*table{"t": numbers(10)}, chunkRows: 1}
	src.before = func(c context.Context) error {
		<-c.Done()
		return c.Err()
	}
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	if _, err := RunAll(ctx, scanOf("t", src.tables["t"], 1), nil, src, Options{Workers: 2}); !fail.Is(err, fail.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	// A source that waits ends with the query, whatever error it returns.
	ctx, cancel = context.WithCancel(context.Background())
	r, err := Run(ctx, scanOf("t", src.tables["t"], 1), nil, src, Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := r.Next(context.Background()); !fail.Is(err, fail.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestManyRowsKeepOrder crosses the sizes at which tables grow, runs are merged
// and top-n cuts its buffer.
func TestManyRowsKeepOrder(t *testing.T) {
	const n = 14_000
	tab := &table{types: []types.Type{bigint, types.Of(types.Text), types.Of(types.Double), types.DecimalOf(20, 2), bigint}}
	rng := rand.New(rand.NewPCG(1, 2))
	g := &generator{Rand: rng}
	for i := range n {
		// The last column is 1 but for a few rows late in the input.
		rare := vec.Int64(1)
		if i > n*3/4 && i%500 == 0 {
			rare = vec.Int64(0)
		}
		tab.rows = append(tab.rows, refRow{vec.Int64(rng.Int64N(3_000) - 100), g.value(tab.types[1], 7), g.value(tab.types[2], 7), g.value(tab.types[3], 7), rare})
	}
	tables := map[string]*table{"t": tab}
	for _, by := range [][]int{{4}, {0}, {1, 0}, {2, 0}, {3, 1}, {0, 1, 2, 3}} {
		for _, limit := range []int64{plan.NoLimit, 20, 1500} {
			s := &plan.Sort{Input: scanOf("t", tab, 1), Limit: limit}
			for i, k := range by {
				s.Keys = append(s.Keys, plan.SortKey{Expr: s.Input.Columns()[k].Ref(), Desc: (k+i)%2 == 1, NullsFirst: k == 1})
			}
			want := rendered(refRun(s, tables))
			for _, workers := range []int{1, 3} {
				got, err := runWay(t, s, &memSources{tables: tables, chunkRows: 2048, seed: 9}, Options{Workers: workers})
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("sort by %v limit %d, %d workers: %d rows, want %d; %v", by, limit, workers, len(got), len(want), err)
				}
			}
		}
	}
}

// TestTopNTies: of equal keys the first rows of the input win, whichever worker
// has filled its buffer first.
func TestTopNTies(t *testing.T) {
	tab := &table{types: []types.Type{bigint, bigint}}
	for i := range 60_000 {
		tab.rows = append(tab.rows, refRow{vec.Int64(1), vec.Int64(int64(i))})
	}
	scan := scanOf("t", tab, 1)
	root := &plan.Sort{Input: scan, Keys: []plan.SortKey{{Expr: scan.Columns()[0].Ref()}}, Limit: 3}
	for range 4 {
		src := &memSources{tables: map[string]*table{"t": tab}, chunkRows: 700}
		var calls atomic.Int64
		src.before = func(context.Context) error {
			if calls.Add(1) == 1 {
				time.Sleep(5 * time.Millisecond) // the worker with the first chunk comes late
			}
			return nil
		}
		rows, err := runWay(t, root, src, Options{Workers: 3})
		if err != nil || !slices.Equal(rows, []string{"1|0", "1|1", "1|2"}) {
			t.Fatal(rows, err)
		}
	}
}
