package collection

import (
	"math/rand"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// Marks give the rows of the hits below any bound, whether bounds grow or fall.
func TestMarks(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	var hits []hit
	var m marks
	for by := range int32(500) {
		for range r.Intn(3) {
			hits = append(hits, hit{by: by, row: r.Int31n(by + 1)})
		}
		n := int(by) + 1
		if r.Intn(3) == 0 {
			n = r.Intn(n + 1)
		}
		want := roaring.New()
		for _, h := range hits {
			if int(h.by) < n {
				want.Add(uint32(h.row))
			}
		}
		got := roaring.BitmapOf(1000)
		m.add(hits, n, got)
		want.Add(1000)
		if !got.Equals(want) {
			t.Fatalf("%d hits below %d: %s, want %s", len(hits), n, got, want)
		}
		got.AddRange(0, 600) // what was given out is the caller's
	}
}
