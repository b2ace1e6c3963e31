package mem_test

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/loamdb/loam/internal/mem"
)

func TestLimitProcess(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }()
	for bytes, want := range map[int64]int64{3 << 30: 3 << 30, 0: math.MaxInt64, -1: math.MaxInt64} {
		mem.LimitProcess(bytes)
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("a limit of %d became %d", bytes, got)
		}
		if got := debug.SetGCPercent(100); got != 50 {
			t.Errorf("the collector runs at %d%%", got)
		}
	}
}
