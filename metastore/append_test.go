package metastore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

func TestAppend(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 2)
		a, b := r.block(o, 0, 3), r.block(o, 1, 5)
		c := r.block(o, 0, 2)
		res := must(r.Append(ctx, []AppendBlock{a, b, c}))(t)
		if res[0].Base != 0 || res[1].Base != 0 || res[2].Base != 3 || res[2].Inline != 2 {
			t.Fatalf("%+v", res)
		}
		if res[0].TS < start.UnixMicro() || res[1].TS != res[0].TS || res[2].TS != res[0].TS {
			t.Fatalf("times %+v", res)
		}
		p := r.part(o, 0)
		want := Ref{Base: 3, Records: 2, WALKey: c.WALKey, Off: 32, Len: 100, Checksum: 7, TS: res[2].TS, Bytes: 20}
		if p.Next != 5 || p.Refs[1] != want {
			t.Fatalf("%+v", p)
		}
		if n, bytes := p.Backlog(); n != 5 || bytes != 50 {
			t.Fatal(n, bytes)
		}
		if res, err := r.Append(ctx, nil); err != nil || len(res) != 0 {
			t.Fatal(res, err)
		}
	})
}

func TestAppendRefusals(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o, dropped := r.create("docs", 1), r.create("dropped", 1)
		if err := r.DropObject(ctx, dropped.ID); err != nil {
			t.Fatal(err)
		}
		r.add(o, 0, 4)
		at, stale := uint64(4), uint64(3)
		good, late, gone, other, third := r.block(o, 0, 1), r.block(o, 0, 1), r.block(dropped, 0, 1), r.block(o, 0, 1), r.block(o, 0, 1)
		good.Expect, late.Expect = &at, &stale
		other.Incarnation = dropped.Incarnation
		res := must(r.Append(ctx, []AppendBlock{late, gone, good, other, third, r.block(o, 7, 1)}))(t)
		wantCode(t, res[0].Err, fail.Conflict)
		wantCode(t, res[1].Err, fail.UndefinedTable)
		wantCode(t, res[3].Err, fail.UndefinedTable)
		wantCode(t, res[5].Err, fail.UndefinedTable)
		if res[2].Err != nil || res[2].Base != 4 || res[4].Err != nil || res[4].Base != 5 {
			t.Fatalf("the others do not go on: %+v", res)
		}
		if p := r.part(o, 0); p.Next != 6 {
			t.Fatalf("%+v", p)
		}
	})
}

func TestAppendFullRow(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 1)
		for range MaxInlineRefs {
			r.add(o, 0, 1)
		}
		res := must(r.Append(ctx, []AppendBlock{r.block(o, 0, 1)}))(t)
		wantCode(t, res[0].Err, fail.BacklogFull)
		index := "walx/20260102/" + r.ids.ULID() + ".lwix"
		if err := r.MoveRefs(ctx, o.ID, 0, 48, index, ""); err != nil {
			t.Fatal(err)
		}
		p := r.part(o, 0)
		if p.Overflow != (Overflow{IndexKey: index, Upto: 48, Bytes: 480}) || len(p.Refs) != 16 {
			t.Fatalf("%+v", p)
		}
		if n, bytes := p.Backlog(); n != 64 || bytes != 640 {
			t.Fatal(n, bytes)
		}
		if res := r.add(o, 0, 1); res.Base != 64 || res.Inline != 17 {
			t.Fatalf("%+v", res)
		}
		next := "walx/20260102/" + r.ids.ULID() + ".lwix"
		wantCode(t, r.MoveRefs(ctx, o.ID, 0, 50, next, ""), fail.Conflict)
		wantCode(t, r.MoveRefs(ctx, o.ID, 0, 99, next, index), fail.Conflict)
		wantCode(t, r.MoveRefs(ctx, o.ID, 3, 50, next, index), fail.UndefinedTable)
		if err := r.MoveRefs(ctx, o.ID, 0, 50, next, index); err != nil {
			t.Fatal(err)
		}
		if p := r.part(o, 0); p.Overflow != (Overflow{IndexKey: next, Upto: 50, Bytes: 500}) {
			t.Fatalf("%+v", p)
		}
		// Applied inside the index keeps it, beyond it drops it.
		must(r.commit(o, 1, 30))(t)
		if p := r.part(o, 0); p.Overflow.IndexKey != next || p.Applied != 30 {
			t.Fatalf("%+v", p)
		}
		must(r.commit(o, 2, 51))(t)
		if p := r.part(o, 0); p.Overflow != (Overflow{}) || len(p.Refs) != 14 {
			t.Fatalf("%+v", p)
		}
	})
}

func TestTrimRefs(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("events", 1)
		r.add(o, 0, 10)
		r.add(o, 0, 10)
		if err := r.TrimRefs(ctx, o.ID, 0, 15); err != nil {
			t.Fatal(err)
		}
		if p := r.part(o, 0); p.Applied != 15 || len(p.Refs) != 1 || p.Refs[0].Base != 10 {
			t.Fatalf("%+v", p)
		}
		if err := r.TrimRefs(ctx, o.ID, 0, 3); err != nil { // trimming back does nothing
			t.Fatal(err)
		}
		if p := r.part(o, 0); p.Applied != 15 {
			t.Fatalf("%+v", p)
		}
		wantCode(t, r.TrimRefs(ctx, o.ID, 0, 21), fail.OutOfRange)
	})
}

func TestCondemn(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 1)
		old, index := r.block(o, 0, 1), "walx/20260102/"+r.ids.ULID()+".lwix"
		r.add(o, 0, 1)
		r.clk.Advance(time.Millisecond)
		floor := r.ids.ULID()
		r.clk.Advance(time.Millisecond)
		if err := r.CondemnWAL(ctx, floor); err != nil {
			t.Fatal(err)
		}
		if err := r.CondemnWAL(ctx, old.WALKey[13:39]); err != nil { // the floor does not sink
			t.Fatal(err)
		}
		res := must(r.Append(ctx, []AppendBlock{old, r.block(o, 0, 1)}))(t)
		wantCode(t, res[0].Err, fail.Conflict)
		if res[1].Err != nil {
			t.Fatal(res[1].Err)
		}
		wantCode(t, r.MoveRefs(ctx, o.ID, 0, 1, index, ""), fail.Conflict)
		wantCode(t, caught(func() error { return r.CondemnWAL(ctx, "no ulid") }), fail.Internal)
	})
}

// Offsets of concurrent writers are dense, unique and in the order of their
// acknowledgements, also when one call spans more partitions than a transaction.
func TestAppendLinear(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		objs := []Object{r.create("a", 4), r.create("b", 4)}
		type got struct{ obj, part, base, n int }
		var mu sync.Mutex
		var all []got
		var wg sync.WaitGroup
		stop := make(chan struct{})
		var applier sync.WaitGroup
		applier.Go(func() { // a commit must get through the storm
			for v := uint64(1); ; v++ {
				select {
				case <-stop:
					return
				default:
				}
				for _, o := range objs {
					_, parts, _, err := r.Heads(ctx, o.ID)
					if err != nil {
						t.Error(err)
						return
					}
					var applied []uint64
					for _, p := range parts {
						applied = append(applied, p.Next)
					}
					if _, err := r.commit(o, v, applied...); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
		for w := range 16 {
			wg.Go(func() {
				var last uint64
				for i := range 40 {
					o := (w + i) % 2
					n := 1 + (w*i)%5
					res, err := r.Append(ctx, []AppendBlock{r.block(objs[o], w%4, uint32(n)), r.block(objs[o], (w+1)%4, 1)})
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					for j, x := range res {
						if x.Err != nil {
							if !fail.Is(x.Err, fail.BacklogFull) {
								t.Error(x.Err)
							}
							continue
						}
						all = append(all, got{o, (w + j) % 4, int(x.Base), []int{n, 1}[j]})
						last = max(last, x.Base)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		close(stop)
		applier.Wait()
		slices.SortFunc(all, func(a, b got) int { return ((a.obj-b.obj)*8+a.part-b.part)*1_000_000 + a.base - b.base })
		next := map[string]int{}
		for _, g := range all {
			k := fmt.Sprint(g.obj, g.part)
			if g.base != next[k] {
				t.Fatalf("partition %s: offset %d, want %d", k, g.base, next[k])
			}
			next[k] += g.n
		}
		for o, obj := range objs {
			for p := range 4 {
				if s := r.part(obj, p); int(s.Next) != next[fmt.Sprint(o, p)] {
					t.Errorf("object %d partition %d ends at %d, acknowledged up to %d", o, p, s.Next, next[fmt.Sprint(o, p)])
				}
			}
		}
	})
}

func TestAppendManyPartitions(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		objs := []Object{r.create("a", 64), r.create("b", 64), r.create("c", 64)}
		var blocks []AppendBlock
		for p := range 64 {
			for _, o := range objs {
				blocks = append(blocks, r.block(o, p, 2))
			}
		}
		res := must(r.Append(ctx, blocks))(t)
		for i, x := range res {
			if x.Err != nil || x.Base != 0 {
				t.Fatalf("block %d: %+v", i, x)
			}
		}
		count := 0
		err := r.ScanPartitions(ctx, func(id uint64, p int, s PartitionState) error {
			count++
			if s.Next != 2 {
				return fmt.Errorf("object %d partition %d ends at %d", id, p, s.Next)
			}
			return nil
		})
		if err != nil || count != 192 {
			t.Fatal(count, err)
		}
	})
}

// An object and its log are read at one revision.
func TestSnapshot(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		a, b := r.create("a", 1), r.create("b", 1)
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(done)
			for v := range uint64(150) { // b follows a; both grow in one transaction
				res, err := r.Append(ctx, []AppendBlock{r.block(a, 0, 1), r.block(b, 0, 1)})
				if err != nil || res[0].Err != nil || res[1].Err != nil {
					t.Error(res, err)
					return
				}
				if _, err := r.commit(a, v+1, v+1); err != nil {
					t.Error(err)
				}
				if _, err := r.commit(b, v+1, v+1); err != nil {
					t.Error(err)
				}
			}
		})
		last := int64(0)
		for open := true; open; {
			select {
			case <-done:
				open = false
			default:
			}
			s := must(r.Snapshot(ctx, []uint64{b.ID, a.ID}))(t)
			sb, sa := s.Objects[0], s.Objects[1]
			if sa.ID != a.ID || sa.Incarnation != a.Incarnation || sa.Partitions[0].Next != sb.Partitions[0].Next || s.Revision < last {
				t.Fatalf("torn: %+v", s)
			}
			for _, o := range s.Objects {
				if o.Head.Version != o.Partitions[0].Applied {
					t.Fatalf("head and log differ: %+v", o)
				}
			}
			last = s.Revision
		}
		wg.Wait()
		_, err := r.Snapshot(ctx, []uint64{a.ID, 12345})
		wantCode(t, err, fail.UndefinedTable)
		_, err = r.Snapshot(ctx, make([]uint64, MaxSnapshotObjects+1))
		wantCode(t, err, fail.TooLarge)
		if s := must(r.Snapshot(ctx, nil))(t); len(s.Objects) != 0 {
			t.Fatal(s)
		}
	})
}

// Two tries of one append lose their replies. The first did not happen: by the second,
// another writer has taken its offset in one partition, but not in the other. What is
// found there by its name must not be taken for the first try.
func TestAppendTellsItsTriesApart(t *testing.T) {
	rows, clk := NewMemRows(), clock.Real()
	faults := &Faults{}
	a := must(rows.Open(ctx, clk, clock.SeededIDs(clk, 1), Options{Faults: faults}))(t)
	b := must(rows.Open(ctx, clk, clock.SeededIDs(clk, 2), Options{}))(t)
	must(a.CreateNamespace(ctx, "public", nil))(t)
	o := must(a.CreateObject(ctx, Object{Namespace: "public", Name: "docs", Kind: "collection", Partitions: 2}))(t)
	ids := clock.SeededIDs(clk, 3)
	block := func(p int, key string) AppendBlock {
		return AppendBlock{ObjectID: o.ID, Incarnation: o.Incarnation, Partition: p, Records: 2, Bytes: 1, WALKey: key, Off: int64(p), Len: 1, Group: 1}
	}
	name := func() string { return "wal/20260102/" + ids.ULID() + ".lwal" }
	faults.Add(Fault{Op: "append", Kind: LostBefore, N: 1})
	faults.Add(Fault{Op: "append", Kind: LostAfter, N: 1})
	n := 0
	faults.Between(func(_ context.Context, op string) {
		if n++; op == "append" && n == 1 {
			must(b.Append(ctx, []AppendBlock{block(1, name())}))(t)
		}
	})
	key := name()
	res := must(a.Append(ctx, []AppendBlock{block(0, key), block(1, key)}))(t)
	_, parts, _, err := a.Heads(ctx, o.ID)
	if err != nil {
		t.Fatal(err)
	}
	for p, r := range res {
		ref := parts[p].Refs[len(parts[p].Refs)-1]
		if ref.WALKey != key || r.Err != nil || r.Base != ref.Base || r.TS != ref.TS {
			t.Errorf("partition %d: answered %+v, the row has %+v", p, r, ref)
		}
	}
}
