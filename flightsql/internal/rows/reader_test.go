package rows

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// list is a result of prepared chunks and an error at their end.
type list struct {
	chunks []*vec.Chunk
	err    error
	closed int
}

func (l *list) Next(context.Context) (*vec.Chunk, error) {
	if len(l.chunks) == 0 {
		return nil, l.err
	}
	c := l.chunks[0]
	l.chunks = l.chunks[1:]
	return c, nil
}

func (l *list) Close() error { l.closed++; return nil }

var columns = []plan.Column{{Name: "i", Type: types.Of(types.Int64)}, {Name: "s", Type: types.Of(types.Text)}}

// numbered are n rows from first on, the text of the given size.
func numbered(first, n, size int) *vec.Chunk {
	c := vec.NewChunk(Types(columns), n)
	for i := range n {
		c.Cols[0].Append(vec.Int64(int64(first + i)))
		c.Cols[1].Append(vec.Text(strings.Repeat("x", size)))
	}
	c.N = n
	return c
}

// drain reads everything, checks the numbers run from 0, and returns the sizes in rows.
func drain(t testing.TB, r *Reader) []int64 {
	t.Helper()
	var sizes []int64
	next := int64(0)
	for {
		rec, err := r.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if rec == nil {
			break
		}
		col := rec.Column(0).(*array.Int64)
		for i := range col.Len() {
			if col.Value(i) != next {
				t.Fatalf("row %d has number %d", next, col.Value(i))
			}
			next++
		}
		if n := size(rec, 0, int(rec.NumRows())); n > TargetBytes && rec.NumRows() > 1 {
			t.Errorf("a batch of %d bytes in %d rows", n, rec.NumRows())
		}
		sizes = append(sizes, rec.NumRows())
		rec.Release()
	}
	return sizes
}

// TestDecimalsTellTheirDigits: JDBC reads them from the metadata, not from the type.
func TestDecimalsTellTheirDigits(t *testing.T) {
	s := Schema([]plan.Column{{Name: "n", Type: types.DecimalOf(12, 3)}, {Name: "i", Type: types.Of(types.Int64)}})
	if got := s.Field(0).Metadata.String(); got != `["ARROW:FLIGHT:SQL:PRECISION": "12", "ARROW:FLIGHT:SQL:SCALE": "3"]` {
		t.Errorf("metadata of a decimal: %s", got)
	}
	if s.Field(1).HasMetadata() {
		t.Errorf("metadata of a bigint: %v", s.Field(1).Metadata)
	}
}

func TestBatchesGrow(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	var chunks []*vec.Chunk
	for i := range 100 {
		chunks = append(chunks, numbered(i*2048, 2048, 4))
	}
	src := &list{chunks: chunks}
	sizes := drain(t, Of(Schema(columns), Types(columns), mem, src))
	if sizes[0] != 2048 || sizes[1] != 4096 || sizes[2] != 8192 || len(sizes) > 12 {
		t.Errorf("sizes %v", sizes)
	}
	if src.closed != 1 {
		t.Errorf("closed %d times", src.closed)
	}
}

func TestLargeRowsStandAlone(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	src := &list{chunks: []*vec.Chunk{numbered(0, 3, 3<<20), numbered(3, 100, 100<<10), numbered(103, 5, 1)}}
	sizes := drain(t, Of(Schema(columns), Types(columns), mem, src))
	if sizes[0] != 1 || sizes[1] != 1 || sizes[2] != 1 || sizes[3] != 10 {
		t.Errorf("sizes %v", sizes)
	}
}

func TestSeveralExecutionsFollowEachOther(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	all := []*list{{chunks: []*vec.Chunk{numbered(0, 2, 1)}}, {}, {chunks: []*vec.Chunk{numbered(2, 3, 1)}}}
	r := NewReader(Schema(columns), Types(columns), mem, func(_ context.Context, i int) (Chunks, error) {
		if i == len(all) {
			return nil, nil
		}
		return all[i], nil
	})
	if sizes := drain(t, r); len(sizes) != 1 || sizes[0] != 5 {
		t.Errorf("sizes %v", sizes)
	}
	for i, l := range all {
		if l.closed != 1 {
			t.Errorf("execution %d closed %d times", i, l.closed)
		}
	}
}

func TestErrorsAndEarlyEnds(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	broken := errors.New("broken")
	src := &list{chunks: []*vec.Chunk{numbered(0, 4, 3<<20)}, err: broken}
	r := Of(Schema(columns), Types(columns), mem, src)
	rec, err := r.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	if err := r.Close(); err != nil || src.closed != 1 {
		t.Errorf("closed %d times, %v", src.closed, err)
	}
	r = Of(Schema(columns), Types(columns), mem, &list{err: broken})
	if _, err := r.Next(context.Background()); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if rec, err := r.Next(context.Background()); rec != nil || err != nil {
		t.Errorf("after an error: %v, %v", rec, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	src = &list{chunks: []*vec.Chunk{numbered(0, 1, 1)}}
	r = Of(Schema(columns), Types(columns), mem, src)
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if r.Close() != nil || src.closed != 1 {
		t.Error("a result that was never read is not closed")
	}
}

func TestEmptyAndNoColumns(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	r := Of(Schema(columns), Types(columns), mem, &list{})
	rec := r.Empty()
	if rec.NumRows() != 0 || !rec.Schema().Equal(r.Schema()) {
		t.Errorf("%v", rec)
	}
	rec.Release()
	none := Of(Schema(nil), nil, mem, &list{chunks: []*vec.Chunk{{N: 7}}})
	rec, err := none.Next(context.Background())
	if err != nil || rec.NumRows() != 7 {
		t.Errorf("%v, %v", rec, err)
	}
	rec.Release()
}

// TestSplitKeepsEverything cuts batches of random nested columns.
func TestSplitKeepsEverything(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	ts := []types.Type{
		types.Of(types.Text), types.VectorOf(4), types.ListOf(types.Of(types.Text)), types.Of(types.Boolean),
		types.DecimalOf(10, 2), types.Of(types.Sparse), types.Of(types.Binary),
		types.Of(types.UUID), types.MapOf(types.Of(types.Text), types.Of(types.Text)), types.StructOf(types.Field{Name: "x", Type: types.Of(types.Text)}),
	}
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(rt, "rows")
		c := vec.NewChunk(ts, n)
		for range n {
			for i, typ := range ts {
				c.Cols[i].Append(value(rt, typ))
			}
		}
		c.N = n
		rec, err := vec.ChunkToRecord(c, vec.Schema(names, ts), mem)
		if err != nil {
			rt.Fatal(err)
		}
		defer rec.Release()
		limit := rapid.Int64Range(1, 4000).Draw(rt, "limit")
		at := int64(0)
		for _, part := range Split(rec, limit) {
			if part.NumRows() > 1 && size(part, 0, int(part.NumRows())) > limit {
				rt.Errorf("a part of %d bytes", size(part, 0, int(part.NumRows())))
			}
			want := rec.NewSlice(at, at+part.NumRows())
			if !array.RecordEqual(part, want) {
				rt.Errorf("rows from %d differ", at)
			}
			want.Release()
			at += part.NumRows()
			part.Release()
		}
		if at != rec.NumRows() {
			rt.Errorf("%d of %d rows", at, rec.NumRows())
		}
	})
}

func value(t *rapid.T, typ types.Type) vec.Value {
	if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		return vec.Null(typ)
	}
	text := rapid.StringN(0, 40, 60)
	v := vec.Value{Type: typ, Str: text.Draw(t, "s"), Bool: true}
	switch typ.Kind {
	case types.Vector:
		v.Vec = []float32{1, 2, 3, 4}
	case types.List:
		for range rapid.IntRange(0, 5).Draw(t, "n") {
			v.List = append(v.List, vec.Text(text.Draw(t, "e")))
		}
	case types.Struct:
		v.List = []vec.Value{value(t, typ.Fields[0].Type)}
	case types.Map:
		for i := range rapid.IntRange(0, 3).Draw(t, "entries") {
			v.List = append(v.List, vec.Value{Type: *typ.Elem, List: []vec.Value{vec.Text(strings.Repeat("k", i)), value(t, typ.Value())}})
		}
	case types.Sparse:
		v.Sparse = vec.SparseRow{Indices: []uint32{1, 9}, Values: []float32{.5, 2}}
	}
	return v
}

// slow is a result whose every chunk takes a while.
type slow struct {
	list
	clock *clock.Manual
	takes time.Duration
}

func (s *slow) Next(ctx context.Context) (*vec.Chunk, error) {
	s.clock.Advance(s.takes)
	return s.list.Next(ctx)
}

func TestRowsOfASlowResultDoNotWait(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	for _, c := range []struct {
		takes time.Duration
		want  []int64
	}{
		{time.Millisecond, []int64{2048, 4096, 4096}},
		{60 * time.Millisecond, []int64{2048, 4096, 4096}},
		{101 * time.Millisecond, []int64{2048, 2048, 2048, 2048, 2048}},
		{time.Hour, []int64{2048, 2048, 2048, 2048, 2048}},
	} {
		src := &slow{clock: clock.NewManual(time.Unix(0, 0)), takes: c.takes}
		for i := range 5 {
			src.chunks = append(src.chunks, numbered(i*2048, 2048, 1))
		}
		if got := drain(t, Of(Schema(columns), Types(columns), mem, src).Hurry(src.clock)); !slices.Equal(got, c.want) {
			t.Errorf("chunks that take %s: batches of %v, want %v", c.takes, got, c.want)
		}
	}
}

// TestCutsAreEven: a batch slightly too large does not leave a crumb.
func TestCutsAreEven(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	src := &list{chunks: []*vec.Chunk{numbered(0, 2048, 1<<10)}}
	if sizes := drain(t, Of(Schema(columns), Types(columns), mem, src)); len(sizes) != 3 || slices.Min(sizes) < 600 {
		t.Errorf("2 MiB and a little in batches of %v rows", sizes)
	}
	c := numbered(0, 100, 30<<10)
	c.Sel = make([]int32, 70)
	for i := range c.Sel {
		c.Sel[i] = int32(i)
	}
	c.Cols[1] = vec.Const(types.Of(types.Text), vec.Text(strings.Repeat("y", 30<<10)), 100)
	src = &list{chunks: []*vec.Chunk{c}}
	if sizes := drain(t, Of(Schema(columns), Types(columns), mem, src)); !slices.Equal(sizes, []int64{23, 23, 24}) {
		t.Errorf("2 MiB and a little of selected rows in batches of %v rows", sizes)
	}
	c = numbered(0, 100, 30<<10) // all rows of flat columns, one of them NULL
	c.Cols[1].SetNull(55)
	src = &list{chunks: []*vec.Chunk{c}}
	r := Of(Schema(columns), Types(columns), mem, src)
	for at := int64(0); at < 100; {
		rec, err := r.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			if rec.Column(1).IsNull(i) != (at+int64(i) == 55) {
				t.Errorf("row %d: NULL is %v", at+int64(i), rec.Column(1).IsNull(i))
			}
		}
		at += rec.NumRows()
		rec.Release()
	}
}
