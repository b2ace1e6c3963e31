package text

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"
)

// burstyDocs vary what bounds turn on: rare documents with many occurrences,
// lengths from 1 to 300, terms from everywhere to a few clusters of neighbors.
func burstyDocs(r *rand.Rand, n int) [][][]string {
	docs := make([][][]string, n)
	for i := range docs {
		var b strings.Builder
		put := func(word string, times int) { b.WriteString(strings.Repeat(word+" ", times)) }
		if r.Intn(2) == 0 {
			put("alpha", 1+r.Intn(2))
		}
		if r.Intn(3) == 0 {
			put("beta", 1)
		}
		if r.Intn(60) == 0 {
			put("alpha", 5+r.Intn(30))
		}
		if r.Intn(900) == 0 {
			put("beta", 5+r.Intn(30))
		}
		if i/500%4 == 1 && r.Intn(4) == 0 {
			put("gamma", 1+r.Intn(3))
		}
		if r.Intn(25) == 0 {
			put("delta", 1)
		}
		put("filler", 1+r.Intn(10)*r.Intn(30)*r.Intn(2))
		docs[i] = [][]string{{b.String()}}
	}
	return docs
}

// TestPruningEqualsExhaustive: on documents enough for many windows and blocks,
// the pruned search gives what scoring every match gives, and so do filters
// and conjunctions against sets computed from single terms.
func TestPruningEqualsExhaustive(t *testing.T) {
	r := rand.New(rand.NewSource(21))
	docs := burstyDocs(r, 30_000)
	parts := map[string]Part{"segment": segmentOf(t, docs), "mem": memOf(t, docs).At(1 << 30)}
	queries := []string{"alpha", "beta", "alpha beta", "gamma", "alpha gamma delta", "alpha^0.2 beta gamma^3 filler",
		"delta alpha", "filler", "alph* beta", "bet~1 filler", "alpha beta gamma delta filler",
		"title:alpha AND title:beta", "title:filler AND title:gamma^2 AND title:alpha", "title:alpha AND title:delta"}
	filters := map[string]*roaring.Bitmap{"none": nil, "half": randomSet(r, len(docs), .5), "few": randomSet(r, len(docs), .004)}
	dead := randomSet(r, len(docs), .1)
	for name, p := range parts {
		for _, text := range queries {
			b, err := p.Bind(context.Background(), mustParse(t, text), NewExclusion(dead))
			if err != nil {
				t.Fatal(err)
			}
			for fname, filter := range filters {
				for _, k := range []int{1, 10, 200} {
					o := SearchOptions{K: k, Match: filter}
					got := mustSearch(t, b, o)
					o.exhaustive = true
					sameHits(t, fmt.Sprintf("%s %s filter %s k %d", name, text, fname, k), got, mustSearch(t, b, o))
				}
			}
		}
	}
}

func mustSearch(t *testing.T, b *Bound, o SearchOptions) []Hit {
	t.Helper()
	hits, err := b.Search(context.Background(), b.Stats(), o)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

// TestConjunctionsEqualSets: leapfrogging over many blocks equals set algebra.
func TestConjunctionsEqualSets(t *testing.T) {
	r := rand.New(rand.NewSource(22))
	docs := burstyDocs(r, 30_000)
	for name, p := range map[string]Part{"segment": segmentOf(t, docs), "mem": memOf(t, docs).At(1 << 30)} {
		set := func(text string) *roaring.Bitmap {
			b, err := p.Bind(context.Background(), mustParse(t, text), nil)
			if err != nil {
				t.Fatal(err)
			}
			out, err := b.Matches(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		naive := map[string]*roaring.Bitmap{}
		for _, w := range []string{"alpha", "beta", "gamma", "delta"} {
			naive[w] = roaring.New()
			for i, d := range docs {
				if strings.Contains(d[0][0], w) {
					naive[w].Add(uint32(i))
				}
			}
			if !set(w).Equals(naive[w]) {
				t.Errorf("%s: %s differs from a scan of the texts", name, w)
			}
		}
		for _, pair := range [][2]string{{"alpha", "delta"}, {"delta", "beta"}, {"gamma", "beta"}, {"alpha", "beta"}} {
			if !set(pair[0] + " AND " + pair[1]).Equals(roaring.And(naive[pair[0]], naive[pair[1]])) {
				t.Errorf("%s: AND of %v", name, pair)
			}
			if !set(pair[0] + " AND NOT " + pair[1]).Equals(roaring.AndNot(naive[pair[0]], naive[pair[1]])) {
				t.Errorf("%s: AND NOT of %v", name, pair)
			}
		}
	}
}

// TestFrontierIsABound: no document scores above the pairs kept of it, for any
// parameters and average length.
func TestFrontierIsABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := rapid.Custom(func(t *rapid.T) impact {
			return impact{uint32(rapid.IntRange(1, 60).Draw(t, "freq")), uint32(rapid.IntRange(1, 500).Draw(t, "length"))}
		})
		docs := rapid.SliceOfN(pair, 1, blockSize).Draw(t, "documents")
		kept := frontier(append([]impact{}, docs...))
		if len(kept) > maxImpacts {
			t.Fatalf("%d pairs", len(kept))
		}
		var buf [maxImpacts]impact
		d := &decoder{b: appendImpacts(nil, kept)}
		read := d.impacts(&buf)
		if d.bad || fmt.Sprint(read) != fmt.Sprint(kept) {
			t.Fatalf("%v reads back as %v", kept, read)
		}
		k1, b, avg := rapid.Float64Range(0, 3).Draw(t, "k1"), rapid.Float64Range(0, 1).Draw(t, "b"), rapid.Float64Range(1, 500).Draw(t, "avgdl")
		s := &scorer{weight: 2, c0: k1 * (1 - b), c1: k1 * b / avg, div: 1}
		for _, p := range docs {
			if got := s.score(float64(p.freq), p.length); got > s.bound(kept)*slack {
				t.Fatalf("%v scores %v, above %v of %v", p, got, s.bound(kept), kept)
			}
		}
	})
}

// TestPackedRoundTrip: every width, with and without bytes behind the block.
func TestPackedRoundTrip(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for width := uint(0); width <= 32; width++ {
		var in, out [blockSize]uint32
		for i := range in {
			in[i] = uint32(uint64(r.Uint32()) & (1<<width - 1))
		}
		data := appendPacked(nil, in[:], width)
		if len(data) != packedBytes(blockSize, width) {
			t.Fatalf("width %d: %d bytes", width, len(data))
		}
		for _, pad := range []int{0, 1, 7, 8, 100} {
			unpack(&out, append(append([]byte{}, data...), make([]byte, pad)...), width)
			if in != out {
				t.Fatalf("width %d, %d bytes behind: %v, want %v", width, pad, out, in)
			}
		}
	}
}

// TestRunIsABound: no document of a conjunction's run scores above the run's bound.
func TestRunIsABound(t *testing.T) {
	docs := burstyDocs(rand.New(rand.NewSource(23)), 20_000)
	for name, p := range map[string]Part{"segment": segmentOf(t, docs), "mem": memOf(t, docs).At(1 << 30)} {
		q := mustParse(t, "title:filler AND title:alpha AND title:delta")
		b, err := p.Bind(context.Background(), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		hits := mustSearch(t, b, SearchOptions{K: len(docs), exhaustive: true})
		score := map[uint32]float64{}
		for _, h := range hits {
			score[uint32(h.Doc)] = h.Score
		}
		x := &execution{b: b, global: b.Stats()}
		runs := 0
		for d := uint32(0); d < uint32(len(docs)); runs++ {
			leaves, _ := x.allTerms(q.root)
			run := runAt(leaves, d)
			for ; d < uint32(len(docs)) && run.holds(d); d++ {
				if score[d] > run.bound*slack {
					t.Fatalf("%s: document %d scores %v, above %v of its run", name, d, score[d], run.bound)
				}
			}
		}
		if runs < 50 {
			t.Errorf("%s: only %d runs", name, runs)
		}
	}
}
