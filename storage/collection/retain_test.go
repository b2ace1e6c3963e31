package collection

import (
	"context"
	"math/rand"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
)

// TestRetainByAge: what is older goes, from segments of any age and merged ones, and
// what is younger or not applied stays. Who asks for an offset that is gone is told
// the oldest.
func TestRetainByAge(t *testing.T) {
	ctx := context.Background()
	for _, partitions := range []int{1, 3} {
		m := &tabular{bench: newBench(t, eventsObject(schema.Stream, partitions), Options{MaxSplits: 2}), r: rand.New(rand.NewSource(5)),
			rows: map[Identity]event{}, next: make([]uint64, partitions)}
		m.must(m.c.Retain(ctx, nil))
		for i := range 8 {
			m.append()
			m.must(m.c.Apply(ctx, nil))
			if i%3 == 2 {
				m.must(m.c.Merge(ctx, nil))
			}
		}
		before := m.strong().Version()
		old := len(m.rows)
		time.Sleep(300 * time.Millisecond)
		for id := range m.rows {
			delete(m.rows, id)
		}
		m.append()
		m.must(m.c.Apply(ctx, nil))
		m.append() // stays in the tail
		m.opt.Retention = 250 * time.Millisecond
		m.open()
		if !m.c.RetainDue() || m.c.RetainDue() {
			t.Fatal("it is due once at the start")
		}
		m.must(m.c.Retain(ctx, nil))
		snap := m.strong()
		if snap.Version() == before || snap.Count() != int64(len(m.rows)) {
			t.Fatalf("%d rows at version %d, want %d", snap.Count(), snap.Version(), len(m.rows))
		}
		oldest := snap.Oldest()
		for p := range partitions {
			run, err := snap.Records(ctx, RecordRange{Partition: p, Oldest: true, Rows: 1000})
			m.must(err)
			for _, at := range identitiesOf(run) {
				if _, ok := m.rows[at.Identity]; !ok || at.Offset < oldest[p] {
					t.Fatalf("%v is there, the oldest is %d", at, oldest[p])
				}
			}
			if _, err := snap.Records(ctx, RecordRange{Partition: p}); oldest[p] > 0 && !fail.Is(err, fail.OffsetExpired) {
				t.Fatalf("partition %d below its oldest offset %d: %v", p, oldest[p], err)
			}
		}
		if n := len(snap.manifest.Segments); n != 1 {
			t.Fatalf("%d segments left, want the young one", n)
		}
		m.must(m.c.Retain(ctx, nil))
		if v := m.strong().Version(); v != snap.Version() {
			t.Fatal("a look that drops nothing made a version")
		}
		m.open()
		if got := m.strong(); got.Count() != snap.Count() || got.Oldest()[0] != oldest[0] {
			t.Fatalf("after a restart %d rows from %v", got.Count(), got.Oldest())
		}
		past, err := m.c.Version(ctx, before)
		m.must(err)
		if past.Count() != int64(old) {
			t.Fatalf("version %d has %d rows, had %d", before, past.Count(), old)
		}
	}
}

// TestRetainByBytes: the oldest records go until the segments are small enough.
func TestRetainByBytes(t *testing.T) {
	ctx := context.Background()
	m := &tabular{bench: newBench(t, eventsObject(schema.Stream, 1), Options{MaxSplits: 100}), r: rand.New(rand.NewSource(6)), rows: map[Identity]event{}, next: []uint64{0}}
	for range 10 {
		m.append()
		m.must(m.c.Apply(ctx, nil))
		time.Sleep(2 * time.Millisecond)
	}
	total := int64(0)
	for _, seg := range m.strong().manifest.Segments {
		total += seg.Bytes
	}
	m.c.opt.RetentionBytes = total / 2
	m.must(m.c.Retain(ctx, nil))
	snap := m.strong()
	left := int64(0)
	for _, seg := range snap.manifest.Segments {
		left += seg.Bytes
	}
	if left > total/2 || left < total/4 || snap.Oldest()[0] == 0 {
		t.Fatalf("%d of %d bytes left, from offset %v", left, total, snap.Oldest())
	}
	run, err := snap.Records(ctx, RecordRange{Oldest: true, Rows: 1000})
	m.must(err)
	if uint64(run.Rows) != m.next[0]-snap.Oldest()[0] || run.Next != m.next[0] {
		t.Fatalf("%d rows from %d to %d", run.Rows, snap.Oldest()[0], run.Next)
	}
}

// Retention, applies and merges side by side lose nothing that is young.
func TestRetainBesideMerges(t *testing.T) {
	ctx := context.Background()
	m := &tabular{bench: newBench(t, eventsObject(schema.Stream, 2), Options{MaxSplits: 2, Retention: 60 * time.Millisecond}), r: rand.New(rand.NewSource(7)),
		rows: map[Identity]event{}, next: make([]uint64, 2)}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for _, run := range []func() error{
		func() error { return m.c.Apply(ctx, nil) }, func() error { return m.c.Merge(ctx, nil) }, func() error { return m.c.Retain(ctx, nil) },
	} {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := run(); err != nil && !fail.Is(err, fail.Conflict) {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 60 {
		sent := m.batch()
		_, err := m.c.Append(ctx, eventRows(t, m.obj, sent, nil))
		m.must(err)
		time.Sleep(3 * time.Millisecond)
	}
	close(stop)
	wg.Wait()
	m.c.opt.Retention = time.Hour
	snap := m.strong()
	for p := range 2 {
		run, err := snap.Records(ctx, RecordRange{Partition: p, Oldest: true, Rows: 10_000})
		m.must(err)
		if got, want := uint64(run.Rows), snap.bounds[p]-snap.Oldest()[p]; got != want || snap.Oldest()[p] == 0 {
			t.Errorf("partition %d has %d rows from %d to %d", p, got, snap.Oldest()[p], snap.bounds[p])
		}
	}
}
