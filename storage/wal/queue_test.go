package wal

import (
	"fmt"
	"slices"
	"testing"

	"github.com/loamdb/loam/metastore"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

func req(t *testing.T, blocks ...Block) *request {
	t.Helper()
	for i := range blocks {
		blocks[i].Incarnation = ulid.ULID{1}.String()
		blocks[i].Records = max(1, blocks[i].Records)
	}
	r, err := newRequest(blocks)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func at(n uint64) *uint64 { return &n }

func TestQueueTakesOneFlightAtATime(t *testing.T) {
	var q queue
	if q.take(100) != nil {
		t.Fatal("a flight of nothing")
	}
	q.push(req(t, Block{Payload: make([]byte, 60)}))
	q.push(req(t, Block{Payload: make([]byte, 60)}))
	q.push(req(t, Block{Payload: make([]byte, 40)}))
	f := q.take(100)
	if len(f.requests) != 1 || q.take(100) != nil || q.bytes != 100 {
		t.Fatalf("%d requests, %d bytes left", len(f.requests), q.bytes)
	}
	q.landed()
	if f = q.take(100); len(f.requests) != 2 || q.bytes != 0 || len(q.waiting) != 0 {
		t.Fatalf("%d requests, %d bytes left", len(f.requests), q.bytes)
	}
	q.landed()
	q.push(req(t, Block{Payload: make([]byte, 1000)})) // larger than a segment: alone, not never
	if f = q.take(100); len(f.requests) != 1 {
		t.Fatal("a large request is not taken")
	}
}

func TestQueueWithdraw(t *testing.T) {
	var q queue
	a, b := req(t, Block{Payload: []byte("a")}), req(t, Block{Payload: []byte("b")})
	q.push(a)
	q.push(b)
	if !q.withdraw(a) || q.withdraw(a) || q.bytes != 1 {
		t.Fatal("withdraw")
	}
	f := q.take(100)
	if len(f.requests) != 1 || f.requests[0] != b || q.withdraw(b) {
		t.Fatal("a request in flight was withdrawn")
	}
}

func TestFlightLimits(t *testing.T) {
	var q queue
	for range maxExpects + 3 {
		q.push(req(t, Block{Expect: at(5)}))
	}
	if f := q.take(1 << 20); len(f.planned) != maxExpects {
		t.Fatalf("%d planned writes of one partition", len(f.planned))
	}
	q = queue{}
	for range maxProduced + 3 {
		r := req(t, Block{})
		r.produce = &metastore.Produce{Producer: "p"}
		q.push(r)
	}
	if f := q.take(1 << 20); len(f.planned) != maxProduced {
		t.Fatalf("%d batches of producers in one partition", len(f.planned))
	}
	q = queue{}
	for i := range 200 {
		q.push(req(t, Block{ObjectID: uint64(i)}))
	}
	if f := q.take(1 << 20); len(f.plain) != metastore.MaxAppendPartitions {
		t.Fatalf("%d partitions in a flight", len(f.plain))
	}
	q = queue{}
	q.push(req(t, Block{Records: 1 << 31}))
	q.push(req(t, Block{Records: 1 << 31}))
	if f := q.take(1 << 20); len(f.requests) != 1 {
		t.Fatal("the record count of a run overflows")
	}
}

// However requests are grouped, each block gets its own offsets: those of a
// partition are dense and follow the order of arrival, planned writes first.
func TestFlightOffsets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var q queue
		var all []*request
		for i := range rapid.IntRange(1, 20).Draw(rt, "requests") {
			var blocks []Block
			for j := range rapid.IntRange(1, 4).Draw(rt, "blocks") {
				b := Block{ObjectID: uint64(rapid.IntRange(1, 2).Draw(rt, "object")), Partition: rapid.IntRange(0, 1).Draw(rt, "partition"),
					Records: uint32(rapid.IntRange(1, 5).Draw(rt, "records")), Payload: fmt.Appendf(nil, "%d.%d", i, j)}
				if rapid.IntRange(0, 3).Draw(rt, "planned") == 0 {
					b.Expect = at(0)
				}
				blocks = append(blocks, b)
			}
			r := req(t, blocks...)
			all = append(all, r)
			q.push(r)
		}
		next := map[target]uint64{}
		for f := q.take(40); f != nil; f = q.take(40) {
			regions := f.regions()
			refs, errs := make([]metastore.Ref, len(regions)), make([]error, len(regions))
			for i, g := range regions {
				tg := target{g.object, g.incarnation, int(g.partition)}
				refs[i] = metastore.Ref{Base: next[tg], Records: g.records()}
				next[tg] += uint64(g.records())
			}
			f.deliver(regions, refs, errs)
			q.landed()
		}
		type run struct{ base, end uint64 }
		runs := map[target][]run{}
		for _, r := range all {
			<-r.done
			for i, b := range r.blocks {
				tg := target{b.ObjectID, r.ids[i], b.Partition}
				base := r.results[i].Base
				runs[tg] = append(runs[tg], run{base, base + uint64(b.Records)})
			}
		}
		for tg, list := range runs {
			slices.SortFunc(list, func(a, b run) int { return int(a.base) - int(b.base) })
			end := uint64(0)
			for _, r := range list {
				if r.base != end {
					rt.Fatalf("%v: a run at %d, want %d", tg, r.base, end)
				}
				end = r.end
			}
			if end != next[tg] {
				rt.Fatalf("%v ends at %d, want %d", tg, end, next[tg])
			}
		}
	})
}
