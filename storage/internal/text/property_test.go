package text

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/storage/internal/postings"
)

// words is a small vocabulary, so that terms meet, tie and repeat.
var words = strings.Fields("alpha beta gamma delta alphas bet gamme delt ring rings buffer the of running runs über straße x1 x2")

func drawText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		// Low words are frequent: squares of a uniform number.
		x := r.Float64()
		b.WriteString(words[int(x*x*float64(len(words)))] + " ")
	}
	return b.String()
}

func drawDocs(r *rand.Rand, n int) [][][]string {
	docs := make([][][]string, n)
	for i := range docs {
		title := []string{drawText(r, r.Intn(5))}
		var body []string
		for range r.Intn(3) {
			body = append(body, drawText(r, r.Intn(12)))
		}
		docs[i] = [][]string{title, body}
		if r.Intn(10) == 0 {
			docs[i] = docs[i][:1]
		}
	}
	return docs
}

func drawQuery(r *rand.Rand) string {
	w := func() string { return words[r.Intn(len(words))] }
	switch r.Intn(16) {
	case 0:
		return w()
	case 1:
		return w() + " " + w() + " " + w()
	case 2:
		return w() + " AND " + w()
	case 3:
		return fmt.Sprintf("%q", w()+" "+w())
	case 4:
		return fmt.Sprintf("%q~%d", w()+" "+w()+" "+w(), r.Intn(5))
	case 5:
		return w()[:1+r.Intn(2)] + "* " + w()
	case 6:
		return w() + fmt.Sprintf("~%d", 1+r.Intn(2))
	case 7:
		return "+" + w() + " " + w() + " -" + w()
	case 8:
		return "title:" + w() + "^2.5 body:(" + w() + " OR " + w() + ")"
	case 9:
		return "(" + w() + " OR " + w() + ") AND NOT " + w()
	case 10:
		return fmt.Sprintf("%q OR %s", w()+" "+w(), w())
	case 11:
		return w() + "^3 " + w() + "^0.1 " + w() + " " + w() + " " + w()
	case 14:
		return "(" + w() + " AND NOT " + w() + ") AND (" + w() + " OR \"" + w() + " " + w() + "\")"
	case 13:
		return "title:" + w() + " AND title:" + w() + "^2 AND body:" + w()
	case 12:
		return fmt.Sprintf("%q~%d", "ring ring "+w(), r.Intn(6))
	}
	return "(" + w() + " AND " + w() + ") OR (" + w() + " " + w() + "~1)"
}

var testFields = []FieldConfig{
	{Name: "title", Analyzer: "english", K1: 1.2, B: .75},
	{Name: "body", Analyzer: "standard", K1: .9, B: .4},
}

// layout is the documents spread over parts, with the number of each part's first.
type layout struct {
	name  string
	parts []Part
	first []int
}

func memOf(t testing.TB, docs [][][]string) *Mem {
	t.Helper()
	m, err := NewMem(testFields)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if _, err := m.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func layouts(t testing.TB, r *rand.Rand, docs [][][]string) []layout {
	n := len(docs)
	cut1, cut2 := r.Intn(n+1), r.Intn(n+1)
	cut1, cut2 = min(cut1, cut2), max(cut1, cut2)
	whole := memOf(t, append(append([][][]string{}, docs...), drawDocs(r, 3)...))
	out := []layout{
		{"mem", []Part{whole.At(uint32(n))}, []int{0}},
		{"three mems", []Part{
			memOf(t, docs[:cut1]).At(1 << 30), memOf(t, docs[cut1:cut2]).At(1 << 30), memOf(t, docs[cut2:]).At(1 << 30),
		}, []int{0, cut1, cut2}},
	}
	return append(out, segmentLayouts(t, docs, cut1, cut2)...)
}

// search runs the two rounds over the layout and merges the parts' hits.
func (l layout) search(t testing.TB, q *Query, dead, allowed *roaring.Bitmap, k int, less func(a, b DocID) bool, exhaustive bool) []Hit {
	t.Helper()
	ctx := context.Background()
	var global Stats
	var bounds []*Bound
	for i, p := range l.parts {
		b, err := p.Bind(ctx, q, NewExclusion(shift(dead, l.first[i], int(p.NumDocs()))))
		if err != nil {
			t.Fatal(err)
		}
		global.Add(b.Stats())
		bounds = append(bounds, b)
	}
	top := postings.NewTopK(k, math.Inf(-1), less)
	for i, b := range bounds {
		first := DocID(l.first[i])
		o := SearchOptions{K: k, Floor: top.Threshold(), exhaustive: exhaustive,
			Less: func(a, b DocID) bool { return less(a+first, b+first) }}
		if allowed != nil {
			o.Match = shift(allowed, l.first[i], int(l.parts[i].NumDocs()))
		}
		hits, err := b.Search(ctx, global, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			top.Offer(Hit{Doc: h.Doc + first, Score: h.Score})
		}
	}
	return top.Sorted()
}

func (l layout) matches(t testing.TB, q *Query, dead, allowed *roaring.Bitmap) *roaring.Bitmap {
	t.Helper()
	out := roaring.New()
	for i, p := range l.parts {
		n := int(p.NumDocs())
		b, err := p.Bind(context.Background(), q, NewExclusion(shift(dead, l.first[i], n)))
		if err != nil {
			t.Fatal(err)
		}
		var match *roaring.Bitmap
		if allowed != nil {
			match = shift(allowed, l.first[i], n)
		}
		got, err := b.Matches(context.Background(), match)
		if err != nil {
			t.Fatal(err)
		}
		it := got.Iterator()
		for it.HasNext() {
			out.Add(it.Next() + uint32(l.first[i]))
		}
	}
	return out
}

func shift(b *roaring.Bitmap, first, n int) *roaring.Bitmap {
	out := roaring.New()
	for d := range n {
		if b.Contains(uint32(first + d)) {
			out.Add(uint32(d))
		}
	}
	return out
}

func randomSet(r *rand.Rand, n int, share float64) *roaring.Bitmap {
	b := roaring.New()
	for d := range n {
		if r.Float64() < share {
			b.Add(uint32(d))
		}
	}
	return b
}

// TestEqualsOracle: every part kind, every split, deletes, filters, pruning and
// thresholds give the oracle's hits, bit for bit and in its order.
func TestEqualsOracle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Int64Range(0, 1<<40).Draw(rt, "seed")
		size := rapid.IntRange(1, 400).Draw(rt, "documents")
		checkAgainstOracle(t, seed, size)
	})
}

func checkAgainstOracle(t *testing.T, seed int64, size int) {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	docs := drawDocs(r, size)
	o := newOracle(t, testFields, docs)
	dead := randomSet(r, size, []float64{0, .05, .5}[r.Intn(3)])
	for d := range o.live {
		o.live[d] = !dead.Contains(uint32(d))
	}
	var allowed *roaring.Bitmap
	if r.Intn(2) == 0 {
		allowed = randomSet(r, size, []float64{.01, .3, 1}[r.Intn(3)])
	}
	salt := uint32(r.Intn(2)) * 0x5bd1e995
	less := func(a, b DocID) bool { return uint32(a)^salt < uint32(b)^salt }
	lays := layouts(t, r, docs)
	for range 4 {
		text := drawQuery(r)
		q, err := ParseQuery(text, testFields, QueryOptions{Operator: Operator(r.Intn(2))})
		if err != nil {
			t.Fatal(err)
		}
		want := o.search(q, allowed, less)
		all := roaring.New()
		for _, h := range want {
			all.Add(uint32(h.Doc))
		}
		k := []int{1, 3, 10, 1000}[r.Intn(4)]
		want = want[:min(k, len(want))]
		for _, l := range lays {
			where := fmt.Sprintf("seed %d size %d: %s: %s as %s", seed, size, l.name, text, q)
			for _, exhaustive := range []bool{false, true} {
				sameHits(t, where, l.search(t, q, dead, allowed, k, less, exhaustive), want)
			}
			if got := l.matches(t, q, dead, allowed); !got.Equals(all) {
				t.Fatalf("%s: matches %v, want %v", where, got, all)
			}
		}
	}
}

func sameHits(t *testing.T, where string, got, want []Hit) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d hits, want %d\n got %v\nwant %v", where, len(got), len(want), got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: hit %d is %v, want %v", where, i, got[i], want[i])
		}
	}
}

// TestLargerPartsEqualOracle uses documents enough for several blocks and windows.
func TestLargerPartsEqualOracle(t *testing.T) {
	for seed := range int64(4) {
		checkAgainstOracle(t, 900+seed, 3000)
	}
}

func segmentOf(t testing.TB, docs [][][]string) *Segment {
	t.Helper()
	b, err := NewBuilder(testFields)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if err := b.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	data, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func segmentLayouts(t testing.TB, docs [][][]string, cut1, cut2 int) []layout {
	return []layout{
		{"segment", []Part{segmentOf(t, docs)}, []int{0}},
		{"segment and tail", []Part{segmentOf(t, docs[:cut1]), memOf(t, docs[cut1:]).At(1 << 30)}, []int{0, cut1}},
		{"three segments", []Part{segmentOf(t, docs[:cut1]), segmentOf(t, docs[cut1:cut2]), segmentOf(t, docs[cut2:])}, []int{0, cut1, cut2}},
	}
}
