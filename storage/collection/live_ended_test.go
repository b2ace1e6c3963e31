package collection

import (
	"context"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
)

// What ends because its context ended says so, so that nobody takes it for a failure.
func TestEndedContextsAreTyped(t *testing.T) {
	b := newBench(t, docsObject(1), Options{})
	if _, err := b.c.Append(context.Background(), b.someRows(0, 10)); err != nil {
		t.Fatal(err)
	}
	snap := b.strong()
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	late, stop := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer stop()
	for code, ctx := range map[fail.Code]context.Context{fail.Canceled: canceled, fail.DeadlineExceeded: late} {
		scan, err := snap.Scan(testEnv(), &plan.Scan{Object: b.obj, Cols: allCols(b.obj), Limit: plan.NoLimit})
		b.must(err)
		if _, err := scan.Next(ctx); !fail.Is(err, code) {
			t.Errorf("scan: %v, want %s", err, code)
		}
		b.must(scan.Close())
		if _, err := buildViews(ctx, b.obj, nil, nil, b.c.st.gens, snap.bounds); !fail.Is(err, code) {
			t.Errorf("snapshot: %v, want %s", err, code)
		}
	}
	if err := b.c.Apply(canceled, nil); !fail.Is(err, fail.Canceled) {
		t.Errorf("apply: %v", err)
	}
}
