package collection

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// handoverObject has a field of every type that is handed over, and vectors.
func handoverObject(kind schema.Kind) *schema.Object {
	obj := &schema.Object{ID: 7, Namespace: "public", Name: "o", Kind: kind, Partitions: 3, SchemaVersion: 4}
	if kind == schema.Table {
		obj.Partitions = 1
	} else {
		obj.Key = []int{0}
	}
	kinds := []types.Type{types.Of(types.Text), types.Of(types.Boolean), types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double),
		types.Of(types.Text), types.Of(types.Date), types.Of(types.Timestamp), types.VectorOf(3), types.Of(types.Sparse), types.Of(types.Text)}
	for i, t := range kinds {
		obj.Fields = append(obj.Fields, schema.Field{ID: int32(10 + i), Name: fmt.Sprintf("f\"%d\"ä", i), Type: t, Metric: schema.L2})
	}
	return obj
}

var edges = []float64{0, math.Copysign(0, -1), 1e21, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, -3}

// handoverValue makes a value that documents can hold, with the edges of its type.
func handoverValue(r *rand.Rand, t types.Type) vec.Value {
	v := vec.Value{Type: t}
	switch t.Kind {
	case types.Boolean:
		v.Bool = r.Intn(2) == 0
	case types.Int32:
		v.Int = int64(int32(r.Uint32()))
	case types.Int64:
		v.Int = int64(r.Uint64())
	case types.Double:
		v.Float = edges[r.Intn(len(edges))]
		if r.Intn(2) == 0 {
			v.Float = r.NormFloat64()
		}
	case types.Date:
		v.Int = r.Int63n(3_600_000) - 719_528 + 366 // years 1 to 9857
	case types.Timestamp:
		v.Int = (r.Int63n(3_600_000)-719_000)*86_400_000_000 + r.Int63n(86_400_000_000)
	case types.Vector:
		v.Vec = []float32{r.Float32(), -r.Float32(), 1}
	case types.Sparse:
		v.Sparse = vec.SparseRow{Indices: []uint32{3, 9}, Values: []float32{r.Float32(), 2}}
	default:
		v.Str = []string{"", "plain", "quo\"te\\", "\x00\x01\n\t\b", "ünïcödé \u2028 😀", "a text that does not fit into a view: \"\\\""}[r.Intn(6)]
	}
	return v
}

// handoverRows are random columns of the object; one is absent.
func handoverRows(t *testing.T, r *rand.Rand, obj *schema.Object, n int) *Rows {
	t.Helper()
	cols := make([]*vec.Vector, len(obj.Fields))
	for i, f := range obj.Fields[:len(obj.Fields)-1] {
		cols[i] = vec.New(f.Type, n)
		for row := range n {
			switch {
			case i == 0:
				cols[i].Append(vec.Text(fmt.Sprint("key\n", row)))
			case r.Intn(5) == 0:
				cols[i].AppendNull()
			default:
				cols[i].Append(handoverValue(r, f.Type))
			}
		}
	}
	rows, err := FromColumns(obj, cols, n)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestHandover compares what is handed to the tail with what the log says, value
// by value: an acknowledged row must read the same before and after a restart.
func TestHandover(t *testing.T) {
	for _, kind := range []schema.Kind{schema.Collection, schema.Table} {
		for seed := range int64(30) {
			r := rand.New(rand.NewSource(seed))
			obj := handoverObject(kind)
			rows := handoverRows(t, r, obj, 1+r.Intn(400))
			if kind == schema.Table && seed%2 == 0 {
				rows.Gone = []Identity{{Partition: 0, Offset: 3}, {Partition: 2, Offset: 1 << 40}}
			}
			c := &Collection{}
			blocks, err := c.blocks(obj, rows)
			if err != nil {
				t.Fatal(err)
			}
			for i := range blocks {
				b := &blocks[i]
				got, err := b.records(obj, 1000)
				if err != nil {
					t.Fatal(err)
				}
				want, err := decodePayload(obj, b.log.Partition, 1000, b.log.Payload)
				if err != nil {
					t.Fatal(err)
				}
				sameRecords(t, obj, got, want)
			}
		}
	}
}

func sameRecords(t *testing.T, obj *schema.Object, got, want *records) {
	t.Helper()
	if fmt.Sprintf("%q %v", got.keys, got.del) != fmt.Sprintf("%q %v", want.keys, want.del) {
		t.Fatalf("keys %q %v, want %q %v", got.keys, got.del, want.keys, want.del)
	}
	if got.obj != obj || want.obj != obj {
		t.Fatalf("records of %v, want of %v", got.obj, obj)
	}
	if (got.source == nil) != (want.source == nil) {
		t.Fatalf("source %v, want %v", got.source, want.source)
	}
	cols, wants := append([]*vec.Vector{got.source}, got.cols...), append([]*vec.Vector{want.source}, want.cols...)
	for i, c := range cols {
		w := wants[i]
		if c == nil && w == nil {
			continue
		}
		if c.N != w.N || c.Encoding != vec.Flat || !c.Type.Equal(w.Type) {
			t.Fatalf("column %d: %d rows of %s in encoding %d, want %d of %s", i-1, c.N, c.Type, c.Encoding, w.N, w.Type)
		}
		for row := range w.N {
			g, x := c.Value(row), w.Value(row)
			if g.Null != x.Null || fmt.Sprintf("%#v", g) != fmt.Sprintf("%#v", x) {
				t.Fatalf("column %d (%s) row %d: %#v, want %#v", i-1, c.Type, row, g, x)
			}
		}
	}
}

// Rows whose fields may read back otherwise, or that were made for another
// schema, are read from the log's bytes.
func TestNoHandover(t *testing.T) {
	obj := handoverObject(schema.Collection)
	rows := handoverRows(t, rand.New(rand.NewSource(1)), obj, 3)
	if rows.typed == nil {
		t.Fatal("the rows have no typed columns")
	}
	for _, ty := range []types.Type{types.Of(types.JSON), types.DecimalOf(10, 2), types.Of(types.Binary), types.ListOf(types.Of(types.Text))} {
		other := handoverObject(schema.Collection)
		other.Fields[10].Type = ty
		if rows := handoverRows(t, rand.New(rand.NewSource(1)), other, 3); rows.typed != nil {
			t.Errorf("a collection with a %s field is handed over", ty)
		}
	}
	later := *obj
	later.SchemaVersion++
	later.Fields = append(later.Fields[:len(later.Fields):len(later.Fields)], schema.Field{ID: 99, Name: "new", Type: types.Of(types.Int32)})
	blocks, err := (&Collection{}).blocks(&later, &Rows{Keys: rows.Keys, Sources: rows.Sources, Delete: rows.Delete,
		Cols: append(rows.Cols, nil), typed: rows.typed, version: rows.version})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := blocks[0].records(&later, 0)
	if err != nil || len(rec.cols) != len(later.Fields) {
		t.Fatalf("%d columns, want %d (%v)", len(rec.cols), len(later.Fields), err)
	}
}

// What is appended from columns reads the same from the tail, after a restart
// from the log, and applied.
func TestHandoverEndToEnd(t *testing.T) {
	for _, kind := range []schema.Kind{schema.Collection, schema.Table} {
		b := newBench(t, handoverObject(kind), Options{})
		for seed := range int64(4) {
			_, err := b.c.Append(context.Background(), handoverRows(t, rand.New(rand.NewSource(seed)), b.obj, 50))
			b.must(err)
		}
		want := rowsOf(t, b.strong(), nil)
		if n := 50; len(want) < n {
			t.Fatalf("%s: %d rows, want at least %d", kind, len(want), n)
		}
		b.open()
		if got := rowsOf(t, b.strong(), nil); !slices.Equal(got, want) {
			t.Fatalf("%s: other rows after a restart", kind)
		}
		b.must(b.c.Apply(context.Background(), nil))
		if got := rowsOf(t, b.strong(), nil); !slices.Equal(got, want) {
			t.Fatalf("%s: other rows after an apply", kind)
		}
	}
}
