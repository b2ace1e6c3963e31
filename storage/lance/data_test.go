package lance_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func sparseType() arrow.DataType {
	return arrow.StructOf(
		arrow.Field{Name: "indices", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint32), Nullable: true},
		arrow.Field{Name: "values", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32), Nullable: true})
}

// loamBatch is a batch of every column type that a collection has.
func loamBatch(seed uint64, rows, dim int, nulls float64, maxLen int) arrow.RecordBatch {
	vec := arrow.FixedSizeListOf(int32(dim), arrow.PrimitiveTypes.Float32)
	return fillBatch(arrow.NewSchema([]arrow.Field{
		{Name: "_pk", Type: arrow.BinaryTypes.String},
		{Name: "_source", Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
		{Name: "_ingest_partition", Type: arrow.PrimitiveTypes.Int32},
		{Name: "_ingest_offset", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "raw", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "emb", Type: vec},
		{Name: "img", Type: vec, Nullable: true},
		{Name: "sp", Type: sparseType(), Nullable: true},
	}, nil), seed, rows, nulls, maxLen)
}

type filler struct {
	r      *rand.Rand
	nulls  float64
	maxLen int
}

func fillBatch(schema *arrow.Schema, seed uint64, rows int, nulls float64, maxLen int) arrow.RecordBatch {
	g := &filler{r: rand.New(rand.NewPCG(seed, 99)), nulls: nulls, maxLen: maxLen}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i, f := range schema.Fields() {
		for row := range rows {
			if f.Nullable && g.r.Float64() < g.nulls {
				b.Field(i).AppendNull()
				continue
			}
			g.fill(b.Field(i), row)
		}
	}
	return b.NewRecordBatch()
}

func (g *filler) bytes() []byte {
	p := make([]byte, g.length())
	for i := range p {
		p[i] = byte(g.r.Uint32())
	}
	return p
}

func (g *filler) length() int {
	if g.r.IntN(5) == 0 {
		return 0
	}
	return g.r.IntN(g.maxLen + 1)
}

func (g *filler) fill(b array.Builder, row int) {
	switch b := b.(type) {
	case *array.StringBuilder:
		b.Append(fmt.Sprintf("doc-%d-%x", row, g.r.Uint64()>>g.r.IntN(64)))
	case *array.BinaryBuilder:
		b.Append(g.bytes())
	case *array.Int32Builder:
		b.Append(int32(g.r.Uint32()))
	case *array.Int64Builder:
		b.Append(int64(row))
	case *array.Uint32Builder:
		b.Append(g.r.Uint32())
	case *array.Float32Builder:
		b.Append(g.r.Float32() - 0.5)
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for range b.Type().(*arrow.FixedSizeListType).Len() {
			g.fill(b.ValueBuilder(), row)
		}
	case *array.StructBuilder:
		b.Append(true)
		n := g.length()
		for i := range b.NumField() {
			g.list(b.FieldBuilder(i).(*array.ListBuilder), n)
		}
	}
}

func (g *filler) list(b *array.ListBuilder, n int) {
	b.Append(true)
	for range n {
		g.fill(b.ValueBuilder(), 0)
	}
}

// longBatch has values up to 1 MiB, and strings around the mini-block bound.
func longBatch(seed uint64, rows int) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "_pk", Type: arrow.BinaryTypes.String},
		{Name: "_source", Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
		{Name: "raw", Type: arrow.BinaryTypes.Binary, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	r := rand.New(rand.NewPCG(seed, 5))
	for i := range rows {
		big := make([]byte, 1<<20)
		for k := range big {
			big[k] = byte(r.Uint32())
		}
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("%0*d", 250+i%10, i))
		b.Field(1).(*array.BinaryBuilder).Append(big[:r.IntN(len(big)+1)])
		if i%4 == 0 {
			b.Field(2).AppendNull()
		} else {
			b.Field(2).(*array.BinaryBuilder).Append(big[:r.IntN(40_000)])
		}
	}
	return b.NewRecordBatch()
}

// sparseRuns has runs of empty and null sparse vectors longer than one chunk
// takes, and lists longer than a chunk: 14,000 rows.
func sparseRuns() arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "sp", Type: sparseType(), Nullable: true}}, nil))
	g := &filler{r: rand.New(rand.NewPCG(77, 5))}
	sb := b.Field(0).(*array.StructBuilder)
	for row := range 14_000 {
		n := 0
		switch {
		case row >= 7000 && row < 12_000:
			sb.AppendNull()
			continue
		case row%5000 == 1:
			n = 9000
		case row < 3 || row%3000 == 7:
			n = row%600 + 1024
		case row > 13_000:
			n = row % 5
		}
		sb.Append(true)
		for i := range 2 {
			g.list(sb.FieldBuilder(i).(*array.ListBuilder), n)
		}
	}
	return b.NewRecordBatch()
}

// mixedBatch is 16 blocks of 500 rows that differ in what they contain: nothing
// missing, nulls, empty lists, null items, and all of these, so that pages of one
// column differ in their layers.
func mixedBatch(seed uint64) arrow.RecordBatch {
	list := arrow.ListOf(arrow.PrimitiveTypes.Uint32)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "b", Type: arrow.BinaryTypes.LargeBinary, Nullable: true},
		{Name: "v", Type: arrow.FixedSizeListOf(4, arrow.PrimitiveTypes.Float32), Nullable: true},
		{Name: "l", Type: list, Nullable: true},
		{Name: "sl", Type: arrow.StructOf(arrow.Field{Name: "a", Type: list, Nullable: true}), Nullable: true},
		{Name: "st", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
			arrow.Field{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true}), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	m := mixer{filler: filler{r: rand.New(rand.NewPCG(seed, 3)), maxLen: 6}}
	for row := range 8000 {
		m.kind = row / 500
		for i := range schema.NumFields() {
			m.add(b.Field(i))
		}
	}
	return b.NewRecordBatch()
}

// mixer fills one block: bit 0 of kind allows nulls outside, bit 1 empty lists,
// bit 2 nulls inside, bit 3 makes them frequent.
type mixer struct {
	filler
	kind int
}

func (m *mixer) hit(bit int) bool {
	rate := 0.1
	if m.kind&8 != 0 {
		rate = 0.9
	}
	return m.kind>>bit&1 == 1 && m.r.Float64() < rate
}

func (m *mixer) add(b array.Builder) {
	if m.hit(0) {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.ListBuilder:
		m.addList(b)
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			switch c := b.FieldBuilder(i).(type) {
			case *array.ListBuilder:
				if m.hit(2) {
					c.AppendNull()
				} else {
					m.addList(c)
				}
			default:
				m.addItem(c)
			}
		}
	default:
		m.fill(b, 0)
	}
}

func (m *mixer) addItem(b array.Builder) {
	if m.hit(2) {
		b.AppendNull()
		return
	}
	m.fill(b, 0)
}

func (m *mixer) addList(b *array.ListBuilder) {
	b.Append(true)
	if m.hit(1) {
		return
	}
	for range 1 + m.r.IntN(5) {
		m.addItem(b.ValueBuilder())
	}
}
