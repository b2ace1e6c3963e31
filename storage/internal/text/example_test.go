package text_test

import (
	"context"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/storage/internal/text"
)

// Two parts, one a segment and one the tail, are searched as one: the
// statistics are gathered first, then each part is searched with the sum.
func Example() {
	ctx := context.Background()
	fields := []text.FieldConfig{text.NewField("body", "english")}

	b, err := text.NewBuilder(fields)
	check(err)
	check(b.Add([][]string{{"The ring buffer is full."}}))
	check(b.Add([][]string{{"A buffer of rings", "and more"}}))
	data, err := b.Finish()
	check(err)
	segment, err := text.Open(data)
	check(err)

	tail, err := text.NewMem(fields)
	check(err)
	_, err = tail.Add([][]string{{"Rings, rings, rings."}})
	check(err)

	q, err := text.ParseQuery("rings", fields, text.QueryOptions{})
	check(err)
	deleted := []*text.Exclusion{text.NewExclusion(roaring.BitmapOf(1)), nil}
	var global text.Stats
	var bounds []*text.Bound
	for i, part := range []text.Part{segment, tail.At(tail.Len())} {
		bound, err := part.Bind(ctx, q, deleted[i])
		check(err)
		global.Add(bound.Stats())
		bounds = append(bounds, bound)
	}
	fmt.Printf("%d live documents, %q in %d\n", global.Fields[0].Docs, q, global.DF[0])
	for i, bound := range bounds {
		hits, err := bound.Search(ctx, global, text.SearchOptions{K: 10})
		check(err)
		for _, h := range hits {
			fmt.Printf("part %d document %d: %.4f\n", i, h.Doc, h.Score)
		}
	}
	// Output:
	// 2 live documents, "body:ring" in 2
	// part 0 document 0: 0.1823
	// part 1 document 0: 0.2865
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
