package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// get is Get of a value that says its key.
func get(c *Cache, k Key, bytes int64) (hit bool) {
	hit = true
	v, err := c.Get(context.Background(), k, func() (any, int64, error) {
		hit = false
		return fmt.Sprint(k), bytes, nil
	})
	if err != nil || v != fmt.Sprint(k) {
		panic(fmt.Sprint(k, " gave ", v, err))
	}
	return hit
}

// TestCacheModel: whatever is asked for, a piece is the one of its key, the
// budget holds, and the counters are the sums of what is there.
func TestCacheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := New(rapid.Int64Range(0, 200).Draw(t, "budget"))
		for range rapid.IntRange(0, 300).Draw(t, "steps") {
			k := Key{File: rapid.Uint64Range(1, 3).Draw(t, "file"), Part: rapid.Int64Range(0, 20).Draw(t, "part")}
			switch rapid.IntRange(0, 9).Draw(t, "op") {
			case 0:
				if c.Discard(k); c.Has(k) {
					t.Fatal("a discarded piece is there")
				}
			case 1:
				c.Drop(k.File)
				if _, ok := c.Peek(k); ok {
					t.Fatal("a dropped piece is there")
				}
			default:
				get(c, k, 1+k.Part*3)
			}
			check(t, c)
		}
	})
}

func check(t *rapid.T, c *Cache) {
	sum, ghosts := int64(0), int64(0)
	for k, e := range c.items {
		it := e.Value.(*item)
		if it.key != k {
			t.Fatalf("%v lies under %v", it.key, k)
		}
		if it.in == &c.ghost {
			ghosts += it.bytes
		} else {
			sum += it.bytes
		}
	}
	if sum != c.used || sum != c.small.bytes+c.main.bytes || ghosts != c.ghost.bytes || sum > c.budget || ghosts > c.budget {
		t.Fatalf("%d bytes and %d of ghosts, counted %d, %d + %d, %d; the budget is %d", sum, ghosts, c.used, c.small.bytes, c.main.bytes, c.ghost.bytes, c.budget)
	}
	if n := c.small.Len() + c.main.Len() + c.ghost.Len(); n != len(c.items) {
		t.Fatalf("%d pieces in the queues, %d in the map", n, len(c.items))
	}
}

// TestAScanLeavesWhatIsUsed: pieces that are used again survive a scan of ten
// times the budget, also when it is repeated.
func TestAScanLeavesWhatIsUsed(t *testing.T) {
	c := New(1000)
	for range 3 {
		for p := range int64(30) {
			get(c, Key{File: 1, Part: p}, 10)
		}
	}
	for range 3 {
		for p := range int64(1000) {
			get(c, Key{File: 2, Part: p}, 10)
		}
	}
	hits := 0
	for p := range int64(30) {
		if get(c, Key{File: 1, Part: p}, 10) {
			hits++
		}
	}
	if hits < 25 {
		t.Errorf("%d of 30 used pieces survived scans", hits)
	}
}

func TestErrorsAndLargePiecesAreNotKept(t *testing.T) {
	c := New(100)
	boom := errors.New("boom")
	if _, err := c.Get(context.Background(), Key{1, 1}, func() (any, int64, error) { return nil, 0, boom }); !errors.Is(err, boom) {
		t.Error(err)
	}
	for range 2 {
		if get(c, Key{1, 1}, 26) {
			t.Error("a piece above a quarter of the budget was kept")
		}
	}
	if bytes, pieces := c.Used(); bytes != 0 || pieces != 0 {
		t.Errorf("%d bytes in %d pieces", bytes, pieces)
	}
	if get(c, Key{1, 2}, 20); !c.Room(80) || c.Room(81) {
		t.Error("room")
	}
	if a, b := c.NewFile(), c.NewFile(); a == b {
		t.Error("two files have one number")
	}
}

func TestCacheConcurrently(t *testing.T) {
	c := New(500)
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 2000 {
				get(c, Key{File: uint64(i % 3), Part: int64((i*7 + g) % 90)}, 10)
				if i%500 == 0 {
					c.Drop(uint64(g % 3))
				}
			}
		})
	}
	wait.Wait()
	if bytes, _ := c.Used(); bytes > 500 {
		t.Errorf("%d bytes", bytes)
	}
}
