package link

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var errBad = errors.New("bad")

func isBad(err error) bool { return errors.Is(err, errBad) }

// sifted runs Sift over n rows of which some are bad and counts its work.
func sifted(n int, bad map[int32]bool) (found []int32, calls, work int, err error) {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	got, err := Sift(rows, func(rows []int32) error {
		calls++
		work += len(rows)
		for _, r := range rows {
			if bad[r] {
				return errBad
			}
		}
		return nil
	}, isBad)
	for r := range got {
		found = append(found, r)
	}
	slices.Sort(found)
	return found, calls, work, err
}

// Exactly the bad rows are found.
func TestSift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(t, "rows")
		bad := map[int32]bool{}
		var want []int32
		for i := range n {
			if rapid.IntRange(0, 9).Draw(t, "bad") == 0 {
				bad[int32(i)] = true
				want = append(want, int32(i))
			}
		}
		found, _, work, err := sifted(n, bad)
		if err != nil || !slices.Equal(found, want) {
			t.Fatalf("found %v, want %v, %v", found, want, err)
		}
		if depth := 2 + 9*len(want); work > n*depth+1 {
			t.Fatalf("%d rows of work for %d bad of %d", work, len(want), n)
		}
	})
}

// One bad row among many costs three times the rows, in few calls.
func TestSiftIsCheap(t *testing.T) {
	for _, at := range []int32{0, 4999, 9999} {
		found, calls, work, err := sifted(10_000, map[int32]bool{at: true})
		if err != nil || !slices.Equal(found, []int32{at}) || work > 31_000 || calls > 30 {
			t.Errorf("row %d: found %v in %d calls and %d rows of work, %v", at, found, calls, work, err)
		}
	}
}

// What is nobody's fault ends the search.
func TestSiftEnds(t *testing.T) {
	calls := 0
	_, err := Sift([]int32{1, 2, 3, 4}, func([]int32) error { calls++; return context.Canceled }, isBad)
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Fatal(calls, err)
	}
}
