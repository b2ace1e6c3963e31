package text

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestFuzzyEqualsRecurrence: in any order of terms, distances within the limit
// are those of the recurrence, others are reported as too far.
func TestFuzzyEqualsRecurrence(t *testing.T) {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abß漢")), 0, 7, -1)
	rapid.Check(t, func(t *rapid.T) {
		pattern := word.Draw(t, "pattern")
		terms := rapid.SliceOfN(word, 1, 60).Draw(t, "terms")
		if rapid.Bool().Draw(t, "sorted") {
			slices.Sort(terms)
		}
		edits := rapid.IntRange(1, 2).Draw(t, "edits")
		f := newFuzzy(pattern, edits)
		for _, term := range terms {
			want := editDistance([]rune(term), []rune(pattern))
			got, ok := f.distance([]byte(term))
			if ok != (want <= edits) || ok && got != want {
				t.Fatalf("%q to %q within %d: %d, %v; the recurrence says %d", term, pattern, edits, got, ok, want)
			}
		}
	})
}
