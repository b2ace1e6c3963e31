package collection

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// boundedObject has a field of every type with an order, and some without bounds.
func boundedObject() *schema.Object {
	o := &schema.Object{Namespace: "public", Name: "bounded", Kind: schema.Table, Partitions: 1}
	for i, t := range []types.Type{
		types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double), types.DecimalOf(12, 2), types.Of(types.Text),
		types.Of(types.Date), types.Of(types.Timestamp), types.Of(types.Time), types.Of(types.UUID), types.Of(types.Boolean), types.Of(types.Binary),
	} {
		o.Fields = append(o.Fields, schema.Field{ID: int32(i + 1), Name: fmt.Sprint("c", i), Type: t})
		o.LastField = int32(i + 1)
	}
	return o
}

// boundedValue is one of a few values near a place, so that splits have ranges of
// their own which touch and overlap; awkward ones are among them.
func boundedValue(r *rand.Rand, t types.Type, place int) vec.Value {
	n := int64(3*place + r.Intn(5) - 2)
	v := vec.Value{Type: t}
	switch t.Kind {
	case types.Boolean:
		v.Bool = n%2 == 0
	case types.Int32, types.Int64, types.Date, types.Timestamp, types.Time:
		v.Int = n
	case types.Double:
		v.Float = float64(n)
		switch r.Intn(12) {
		case 0:
			v.Float = math.NaN()
		case 1:
			v.Float = math.Copysign(0, -1)
		case 2:
			v.Float = math.Inf(r.Intn(3) - 1)
		}
	case types.Decimal, types.UUID:
		v.Dec = decimal128.FromI64(n)
	default:
		v.Str = fmt.Sprintf("%03d", n+10)
		switch r.Intn(6) {
		case 0:
			v.Str = ""
		case 1:
			v.Str = strings.Repeat(v.Str[:1], 70) + v.Str
		case 2:
			v.Str = v.Str[:1] + strings.Repeat("\U0010FFFF", 20)
		}
	}
	return v
}

// The functions of the names, as far as patterns without special characters go, of
// which LIKE is given the beginning of a longer one.
var (
	startsWith = &expr.ScalarFunc{Name: "starts_with", Eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			out.Bools[i] = strings.HasPrefix(args[0].Value(i).Str, args[1].Value(i).Str)
		}
		return nil
	}}
	likeBeginning = &expr.ScalarFunc{Name: "like", Eval: startsWith.Eval}
)

// boundedPredicate is a random condition over one column.
func boundedPredicate(r *rand.Rand, c plan.ScanColumn) expr.Expr {
	value := func() expr.Expr {
		if r.Intn(12) == 0 {
			return &expr.Const{Value: vec.Null(c.Type)}
		}
		return &expr.Const{Value: boundedValue(r, c.Type, r.Intn(9)-2)}
	}
	switch r.Intn(6) {
	case 5:
		if c.Type.Kind == types.Text {
			text := boundedValue(r, c.Type, r.Intn(9)-2)
			text.Str = text.Str[:r.Intn(len(text.Str)+1)]
			if fn := []*expr.ScalarFunc{startsWith, likeBeginning}[r.Intn(2)]; utf8.ValidString(text.Str) {
				return &expr.Call{Fn: fn, T: types.Of(types.Boolean), Args: []expr.Expr{c.Ref(), &expr.Const{Value: text}}}
			}
		}
	case 0:
		return &expr.IsNull{Arg: c.Ref(), Negate: r.Intn(2) == 0}
	case 1:
		in := &expr.In{Arg: c.Ref(), Negate: r.Intn(4) == 0}
		for range 1 + r.Intn(4) {
			in.List = append(in.List, value())
		}
		return in
	case 2:
		return &expr.Logic{Or: true, Args: []expr.Expr{
			&expr.Compare{Op: expr.Lt, Left: c.Ref(), Right: value()}, &expr.Compare{Op: expr.Gt, Left: c.Ref(), Right: value()}}}
	}
	cmp := &expr.Compare{Op: expr.CompareOp(r.Intn(8)), Left: c.Ref(), Right: value()}
	if r.Intn(3) == 0 {
		cmp.Left, cmp.Right = cmp.Right, cmp.Left
	}
	return cmp
}

// scanned are the rows of a filter, by identity.
func scanned(t *testing.T, s *Snapshot, filter expr.Expr) (rows []string, splits, chunks int64) {
	t.Helper()
	scan, err := s.Scan(testEnv(), &plan.Scan{Object: s.obj, Cols: allCols(s.obj), Filter: filter, Limit: plan.NoLimit})
	if err != nil {
		t.Fatal(err)
	}
	for {
		c, err := scan.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			break
		}
		for i := range c.Rows() {
			row := ""
			for _, col := range c.Cols {
				at := i
				if c.Sel != nil {
					at = int(c.Sel[i])
				}
				row += col.Value(at).String() + "|"
			}
			rows = append(rows, row)
		}
	}
	splits, chunks = scan.Skipped()
	return rows, splits, chunks
}

// TestPruning: random conditions give the same rows in the same order with and
// without what is known of splits and chunks, over splits whose ranges touch, of one
// and of several chunks, of nothing but NULLs, and a tail; and of every type with
// bounds some splits are passed over.
func TestPruning(t *testing.T) {
	ctx := context.Background()
	skipped, skippedChunks := map[types.Kind]int64{}, int64(0)
	for seed := range int64(5) {
		r := rand.New(rand.NewSource(seed))
		b := newBench(t, boundedObject(), Options{MaxSplits: 100})
		for place := range 6 {
			n := []int{1, 7, 40, 3 * vec.ChunkRows}[r.Intn(4)]
			cols := make([]*vec.Vector, len(b.obj.Fields))
			for i, f := range b.obj.Fields {
				cols[i] = vec.New(f.Type, n)
				nulls := r.Intn(6) // 0: no other value
				for k := range n {
					if nulls == 0 || r.Intn(nulls+1) == 0 && nulls < 5 {
						cols[i].AppendNull()
						continue
					}
					cols[i].Append(boundedValue(r, f.Type, place+k/vec.ChunkRows))
				}
			}
			rows, err := FromColumns(b.obj, cols, n)
			b.must(err)
			_, err = b.c.Append(ctx, rows)
			b.must(err)
			if place < 5 || r.Intn(2) == 0 {
				b.must(b.c.Apply(ctx, nil))
			}
		}
		s := b.strong()
		cols := allCols(b.obj)
		for range 100 {
			c := cols[r.Intn(len(b.obj.Fields))]
			filter := boundedPredicate(r, c)
			if r.Intn(3) == 0 {
				filter = expr.AllOf([]expr.Expr{filter, boundedPredicate(r, cols[r.Intn(len(b.obj.Fields))])})
			}
			never := &expr.Const{Value: vec.Bool(false)}
			want, splits, chunks := scanned(t, s, &expr.Logic{Or: true, Args: []expr.Expr{filter, never}})
			if splits+chunks > 0 {
				t.Fatalf("%s OR false passes %d splits over", filter, splits)
			}
			got, splits, chunks := scanned(t, s, filter)
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Fatalf("seed %d: %s gives %d rows, %d without bounds (%d splits, %d chunks passed over)", seed, filter, len(got), len(want), splits, chunks)
			}
			skipped[c.Type.Kind] += splits
			skippedChunks += chunks
		}
	}
	for _, f := range boundedObject().Fields {
		if skipped[f.Type.Kind] == 0 {
			t.Errorf("no split was passed over by a condition on %s", f.Type)
		}
	}
	if skippedChunks == 0 {
		t.Error("no chunk was passed over")
	}
}

// TestPrunedSplitsAreNotRead: of a split that is passed over not even the directory
// of its columns is opened.
func TestPrunedSplitsAreNotRead(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 100})
	for place := range 4 {
		putDocs(b, 10*place, 10*place+10, func(i int) string { return fmt.Sprintf(`, "year": %d`, i) })
		b.must(b.c.Apply(ctx, nil))
	}
	b.open()
	s := b.strong()
	year := allCols(b.obj)[2]
	rows, splits, chunks := scanned(t, s, &expr.Compare{Op: expr.Eq, Left: year.Ref(), Right: &expr.Const{Value: vec.Int32(25)}})
	if len(rows) != 1 || splits != 3 || chunks != 0 {
		t.Errorf("%d rows, %d splits and %d chunks passed over", len(rows), splits, chunks)
	}
	for i, sp := range b.c.st.splits {
		if opened := sp.cols != nil; opened != (i == 2) {
			t.Errorf("split %d: its columns were opened: %t", i, opened)
		}
	}
	recent := &expr.Compare{Op: expr.Gt, Left: &expr.Column{ID: 99, Name: "_ingest_ts", T: types.Of(types.Timestamp)},
		Right: &expr.Const{Value: vec.Value{Type: types.Of(types.Timestamp), Int: math.MaxInt64}}}
	scan, err := s.Scan(testEnv(), &plan.Scan{Object: s.obj, Filter: recent, Limit: plan.NoLimit,
		Cols: []plan.ScanColumn{{Column: plan.Column{ID: 99, Name: "_ingest_ts", Type: types.Of(types.Timestamp)}, Field: "_ingest_ts"}}})
	b.must(err)
	if splits, _ := scan.Skipped(); splits != 4 {
		t.Errorf("%d splits passed over by ingest time", splits)
	}
}
