package postings

import "slices"

// DocID numbers the documents of one part from 0.
type DocID uint32

// Hit is one matching document; a higher score is better.
type Hit struct {
	Doc   DocID
	Score float64
}

// TopK keeps the best k hits offered under (score descending, then less). Not
// safe for concurrent use. Scores must not be NaN.
type TopK struct {
	k     int
	floor float64
	less  func(a, b DocID) bool
	hits  []Hit // a list until it holds k, then a heap with the worst on top
}

// NewTopK keeps k hits; k of 0 or less keeps none. Hits below floor are
// refused, hits equal to it are kept; negative infinity is no floor. less
// breaks ties and must be a strict total order; nil orders by document number.
func NewTopK(k int, floor float64, less func(a, b DocID) bool) *TopK {
	if less == nil {
		less = func(a, b DocID) bool { return a < b }
	}
	return &TopK{k: max(k, 0), floor: floor, less: less}
}

// Better is the total order of hits.
func (t *TopK) Better(a, b Hit) bool {
	if a.Score != b.Score {
		return a.Score > b.Score
	}
	return t.less(a.Doc, b.Doc)
}

// Threshold is the score below which no document can enter any more. One with
// just this score may still win a tie.
func (t *TopK) Threshold() float64 {
	if len(t.hits) < t.k || t.k == 0 {
		return t.floor
	}
	return max(t.floor, t.hits[0].Score)
}

// Offer takes the hit if it is among the best so far. Each document may be
// offered once.
func (t *TopK) Offer(h Hit) {
	switch {
	case t.k == 0 || h.Score < t.floor:
	case len(t.hits) < t.k:
		t.hits = append(t.hits, h)
		if len(t.hits) == t.k {
			for i := t.k/2 - 1; i >= 0; i-- {
				t.sink(i)
			}
		}
	case t.Better(h, t.hits[0]):
		t.hits[0] = h
		t.sink(0)
	}
}

// sink moves the hit at i down until both below it are better.
func (t *TopK) sink(i int) {
	for {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(t.hits); c++ {
			if t.Better(t.hits[worst], t.hits[c]) {
				worst = c
			}
		}
		if worst == i {
			return
		}
		t.hits[i], t.hits[worst] = t.hits[worst], t.hits[i]
		i = worst
	}
}

// Len is the number of hits kept.
func (t *TopK) Len() int { return len(t.hits) }

// Sorted returns the hits from the best on and leaves none behind; the caller
// owns the slice.
func (t *TopK) Sorted() []Hit {
	out := t.hits
	t.hits = nil
	slices.SortFunc(out, func(a, b Hit) int {
		switch {
		case t.Better(a, b):
			return -1
		case t.Better(b, a):
			return 1
		}
		return 0
	})
	return out
}
