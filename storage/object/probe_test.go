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

// The short probe of a start finds the one lie that it looks for, and cleans up.
func TestProbeCreate(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		if err := ProbeCreate(ctx, s, testIDs(9)); err != nil {
			t.Error(err)
		}
		if err := ProbeCreate(ctx, overwriting{s}, testIDs(8)); !fail.Is(err, fail.Unsupported) {
			t.Errorf("a store that overwrites: %v", err)
		}
		if page, err := s.List(ctx, "", ""); err != nil || len(page) != 0 {
			t.Errorf("left behind: %v %v", page, err)
		}
	})
}

// overwriting is a store that ignores the condition of a create.
type overwriting struct{ Store }

func (s overwriting) Put(ctx context.Context, key string, body []byte, _ PutOptions) (Info, error) {
	return s.Store.Put(ctx, key, body, PutOptions{Replace: true})
}

func TestOpenSized(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		if _, err := s.Put(ctx, "a", []byte("0123456789"), PutOptions{}); err != nil {
			t.Fatal(err)
		}
		o, err := OpenSized(ctx, s, "a", 10)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 4)
		if err := o.ReadAt(ctx, p, 3); err != nil || string(p) != "3456" || o.Size() != 10 {
			t.Errorf("read %q of %d bytes, %v", p, o.Size(), err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
		for key, size := range map[string]int64{"a": 11, "b": 10} { // shorter than said, and absent
			o, err := OpenSized(ctx, s, key, size)
			if err == nil {
				err = o.ReadAt(ctx, p, size-4)
			}
			if !fail.Is(err, fail.Corrupt) {
				t.Errorf("%s with %d bytes: %v", key, size, err)
			}
		}
	})
}
