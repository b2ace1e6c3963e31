package collection

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// asked is a target that notes what it is asked for; it has the keys with an x.
type asked struct{ keys []string }

func (a *asked) lookup(key string) (int32, bool, error) {
	a.keys = append(a.keys, key)
	return int32(len(a.keys)), strings.HasPrefix(key, "x"), nil
}

// TestOnlyDeletesAreLookedUp: the rows that are inserted into a table or a stream are
// new, and no older rows are searched for them; those of a collection may be not.
func TestOnlyDeletesAreLookedUp(t *testing.T) {
	for kind, want := range map[schema.Kind]string{schema.Table: "x1 x3 x5", schema.Stream: "x1 x3 x5", schema.Collection: "k0 x1 k2 x3 k4 x5"} {
		obj := eventsObject(schema.Stream, 1)
		obj.Kind = kind
		g, err := newGeneration(obj, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			rec := &records{obj: obj, keys: []string{fmt.Sprintf("%c%d", "kx"[i%2], i)}, del: []bool{i%2 == 1}, cols: newColumns(obj, 1)}
			for _, c := range rec.cols {
				c.Append(vec.Null(c.Type))
			}
			if kind == schema.Collection {
				rec.source = vec.New(types.Of(types.Binary), 0)
				rec.source.Append(vec.Null(types.Of(types.Binary)))
			}
			if err := g.append(rec, 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		a, out := &asked{}, roaring.New()
		for _, n := range []int{2, 3, 3, 6, 4} {
			if err := g.exclude(a, n, out); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(a.keys, " "); got != want {
			t.Errorf("a %s asks for %s, want %s", kind, got, want)
		}
		var rows []int32
		for _, key := range []string{"x1", "x3", "x5"} {
			rows = append(rows, int32(slices.Index(a.keys, key)+1))
		}
		for _, row := range rows {
			if !out.Contains(uint32(row)) || out.GetCardinality() != 3 {
				t.Errorf("a %s excludes %s, want %v", kind, out, rows)
			}
		}
	}
}

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
