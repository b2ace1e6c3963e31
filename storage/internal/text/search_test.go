package text

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
)

func mustParse(t testing.TB, text string) *Query {
	t.Helper()
	q, err := ParseQuery(text, testFields, QueryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// find is the documents of a query over one part, best first.
func find(t testing.TB, p Part, text string, o SearchOptions) string {
	t.Helper()
	b, err := p.Bind(context.Background(), mustParse(t, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	hits, err := b.Search(context.Background(), b.Stats(), o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range hits {
		out = append(out, fmt.Sprint(h.Doc))
	}
	return strings.Join(out, " ")
}

func bothKinds(t *testing.T, docs [][][]string, run func(t *testing.T, p Part)) {
	t.Run("mem", func(t *testing.T) { run(t, memOf(t, docs).At(1<<30)) })
	t.Run("segment", func(t *testing.T) { run(t, segmentOf(t, docs)) })
}

// TestPhrases: elements of a list are apart, holes of stop words count, slop
// moves words, equal words need different places.
func TestPhrases(t *testing.T) {
	docs := [][][]string{
		0: {nil, {"ring buffer"}},
		1: {nil, {"ring", "buffer"}},
		2: {nil, {"ring of the buffer"}},
		3: {nil, {"buffer ring"}},
		4: {nil, {"ring ring buffer"}},
		5: {{"ring"}, {"buffer"}},
		6: {nil, {"a ring", "", "the", "buffer a"}},
		7: {nil, {"ring"}},
	}
	bothKinds(t, docs, func(t *testing.T, p Part) {
		for _, c := range []struct{ query, want string }{
			{`body:"ring buffer"`, "0 4"},
			{`body:"ring of the buffer"`, "2"},
			{`body:"ring x the buffer"`, ""},
			{`body:"ring buffer"~1`, "0 4"},
			{`body:"ring buffer"~2`, "0 4 2 3"},
			{`body:"ring buffer"~99`, "0 4 2 3"},
			{`body:"ring buffer"~5000`, "0 4 2 3"},
			{`body:"ring ring"`, "4"},
			{`body:"ring ring"~99`, "4"},
			{`body:"buffer ring"`, "3"},
			{`"ring buffer"`, "0 4"},
		} {
			if got := sortedLike(find(t, p, c.query, SearchOptions{K: 100}), c.want); got != c.want {
				t.Errorf("%s: %s, want %s", c.query, got, c.want)
			}
		}
	})
}

// sortedLike reorders got as want when they hold the same documents: this test
// is of matches, TestEqualsOracle of scores.
func sortedLike(got, want string) string {
	g, w := strings.Fields(got), strings.Fields(want)
	set := map[string]bool{}
	for _, d := range g {
		set[d] = true
	}
	for _, d := range w {
		if !set[d] {
			return got
		}
	}
	if len(g) != len(w) {
		return got
	}
	return want
}

func TestNothingToFind(t *testing.T) {
	bothKinds(t, [][][]string{{{"ring"}}, {nil, nil}, {{""}, {"the"}}}, func(t *testing.T, p Part) {
		for _, text := range []string{"", "the of", "NOT ring", "absent", "zzz*", "body:ring", `"absent words"`} {
			if got := find(t, p, text, SearchOptions{K: 10}); got != "" {
				t.Errorf("%q finds %s", text, got)
			}
		}
		if got := find(t, p, "ring", SearchOptions{K: 0}); got != "" {
			t.Errorf("k = 0 finds %s", got)
		}
		if got := find(t, p, "ring", SearchOptions{K: 10, Match: roaring.New()}); got != "" {
			t.Errorf("an empty filter finds %s", got)
		}
		if got := find(t, p, "ring", SearchOptions{K: math.MaxInt, Match: roaring.BitmapOf(0, 1, 2, 900)}); got != "0" {
			t.Errorf("a filter past the end finds %s", got)
		}
	})
	bothKinds(t, nil, func(t *testing.T, p Part) {
		if got := find(t, p, "ring \"a b\" r*", SearchOptions{K: 10}); got != "" {
			t.Errorf("an empty part finds %s", got)
		}
	})
}

// TestAddedField: parts older than a field lack it in every document.
func TestAddedField(t *testing.T) {
	more := append(append([]FieldConfig{}, testFields...), NewField("notes", "english"))
	q, err := ParseQuery("ring notes:ring notes:r*", more, QueryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bothKinds(t, [][][]string{{{"ring"}}, {{"buffer"}}}, func(t *testing.T, p Part) {
		b, err := p.Bind(context.Background(), q, NewExclusion(roaring.BitmapOf(1)))
		if err != nil {
			t.Fatal(err)
		}
		hits, err := b.Search(context.Background(), b.Stats(), SearchOptions{K: 5})
		if err != nil || len(hits) != 1 || hits[0].Doc != 0 {
			t.Fatalf("%v, %v", hits, err)
		}
	})
}

// TestFloorKeepsEqualScores: a threshold from another part drops lower scores only.
func TestFloorKeepsEqualScores(t *testing.T) {
	docs := [][][]string{{{"ring buffer"}}, {{"ring ring"}}, {{"ring buffer"}}, {{"ring buffer of alpha beta"}}}
	bothKinds(t, docs, func(t *testing.T, p Part) {
		b, err := p.Bind(context.Background(), mustParse(t, "title:ring"), nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := b.Search(context.Background(), b.Stats(), SearchOptions{K: 10})
		if err != nil || len(all) != 4 || all[1].Score != all[2].Score {
			t.Fatalf("%v, %v", all, err)
		}
		got, err := b.Search(context.Background(), b.Stats(), SearchOptions{K: 10, Floor: all[1].Score})
		if err != nil || len(got) != 3 {
			t.Fatalf("%v, %v", got, err)
		}
	})
}

// TestExclusionWays: the two ways of subtracting documents agree, in every
// part kind, and an exclusion answers the same again and again.
func TestExclusionWays(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	docs := drawDocs(r, 700)
	seg, mem := segmentOf(t, docs), memOf(t, docs).At(1<<30)
	for _, share := range []float64{.01, .5, 1} {
		dead := randomSet(r, len(docs), share)
		table := NewExclusion(dead)
		if err := table.fillTable(seg); err != nil || table.table == nil {
			t.Fatal(err)
		}
		counted := NewExclusion(dead)
		ways := []struct {
			p Part
			e *Exclusion
		}{{seg, counted}, {seg, table}, {seg, counted}, {mem, NewExclusion(dead)}}
		for _, w := range words {
			q := mustParse(t, w+" "+w[:1]+"*")
			var first string
			for i, way := range ways {
				b, err := way.p.Bind(context.Background(), q, way.e)
				if err != nil {
					t.Fatal(err)
				}
				got := fmt.Sprint(b.Stats())
				if i == 0 {
					first = got
				}
				if got != first {
					t.Fatalf("%s: %s by way %d, %s by the first", w, got, i, first)
				}
			}
		}
	}
}

// TestHopelessPart: a floor above all of a part's scores ends the search with
// nothing, one at its best score keeps that.
func TestHopelessPart(t *testing.T) {
	bothKinds(t, burstyDocs(rand.New(rand.NewSource(3)), 2000), func(t *testing.T, p Part) {
		for _, text := range []string{"alpha beta", "title:alpha AND title:delta"} {
			b, err := p.Bind(context.Background(), mustParse(t, text), nil)
			if err != nil {
				t.Fatal(err)
			}
			best := mustSearch(t, b, SearchOptions{K: 1})[0]
			if got := mustSearch(t, b, SearchOptions{K: 5, Floor: best.Score}); len(got) == 0 || got[0] != best {
				t.Errorf("%s: the floor at %v leaves %v", text, best, got)
			}
			if got := mustSearch(t, b, SearchOptions{K: 5, Floor: best.Score * 1.0001}); len(got) != 0 {
				t.Errorf("%s: the floor above %v leaves %v", text, best, got)
			}
			if got := mustSearch(t, b, SearchOptions{K: 5, Floor: 1e6}); len(got) != 0 {
				t.Errorf("%s: a floor of a million leaves %v", text, got)
			}
		}
	})
}

// TestStatsAdd: sums do not depend on the order of parts and share nothing.
func TestStatsAdd(t *testing.T) {
	a := Stats{Fields: []FieldStats{{Docs: 1, Tokens: 5}}, DF: []uint64{1, 2}}
	b := Stats{Fields: []FieldStats{{Docs: 2, Tokens: 7}}, DF: []uint64{0, 4}}
	var x, y Stats
	x.Add(a)
	x.Add(b)
	y.Add(b)
	y.Add(a)
	if fmt.Sprint(x) != fmt.Sprint(y) || x.Fields[0].Tokens != 12 || x.DF[1] != 6 || a.DF[1] != 2 {
		t.Fatalf("%v, %v, %v", x, y, a)
	}
}

// TestReadersBesideWriter: views answer the same while documents are added.
func TestReadersBesideWriter(t *testing.T) {
	docs := drawDocs(rand.New(rand.NewSource(6)), 1200)
	m, err := NewMem(testFields)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	for w := range 3 {
		done.Go(func() {
			r := rand.New(rand.NewSource(int64(w)))
			for m.Len() < uint32(len(docs)) {
				v := m.At(uint32(r.Intn(int(m.Len()) + 1)))
				text := drawQuery(r)
				o := SearchOptions{K: 5}
				first := find(t, v, text, o)
				if again := find(t, v, text, o); again != first {
					t.Errorf("%s over %d documents: %s, then %s", text, v.NumDocs(), first, again)
				}
			}
		})
	}
	for _, d := range docs {
		if _, err := m.Add(d); err != nil {
			t.Error(err)
		}
	}
	done.Wait()
	seg := segmentOf(t, docs)
	r := rand.New(rand.NewSource(9))
	for range 50 {
		text := drawQuery(r)
		if a, b := find(t, m.At(1<<30), text, SearchOptions{K: 20}), find(t, seg, text, SearchOptions{K: 20}); a != b {
			t.Errorf("%s: %s in memory, %s in the segment", text, a, b)
		}
	}
	if m.Bytes() <= 0 {
		t.Error("the index takes no memory")
	}
}

func TestCancel(t *testing.T) {
	bothKinds(t, drawDocs(rand.New(rand.NewSource(1)), 50), func(t *testing.T, p Part) {
		b, err := p.Bind(context.Background(), mustParse(t, "alpha \"alpha beta\""), nil)
		if err != nil {
			t.Fatal(err)
		}
		canceled, cancel := context.WithCancel(context.Background())
		cancel()
		late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
		defer cancel()
		for ctx, want := range map[context.Context]fail.Code{canceled: fail.Canceled, late: fail.DeadlineExceeded} {
			if _, err := b.Search(ctx, b.Stats(), SearchOptions{K: 1}); !fail.Is(err, want) {
				t.Errorf("search: %v", err)
			}
			if _, err := b.Matches(ctx, nil); !fail.Is(err, want) {
				t.Errorf("matches: %v", err)
			}
			if _, err := p.Bind(ctx, mustParse(t, "alpha r*"), nil); !fail.Is(err, want) {
				t.Errorf("bind: %v", err)
			}
		}
	})
}

func TestFieldConfigs(t *testing.T) {
	for _, f := range []FieldConfig{
		{Name: "a", Analyzer: "nosuch", K1: 1, B: .5},
		{Name: "a", Analyzer: "english", K1: -1, B: .5},
		{Name: "a", Analyzer: "english", K1: math.NaN(), B: .5},
		{Name: "a", Analyzer: "english", K1: 1, B: 1.5},
	} {
		if _, err := NewBuilder([]FieldConfig{f}); !fail.Is(err, fail.InvalidParameter) {
			t.Errorf("%+v: %v", f, err)
		}
	}
	seg := segmentOf(t, [][][]string{{{"ring"}}})
	if got := fmt.Sprint(seg.Fields()); got != fmt.Sprint(testFields) {
		t.Errorf("fields read back: %s", got)
	}
	for _, b := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, err := ParseQuery("a", testFields, QueryOptions{Fields: []FieldBoost{{Name: "title", Boost: b}}})
		if !fail.Is(err, fail.InvalidParameter) {
			t.Errorf("boost %v: %v", b, err)
		}
	}
}

// TestConcurrentSearches: one query, bound part and exclusion serve many
// goroutines, each with the answer of one alone.
func TestConcurrentSearches(t *testing.T) {
	docs := burstyDocs(rand.New(rand.NewSource(12)), 3000)
	dead := randomSet(rand.New(rand.NewSource(13)), len(docs), .2)
	bothKinds(t, docs, func(t *testing.T, p Part) {
		e := NewExclusion(dead)
		texts := []string{"alpha beta", "title:alpha AND title:delta", `"alpha beta"`, "alph* -gamma", "beta~1 filler"}
		want := map[string]string{}
		for _, text := range texts {
			b, err := p.Bind(context.Background(), mustParse(t, text), NewExclusion(dead))
			if err != nil {
				t.Fatal(err)
			}
			want[text] = fmt.Sprint(mustSearch(t, b, SearchOptions{K: 7}))
		}
		var done sync.WaitGroup
		for _, text := range texts {
			b, err := p.Bind(context.Background(), mustParse(t, text), e)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				done.Go(func() {
					again, err := p.Bind(context.Background(), mustParse(t, text), e)
					if err != nil {
						t.Error(err)
						return
					}
					for _, b := range []*Bound{b, again} {
						hits, err := b.Search(context.Background(), b.Stats(), SearchOptions{K: 7})
						if got := fmt.Sprint(hits); err != nil || got != want[text] {
							t.Errorf("%s: %s, %v, want %s", text, got, err, want[text])
						}
					}
				})
			}
		}
		done.Wait()
	})
}
