package wal

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// history is what the writers of a run were told.
type history struct {
	mu     sync.Mutex        // guards the fields below
	acked  map[uint64]string // offset to payload
	maybe  map[string]bool   // outcome unknown
	failed map[string]bool   // told that nothing was appended
	wrong  []string
}

func (h *history) note(text string, res []Result, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		err = res[0].Err
	}
	switch {
	case err == nil:
		if other, taken := h.acked[res[0].Base]; taken {
			h.wrong = append(h.wrong, fmt.Sprintf("offset %d given to %s and %s", res[0].Base, other, text))
		}
		h.acked[res[0].Base] = text
	case fail.Is(err, fail.CommitUnknown):
		h.maybe[text] = true
	case fail.Is(err, fail.Unavailable), fail.Is(err, fail.Conflict), fail.Is(err, fail.BacklogFull):
		h.failed[text] = true
	default:
		h.wrong = append(h.wrong, fmt.Sprintf("%s: %v", text, err))
	}
}

// judge compares what is in the log with what was told.
func (h *history) judge(texts []string) []string {
	seen := map[string]int{}
	for i, text := range texts {
		seen[text]++
		want, acked := h.acked[uint64(i)]
		switch {
		case acked && want != text:
			h.wrong = append(h.wrong, fmt.Sprintf("offset %d holds %s, acknowledged %s", i, text, want))
		case !acked && !h.maybe[text]:
			h.wrong = append(h.wrong, fmt.Sprintf("offset %d holds %s, which nobody was told", i, text))
		case h.failed[text]:
			h.wrong = append(h.wrong, fmt.Sprintf("%s failed and is there", text))
		}
	}
	for text, n := range seen {
		if n > 1 {
			h.wrong = append(h.wrong, fmt.Sprintf("%s is there %d times", text, n))
		}
	}
	for base, text := range h.acked {
		if seen[text] != 1 {
			h.wrong = append(h.wrong, fmt.Sprintf("%s was acknowledged at %d and is gone", text, base))
		}
	}
	return h.wrong
}

// addFaults puts random rules in force on both stores.
func addFaults(rng *rand.Rand, store *object.Faulty, meta *metastore.Faults) {
	for range rng.IntN(6) {
		store.Add(object.Fault{Op: object.OpPut, Kind: object.FaultKind(rng.IntN(3)), Skip: rng.IntN(30), N: 1 + rng.IntN(3)})
	}
	for range rng.IntN(6) {
		meta.Add(metastore.Fault{Op: []string{"append", "move_refs"}[rng.IntN(2)], Kind: metastore.FaultKind(rng.IntN(3)), Skip: rng.IntN(30), N: 1 + rng.IntN(5)})
	}
	if rng.IntN(3) == 0 {
		meta.Add(metastore.Fault{Kind: metastore.Unreadable, Skip: rng.IntN(60), N: 1 + rng.IntN(4)})
	}
}

// TestHistory runs writers, planned writers and a sweep without any retention
// under random faults, and compares the log with what each was told.
func TestHistory(t *testing.T) {
	runs := 60
	if testing.Short() {
		runs = 8
	}
	unknown, failures := 0, 0
	for seed := range uint64(runs) {
		u, f := historyRun(t, seed)
		unknown += u
		failures += f
	}
	t.Logf("%d runs, %d unknown outcomes, %d failed appends", runs, unknown, failures)
	if runs >= 60 && (unknown == 0 || failures == 0) {
		t.Fatal("the faults do not reach the writers")
	}
}

func historyRun(t *testing.T, seed uint64) (unknown, failures int) {
	rng := rand.New(rand.NewPCG(seed, 9))
	clk := clock.Real()
	ids := clock.SeededIDs(clk, seed)
	faults := &metastore.Faults{}
	store := object.NewFaulty(object.NewMem(), clk)
	meta := metastore.NewMem(clk, ids, metastore.Options{Faults: faults})
	w := &world{t: t, ids: ids, store: store, meta: meta}
	w.log = New(store, meta, clk, ids, Options{FlushBytes: 200})
	w.obj = w.create("docs", 1)
	addFaults(rng, store, faults)

	h := &history{acked: map[uint64]string{}, maybe: map[string]bool{}, failed: map[string]bool{}}
	var wg, sweeper sync.WaitGroup
	stop := make(chan struct{})
	sweeper.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				_, _ = w.log.Trim(ctx, 0) // fails under the faults, too
			}
		}
	})
	for g := range 6 {
		wg.Go(func() {
			for i := range 25 {
				text := fmt.Sprintf("%d.%d", g, i)
				b := w.block(0, text)
				if (g+i)%5 == 0 {
					if _, parts, _, err := meta.Heads(ctx, w.obj.ID); err == nil {
						b.Expect = at(parts[0].Next)
					}
				}
				res, err := w.log.Append(ctx, []Block{b})
				h.note(text, res, err)
			}
		})
	}
	wg.Wait()
	close(stop)
	sweeper.Wait()
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	store.Clear()
	faults.Clear()
	if _, err := w.log.Trim(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if wrong := h.judge(w.read(0, 0)); len(wrong) > 0 {
		t.Fatalf("seed %d: %d violations, such as: %s", seed, len(wrong), wrong[0])
	}
	return len(h.maybe), len(h.failed)
}
