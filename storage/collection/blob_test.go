package collection

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/internal/cache"
)

// farBlob is a blob whose every read takes delay, and which notes the reads.
type farBlob struct {
	*blob
	content []byte
	delay   time.Duration

	mu    sync.Mutex // guards reads
	reads []string   // first block + blocks
}

func newFarBlob(blocks int, budget int64) *farBlob {
	content := make([]byte, blocks*blockBytes-1000)
	r := rand.NewChaCha8([32]byte{byte(blocks)})
	_, _ = r.Read(content)
	f := &farBlob{content: content}
	c := cache.New(budget)
	f.blob = &blob{cache: c, file: c.NewFile(), far: true, size: int64(len(content)), sums: blockSums(content), name: "far"}
	f.read = func(ctx context.Context, p []byte, off int64) error {
		f.mu.Lock()
		f.reads = append(f.reads, fmt.Sprintf("%02d+%d", off/blockBytes, (len(p)+blockBytes-1)/blockBytes))
		f.mu.Unlock()
		select {
		case <-time.After(f.delay):
		case <-ctx.Done():
			return ctx.Err()
		}
		copy(p, f.content[off:])
		return nil
	}
	return f
}

// took are the reads since the last call, in the order of their blocks.
func (f *farBlob) took() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	slices.Sort(f.reads)
	out := fmt.Sprint(f.reads)
	f.reads = nil
	return out
}

// TestRuns: what is read of a far store, and in how many reads.
func TestRuns(t *testing.T) {
	const block = blockBytes
	for _, c := range []struct {
		name          string
		off, n, until int64
		scan          bool // the rest up to until is read too, in pieces of n bytes
		budget        int64
		want          string
		again         string // the reads of a second time
	}{
		{name: "a point", off: 5*block + 7, n: 100, until: 5*block + 107, want: "[05+1]"},
		{name: "over two blocks", off: 5*block - 7, n: 100, until: 5*block + 93, want: "[04+2]"},
		{name: "over two runs", off: 8*block - 7, n: 100, until: 8*block + 93, want: "[07+1 08+1]"},
		{name: "a large read", off: 2*block + 9, n: 16 * block, until: 18*block + 9, want: "[02+6 08+8 16+3]", again: "[03+5 08+8 16+2]"},
		{name: "one who may stop soon", off: 8 * block, n: 100, until: 40 * block, want: "[08+4]"},
		{name: "a short stretch", off: 8*block + 50, n: 100, until: 10 * block, want: "[08+2]"},
		{name: "a scan", off: 0, n: block / 3, until: 30 * block, scan: true, want: "[00+4 04+4 08+8 16+8 24+6]"},
		{name: "a scan of large pieces", off: 0, n: 5 * block, until: 40 * block, scan: true, want: "[00+5 05+3 08+8 16+8 24+8 32+8]",
			again: "[00+4 05+3 08+1 10+4 15+1 16+3 20+4 25+4 30+2 32+2 35+4]"},
		{name: "a small cache", off: 0, n: block / 2, until: 4 * block, scan: true, budget: 32 << 20, want: "[00+1 01+1 02+1 03+1]"},
		{name: "a large read of a small cache", off: 9, n: 8 * block, until: 40 * block, budget: 32 << 20, want: "[00+1 01+7 08+1]", again: "[01+7]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.budget == 0 {
					c.budget = DefaultCacheBytes
				}
				f := newFarBlob(64, c.budget)
				defer f.cache.Close()
				f.delay = 20 * time.Millisecond
				for range 2 {
					for off := c.off; off < c.until && (c.scan || off == c.off); off += c.n {
						got, err := f.RangeOn(off, min(c.n, c.until-off), c.until)
						if err != nil || !bytes.Equal(got, f.content[off:off+int64(len(got))]) {
							t.Fatal(err)
						}
					}
					synctest.Wait()
					time.Sleep(time.Second)
					if got := f.took(); got != c.want {
						t.Errorf("reads %v, want %v", got, c.want)
					}
					if c.want = "[]"; c.again != "" {
						c.want = c.again // the middle of a large read is not kept
					}
				}
			})
		})
	}
}

// TestAScanReadsAhead: with 20 ms a read and 1 ms of work a block, a scan of 60 blocks
// waits for little more than its first two reads.
func TestAScanReadsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarBlob(60, DefaultCacheBytes)
		defer f.cache.Close()
		f.delay = 20 * time.Millisecond
		start := time.Now()
		for off := int64(0); off < f.size; off += blockBytes {
			if _, err := f.RangeOn(off, min(blockBytes, f.size-off), f.size); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		if d := time.Since(start); d > 160*time.Millisecond {
			t.Errorf("the scan took %v", d)
		}
	})
}

// TestNoBlockIsReadTwice: whatever many readers ask for at once, no block is read twice,
// and all get the right bytes. Large reads are another matter: they leave no blocks.
func TestNoBlockIsReadTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarBlob(50, DefaultCacheBytes)
		defer f.cache.Close()
		f.delay = 20 * time.Millisecond
		var wait sync.WaitGroup
		for g := range 6 {
			wait.Go(func() {
				r := rand.New(rand.NewPCG(uint64(g), 3))
				for range 30 {
					off := r.Int64N(f.size)
					n := min(f.size-off, r.Int64N(direct))
					got, err := f.RangeOn(off, n, off+r.Int64N(60*blockBytes))
					if err != nil || !bytes.Equal(got, f.content[off:off+n]) {
						t.Error(off, n, err)
					}
				}
			})
		}
		wait.Wait()
		time.Sleep(time.Second)
		seen := map[int]bool{}
		for _, read := range f.reads {
			var from, n int
			if _, err := fmt.Sscanf(read, "%d+%d", &from, &n); err != nil {
				t.Fatal(err)
			}
			for b := from; b < from+n; b++ {
				if seen[b] {
					t.Errorf("block %d was read twice", b)
				}
				seen[b] = true
			}
		}
	})
}

// TestDamageBehindIsNoDamageHere: a damaged block fails those who read it, not those
// whose run it is in.
func TestDamageBehindIsNoDamageHere(t *testing.T) {
	f := newFarBlob(16, DefaultCacheBytes)
	defer f.cache.Close()
	f.content[2*blockBytes+5] ^= 1
	for i := range int64(16) {
		got, err := f.RangeOn(i*blockBytes, 100, f.size)
		if i == 2 {
			if !fail.Is(err, fail.Corrupt) {
				t.Errorf("the damaged block gave %v", err)
			}
			continue
		}
		if err != nil || !bytes.Equal(got, f.content[i*blockBytes:i*blockBytes+100]) {
			t.Errorf("block %d: %v", i, err)
		}
	}
}

// TestACanceledRead ends at once, and does not take the block from another reader.
func TestACanceledRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFarBlob(16, DefaultCacheBytes)
		defer f.cache.Close()
		f.delay = time.Hour
		start := time.Now()
		var canceled atomic.Int64
		var wait sync.WaitGroup
		for i := range 3 {
			wait.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
				defer cancel()
				if err := f.ReadAt(ctx, make([]byte, 100), 0); fail.Is(err, fail.DeadlineExceeded) && time.Since(start) == time.Duration(i+1)*time.Second {
					canceled.Add(1)
				}
			})
		}
		wait.Go(func() {
			p := make([]byte, 100)
			if err := f.ReadAt(t.Context(), p, 0); err != nil || !bytes.Equal(p, f.content[:100]) {
				t.Error(err)
			}
		})
		wait.Wait()
		if canceled.Load() != 3 {
			t.Errorf("%d of 3 ended in time", canceled.Load())
		}
	})
}

// TestNearReads: a near store is read block by block, and large reads go past the cache.
func TestNearReads(t *testing.T) {
	f := newFarBlob(16, DefaultCacheBytes)
	f.far = false
	for _, c := range []struct {
		off, n int64
		want   string
	}{
		{3 * blockBytes, 100, "[03+1]"}, {3*blockBytes + 50, 2 * blockBytes, "[04+1 05+1]"}, {7 * blockBytes, 5 * blockBytes, "[07+5]"}, {7 * blockBytes, 5 * blockBytes, "[07+5]"},
	} {
		got, err := f.RangeOn(c.off, c.n, f.size)
		if err != nil || !bytes.Equal(got, f.content[c.off:c.off+c.n]) {
			t.Fatal(err)
		}
		if f.Soon(0, blockBytes); f.took() != c.want {
			t.Errorf("%d+%d: other reads than %s", c.off, c.n, c.want)
		}
	}
}
