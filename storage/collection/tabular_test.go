package collection

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// eventsObject is a table or stream with a key, a number and a text.
func eventsObject(kind schema.Kind, partitions int) *schema.Object {
	o := &schema.Object{Namespace: "public", Name: "events", Kind: kind, Partitions: partitions, Fields: []schema.Field{
		{ID: 1, Name: "key", Type: types.Of(types.Text)}, {ID: 2, Name: "n", Type: types.Of(types.Int64)}, {ID: 3, Name: "body", Type: types.Of(types.Text)},
	}}
	if kind == schema.Stream {
		o.RouteBy = 1
	}
	return o
}

// event is a row of the model; key "" is NULL.
type event struct {
	key, body string
	n         int64
}

func (e event) String() string { return fmt.Sprintf("%q %d %q", e.key, e.n, e.body) }

func eventRows(t testing.TB, obj *schema.Object, events []event, to []int32) *Rows {
	t.Helper()
	cols := []*vec.Vector{vec.New(obj.Fields[0].Type, 0), vec.New(obj.Fields[1].Type, 0), vec.New(obj.Fields[2].Type, 0)}
	for _, e := range events {
		cols[0].Append(vec.Value{Type: obj.Fields[0].Type, Str: e.key, Null: e.key == ""})
		cols[1].Append(vec.Int64(e.n))
		cols[2].Append(vec.Text(e.body))
	}
	r, err := FromColumns(obj, cols, len(events))
	if err != nil {
		t.Fatal(err)
	}
	r.To = to
	return r
}

// tabular is a node with what its rows should be.
type tabular struct {
	*bench
	r    *rand.Rand
	rows map[Identity]event
	next []uint64 // by partition, deletes counted
	n    int64
}

func (m *tabular) batch() []event {
	out := make([]event, 1+m.r.Intn(30))
	for i := range out {
		m.n++
		out[i] = event{n: m.n, body: fmt.Sprint("b", m.r.Intn(5))}
		if m.r.Intn(3) > 0 {
			out[i].key = fmt.Sprint("k", m.r.Intn(20))
		}
	}
	return out
}

// learn reads where the rows went and checks that it is where they should be.
func (m *tabular) learn(before []uint64, sent []event, to []int32, deletes []int) {
	m.t.Helper()
	got := map[int64]Identity{}
	keyless := map[int32]bool{}
	for p := range before {
		run, err := m.strong().Records(context.Background(), RecordRange{Partition: p, From: before[p], Rows: 1000})
		m.must(err)
		for _, id := range identitiesOf(run) {
			got[id.n] = id.Identity
		}
		m.next[p] = run.Next
		if int(run.Next-before[p]) != run.Rows+deletes[p] {
			m.t.Fatalf("partition %d went from %d to %d with %d rows and %d deletes", p, before[p], run.Next, run.Rows, deletes[p])
		}
	}
	last := make([]uint64, len(before))
	for i, e := range sent {
		id, ok := got[e.n]
		want := int32(-1)
		switch {
		case to != nil && to[i] >= 0:
			want = to[i]
		case e.key != "" && m.obj.RouteBy != 0:
			want = int32(Partition(e.key, m.obj.Partitions))
		default:
			keyless[id.Partition] = true
		}
		if !ok || want >= 0 && id.Partition != want || id.Offset < last[id.Partition] {
			m.t.Fatalf("row %d (%s) is at %v (%v), want partition %d, after %d", i, e, id, ok, want, last[max(0, id.Partition)])
		}
		last[id.Partition] = id.Offset
		m.rows[id] = e
	}
	if len(keyless) > 1 {
		m.t.Fatalf("the rows without a key went to %v", keyless)
	}
}

type placed struct {
	Identity
	n int64
}

func identitiesOf(run *RecordRun) []placed {
	var out []placed
	for _, c := range run.Chunks {
		for i := range c.N {
			out = append(out, placed{Identity{int32(c.Cols[0].Value(i).Int), uint64(c.Cols[1].Value(i).Int)}, c.Cols[4].Value(i).Int})
		}
	}
	return out
}

func (m *tabular) append() {
	sent := m.batch()
	var to []int32
	if m.r.Intn(3) == 0 {
		to = make([]int32, len(sent))
		for i := range to {
			to[i] = int32(m.r.Intn(m.obj.Partitions+1)) - 1
		}
	}
	before := slices.Clone(m.next)
	_, err := m.c.Append(context.Background(), eventRows(m.t, m.obj, sent, to))
	m.must(err)
	m.learn(before, sent, to, make([]int, len(before)))
}

// pick is some rows of the model, in one order.
func (m *tabular) pick() []Identity {
	var all []Identity
	for id := range m.rows {
		all = append(all, id)
	}
	slices.SortFunc(all, func(a, b Identity) int {
		if a.Partition != b.Partition {
			return int(a.Partition - b.Partition)
		}
		return int(a.Offset) - int(b.Offset)
	})
	m.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), m.r.Intn(12))]
}

// change deletes rows, or replaces them by copies in their partitions.
func (m *tabular) change(update bool) {
	ids := m.pick()
	if len(ids) == 0 {
		return
	}
	snap := m.strong()
	deletes := make([]int, m.obj.Partitions)
	var sent []event
	to := make([]int32, len(ids))
	values := []*vec.Vector{nil, vec.New(m.obj.Fields[1].Type, 0), nil}
	for i, id := range ids {
		deletes[id.Partition]++
		m.n++
		e := m.rows[id]
		e.n = m.n
		sent, to[i] = append(sent, e), id.Partition
		values[1].Append(vec.Int64(m.n))
		delete(m.rows, id)
	}
	rows := &Rows{Cols: make([]*vec.Vector, 3), Gone: ids}
	if update {
		var err error
		rows, err = snap.UpdateTable(context.Background(), ids, values)
		m.must(err)
	} else {
		sent, to = nil, nil
	}
	before := slices.Clone(m.next)
	_, err := m.c.AppendIf(context.Background(), rows, snap)
	m.must(err)
	slices.SortStableFunc(sent, func(a, b event) int { return int(a.n - b.n) })
	m.learn(before, sent, to, deletes)
}

// check compares every row and reads of every kind with the model.
func (m *tabular) check() {
	m.t.Helper()
	snap := m.strong()
	if got := snap.Count(); got != int64(len(m.rows)) {
		m.t.Fatalf("%d rows, want %d", got, len(m.rows))
	}
	for p := range m.obj.Partitions {
		var want []string
		for id, e := range m.rows {
			if int(id.Partition) == p {
				want = append(want, fmt.Sprintf("%08d %d", id.Offset, e.n))
			}
		}
		slices.Sort(want)
		var got []string
		for from := uint64(0); from < m.next[p]; {
			run, err := snap.Records(context.Background(), RecordRange{Partition: p, From: from, Rows: m.r.Intn(40), Bytes: int64(m.r.Intn(300))})
			m.must(err)
			if run.Next <= from {
				m.t.Fatalf("a read from %d goes on at %d", from, run.Next)
			}
			for _, at := range identitiesOf(run) {
				got = append(got, fmt.Sprintf("%08d %d", at.Offset, at.n))
				if at.Offset < from || at.Offset >= run.Next {
					m.t.Fatalf("offset %d in a read of %d to %d", at.Offset, from, run.Next)
				}
			}
			from = run.Next
		}
		if !slices.Equal(got, want) {
			m.t.Fatalf("partition %d has\n%v\nwant\n%v", p, got, want)
		}
	}
}

// TestTabularModel: tables and streams of any number of partitions hold what was
// written, in the order of their partitions, in the tail, in segments, merged, and
// after a restart.
func TestTabularModel(t *testing.T) {
	for _, kind := range []schema.Kind{schema.Table, schema.Stream} {
		for _, partitions := range []int{1, 3, 8} {
			for seed := range int64(3) {
				t.Run(fmt.Sprintf("%s/%d/%d", kind, partitions, seed), func(t *testing.T) {
					m := &tabular{bench: newBench(t, eventsObject(kind, partitions), Options{MaxSplits: 2}), r: rand.New(rand.NewSource(seed)),
						rows: map[Identity]event{}, next: make([]uint64, partitions)}
					for range 60 {
						switch x := m.r.Intn(20); {
						case x < 8 || x < 14 && kind == schema.Stream:
							m.append()
						case x < 11:
							m.change(false)
						case x < 14:
							m.change(true)
						case x < 17:
							m.must(m.c.Apply(context.Background(), nil))
						case x < 19:
							m.must(m.c.Merge(context.Background(), nil))
						default:
							m.open()
						}
						if m.r.Intn(4) == 0 {
							m.check()
						}
					}
					m.check()
				})
			}
		}
	}
}

func TestRecordErrors(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, eventsObject(schema.Stream, 2), Options{MaxRecordBytes: 20})
	_, err := b.c.Append(ctx, eventRows(t, b.obj, []event{{key: "a", body: "x"}}, []int32{1}))
	b.must(err)
	for name, c := range map[string]struct {
		r    RecordRange
		code fail.Code
	}{
		"no such partition":  {RecordRange{Partition: 2}, fail.InvalidParameter},
		"negative partition": {RecordRange{Partition: -1}, fail.InvalidParameter},
		"beyond the end":     {RecordRange{Partition: 1, From: 2}, fail.InvalidParameter},
		"unknown field":      {RecordRange{Fields: []string{"nope"}}, fail.UndefinedColumn},
	} {
		if _, err := b.strong().Records(ctx, c.r); !fail.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	run, err := b.strong().Records(ctx, RecordRange{Partition: 1, From: 1})
	if err != nil || run.Rows != 0 || run.Next != 1 {
		t.Errorf("at the end: %+v, %v", run, err)
	}
	if run, err = b.strong().Records(ctx, RecordRange{Partition: 1, Fields: []string{"body"}}); err != nil || len(run.Chunks) != 1 || len(run.Chunks[0].Cols) != 4 {
		t.Errorf("one field: %+v, %v", run, err)
	}
	for name, rows := range map[string]*Rows{
		"partition 2 of 2": eventRows(t, b.obj, []event{{}}, []int32{2}),
		"a long record":    eventRows(t, b.obj, []event{{}, {body: "a body of more than 12 bytes"}}, nil),
	} {
		if _, err := b.c.Append(ctx, rows); !fail.Is(err, fail.InvalidParameter) && !fail.Is(err, fail.TooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := b.strong().Count(); n != 1 {
		t.Errorf("%d records after refused appends", n)
	}
}
