package schema_test

import (
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
)

func TestParseOptions(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, " 64MiB ": 64 << 20, "3 KiB": 3 << 10, "2GiB": 2 << 30, "": 0, "0": 0, "-1": 0, "1MB": 0, "9999999GiB": 0, "x": 0} {
		got, err := schema.ParseBytes(text)
		if got != want || (err != nil) != (want == 0) || err != nil && !fail.Is(err, fail.InvalidParameter) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for text, want := range map[string]time.Duration{"2s": 2 * time.Second, "10ms": 10 * time.Millisecond, "1h": time.Hour, "9ms": 0, "61m": 0, "2": 0, "": 0, "-1s": 0} {
		got, err := schema.ParseDuration(text)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}
