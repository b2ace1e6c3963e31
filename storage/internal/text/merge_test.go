package text

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
)

// randomValues are two fields of words that follow a steep law, so that some
// terms have blocks and most have one document; now and then a list, or nothing.
func randomValues(r *rand.Rand) [][]string {
	text := func() string {
		var words []string
		for range r.Intn(12) {
			words = append(words, fmt.Sprint("w", int(r.ExpFloat64()*r.ExpFloat64()*20)))
		}
		return strings.Join(words, " ")
	}
	switch r.Intn(6) {
	case 0:
		return nil
	case 1:
		return [][]string{{text(), text()}, nil}
	}
	return [][]string{{text()}, {text()}}
}

func mergeFields() []FieldConfig {
	return []FieldConfig{NewField("a", "simple"), NewField("b", "english")}
}

// TestMergeIsABuild: a merge of segments and tails, with deletions, gives the
// bytes that a builder makes of the documents that are left.
func TestMergeIsABuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		want, err := NewBuilder(mergeFields())
		if err != nil {
			t.Fatal(err)
		}
		var parts []MergePart
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			docs := rapid.SampledFrom([]int{0, 1, 7, 200, 700}).Draw(t, "docs")
			gone := rapid.SampledFrom([]float64{0, 0.1, 0.9, 1}).Draw(t, "deleted")
			parts = append(parts, randomPart(t, r, docs, gone, rapid.Bool().Draw(t, "tail"), want))
		}
		expect, err := want.Finish()
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := Merge(context.Background(), &got, mergeFields(), parts); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), expect) {
			t.Fatalf("%d bytes, the builder makes %d", got.Len(), len(expect))
		}
		if _, err := Open(got.Bytes()); err != nil {
			t.Fatal(err)
		}
	})
}

// randomPart makes a part and gives want the documents that are left.
func randomPart(t *rapid.T, r *rand.Rand, docs int, gone float64, tail bool, want *Builder) MergePart {
	own, err := NewBuilder(mergeFields())
	if err != nil {
		t.Fatal(err)
	}
	deleted := roaring.New()
	for d := range docs {
		values := randomValues(r)
		if err := own.Add(values); err != nil {
			t.Fatal(err)
		}
		if r.Float64() < gone {
			deleted.Add(uint32(d))
		} else if err := want.Add(values); err != nil {
			t.Fatal(err)
		}
	}
	if tail {
		view := own.m.At(uint32(docs))
		_ = own.Add(randomValues(r)) // what comes later is not in the view
		return MergePart{Part: view, Deleted: deleted}
	}
	data, err := own.Finish()
	if err != nil {
		t.Fatal(err)
	}
	seg, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	return MergePart{Part: seg, Deleted: deleted}
}

type failingWriter struct{ left int }

var errFull = errors.New("full")

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestMergeErrors: the writer's error and the context's end the merge.
func TestMergeErrors(t *testing.T) {
	b, err := NewBuilder(mergeFields())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewSource(1))
	for range 3000 {
		if err := b.Add(randomValues(r)); err != nil {
			t.Fatal(err)
		}
	}
	data, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	seg, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	parts := []MergePart{{Part: seg}, {Part: seg}}
	for _, left := range []int{0, len(data) / 2, len(data)} {
		if err := Merge(context.Background(), &failingWriter{left: left}, mergeFields(), parts); !errors.Is(err, errFull) {
			t.Errorf("a writer that fails after %d bytes: %v", left, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Merge(ctx, &failingWriter{left: 1 << 30}, mergeFields(), parts); !fail.Is(err, fail.Canceled) {
		t.Errorf("a canceled merge: %v", err)
	}
	if err := Merge(context.Background(), &failingWriter{left: 1 << 30}, mergeFields()[:1], parts); !fail.Is(err, fail.Internal) {
		t.Errorf("a merge into other fields: %v", err)
	}
}
