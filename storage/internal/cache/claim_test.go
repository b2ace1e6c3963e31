package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestOneLoads: of many that miss a piece at once one loads, and all get what it loaded.
func TestOneLoads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(100)
		var loads atomic.Int64
		var wait sync.WaitGroup
		for range 50 {
			wait.Go(func() {
				v, err := c.Get(t.Context(), Key{1, 1}, func() (any, int64, error) {
					loads.Add(1)
					time.Sleep(time.Second)
					return "piece", 60, nil // too large to be kept
				})
				if v != "piece" || err != nil {
					t.Error(v, err)
				}
			})
		}
		wait.Wait()
		if n := loads.Load(); n != 1 {
			t.Errorf("%d loads", n)
		}
	})
}

// TestAFailedLoadIsTriedAgain: an error is the loader's alone; those who waited load.
func TestAFailedLoadIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(1000)
		boom := errors.New("boom")
		var loads, failed atomic.Int64
		var wait sync.WaitGroup
		for range 5 {
			wait.Go(func() {
				_, err := c.Get(t.Context(), Key{1, 1}, func() (any, int64, error) {
					time.Sleep(time.Second)
					if loads.Add(1) < 3 {
						return nil, 0, boom
					}
					return "piece", 1, nil
				})
				if err != nil {
					failed.Add(1)
				}
			})
		}
		wait.Wait()
		if loads.Load() != 3 || failed.Load() != 2 {
			t.Errorf("%d loads, %d failed", loads.Load(), failed.Load())
		}
	})
}

// TestWhoWaitsCanLeave: a waiter whose call ends does not wait for the load.
func TestWhoWaitsCanLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(100)
		claim := c.Claim(1, 0, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := c.Get(ctx, Key{1, 0}, func() (any, int64, error) {
			t.Error("loaded what another loads")
			return nil, 0, nil
		})
		if d := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || d != time.Second {
			t.Errorf("%v after %v", err, d)
		}
		claim.Release()
	})
}

func TestClaims(t *testing.T) {
	c := New(1000)
	get(c, Key{1, 3}, 10)
	a := c.Claim(1, 0, 8)
	if from, to := a.Parts(); from != 0 || to != 3 {
		t.Errorf("parts %d to %d, though 3 is there", from, to)
	}
	if b := c.Claim(1, 2, 9); b != nil {
		t.Error("a part was claimed twice")
	}
	b := c.Claim(1, 4, 6)
	if !c.Has(Key{1, 4}) || !c.Has(Key{1, 3}) || c.Has(Key{1, 6}) || c.Has(Key{2, 4}) {
		t.Error("what is there or being loaded")
	}
	if _, ok := c.Peek(Key{1, 4}); ok {
		t.Error("a claimed part is not there yet")
	}
	a.Keep("zero", 10)
	a.Keep("one", 900) // is not kept, but those who wait get it
	if v, ok := c.Peek(Key{1, 0}); v != "zero" || !ok {
		t.Error("a part is there before the claim is released")
	}
	a.Release()
	a.Release()
	b.Release()
	for p, want := range []bool{true, false, false, true, false} {
		if c.Has(Key{1, int64(p)}) != want {
			t.Errorf("part %d", p)
		}
	}
	if again := c.Claim(1, 1, 9); again == nil {
		t.Error("what was not loaded cannot be claimed")
	} else if _, to := again.Parts(); to != 3 {
		t.Errorf("parts to %d", to)
	}
}

// TestBackground: a bounded number runs beside the callers, and none after Close.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(100)
		var ran, ended atomic.Int64
		started := 0
		for range 3 * maxBackground {
			if c.Background(func(ctx context.Context) { ran.Add(1); <-ctx.Done(); ended.Add(1) }) {
				started++
			}
		}
		synctest.Wait()
		if started != maxBackground || ran.Load() != maxBackground {
			t.Errorf("%d started, %d ran", started, ran.Load())
		}
		c.Close()
		if ended.Load() != maxBackground {
			t.Errorf("%d ended with the cache", ended.Load())
		}
		if c.Background(func(context.Context) { t.Error("ran after Close") }) {
			t.Error("started after Close")
		}
		if v, err := c.Get(t.Context(), Key{1, 1}, func() (any, int64, error) { return 7, 1, nil }); v != 7 || err != nil {
			t.Error("a closed cache is still one:", v, err)
		}
	})
}

// TestClaimsConcurrently: runs claimed by many never overlap, and every part arrives.
func TestClaimsConcurrently(t *testing.T) {
	c := New(1 << 20)
	var loads [64]atomic.Int64
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Go(func() {
			for i := range int64(64) {
				p := (i*7 + int64(g)*11) % 64
				for {
					v, ok, err := c.Wait(t.Context(), Key{1, p})
					if err != nil || (ok && v != fmt.Sprint(p)) {
						t.Error(v, err)
					}
					if ok {
						break
					}
					claim := c.Claim(1, p, min(p+8, 64))
					if claim == nil {
						continue
					}
					for from, to := claim.Parts(); from < to; from++ {
						loads[from].Add(1)
						claim.Keep(fmt.Sprint(from), 1)
					}
					claim.Release()
				}
			}
		})
	}
	wait.Wait()
	for p := range loads {
		if n := loads[p].Load(); n != 1 {
			t.Errorf("part %d was loaded %d times", p, n)
		}
	}
}
