package mem

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/loamdb/loam/internal/fail"
)

func TestReserveNamesWhoAndHowMuch(t *testing.T) {
	process := New("process", 10<<20)
	query := process.Child("query 7", 1<<20)
	sort, join := query.Child("Sort", NoLimit), query.Child("Join build", NoLimit)
	if err := join.Reserve(700 << 10); err != nil {
		t.Fatal(err)
	}
	err := sort.Reserve(512 << 10)
	if !fail.Is(err, fail.Exhausted) {
		t.Fatalf("error %v, want fail.Exhausted", err)
	}
	want := "Sort needs 512.0 KiB more, but query 7 holds 700.0 KiB of its limit of 1.0 MiB (Join build 700.0 KiB)"
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error text\n  %s\nwant\n  %s…", err, want)
	}
	if sort.Bytes() != 0 || query.Bytes() != 700<<10 || process.Bytes() != 700<<10 {
		t.Errorf("a refused reservation left bytes: sort %d query %d process %d", sort.Bytes(), query.Bytes(), process.Bytes())
	}
	join.Release(700 << 10)
	if err := sort.Reserve(1 << 20); err != nil {
		t.Errorf("after the release there is room: %v", err)
	}
	if left := query.Close(); left != 1<<20 {
		t.Errorf("Close found %d bytes, want 1 MiB", left)
	}
	if process.Bytes() != 0 || process.Peak() != 1<<20 {
		t.Errorf("process holds %d, peak %d", process.Bytes(), process.Peak())
	}
	if query.Close() != 0 || process.Bytes() != 0 {
		t.Error("closing twice released twice")
	}
}

func TestLimitHoldsUnderConcurrency(t *testing.T) {
	const limit = 1 << 20
	root := New("process", limit)
	var wg sync.WaitGroup
	for w := range 4 {
		child := root.Child("op", NoLimit)
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer child.Close()
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for range 2000 {
				n := rng.Int64N(limit / 2)
				if child.Reserve(n) == nil {
					if b := root.Peak(); b > limit {
						t.Errorf("peak %d over the limit", b)
					}
					child.Release(n)
				}
			}
		}()
	}
	wg.Wait()
	if root.Bytes() != 0 {
		t.Errorf("%d bytes left", root.Bytes())
	}
}

func TestInjectFault(t *testing.T) {
	root := New("query", NoLimit)
	n := 0
	root.InjectFault(func(name string, bytes int64) error {
		if n++; n == 2 {
			return errors.New("refused " + name)
		}
		return nil
	})
	c := root.Child("Sort", NoLimit)
	if err := c.Reserve(1); err != nil {
		t.Fatal(err)
	}
	if err := c.Reserve(1); err == nil || err.Error() != "refused Sort" {
		t.Fatalf("second reservation: %v", err)
	}
	if c.Bytes() != 1 {
		t.Errorf("holds %d", c.Bytes())
	}
}

func TestAccountAsksInSteps(t *testing.T) {
	root := New("query", 3*Step)
	a := Account{Tracker: root}
	for range 100 {
		if err := a.Grow(100); err != nil {
			t.Fatal(err)
		}
	}
	if root.Bytes() != Step || a.Bytes() != 10000 {
		t.Errorf("tracker %d account %d", root.Bytes(), a.Bytes())
	}
	if err := a.Grow(2 * Step); err != nil {
		t.Fatal(err)
	}
	if err := a.Grow(2 * Step); !fail.Is(err, fail.Exhausted) {
		t.Errorf("beyond the limit: %v", err)
	}
	if err := a.Set(10); err != nil || a.Bytes() != 10 || root.Bytes() > 2*Step {
		t.Errorf("after Set(10): %v account %d tracker %d", err, a.Bytes(), root.Bytes())
	}
	a.Close()
	a.Close()
	if root.Bytes() != 0 {
		t.Errorf("%d bytes left", root.Bytes())
	}
	new(Account).Close()
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 3 << 30: "3.0 GiB", 5 << 40: "5.0 TiB"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
