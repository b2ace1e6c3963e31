package collection

import (
	"context"
	"testing"

	"github.com/loamdb/loam/internal/fail"
)

// An apply or merge beside which two passes of garbage collection began may have
// lost files: it is refused, and the next try builds them anew. One pass is allowed.
func TestBuildersCarryTheEpoch(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 1, MinFragment: 1})
	meta := &racing{Store: b.deps.Meta}
	b.deps.Meta = meta
	b.open()
	passes := func(n int) func() {
		return func() {
			for range n {
				_, err := meta.BumpGCEpoch(ctx, b.obj.ID)
				b.must(err)
			}
		}
	}
	n := 0
	write := func() {
		_, err := b.c.Append(ctx, b.someRows(n, 10))
		b.must(err)
		n += 10
	}
	write()
	meta.then = passes(2)
	if err := b.c.Apply(ctx, nil); !fail.Is(err, fail.Conflict) {
		t.Fatalf("apply over two passes: %v", err)
	}
	meta.then = passes(1)
	b.must(b.c.Apply(ctx, nil))
	write()
	b.must(b.c.Apply(ctx, nil))
	meta.then = passes(2)
	if err := b.c.Merge(ctx, nil); !fail.Is(err, fail.Conflict) {
		t.Fatalf("merge over two passes: %v", err)
	}
	meta.then = passes(1)
	b.must(b.c.Merge(ctx, nil))
	if s := b.strong(); s.Count() != int64(n) || s.Version() != 3 {
		t.Fatalf("%d rows at version %d", s.Count(), s.Version())
	}
}
