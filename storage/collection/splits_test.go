package collection

import (
	"context"
	"fmt"
	"math/rand"
	"testing"
)

// TestAnswersOverOneTwoAndNineSplits gives one history to nodes whose rows end
// in 1, 2 and 9 splits, with upserts and deletes between, and compares every
// answer with the tail's; then after a merge to one split, and after a restart.
func TestAnswersOverOneTwoAndNineSplits(t *testing.T) {
	ctx := context.Background()
	for _, splits := range []int{1, 2, 9} {
		t.Run(fmt.Sprint(splits), func(t *testing.T) {
			r := rand.New(rand.NewSource(int64(splits)))
			tail := newBench(t, docsObject(1), Options{})
			node := newBench(t, docsObject(1), Options{MaxSplits: 100})
			const batches = 18
			for step := range batches {
				var docs [][]byte
				for range 15 {
					docs = append(docs, randomDoc(r, 150).json())
				}
				gone := []string{fmt.Sprintf("k%03d", r.Intn(150))}
				for _, b := range []*bench{tail, node} {
					rows, err := FromDocuments(b.obj, docs)
					b.must(err)
					_, err = b.c.Append(ctx, rows)
					b.must(err)
					_, err = b.c.Append(ctx, DeleteKeys(b.obj, gone))
					b.must(err)
				}
				if (step+1)%(batches/splits) == 0 {
					node.must(node.c.Apply(ctx, nil))
				}
			}
			if n := len(node.strong().Fragments()); n != splits {
				t.Fatalf("%d splits, want %d", n, splits)
			}
			want := answers(t, tail.strong())
			compare := func(when string) {
				t.Helper()
				if got := answers(t, node.strong()); got != want {
					t.Fatalf("%s: answers differ\n%s", when, firstDifference(want, got))
				}
			}
			compare("applied")
			node.open()
			compare("after a restart")
			node.c.opt.MaxSplits = 1
			for node.c.NeedsMerge() {
				node.must(node.c.Merge(ctx, nil))
			}
			if n := len(node.strong().Fragments()); n != 1 {
				t.Fatalf("%d splits after the merge, want 1", n)
			}
			compare("after the merge")
			node.open()
			compare("after the merge and a restart")
		})
	}
}
