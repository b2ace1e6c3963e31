package collection

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// damaged calls fn with every truncation of b and every copy with one bit changed.
func damaged(b []byte, fn func(what string, b []byte)) {
	for n := range b {
		fn(fmt.Sprintf("the first %d of %d bytes", n, len(b)), b[:n])
	}
	for i := range b {
		for bit := range 8 {
			c := append([]byte(nil), b...)
			c[i] ^= 1 << bit
			fn(fmt.Sprintf("bit %d of byte %d of %d", bit, i, len(b)), c)
		}
	}
}

// refusedByName checks that an error is typed and names the file.
func refusedByName(t *testing.T, what, name string, err error) {
	t.Helper()
	if !fail.Is(err, fail.Corrupt) && !fail.Is(err, fail.Unsupported) || !strings.Contains(err.Error(), name) {
		t.Errorf("%s: %v", what, err)
	}
}

func sampleManifest() *Manifest {
	return &Manifest{
		Object: 7, Incarnation: "01J0000000000000000000000A", Version: 3, SchemaVersion: 2, CommitID: "01J0000000000000000000000B", CreatedMS: 1_800_000_000_000,
		Ancestors: []Ancestor{{2, ManifestRef{Key: "objects/7/manifests/x.lman", Checksum: 1<<63 + 1, Size: 99}, 1_799_999_999_999, []uint64{4, 1<<64 - 1}}},
		Applied:   []uint64{5, 1<<64 - 1}, LanceVersion: 1<<63 | 4096, NextFragment: 9,
		Consumed: [][]metastore.Ref{{{Base: 1, Records: 4, WALKey: "wal/20260102/x.lwal", Off: 32, Len: 100, Checksum: 1<<64 - 1, TS: -1, Bytes: 100}}, nil},
		Sources:  []SourceUpto{{Link: 12, Batch: "01J0000000000000000000000C", Offsets: []uint64{4, 1<<64 - 1}}},
		Segments: []Segment{
			{Rows: 17, Deleted: 9, SplitKey: "objects/7/splits/x.lsplit", SplitSize: 1000, Bytes: 3000, Fragments: []Fragment{
				{ID: 0, Rows: 10, Deleted: 2, Deletion: &Deletion{Key: "d", ReadVersion: 1, ID: 1<<64 - 1}, Files: []DataFile{
					{Name: "x.lance", Size: 2000, Checksum: 1<<64 - 1, IDs: []int32{0, 1, -2}, Columns: []int32{0, 1, 2}},
					{Name: "z.lance", Size: 1000, IDs: []int32{2}, Columns: []int32{0}}}},
				{ID: 3, Rows: 7, Deleted: 7, Files: []DataFile{{Name: "y.lance", Size: 2000, IDs: []int32{0, 1, 2}, Columns: []int32{0, 1, 2}}}}}},
			{Fragments: []Fragment{{ID: 8, Rows: 1}}, Rows: 1, SplitKey: "objects/7/splits/y.lsplit", SplitSize: 1000, Bytes: 1000},
		},
	}
}

func TestManifestsRoundTrip(t *testing.T) {
	want := sampleManifest()
	b, err := encodeManifest(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeManifest("m", b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
	if got.Segments[0].Live() != 8 || got.Segments[1].Live() != 1 {
		t.Error("live rows")
	}
}

func TestEveryDamageOfAManifestIsRefused(t *testing.T) {
	const name = "objects/7/manifests/01J.lman"
	b, err := encodeManifest(&Manifest{Object: 7, Version: 1, Applied: []uint64{3}, Segments: []Segment{{Fragments: []Fragment{{Rows: 5}}, Rows: 5, SplitKey: "s"}}})
	if err != nil {
		t.Fatal(err)
	}
	damaged(b, func(what string, b []byte) {
		_, err := decodeManifest(name, b)
		refusedByName(t, what, name, err)
	})
	_, err = decodeManifest(name, append(append([]byte(nil), b...), ' '))
	refusedByName(t, "a byte more", name, err)
}

// TestSegmentsThatDoNotAddUp: everything that counts rows relies on the sums.
func TestSegmentsThatDoNotAddUp(t *testing.T) {
	good := Segment{Rows: 9, Deleted: 3, Fragments: []Fragment{{ID: 1, Rows: 5, Deleted: 3}, {ID: 4, Rows: 4}}}
	for what, change := range map[string]func(*Segment){
		"no fragments":     func(s *Segment) { *s = Segment{} },
		"rows":             func(s *Segment) { s.Rows++ },
		"deleted":          func(s *Segment) { s.Deleted-- },
		"an empty one":     func(s *Segment) { s.Fragments = append(s.Fragments, Fragment{ID: 5}) },
		"negative rows":    func(s *Segment) { s.Fragments[0].Rows, s.Fragments[1].Rows = 10, -1 },
		"more are deleted": func(s *Segment) { s.Fragments[1].Deleted, s.Deleted = 5, 8 },
	} {
		bad := good
		bad.Fragments = slices.Clone(good.Fragments)
		change(&bad)
		b, err := encodeManifest(&Manifest{Segments: []Segment{good, bad}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = decodeManifest("m", b)
		refusedByName(t, what, "manifest m: segment 1", err)
		if b, err = encodeGroup(7, []Segment{bad}); err != nil {
			t.Fatal(err)
		}
		_, err = decodeGroup("g", 7, b)
		refusedByName(t, what, "manifest group g: segment 0", err)
	}
}

func TestManifestsOfAnotherKind(t *testing.T) {
	const name = "objects/7/manifests/01J.lman"
	b, _ := encodeManifest(sampleManifest())
	binary.LittleEndian.PutUint16(b[4:], 0x102)
	if _, err := decodeManifest(name, b); !fail.Is(err, fail.Unsupported) || !strings.Contains(err.Error(), name+" has version 258") {
		t.Errorf("a later version: %v", err)
	}
	// A checksum that holds over what is no manifest.
	body := []byte(`{"object": "seven"}`)
	b = append(append([]byte(manifestMagic), 0, 0, 0, 0), binary.LittleEndian.AppendUint64(nil, xxh3.Hash(body))...)
	_, err := decodeManifest(name, append(b, body...))
	refusedByName(t, "other JSON", name, err)

	// Whole, but not the one that the metastore committed.
	ctx, store := context.Background(), object.NewMem()
	b, _ = encodeManifest(sampleManifest())
	if _, err := store.Put(ctx, name, b, object.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := readManifest(ctx, store, ManifestRef{Key: name, Checksum: xxh3.Hash(b), Size: int64(len(b))}, nil); err != nil {
		t.Error(err)
	}
	_, err = readManifest(ctx, store, ManifestRef{Key: name, Checksum: 1, Size: int64(len(b))}, nil)
	refusedByName(t, "another manifest", name, err)
}

const bundleName = "objects/7/splits/01J.lsplit"

// putBundle stores bytes under the bundle's name and opens them.
func putBundle(t *testing.T, b []byte, size int64) (*bundle, error) {
	t.Helper()
	ctx, store := context.Background(), object.NewMem()
	if _, err := store.Put(ctx, bundleName, b, object.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	return openBundle(ctx, store, bundleName, size)
}

func TestBundlesRoundTrip(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		table := bundleTable{Object: rapid.Uint64().Draw(rt, "object"), Rows: 5,
			Fields: []bundleField{{ID: 1, Name: rapid.String().Draw(rt, "name"), Type: "TEXT", FullText: "english"}}, Files: []bundleFile{{Name: "x.lance", Blocks: []uint64{1<<64 - 1}}}}
		sections := map[string][]byte{sectionKeys: rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(rt, "keys")}
		if rapid.Bool().Draw(rt, "with text") {
			sections[sectionText] = make([]byte, rapid.SampledFrom([]int{1, 64, blockBytes - 1, blockBytes, blockBytes + 1, 2*blockBytes + 7}).Draw(rt, "text"))
		}
		b, err := encodeBundle(table, []string{sectionColumn, sectionText, sectionKeys}, sections)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := putBundle(t, b, int64(len(b)))
		if err != nil {
			rt.Fatal(err)
		}
		if got.table.Object != table.Object || !reflect.DeepEqual(got.table.Fields, table.Fields) || !reflect.DeepEqual(got.table.Files, table.Files) {
			rt.Fatalf("%+v, want %+v", got.table, table)
		}
		for _, name := range []string{sectionColumn, sectionText, sectionKeys} {
			sec, err := got.section(ctx, name)
			if err != nil || string(sec) != string(sections[name]) {
				rt.Fatalf("section %s: %d bytes, %v", name, len(sec), err)
			}
		}
		for _, s := range got.table.Sections {
			if s.Off%64 != 0 {
				rt.Fatalf("section %s begins at %d", s.Name, s.Off)
			}
		}
	})
}

// TestALongTable: one that does not fit into the first read.
func TestALongTable(t *testing.T) {
	table := bundleTable{Rows: 1}
	for i := range 5000 {
		table.Fields = append(table.Fields, bundleField{ID: int32(i), Name: fmt.Sprint("field", i), Type: "TEXT"})
	}
	b, err := encodeBundle(table, []string{sectionKeys}, map[string][]byte{sectionKeys: encodeKeys([]string{"a"})})
	if err != nil {
		t.Fatal(err)
	}
	got, err := putBundle(t, b, int64(len(b)))
	if err != nil || len(b) < 2*firstRead || len(got.table.Fields) != 5000 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
}

func TestEveryDamageOfABundleIsRefused(t *testing.T) {
	ctx := context.Background()
	keys := encodeKeys([]string{"a", "b", "c"})
	b, err := encodeBundle(bundleTable{Object: 7, Rows: 3}, []string{sectionKeys}, map[string][]byte{sectionKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	end := len(keys) + -len(keys)&63
	damaged(b, func(what string, damage []byte) {
		got, err := putBundle(t, damage, int64(len(damage)))
		if err == nil {
			var sec []byte
			if sec, err = got.section(ctx, sectionKeys); err == nil && string(sec) == string(keys) && len(damage) == len(b) && string(damage[end:]) == string(b[end:]) {
				return // one of the zeros between the section and the table
			}
		}
		refusedByName(t, what, bundleName, err)
	})
	// The store has less than the manifest says.
	if _, err := putBundle(t, b[:len(b)-1], int64(len(b))); err == nil {
		t.Error("a file that is shorter than its size opened")
	}
	if _, err := putBundle(t, b, 1<<40); err == nil {
		t.Error("a size beyond the file opened")
	}
	binary.LittleEndian.PutUint16(b[len(b)-8:], 3)
	if _, err := putBundle(t, b, int64(len(b))); !fail.Is(err, fail.Unsupported) || !strings.Contains(err.Error(), bundleName+" has version 3") {
		t.Errorf("a later version: %v", err)
	}
}

func TestKeysFindTheirRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.String(), 0, 50, rapid.ID[string]).Draw(rt, "keys")
		idx, err := openKeys(encodeKeys(keys))
		if err != nil {
			rt.Fatal(err)
		}
		for i, key := range keys {
			if rows := candidates(t, idx, key); !reflect.DeepEqual(rows, []int32{int32(i)}) {
				rt.Fatalf("%q is in rows %v, want %d", key, rows, i)
			}
		}
		other := rapid.String().Draw(rt, "another")
		for i, row := range candidates(t, idx, other) {
			if keys[row] != other {
				rt.Fatalf("candidate %d of %q is %q", i, other, keys[row])
			}
		}
	})
}

func candidates(t *testing.T, idx *keyIndex, key string) []int32 {
	t.Helper()
	var rows []int32
	if err := idx.candidates(key, func(row int32) (bool, error) {
		rows = append(rows, row)
		return false, nil
	}); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestKeysLayout draws the section for three keys.
func TestKeysLayout(t *testing.T) {
	b := encodeKeys([]string{"a", "b", "c"})
	want := fmt.Sprintf("%x", []byte{3, 0, 0, 0, 0, 0, 0, 0})
	type pair struct {
		hash uint64
		row  uint32
	}
	// xxh3-64 of one letter, seed 0, in ascending order.
	var pairs []pair
	for i, k := range []string{"a", "b", "c"} {
		pairs = append(pairs, pair{xxh3.HashString(k), uint32(i)})
	}
	for range pairs {
		for i := 1; i < len(pairs); i++ {
			if pairs[i].hash < pairs[i-1].hash {
				pairs[i], pairs[i-1] = pairs[i-1], pairs[i]
			}
		}
	}
	for _, p := range pairs {
		want += fmt.Sprintf("%x", binary.LittleEndian.AppendUint64(nil, p.hash))
	}
	for _, p := range pairs {
		want += fmt.Sprintf("%x", binary.LittleEndian.AppendUint32(nil, p.row))
	}
	if got := fmt.Sprintf("%x", b); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if xxh3.HashString("a") != 0xe6c632b61e964e1f {
		t.Errorf("xxh3-64 of \"a\" is %#x", xxh3.HashString("a"))
	}
}

func TestDamagedKeys(t *testing.T) {
	damaged(encodeKeys([]string{"a", "b", "c"}), func(what string, b []byte) {
		idx, err := openKeys(b)
		if err != nil {
			if !fail.Is(err, fail.Corrupt) {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		for _, k := range []string{"a", "b", "c", "d"} {
			candidates(t, idx, k) // whatever it finds; rows are checked by the split
		}
	})
}

// encodeBundle writes the sections that are there, each in two pieces.
func encodeBundle(t bundleTable, names []string, sections map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	w := &bundleWriter{w: &out}
	for _, name := range names {
		sec := sections[name]
		if sec == nil {
			continue
		}
		if err := w.begin(name); err != nil {
			return nil, err
		}
		for _, piece := range [][]byte{sec[:len(sec)/3], sec[len(sec)/3:]} {
			if _, err := w.Write(piece); err != nil {
				return nil, err
			}
		}
	}
	size, err := w.finish(t)
	if err == nil && size != int64(out.Len()) {
		err = fmt.Errorf("finish says %d bytes of %d", size, out.Len())
	}
	return out.Bytes(), err
}

func encodeKeys(keys []string) []byte {
	var k keyHashes
	for _, key := range keys {
		k.add(key, len(k))
	}
	var out bytes.Buffer
	_ = k.writeTo(&out)
	return out.Bytes()
}
