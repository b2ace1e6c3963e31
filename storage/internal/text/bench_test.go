package text

import (
	"context"
	"math/rand"
	"strings"
	"testing"
)

// synthetic draws n documents of about 80 words from a Zipf vocabulary.
func synthetic(n int) ([]string, func() string) {
	r := rand.New(rand.NewSource(1))
	z := rand.NewZipf(r, 1.1, 8, 200_000)
	word := func() string {
		x := z.Uint64()
		var b [12]byte
		i := 0
		for ; x > 0 || i < 3; i++ {
			b[i] = "etaoinshrdlucmfw"[x&15]
			x >>= 4
		}
		return string(b[:i])
	}
	docs := make([]string, n)
	for i := range docs {
		var b strings.Builder
		for range 40 + r.Intn(80) {
			b.WriteString(word() + " ")
		}
		docs[i] = b.String()
	}
	return docs, word
}

var benchField = []FieldConfig{NewField("text", "english")}

// BenchmarkBuild reports MB/s of source text into a finished segment, and the
// segment's bytes per byte of text.
func BenchmarkBuild(b *testing.B) {
	docs, _ := synthetic(5000)
	size := 0
	for _, d := range docs {
		size += len(d)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		data := buildBench(b, docs)
		b.ReportMetric(float64(len(data))/float64(size), "bytes/byte")
	}
}

func buildBench(b *testing.B, docs []string) []byte {
	w, err := NewBuilder(benchField)
	if err != nil {
		b.Fatal(err)
	}
	for _, d := range docs {
		if err := w.Add([][]string{{d}}); err != nil {
			b.Fatal(err)
		}
	}
	data, err := w.Finish()
	if err != nil {
		b.Fatal(err)
	}
	return data
}

// BenchmarkSearch runs query shapes over 100,000 documents, top 10.
func BenchmarkSearch(b *testing.B) {
	docs, word := synthetic(100_000)
	s, err := Open(buildBench(b, docs))
	if err != nil {
		b.Fatal(err)
	}
	shapes := []struct {
		name string
		make func() string
	}{
		{"term", word},
		{"or2", func() string { return word() + " " + word() }},
		{"or9", func() string {
			var list []string
			for range 9 {
				list = append(list, word())
			}
			return strings.Join(list, " ")
		}},
		{"and2", func() string { return word() + " AND " + word() }},
		{"phrase2", func() string { d := strings.Fields(docs[len(docs)/3]); return `"` + d[3] + " " + d[4] + `"` }},
		{"prefix2", func() string { return word()[:2] + "*" }},
		{"fuzzy1", func() string { return word() + "~1" }},
	}
	for _, shape := range shapes {
		var texts []string
		for range 64 {
			texts = append(texts, shape.make())
		}
		b.Run(shape.name, func(b *testing.B) { benchQueries(b, s, texts) })
	}
}

func benchQueries(b *testing.B, s *Segment, texts []string) {
	for i := 0; b.Loop(); i++ {
		q, err := ParseQuery(texts[i%len(texts)], benchField, QueryOptions{})
		if err != nil {
			b.Fatal(err)
		}
		bound, err := s.Bind(context.Background(), q, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := bound.Search(context.Background(), bound.Stats(), SearchOptions{K: 10}); err != nil {
			b.Fatal(err)
		}
	}
}
