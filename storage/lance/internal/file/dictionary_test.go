package file

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// repeating builds rows of the type from words of a vocabulary.
func repeating(r *rand.Rand, b array.Builder, vocabulary int, nulls float64) {
	switch b := b.(type) {
	case *array.ListBuilder:
		if r.Float64() < nulls {
			b.AppendNull()
			return
		}
		b.Append(true)
		for range r.IntN(4) {
			repeating(r, b.ValueBuilder(), vocabulary, nulls)
		}
	case *array.StructBuilder:
		if r.Float64() < nulls {
			b.AppendNull()
			return
		}
		b.Append(true)
		for i := range b.NumField() {
			repeating(r, b.FieldBuilder(i), vocabulary, nulls)
		}
	default:
		if r.Float64() < nulls {
			b.AppendNull()
			return
		}
		n := r.IntN(vocabulary)
		word := fmt.Sprintf("word %d of some length %0*d", n, n%17, n)
		switch b := b.(type) {
		case *array.StringBuilder:
			b.Append(word)
		case *array.LargeStringBuilder:
			b.Append(word)
		case *array.BinaryBuilder:
			b.Append([]byte(word))
		}
	}
}

// TestRepeatedValues writes columns of few and of many different values, everywhere a
// text may be: few are stored once, and all are read again.
func TestRepeatedValues(t *testing.T) {
	ctx := context.Background()
	const rows = 5000
	text := arrow.BinaryTypes.String
	for name, typ := range map[string]arrow.DataType{
		"text": text, "large text": arrow.BinaryTypes.LargeString, "bytes": arrow.BinaryTypes.Binary, "large bytes": arrow.BinaryTypes.LargeBinary,
		"list": arrow.ListOf(text), "struct": arrow.StructOf(arrow.Field{Name: "a", Type: text, Nullable: true}),
		"list in a struct": arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(text), Nullable: true}),
		"lists":            arrow.ListOf(arrow.ListOf(arrow.StructOf(arrow.Field{Name: "a", Type: arrow.BinaryTypes.LargeBinary, Nullable: true}))),
	} {
		for _, vocabulary := range []int{1, 2, 300, 1 << 30} {
			for _, nulls := range []float64{0, 0.3} {
				b := array.NewBuilder(memory.DefaultAllocator, typ)
				r := rand.New(rand.NewPCG(uint64(vocabulary), uint64(10*nulls)))
				for range rows {
					repeating(r, b, vocabulary, nulls)
				}
				schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: typ, Nullable: true}}, nil)
				rec := array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, rows)
				file := writeFile(t, schema, WriterOptions{PageRows: 3000}, rec)
				f := openBytes(t, file)
				for _, p := range f.cols[0].pages {
					if mini := p.layout.MiniBlock; (mini != nil && mini.Dictionary != nil) != (vocabulary <= 300) {
						t.Errorf("%s of %d words: dictionary %v", name, vocabulary, mini != nil)
					}
				}
				got, err := f.Read(ctx, nil, 0, rows)
				if err != nil {
					t.Fatal(name, err)
				}
				sameRows(t, rec, 0, rows, got)
				if got, err = f.Read(ctx, nil, 2900, 200); err != nil {
					t.Fatal(name, err)
				}
				sameRows(t, rec, 2900, 200, got)
				if got, err = f.Take(ctx, nil, []uint32{4999, 0, 3000, 17}); err != nil {
					t.Fatal(name, err)
				}
				for k, row := range []int64{4999, 0, 3000, 17} {
					want, have := array.NewSlice(rec.Column(0), row, row+1), array.NewSlice(got.Column(0), int64(k), int64(k)+1)
					if asJSON(t, want) != asJSON(t, have) {
						t.Errorf("%s, row %d: %s, want %s", name, row, have, want)
					}
				}
			}
		}
	}
}

// TestWhatADictionarySaves: languages take no more than an index of two bits each.
func TestWhatADictionarySaves(t *testing.T) {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range 100_000 {
		b.Append([]string{"en", "de", "fr"}[i%3])
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "lang", Type: arrow.BinaryTypes.String}}, nil)
	if n := len(writeFile(t, schema, WriterOptions{}, array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 100_000))); n > 28_000 {
		t.Errorf("100,000 languages take %d bytes", n)
	}
}
