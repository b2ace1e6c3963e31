package exec

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/functions"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// libraryAgg resolves an aggregate of the function library over columns.
func libraryAgg(t *testing.T, id int, name string, args ...expr.Expr) plan.AggCall {
	t.Helper()
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	r, err := functions.Default().Aggregate(name, ts)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range args {
		if !a.Type().Equal(r.Params[i]) {
			args[i] = &expr.Cast{Arg: a, To: r.Params[i], Offset: -1}
		}
	}
	return plan.AggCall{Fn: r.Agg, Args: args, Column: plan.Column{ID: colID(id), Name: name, Type: r.Ret}}
}

// TestLibraryAggregates: an aggregate that is not a sum of doubles gives the same answer for any number of
// workers and any chunk size, those that depend on the order of rows included.
func TestLibraryAggregates(t *testing.T) {
	g := newGenerator(3)
	tab := &table{types: []types.Type{bigint, types.Of(types.Text), types.Of(types.Int32)}}
	for i := range 300 {
		v := g.value(tab.types[2], 9)
		tab.rows = append(tab.rows, refRow{vec.Int64(int64(i % 7)), vec.Text(strings.Repeat("x", i%5) + vec.Int64(int64(i)).String()), v})
	}
	tables := map[string]*table{"t": tab}
	scan := scanOf("t", tab, 1)
	k, s, n := scan.Columns()[0], scan.Columns()[1], scan.Columns()[2]
	comma := &expr.Const{Value: vec.Text(",")}
	a := &plan.Aggregate{Input: scan, Groups: []plan.NamedExpr{{Column: plan.Column{ID: 50, Name: "k", Type: bigint}, Expr: k.Ref()}}}
	for i, name := range []string{"count", "sum", "avg", "min", "max", "array_agg", "first_value", "last_value", "median", "approx_distinct"} {
		a.Aggs = append(a.Aggs, libraryAgg(t, 60+i, name, n.Ref()))
	}
	a.Aggs = append(a.Aggs, libraryAgg(t, 80, "string_agg", s.Ref(), comma), libraryAgg(t, 81, "count"))
	byDesc := libraryAgg(t, 82, "string_agg", s.Ref(), comma)
	byDesc.OrderBy = []plan.SortKey{{Expr: s.Ref(), Desc: true}}
	distinct := libraryAgg(t, 83, "array_agg", n.Ref())
	distinct.Distinct = true
	a.Aggs = append(a.Aggs, byDesc, distinct)
	var want []string
	for _, chunk := range []int{2048, 1, 3, 50} {
		for _, workers := range []int{1, 2, 4} {
			got, err := runWay(t, a, &memSources{tables: tables, chunkRows: chunk, seed: uint64(chunk)}, Options{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%d workers, chunks of %d:\n%s\nwant\n%s", workers, chunk, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	first := strings.Split(want[0], "|")
	if len(want) != 7 || first[1] == "0" || !strings.HasPrefix(first[11], "0,xx7,xxxx14,") || !strings.HasPrefix(first[13], "xxxx84,") {
		t.Errorf("%d groups, the first: %q", len(want), first)
	}
}

// TestJoinRepeats runs one parallel join many times (a race of the build side
// would lose rows now and then; datafusion 17188).
func TestJoinRepeats(t *testing.T) {
	tables := map[string]*table{"l": numbers(20_000), "r": numbers(20_000)}
	l, r := scanOf("l", tables["l"], 1), scanOf("r", tables["r"], 11)
	lk, rk := l.Columns()[0], r.Columns()[0]
	ends := &expr.In{Arg: lk.Ref(), List: []expr.Expr{&expr.Const{Value: vec.Int64(1)}, &expr.Const{Value: vec.Int64(19_999)}}}
	root := &plan.Filter{Pred: ends, Input: &plan.Join{Left: l, Right: r, Keys: []plan.EquiKey{{Left: lk.Ref(), Right: rk.Ref()}}}}
	for range 50 {
		rows, err := runWay(t, root, &memSources{tables: tables, chunkRows: 700}, Options{Workers: 4})
		if err != nil || !slices.Equal(rows, []string{"1|1", "19999|19999"}) {
			t.Fatal(rows, err)
		}
	}
}

func timestamp(text string) expr.Expr {
	at, _ := time.Parse("2006-01-02 15:04", text)
	return &expr.Const{Value: vec.Value{Type: types.Of(types.Timestamp), Int: at.UnixMicro()}}
}

func TestTimestampSeries(t *testing.T) {
	cases := []struct {
		start, stop string
		step        vec.Span
		want        string
	}{
		{"2024-01-31 00:00", "2024-05-01 00:00", vec.Span{Months: 1}, "2024-01-31 00:00:00 2024-02-29 00:00:00 2024-03-29 00:00:00 2024-04-29 00:00:00"},
		{"2024-03-01 12:00", "2024-02-28 00:00", vec.Span{Days: -1}, "2024-03-01 12:00:00 2024-02-29 12:00:00 2024-02-28 12:00:00"},
		{"2024-01-01 00:00", "2024-01-01 02:00", vec.Span{Nanos: int64(time.Hour)}, "2024-01-01 00:00:00 2024-01-01 01:00:00 2024-01-01 02:00:00"},
		{"2024-01-02 00:00", "2024-01-01 00:00", vec.Span{Days: 1}, ""},
		{"2024-01-02 00:00", "2024-01-01 00:00", vec.Span{}, "22023"},
	}
	for _, c := range cases {
		step := &expr.Const{Value: vec.Value{Type: types.Of(types.Interval), Span: c.step}}
		n := &plan.Series{Start: timestamp(c.start), Stop: timestamp(c.stop), Step: step, Col: plan.Column{ID: 1, Name: "s", Type: types.Of(types.Timestamp)}}
		chunks, err := RunAll(context.Background(), n, nil, &memSources{}, Options{Workers: 2})
		got := strings.Join(rendered(rowsOf(chunks)), " ")
		if err != nil {
			got = sqlState(err)
		}
		if got != c.want {
			t.Errorf("%s to %s by %v: %q, want %q", c.start, c.stop, c.step, got, c.want)
		}
	}
	long := &plan.Series{Start: timestamp("2000-01-01 00:00"), Stop: timestamp("2040-01-01 00:00"), Step: &expr.Const{Value: vec.Value{Type: types.Of(types.Interval), Span: vec.Span{Days: 1}}}, Col: plan.Column{ID: 1, Name: "s", Type: types.Of(types.Timestamp)}}
	chunks, err := RunAll(context.Background(), long, nil, &memSources{}, Options{Workers: 3})
	if err != nil || len(rowsOf(chunks)) != 14611 {
		t.Errorf("%d days in forty years, %v", len(rowsOf(chunks)), err)
	}
}
