package collection

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/source"
)

func docsPayload() *schema.Object {
	return &schema.Object{ID: 7, Name: "docs", Kind: schema.Collection, Partitions: 1, SchemaVersion: 1, Key: []int{0}, Fields: []schema.Field{
		{ID: 1, Name: "id", Type: types.Of(types.Text)}, {ID: 2, Name: "n", Type: types.Of(types.Int64)},
		{ID: 3, Name: "v", Type: types.VectorOf(2), Metric: schema.Cosine}, {ID: 4, Name: "s", Type: types.Of(types.Sparse)},
	}}
}

func tablePayload() *schema.Object {
	return &schema.Object{ID: 8, Name: "events", Kind: schema.Table, Partitions: 1, SchemaVersion: 1, Fields: []schema.Field{
		{ID: 1, Name: "t", Type: types.Of(types.Text)}, {ID: 300, Name: "n", Type: types.Of(types.Int32)},
	}}
}

func sampleRows(t *testing.T, obj *schema.Object) *Rows {
	t.Helper()
	r, err := FromDocuments(obj, [][]byte{
		[]byte(`{"id":"a","n":1,"v":[1,-2],"s":{"indices":[7],"values":[0.5]}}`),
		[]byte(`{"id":"b"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Keys = append(r.Keys, "a")
	r.Sources = append(r.Sources, nil)
	r.Delete = append(r.Delete, true)
	for _, c := range r.Cols {
		if c != nil {
			c.AppendNull()
		}
	}
	return r
}

// TestDocumentsLayout draws a payload of documents (docs/formats/log-payload.md).
func TestDocumentsLayout(t *testing.T) {
	obj := docsPayload()
	want := strings.Join([]string{
		"44",          // 'D'
		"02", "03 04", // two vector fields: ids 3 and 4
		"03",                                            // three records
		"00", "01 61", "10" + hexOf(`{"id":"a","n":1}`), // upsert of a
		"01 0000803f 000000c0",                                // dense: 1, -2
		"02 01 07000000 0000003f",                             // sparse: one entry, 7 → 0.5
		"00", "01 62", "0a" + hexOf(`{"id":"b"}`), "00", "00", // upsert of b, both vectors NULL
		"01", "01 61", // delete of a
	}, "")
	got := encodeDocuments(obj, sampleRows(t, obj), []int{0, 1, 2})
	if fmt.Sprintf("%x", got) != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got  %x\nwant %s", got, strings.ReplaceAll(want, " ", ""))
	}
}

// TestPatchLayout draws a record that changes one of two vectors alone.
func TestPatchLayout(t *testing.T) {
	obj := docsPayload()
	r := sampleRows(t, obj)
	r.sets = []vectorSet{0b10, 0b11, 0}
	want := strings.Join([]string{
		"44", "02", "03 04", "03",
		"02", "01 61", "10" + hexOf(`{"id":"a","n":1}`), // patch of a
		"01 0000803f 000000c0",                                // the dense vector stays
		"82 01 07000000 0000003f",                             // the sparse one is new
		"02", "01 62", "0a" + hexOf(`{"id":"b"}`), "80", "80", // patch of b: both are NULL now
		"01", "01 61",
	}, "")
	b := encodeDocuments(obj, r, []int{0, 1, 2})
	if got := fmt.Sprintf("%x", b); got != strings.ReplaceAll(want, " ", "") {
		t.Errorf("got  %s\nwant %s", got, strings.ReplaceAll(want, " ", ""))
	}
	rec, err := decodePayload(obj, 0, 0, b)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := decodePayload(obj, 0, 0, encodeDocuments(obj, sampleRows(t, obj), []int{0, 1, 2}))
	if err != nil || show(rec) != show(plain) {
		t.Errorf("%v: got\n%swant\n%s", err, show(rec), show(plain))
	}
	if got := fmt.Sprint(rec.sets); got != "[2 3 0]" || fmt.Sprint(plain.sets) != "[0 0 0]" {
		t.Errorf("sets %s and %v", got, plain.sets)
	}
	// Read under a description without the sparse field: what is left says what is patched.
	earlier := *obj
	earlier.Fields = obj.Fields[:3]
	if rec, err = decodePayload(&earlier, 0, 0, encodeDocuments(obj, r, []int{1})); err != nil || fmt.Sprint(rec.sets) != "[1]" {
		t.Errorf("%v, %v", rec, err)
	}
	for _, bad := range []string{
		"44 00 01 03 01 61 00",                     // a record of another kind
		"44 01 03 01 00 01 61 02 7b7d 80",          // a mark in an upsert
		"44 01 03 01 02 01 61 02 7b7d 83",          // a tag that is not known
		"44 01 03 01 02 01 61 02 7b7d 81 00000000", // cut short
	} {
		b, err := hex.DecodeString(strings.ReplaceAll(bad, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodePayload(obj, 0, 0, b); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestWhatAPatchChanges: only where nothing but vectors is given is it a patch of them.
func TestWhatAPatchChanges(t *testing.T) {
	obj := docsPayload()
	given := vec.New(types.Of(types.Text), 0)
	for want, cols := range map[vectorSet][]*vec.Vector{
		0b01: {nil, nil, given, nil}, 0b10: {nil, nil, nil, given}, 0b11: {nil, nil, given, given},
	} {
		if got := setOf(obj, cols); got != want {
			t.Errorf("%b, want %b", got, want)
		}
	}
	many := &schema.Object{}
	for i := range maxInSet + 1 {
		many.Fields = append(many.Fields, schema.Field{ID: int32(i + 1), Type: types.VectorOf(1)})
	}
	cols := make([]*vec.Vector, maxInSet+1)
	cols[maxInSet-1] = given
	if got := setOf(many, cols); got != 1<<(maxInSet-1) || !got.has(maxInSet-1) || got.has(0) {
		t.Errorf("%b", got)
	}
	for _, cols := range [][]*vec.Vector{{nil, given, nil, nil}, {nil, given, given, nil}, {nil, nil, nil, nil}} {
		if got := setOf(obj, cols); got != 0 {
			t.Errorf("%b", got)
		}
	}
	if cols[maxInSet] = given; setOf(many, cols) != 0 || vectorSet(1).has(maxInSet) {
		t.Error("a field that no set can name")
	}
}

func hexOf(s string) string { return hex.EncodeToString([]byte(s)) }

// show draws decoded records.
func show(r *records) string {
	var b strings.Builder
	for i, key := range r.keys {
		fmt.Fprintf(&b, "%q deleted %t", key, r.del[i])
		for _, c := range r.cols {
			b.WriteString(" " + c.Value(i).String())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestPayloadsRoundTrip(t *testing.T) {
	obj := docsPayload()
	rec, err := decodePayload(obj, 0, 100, encodeDocuments(obj, sampleRows(t, obj), []int{0, 1, 2}))
	if err != nil {
		t.Fatal(err)
	}
	want := "\"a\" deleted false a 1 [1, -2] {7: 0.5}\n\"b\" deleted false b NULL NULL NULL\n\"a\" deleted true NULL NULL NULL NULL\n"
	if got := show(rec); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}

	table := tablePayload()
	text := vec.New(types.Of(types.Text), 2)
	text.Append(vec.Text("x"))
	text.AppendNull()
	b, err := encodeTable(table, &Rows{Cols: []*vec.Vector{text, nil}, Gone: []Identity{{Partition: 3, Offset: math.MaxUint64}}})
	if err != nil {
		t.Fatal(err)
	}
	if rec, err = decodePayload(table, 1, 100, b); err != nil {
		t.Fatal(err)
	}
	// Deletes come first; an inserted row's key is its place in the log.
	key := func(p int32, offset uint64) string { return Identity{Partition: p, Offset: offset}.key() }
	want = fmt.Sprintf("%q deleted true NULL NULL\n%q deleted false x NULL\n%q deleted false NULL NULL\n", key(3, math.MaxUint64), key(1, 101), key(1, 102))
	if got := show(rec); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if key(1, 2) != "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02" {
		t.Errorf("an identity is %q", key(1, 2))
	}
}

// TestPayloadsOfAnEarlierSchema: fields that came later are read from _source or
// are NULL, and a NULL vector of a field that is gone is passed over.
func TestPayloadsOfAnEarlierSchema(t *testing.T) {
	obj := docsPayload()
	b := encodeDocuments(obj, sampleRows(t, obj), []int{0, 1, 2})
	later := *obj
	later.Fields = append(append([]schema.Field(nil), obj.Fields...), schema.Field{ID: 5, Name: "w", Type: types.VectorOf(1)}, schema.Field{ID: 6, Name: "m", Type: types.Of(types.Text)})
	rec, err := decodePayload(&later, 0, 0, b)
	if err != nil || !rec.cols[4].IsNull(0) || !rec.cols[5].IsNull(0) || rec.cols[4].N != 3 {
		t.Fatalf("%v, %v", rec, err)
	}
	earlier := *obj
	earlier.Fields = obj.Fields[:3]
	if _, err := decodePayload(&earlier, 0, 0, encodeDocuments(obj, sampleRows(t, obj), []int{1, 2})); err != nil {
		t.Errorf("a NULL of a field that is gone: %v", err)
	}
	if _, err := decodePayload(&earlier, 0, 0, b); !fail.Is(err, fail.Corrupt) {
		t.Errorf("a vector of an unknown field: %v", err)
	}
}

// TestDamagedPayloads: never a panic, and a cut payload never reads as a whole one.
func TestDamagedPayloads(t *testing.T) {
	obj, table := docsPayload(), tablePayload()
	text := vec.New(types.Of(types.Text), 1)
	text.Append(vec.Text("x"))
	inTable, err := encodeTable(table, &Rows{Cols: []*vec.Vector{text, nil}, Gone: []Identity{{Partition: 1, Offset: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		obj     *schema.Object
		payload []byte
	}{{obj, encodeDocuments(obj, sampleRows(t, obj), []int{0, 1, 2})}, {table, inTable}} {
		damaged(c.payload, func(what string, b []byte) {
			_, err := decodePayload(c.obj, 0, 0, b)
			if err != nil && !fail.Is(err, fail.Corrupt) && !fail.Is(err, fail.Unsupported) {
				t.Errorf("%s, %s: %v", c.obj.Name, what, err)
			}
			if err == nil && len(b) < len(c.payload) {
				t.Errorf("%s: %s read as whole", c.obj.Name, what)
			}
		})
	}
	for _, b := range [][]byte{nil, {'X'}, {'D'}, {'T'}, append([]byte{'D', 0}, bytes.Repeat([]byte{0xff}, 12)...), append([]byte{'T'}, bytes.Repeat([]byte{0xff}, 12)...)} {
		if _, err := decodePayload(obj, 0, 0, b); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%x: %v", b, err)
		}
	}
}

func FuzzDecodePayload(f *testing.F) {
	f.Add([]byte("D\x02\x03\x04\x01\x00\x01a\x0a{\"id\":\"a\"}\x00\x00"))
	f.Add([]byte("D\x02\x03\x04\x01\x02\x01a\x0a{\"id\":\"a\"}\x80\x82\x01\x07\x00\x00\x00\x00\x00\x00\x3f"))
	f.Add([]byte("D\x00\x01\x01\x01a"))
	f.Add([]byte("T\x01\x00\x05"))
	obj, table := docsPayload(), tablePayload()
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, o := range []*schema.Object{obj, table} {
			rec, err := decodePayload(o, 0, 0, b)
			if err != nil {
				continue
			}
			if rec.sets != nil && len(rec.sets) != len(rec.keys) {
				t.Fatalf("%d sets of %d records", len(rec.sets), len(rec.keys))
			}
			for i, c := range rec.cols {
				if c.N != len(rec.keys) {
					t.Fatalf("field %d has %d rows of %d", i, c.N, len(rec.keys))
				}
			}
		}
	})
}

// TestVectorsStayOutside: _source in the log never repeats what lies beside it.
func TestVectorsStayOutside(t *testing.T) {
	obj := docsPayload()
	r := sampleRows(t, obj)
	for i, src := range r.Sources {
		if strings.Contains(string(src), `"v"`) || strings.Contains(string(src), `"s"`) {
			t.Errorf("row %d: %s", i, src)
		}
	}
	if !source.Outside(obj.Fields[2].Type) || source.Outside(obj.Fields[1].Type) {
		t.Error("vectors lie outside, numbers inside")
	}
}
