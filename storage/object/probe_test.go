package object

import (
	"context"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// Every store keeps the promises, and nothing is left behind.
func TestProbe(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		checks, err := Probe(ctx, s, testIDs(9))
		if err != nil || len(checks) != 9 {
			t.Fatalf("%d checks, %v", len(checks), err)
		}
		for _, c := range checks {
			if c.Err != nil || c.Skipped {
				t.Errorf("%s: %v", c.Name, c.Err)
			}
		}
		if page, err := s.List(ctx, "", ""); err != nil || len(page) != 0 {
			t.Errorf("left behind: %v %v", page, err)
		}
	})
}

func TestProbeFaults(t *testing.T) {
	f := NewFaulty(NewMem(), clock.Real())
	f.Add(Fault{Op: OpGetRange, Kind: CorruptRead, Bit: 3})
	checks, err := Probe(ctx, f, testIDs(9))
	for _, c := range checks {
		if (c.Err != nil) != (c.Name == "range reads") {
			t.Errorf("%s: %v", c.Name, c.Err)
		}
	}
	if err != nil {
		t.Error(err)
	}
	late, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	f.Add(Fault{Op: OpHead, Kind: Delay, Delay: time.Minute})
	if _, err := Probe(late, f, testIDs(9)); !fail.Is(err, fail.DeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
}
