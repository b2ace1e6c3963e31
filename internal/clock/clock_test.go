package clock

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestManualTimers(t *testing.T) {
	m := NewManual(start)
	late, early, twin := m.NewTimer(3*time.Second), m.NewTimer(time.Second), m.NewTimer(time.Second)
	now := m.NewTimer(0)
	if got := <-now.C(); !got.Equal(start) {
		t.Fatal(got)
	}
	m.Advance(999 * time.Millisecond)
	if m.Waiting() != 3 {
		t.Fatalf("%d wait", m.Waiting())
	}
	if !twin.Stop() || twin.Stop() {
		t.Fatal("stop says the wrong thing")
	}
	m.Advance(time.Millisecond)
	if got := <-early.C(); !got.Equal(start.Add(time.Second)) {
		t.Fatal(got)
	}
	if early.Stop() {
		t.Fatal("a fired timer was still to come")
	}
	m.Jump(-time.Hour) // the wall goes back, the timer stays where it was
	m.Advance(2 * time.Second)
	if got := <-late.C(); !got.Equal(start.Add(3*time.Second - time.Hour)) {
		t.Fatal(got)
	}
	if m.Mono() != 3*time.Second || !m.Now().Equal(start.Add(3*time.Second-time.Hour)) {
		t.Fatal(m.Mono(), m.Now())
	}
	m.Advance(-time.Second)
	if m.Mono() != 3*time.Second {
		t.Fatal("time went back")
	}
}

func TestSleep(t *testing.T) {
	for name, c := range map[string]Clock{"manual": NewManual(start), "real": Real()} {
		ctx, cancel := context.WithCancel(context.Background())
		if err := c.Sleep(ctx, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		done := make(chan error, 1)
		go func() { done <- c.Sleep(ctx, time.Hour) }()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context: %v", name, err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		c := Real()
		begin := c.Mono()
		if err := c.Sleep(t.Context(), time.Hour); err != nil || c.Mono()-begin != time.Hour {
			t.Error(err, c.Mono()-begin)
		}
	})
}

func TestIDs(t *testing.T) {
	m := NewManual(start)
	for name, ids := range map[string]IDs{"random": RandomIDs(m), "seeded": SeededIDs(m, 7)} {
		var all []string
		for i := range 3000 {
			all = append(all, ids.ULID())
			switch i {
			case 1000:
				m.Advance(time.Millisecond)
			case 2000:
				m.Jump(-time.Hour)
			}
		}
		if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
			t.Errorf("%s: ids repeat or step back", name)
		}
		if at, ok := TimeOf(all[0]); !ok || at.UnixMilli() < start.UnixMilli()-3_600_000 {
			t.Errorf("%s: time of the first is %v", name, at)
		}
		m.Jump(time.Hour)
	}
	a, b, c := SeededIDs(m, 1), SeededIDs(m, 1), SeededIDs(m, 2)
	if x, y := a.ULID(), b.ULID(); x != y || x == c.ULID() {
		t.Error("a seed does not decide the ids")
	}
	if x, y := a.Uint64(), b.Uint64(); x != y || x == a.Uint64() {
		t.Error("a seed does not decide the numbers")
	}
	p, q := make([]byte, 32), make([]byte, 32)
	RandomIDs(m).Fill(p)
	if slices.Equal(p, q) {
		t.Error("random bytes are zero")
	}
}

func TestTimeOf(t *testing.T) {
	for _, bad := range []string{"", "x", "01ARZ3NDEKTSV4RRFFQ69G5FA", "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAU!"} {
		if _, ok := TimeOf(bad); ok {
			t.Errorf("%q is taken for a ULID", bad)
		}
	}
	if at, ok := TimeOf("01ARZ3NDEKTSV4RRFFQ69G5FAV"); !ok || at.UnixMilli() != 1469922850259 {
		t.Error(at, ok)
	}
}
