package text

import (
	"container/heap"
	"math"
	"slices"
)

// Hit is one matching document.
type Hit struct {
	Doc   DocID
	Score float64
}

// topK keeps the best k hits under (score descending, then less).
type topK struct {
	k     int
	floor float64
	less  func(a, b DocID) bool
	hits  []Hit // heap: the worst on top
}

func newTopK(k int, floor float64, less func(a, b DocID) bool) *topK {
	if less == nil {
		less = func(a, b DocID) bool { return a < b }
	}
	if floor <= 0 || math.IsNaN(floor) {
		floor = math.Inf(-1)
	}
	return &topK{k: k, floor: floor, less: less}
}

// better is the total order of hits.
func (t *topK) better(a, b Hit) bool {
	if a.Score != b.Score {
		return a.Score > b.Score
	}
	return t.less(a.Doc, b.Doc)
}

// threshold is the score below which a document cannot enter.
func (t *topK) threshold() float64 {
	if len(t.hits) < t.k {
		return t.floor
	}
	return max(t.floor, t.hits[0].Score)
}

func (t *topK) offer(h Hit) {
	if h.Score < t.floor {
		return
	}
	if len(t.hits) < t.k {
		heap.Push((*hitHeap)(t), h)
		return
	}
	if t.better(h, t.hits[0]) {
		t.hits[0] = h
		heap.Fix((*hitHeap)(t), 0)
	}
}

func (t *topK) sorted() []Hit {
	slices.SortFunc(t.hits, func(a, b Hit) int {
		if t.better(a, b) {
			return -1
		}
		return 1
	})
	return t.hits
}

// hitHeap gives topK the methods of container/heap.
type hitHeap topK

func (h *hitHeap) Len() int           { return len(h.hits) }
func (h *hitHeap) Less(i, j int) bool { return (*topK)(h).better(h.hits[j], h.hits[i]) }
func (h *hitHeap) Swap(i, j int)      { h.hits[i], h.hits[j] = h.hits[j], h.hits[i] }
func (h *hitHeap) Push(x any)         { h.hits = append(h.hits, x.(Hit)) }
func (h *hitHeap) Pop() any {
	last := h.hits[len(h.hits)-1]
	h.hits = h.hits[:len(h.hits)-1]
	return last
}
