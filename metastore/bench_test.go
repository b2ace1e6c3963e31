package metastore

import (
	"os"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/clock"
)

// BenchmarkOpen is the time from nothing to a store that serves.
func BenchmarkOpen(b *testing.B) {
	clk := clock.Real()
	for _, kind := range []string{"fresh", "again"} {
		b.Run(kind, func(b *testing.B) {
			dir := b.TempDir()
			for range b.N {
				if kind == "fresh" {
					b.StopTimer()
					dir = b.TempDir()
					b.StartTimer()
				}
				s, err := OpenEmbedded(ctx, dir, clk, clock.RandomIDs(clk), EmbeddedOptions{})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkAppendTx is one sequencing transaction of one block.
func BenchmarkAppendTx(b *testing.B) {
	clk := clock.Real()
	s, err := OpenEmbedded(ctx, b.TempDir(), clk, clock.RandomIDs(clk), EmbeddedOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := s.CreateNamespace(ctx, "public", nil); err != nil {
		b.Fatal(err)
	}
	o, err := s.CreateObject(ctx, Object{Namespace: "public", Name: "docs", Partitions: 1})
	if err != nil {
		b.Fatal(err)
	}
	ids := clock.RandomIDs(clk)
	b.ResetTimer()
	for range b.N {
		res, err := s.Append(ctx, []AppendBlock{{ObjectID: o.ID, Incarnation: o.Incarnation, Records: 1, WALKey: "wal/x/" + ids.ULID() + ".lwal"}})
		if err != nil || res[0].Err != nil {
			b.Fatal(err, res)
		}
		if res[0].Inline == MaxInlineRefs {
			b.StopTimer()
			if err := s.TrimRefs(ctx, o.ID, 0, res[0].Base+1); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
	b.StopTimer()
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmRSS") {
			b.Log(strings.TrimSpace(line))
		}
	}
}
