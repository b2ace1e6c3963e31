package metastore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// produce appends a batch of a producer over some partitions, one record each, and
// says where it lies and whether it had been there.
func (r *rig) produce(o Object, w Produce, partitions ...int) (placed []Placed, duplicate bool, err error) {
	r.t.Helper()
	blocks := make([]AppendBlock, len(partitions))
	for i, p := range partitions {
		blocks[i] = r.block(o, p, 1)
		blocks[i].Group = 1
	}
	blocks[0].Produce = &w
	res, err := r.Append(ctx, blocks)
	if err != nil {
		return nil, false, err
	}
	var before *Duplicate
	if errors.As(res[0].Err, &before) {
		return before.Before.Placed, true, nil
	}
	for i := range res {
		if (res[i].Err == nil) != (res[0].Err == nil) {
			r.t.Fatalf("a batch is appended in part: %+v", res)
		}
		placed = append(placed, Placed{partitions[i], res[i].Base, 1})
	}
	return placed, false, res[0].Err
}

func TestProducer(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("events", 3)
		say := func(epoch, sequence uint64, partitions ...int) string {
			placed, dup, err := r.produce(o, Produce{"a/b c", epoch, sequence}, partitions...)
			if err != nil {
				return fail.CodeOf(err).String()
			}
			return fmt.Sprint(placed, dup)
		}
		for _, step := range []struct{ got, want string }{
			{say(0, 3, 0), "producer_sequence_gap"}, // not known
			{say(1, 0, 0, 2), "[{0 0 1} {2 0 1}] false"},
			{say(1, 0, 2, 0), "[{0 0 1} {2 0 1}] true"}, // the first answer, whatever comes
			{say(1, 2, 0), "producer_sequence_gap"},
			{say(1, 1, 0), "[{0 1 1}] false"},
			{say(1, 1, 0, 1), "invalid_parameter_value"}, // another batch under its number
			{say(0, 2, 0), "producer_fenced"},
			{say(2, 1, 0), "producer_sequence_gap"},
			{say(2, 0, 1), "[{1 0 1}] false"},
			{say(1, 1, 0), "producer_fenced"},
			{say(2, 1, 1), "[{1 1 1}] false"}, {say(2, 2, 1), "[{1 2 1}] false"}, {say(2, 3, 1), "[{1 3 1}] false"},
			{say(2, 4, 1), "[{1 4 1}] false"}, {say(2, 5, 1), "[{1 5 1}] false"},
			{say(2, 1, 1), "[{1 1 1}] true"},
			{say(2, 0, 1), "producer_sequence_gap"}, // no longer known
		} {
			if step.got != step.want {
				t.Fatalf("got %s, want %s", step.got, step.want)
			}
		}
		list := must(r.Producers(ctx, o.ID))(t)
		if len(list) != 1 || list[0].ID != "a/b c" || list[0].Epoch != 2 || list[0].Next != 6 || len(list[0].Recent) != ProducerBatches {
			t.Fatalf("%+v", list)
		}
		if err := r.DropObject(ctx, o.ID); err != nil {
			t.Fatal(err)
		}
		if list := must(r.Producers(ctx, o.ID))(t); len(list) != 0 {
			t.Fatalf("a dropped object has the producers %+v", list)
		}
		if _, _, err := r.produce(o, Produce{"a/b c", 2, 6}, 1); !fail.Is(err, fail.UndefinedTable) {
			t.Fatal(err)
		}
	})
}

// One transaction may hold several batches of a producer, also the same one twice.
func TestProducerInOneTransaction(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("events", 2)
		var blocks []AppendBlock
		for i, sequence := range []uint64{0, 1, 1, 3, 2} {
			b := r.block(o, i%2, 2)
			b.Group, b.Produce = i+1, &Produce{"p", 0, sequence}
			blocks = append(blocks, b)
		}
		res := must(r.Append(ctx, blocks))(t)
		var dup *Duplicate
		if res[0].Err != nil || res[1].Err != nil || !errors.As(res[2].Err, &dup) || !fail.Is(res[3].Err, fail.ProducerGap) || res[4].Err != nil {
			t.Fatalf("%+v", res)
		}
		if !slices.Equal(dup.Before.Placed, []Placed{{1, res[1].Base, 2}}) || res[4].Base != 2 {
			t.Fatalf("%+v %+v", dup, res)
		}
	})
}

func TestProducersAge(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("events", 1)
		for i := range 50 {
			if _, _, err := r.produce(o, Produce{fmt.Sprint(i), 0, 0}, 0); err != nil {
				t.Fatal(err)
			}
			if err := r.TrimRefs(ctx, o.ID, 0, uint64(i+1)); err != nil {
				t.Fatal(err)
			}
		}
		r.clk.Advance(time.Hour)
		must(r.Now(ctx))(t)
		if _, _, err := r.produce(o, Produce{"7", 0, 1}, 0); err != nil {
			t.Fatal(err)
		}
		list := must(r.Producers(ctx, o.ID))(t)
		cut := slices.MaxFunc(list, func(a, b Producer) int { return int(a.LastTS - b.LastTS) }).LastTS
		if n := must(r.ForgetProducers(ctx, o.ID, cut))(t); n != 49 {
			t.Fatal(n)
		}
		if n := must(r.ForgetProducers(ctx, o.ID, cut))(t); n != 0 {
			t.Fatal(n)
		}
		if list := must(r.Producers(ctx, o.ID))(t); len(list) != 1 || list[0].ID != "7" {
			t.Fatalf("%+v", list)
		}
		if _, _, err := r.produce(o, Produce{"8", 0, 1}, 0); !fail.Is(err, fail.ProducerGap) {
			t.Fatal(err)
		}
	})
}

// More producers than are remembered are refused, until some have aged.
func TestTooManyProducers(t *testing.T) {
	r := newRig(t, "")
	o := r.create("events", 1)
	for i := range MaxProducers {
		if _, _, err := r.produce(o, Produce{fmt.Sprint(i), 0, 0}, 0); err != nil {
			t.Fatal(err)
		}
		if err := r.TrimRefs(ctx, o.ID, 0, uint64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := r.produce(o, Produce{"one more", 0, 0}, 0); !fail.Is(err, fail.Exhausted) {
		t.Fatal(err)
	}
	if _, _, err := r.produce(o, Produce{"5", 0, 1}, 0); err != nil {
		t.Fatal(err)
	}
	if n := must(r.ForgetProducers(ctx, o.ID, 1<<62))(t); n != MaxProducers {
		t.Fatal(n)
	}
	if _, _, err := r.produce(o, Produce{"one more", 0, 0}, 0); err != nil {
		t.Fatal(err)
	}
}

// TestProducersOverFaults: clients of several producers send each batch until it is
// acknowledged, over lost replies, applies that drop the references, and reopened
// stores. Every batch is in once, in order, and every answer about it is the same.
func TestProducersOverFaults(t *testing.T) {
	for seed := range uint64(6) {
		dir := sharedRows
		if seed == 0 {
			dir = t.TempDir()
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { producersOverFaults(t, newRig(t, dir), rand.New(rand.NewPCG(seed, 1))) })
	}
}

func producersOverFaults(t *testing.T, r *rig, rng *rand.Rand) {
	const partitions = 3
	stop := make(chan struct{})
	var clock sync.WaitGroup
	clock.Go(func() { // lets the waits between tries pass
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				r.clk.Advance(50 * time.Millisecond)
			}
		}
	})
	defer func() { close(stop); clock.Wait() }()
	o := r.create("events", partitions)
	next := map[string]uint64{}
	answers := map[string][]Placed{}
	records := make([]uint64, partitions)
	unknown, duplicates := 0, 0
	for range 150 {
		id := fmt.Sprint("p", rng.IntN(3))
		w := Produce{id, 0, next[id]}
		fresh := true
		if w.Sequence > 0 && rng.IntN(4) == 0 { // a late retry
			w.Sequence -= 1 + rng.Uint64N(min(w.Sequence, ProducerBatches))
			fresh = false
		}
		name := fmt.Sprint(w)
		to := []int{rng.IntN(partitions)}
		if old := answers[name]; !fresh {
			to = nil
			for _, at := range old {
				to = append(to, at.Partition)
			}
		} else if rng.IntN(2) == 0 {
			to = append(to, (to[0]+1)%partitions)
		}
		for try := 0; ; try++ {
			r.faults.Clear()
			if try < 4 && rng.IntN(2) == 0 {
				kind := []FaultKind{LostBefore, LostAfter, Refused}[rng.IntN(3)]
				r.faults.Add(Fault{Op: "append", Kind: kind, N: 1 + rng.IntN(2)})
				if rng.IntN(2) == 0 {
					r.faults.Add(Fault{Kind: Unreadable, Skip: 1, N: 3})
				}
			}
			placed, dup, err := r.produce(o, w, to...)
			r.faults.Clear()
			switch {
			case err == nil:
				if old, ok := answers[name]; ok && !slices.Equal(old, placed) {
					t.Fatalf("%s is at %v and was at %v", name, placed, old)
				}
				answers[name] = placed
				if dup {
					duplicates++
				}
			case fail.Is(err, fail.CommitUnknown), fail.Is(err, fail.Unavailable), errors.Is(err, errInjected):
				unknown++
				if rng.IntN(3) == 0 && r.dir != "" {
					if err := r.Close(); err != nil {
						t.Fatal(err)
					}
					r.open()
				}
				continue
			default:
				t.Fatalf("%s: %v", name, err)
			}
			break
		}
		if fresh {
			next[id]++
			for _, p := range to {
				records[p]++
			}
		}
		if rng.IntN(5) == 0 { // an apply: the references of what is in are gone
			p := rng.IntN(partitions)
			if err := r.TrimRefs(ctx, o.ID, p, r.part(o, p).Next); err != nil {
				t.Fatal(err)
			}
		}
	}
	for p := range partitions {
		if got := r.part(o, p).Next; got != records[p] {
			t.Fatalf("partition %d has %d records, %d were sent", p, got, records[p])
		}
	}
	if unknown == 0 || duplicates == 0 {
		t.Fatalf("%d lost replies, %d duplicates: the test tests nothing", unknown, duplicates)
	}
}
