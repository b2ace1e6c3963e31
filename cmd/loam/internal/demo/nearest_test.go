package demo

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// hit is a symbol with its cosine to a question.
type hit struct {
	id    string
	score float64
}

func nearest(lib *Library, e *Embeddings, query []float32, k int) []hit {
	var hits []hit
	for _, s := range lib.Symbols {
		if v, ok := e.Vector(s.ID); ok {
			hits = append(hits, hit{s.ID, dot(v, query)})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
	})
	return hits[:min(k, len(hits))]
}

func TestEmbeddingsCoverThisRelease(t *testing.T) {
	lib, e := libraryT(t), loadT(t)
	var missing []string
	for _, s := range lib.Symbols {
		v, ok := e.Vector(s.ID)
		if !ok {
			missing = append(missing, s.ID)
			continue
		}
		if len(v) != Dim || math.Abs(dot(v, v)-1) > 1e-3 {
			t.Fatalf("%s: %d dimensions, squared length %g", s.ID, len(v), dot(v, v))
		}
	}
	t.Logf("%s: %d of %d symbols without a vector, %d vectors, %d bytes", lib.GoVersion, len(missing), len(lib.Symbols), e.Len(), len(embeddingsFile))
	if 20*len(missing) > len(lib.Symbols) {
		t.Errorf("%d of %d symbols have no vector, such as %v: make embeddings.bin again (embeddings_gen.py)",
			len(missing), len(lib.Symbols), missing[:5])
	}
	if len(embeddingsFile) >= 4<<20 {
		t.Errorf("embeddings.bin has %d bytes, the limit is 4 MiB", len(embeddingsFile))
	}
	if n := len(e.Questions()); n < 20 {
		t.Errorf("%d questions, want 20", n)
	}
}

// The best answers by meaning alone. Of each list one symbol must be among the
// k nearest. The first question shows where the model is weak: it finds
// bufio.Reader.ReadLine, but bufio.Scanner, the idiom, is only 27th.
func TestNearestSymbolsAnswer(t *testing.T) {
	lib, e := libraryT(t), loadT(t)
	want := map[string]struct {
		k   int
		any []string
	}{
		"how do I read a file line by line":               {10, []string{"bufio.Reader.ReadLine"}},
		"run something after a delay":                     {10, []string{"time.AfterFunc", "time.After"}},
		"compare two byte slices in constant time":        {5, []string{"crypto/subtle.ConstantTimeCompare", "crypto/hmac.Equal"}},
		"wait for a group of goroutines to finish":        {3, []string{"sync.WaitGroup"}},
		"run a function exactly once":                     {3, []string{"sync.Once.Do", "sync.OnceFunc"}},
		"sort a slice with my own comparison":             {5, []string{"slices.SortStableFunc", "slices.SortFunc", "sort.Slice"}},
		"split a string around a separator":               {3, []string{"strings.Split"}},
		"walk all files below a directory":                {5, []string{"path/filepath.WalkDir", "io/fs.WalkDir"}},
		"check whether an error wraps a particular error": {3, []string{"errors.Is"}},
		"serve files from a directory over HTTP":          {3, []string{"net/http.FileServer"}},
		"parse command line flags":                        {3, []string{"flag.Parse"}},
	}
	for _, q := range e.Questions() {
		hits := nearest(lib, e, q.Vector, 10)
		if os.Getenv("LOAM_SHOW_NEAREST") != "" {
			t.Logf("%s\n%v", q.Text, hits)
		}
		if w, ok := want[q.Text]; ok {
			if !slices.ContainsFunc(hits[:w.k], func(h hit) bool { return slices.Contains(w.any, h.id) }) {
				t.Errorf("%q: none of %s among\n%v", q.Text, strings.Join(w.any, ", "), hits[:w.k])
			}
			delete(want, q.Text)
		}
	}
	for text := range want {
		t.Errorf("question %q is not in the file", text)
	}
}
