package postings

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestTopKEqualsSort: the heap keeps what a full sort would put first.
func TestTopKEqualsSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(-1, 20).Draw(t, "k")
		floor := math.Inf(-1)
		if rapid.Bool().Draw(t, "with floor") {
			floor = float64(rapid.IntRange(-3, 3).Draw(t, "floor"))
		}
		scores := rapid.SliceOfN(rapid.IntRange(-3, 3), 0, 60).Draw(t, "scores")
		less := func(a, b DocID) bool { return a^5 < b^5 }
		top := NewTopK(k, floor, less)
		var want []Hit
		for d, s := range scores {
			h := Hit{DocID(d), float64(s)}
			if h.Score < top.Threshold() {
				continue // what a caller may prune must not matter
			}
			top.Offer(h)
		}
		for d, s := range scores {
			if float64(s) >= floor {
				want = append(want, Hit{DocID(d), float64(s)})
			}
		}
		slices.SortFunc(want, func(a, b Hit) int {
			if top.Better(a, b) {
				return -1
			}
			return 1
		})
		want = want[:min(max(k, 0), len(want))]
		if n := top.Len(); n != len(want) {
			t.Fatalf("%d hits kept, want %d", n, len(want))
		}
		if got := top.Sorted(); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
