package wal

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// BenchmarkAppend is an append of 1 KiB on the file store and the embedded
// metastore, fsyncs included, while a second goroutine applies the log.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 16, 128} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) { benchAppend(b, writers) })
	}
}

func benchAppend(b *testing.B, writers int) {
	clk := clock.Real()
	ids := clock.RandomIDs(clk)
	store, err := object.OpenFile(b.TempDir(), ids, object.FileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	meta, err := metastore.OpenEmbedded(ctx, b.TempDir(), clk, ids, metastore.EmbeddedOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = meta.Close() }()
	l := New(store, meta, clk, ids, Options{})
	defer func() { _ = l.Close() }()
	if _, err := meta.CreateNamespace(ctx, "public", nil); err != nil {
		b.Fatal(err)
	}
	o, err := meta.CreateObject(ctx, metastore.Object{Namespace: "public", Name: "docs", Partitions: 1})
	if err != nil {
		b.Fatal(err)
	}
	stop, trimmed := make(chan struct{}), make(chan struct{})
	go func() { // stands in for apply, so that the log stays short
		defer close(trimmed)
		for {
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			if _, parts, _, err := meta.Heads(ctx, o.ID); err == nil {
				_ = meta.TrimRefs(ctx, o.ID, 0, parts[0].Next)
			}
		}
	}()
	payload := make([]byte, 1024)
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		wg.Go(func() {
			var mine []time.Duration
			for i := w; i < b.N; i += writers {
				begin := time.Now()
				res, err := l.Append(ctx, []Block{{ObjectID: o.ID, Incarnation: o.Incarnation, Records: 1, Payload: payload, Bytes: 1024}})
				if err != nil || res[0].Err != nil {
					b.Error(err, res)
					return
				}
				mine = append(mine, time.Since(begin))
			}
			mu.Lock()
			all = append(all, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	b.StopTimer()
	close(stop)
	<-trimmed
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "appends/s")
}
