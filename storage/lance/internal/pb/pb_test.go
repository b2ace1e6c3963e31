package pb

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

func ptr[T any](v T) *T { return &v }

func fullManifest() *Manifest {
	return &Manifest{
		Fields: []Field{
			{Type: Leaf, Name: "_pk", ID: 0, ParentID: -1, LogicalType: "string"},
			{Type: Parent, Name: "sp", ID: 1, ParentID: -1, LogicalType: "struct", Nullable: true, Metadata: map[string]string{"b": "2", "a": "1"}},
			{Type: Repeated, Name: "values", ID: 2, ParentID: 1, LogicalType: "list", Nullable: true, Unknown: AppendBool(nil, 12, true)},
		},
		Fragments: []Fragment{
			{ID: 0, PhysicalRows: 10, Files: []DataFile{{Path: "a.lance", Fields: []int32{0, -2}, Columns: []int32{0, -1}, Major: 2, Minor: 1, Size: 99}}},
			{ID: 7, PhysicalRows: 1 << 31, InlineRowIDs: []byte{1, 2},
				Files:        []DataFile{{Path: "b.lance", BaseID: ptr(uint32(0)), Unknown: AppendVarint(nil, 9, 5)}},
				DeletionFile: &DeletionFile{Type: DeletionBitmap, ReadVersion: 1<<63 | 4096, ID: 1<<64 - 1, DeletedRows: 3, BaseID: ptr(uint32(1))},
				Unknown:      AppendBytes(nil, 9, []byte("versions"))},
		},
		Version: 1<<63 | 2048, SchemaMetadata: map[string]string{"k": "v"}, IndexSection: ptr(uint64(0)), TransactionSection: ptr(uint64(44)),
		Timestamp: time.Unix(1_700_000_000, 123).UTC(), Tag: "t", ReaderFlags: 17, WriterFlags: 1, MaxFragmentID: ptr(uint32(0)),
		Transaction: "1-x.txn", Writer: WriterVersion{Library: "loam", Version: "1.2.3", Prerelease: "rc.1", Build: "b"},
		NextRowID: 5, FileFormat: "lance", FileVersion: "2.1", Config: map[string]string{"c": "d"}, TableMetadata: map[string]string{"m": "n"},
		BasePaths: []BasePath{{ID: 0, Name: "n", IsDatasetRoot: true, Path: "s3://x"}}, Branch: "dev", Unknown: AppendString(nil, 99, "later"),
	}
}

func TestManifestRoundTrip(t *testing.T) {
	want := fullManifest()
	b := want.Append(nil)
	got, err := DecodeManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if again := got.Append(nil); !bytes.Equal(again, b) {
		t.Errorf("second encoding differs:\n%x\n%x", again, b)
	}
}

// TestTopLevelParent pins the ten-byte -1 without which Rust readers take a top
// level field for a child of field 0.
func TestTopLevelParent(t *testing.T) {
	f := Field{Type: Leaf, Name: "a", ParentID: -1, LogicalType: "int32"}
	if got, want := hex.EncodeToString(f.Append(nil)), "0802120161"+"20ffffffffffffffffff01"+"2a05696e743332"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestFragmentIDFirst: tools that slice manifests look for the id at the front.
func TestFragmentIDFirst(t *testing.T) {
	f := Fragment{ID: 3, PhysicalRows: 9, Files: []DataFile{{Path: "x"}}}
	if b := f.Append(nil); b[0] != 0x08 || b[1] != 3 {
		t.Errorf("fragment begins with %x", b[:2])
	}
}

func TestLayoutRoundTrip(t *testing.T) {
	for _, want := range []PageLayout{
		{MiniBlock: &MiniBlockLayout{Rep: FlatEncoding(16), Def: FlatEncoding(16), Value: FlatEncoding(32), Layers: []Layer{1, 5, 3},
			Buffers: 1, RepIndexDepth: 1, Items: 77, LargeChunks: true, DictionaryItems: 3, Dictionary: VariableEncoding(32)}},
		{FullZip: &FullZipLayout{BitsDef: 1, BitsPerOffset: 64, Items: 5, VisibleItems: 5, Value: VariableEncoding(64), Layers: []Layer{NullableItem}}},
		{FullZip: &FullZipLayout{BitsRep: 1, BitsPerValue: 256, Items: 5, VisibleItems: 4, Value: VectorEncoding(8, 32), Layers: []Layer{AllValidItem}}},
		{Constant: &ConstantLayout{Layers: []Layer{NullableItem}}},
		{Constant: &ConstantLayout{Layers: []Layer{1, 6}, Inline: []byte{1, 2}, Rep: FlatEncoding(16), RepValues: 4, DefValues: 5}},
	} {
		got, err := DecodePageLayout(want.Append(nil))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v\nwant %+v", got, err, want)
		}
	}
}

func TestColumnMetadataRoundTrip(t *testing.T) {
	want := ColumnMetadata{Pages: []Page{
		{BufferOffsets: []uint64{0, 64, 1 << 40}, BufferSizes: []uint64{3, 0, 9}, Rows: 8, TypeURL: PageLayoutURL, Encoding: []byte{1}},
		{Rows: 1, FirstRow: 8, TypeURL: PageLayoutURL, Encoding: []byte{2}}}}
	got, err := DecodeColumnMetadata(want.Append(nil))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestDescriptorRoundTrip(t *testing.T) {
	want := FileDescriptor{Fields: fullManifest().Fields, Metadata: map[string]string{"x": "y"}, Rows: 12}
	got, err := DecodeFileDescriptor(want.Append(nil))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

// TestUnpackedRepeated: repeated numbers may also come one by one.
func TestUnpackedRepeated(t *testing.T) {
	var b []byte
	for _, v := range []int32{4, -2, 0} {
		b = AppendVarintAlways(b, 2, uint64(int64(v)))
	}
	f, err := decodeDataFile(b)
	if err != nil || !reflect.DeepEqual(f.Fields, []int32{4, -2, 0}) {
		t.Errorf("got %v, %v", f.Fields, err)
	}
}

func TestRefused(t *testing.T) {
	deep := FlatEncoding(8)
	for range 40 {
		deep = &Encoding{Kind: Variable, Inner: deep}
	}
	for name, decode := range map[string]func() error{
		"cut varint":          func() error { _, err := DecodeManifest([]byte{0x18, 0x80}); return err },
		"length past the end": func() error { _, err := DecodeManifest([]byte{0x0a, 0x7f, 1}); return err },
		"field number 0":      func() error { _, err := DecodeManifest([]byte{0x00, 1}); return err },
		"group wire type":     func() error { _, err := DecodeManifest([]byte{0x0b}); return err },
		"string as varint":    func() error { _, err := DecodeField([]byte{0x10, 1}); return err },
		"varint as string":    func() error { _, err := DecodeManifest(AppendString(nil, 3, "x")); return err },
		"33 bits":             func() error { _, err := DecodeManifest(AppendVarint(nil, 11, 1<<32)); return err },
		"bad packed":          func() error { _, err := decodeDataFile(AppendBytes(nil, 2, []byte{0xff})); return err },
		"packed over 32 bits": func() error { _, err := decodeDataFile(AppendPacked(nil, 2, []uint64{1 << 40})); return err },
		"empty layout":        func() error { _, err := DecodePageLayout(nil); return err },
		"unknown layer": func() error {
			_, err := DecodePageLayout(AppendMessage(nil, 2, AppendPacked(nil, 5, []uint64{7})))
			return err
		},
		"empty encoding": func() error { _, err := DecodeEncoding(nil); return err },
		"deep encoding":  func() error { _, err := DecodeEncoding(deep.Append(nil)); return err },
		"offsets without size": func() error {
			_, err := DecodeColumnMetadata(AppendMessage(nil, 2, AppendPacked(nil, 1, []uint64{1})))
			return err
		},
		"indirect encoding": func() error { _, err := decodePage(AppendMessage(nil, 4, AppendMessage(nil, 1, nil))); return err },
	} {
		if err := decode(); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestManifestDamage cuts and flips an encoded manifest.
func TestManifestDamage(t *testing.T) {
	good := fullManifest().Append(nil)
	for n := range good {
		decodeQuietly(t, good[:n])
		for bit := range 8 {
			bad := append([]byte(nil), good...)
			bad[n] ^= 1 << bit
			decodeQuietly(t, bad)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		bad := make([]byte, r.IntN(64))
		for i := range bad {
			bad[i] = byte(r.Uint32())
		}
		decodeQuietly(t, bad)
	}
}

func decodeQuietly(t testing.TB, b []byte) {
	t.Helper()
	m, err := DecodeManifest(b)
	if err != nil && !fail.Is(err, fail.Corrupt) {
		t.Fatalf("%x: %v", b, err)
	}
	if err == nil {
		m.Append(nil)
	}
	_, _ = DecodePageLayout(b)
	_, _ = DecodeColumnMetadata(b)
	_, _ = DecodeFileDescriptor(b)
}

func FuzzDecode(f *testing.F) {
	f.Add(fullManifest().Append(nil))
	layout := PageLayout{MiniBlock: &MiniBlockLayout{Value: VariableEncoding(32), Layers: []Layer{1}}}
	f.Add(layout.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) { decodeQuietly(t, b) })
}

func TestArrayEncoding(t *testing.T) {
	buffer := AppendMessage(nil, 2, AppendVarint(nil, 1, 1))
	flat := AppendMessage(nil, 1, append(AppendVarint(nil, 1, 8), AppendMessage(buffer, 3, AppendString(nil, 1, "zstd"))...))
	ends := AppendMessage(nil, 2, AppendMessage(nil, 1, AppendMessage(nil, 1, AppendMessage(nil, 1, AppendVarint(nil, 1, 64)))))
	binary := AppendMessage(AppendMessage(nil, 1, ends), 2, flat)
	e, err := DecodeArrayEncoding(AppendMessage(nil, 6, AppendVarint(binary, 3, 77)))
	if err != nil || e.Kind != ArrayBinary || e.Adjust != 77 || e.Second.Kind != ArrayNullable || e.Second.Second != nil || e.Second.Inner.Bits != 64 ||
		e.Inner.Scheme != "zstd" || e.Inner.Buffer != 1 {
		t.Errorf("%+v, %v", e, err)
	}
	deep := AppendMessage(nil, 1, nil)
	for range 20 {
		deep = AppendMessage(nil, 4, AppendMessage(nil, 1, deep))
	}
	for name, b := range map[string][]byte{
		"empty":           nil,
		"deep":            deep,
		"no values":       AppendMessage(nil, 2, AppendMessage(nil, 2, nil)),
		"foreign buffer":  AppendMessage(nil, 1, AppendMessage(nil, 2, AppendVarint(nil, 2, 1))),
		"bits as a bytes": AppendMessage(nil, 1, AppendMessage(nil, 1, []byte("x"))),
		"cut":             AppendMessage(nil, 6, binary)[:9],
	} {
		if e, err := DecodeArrayEncoding(b); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func TestBlobLayout(t *testing.T) {
	inner := PageLayout{Constant: &ConstantLayout{Layers: []Layer{AllValidItem}}}
	blob := AppendMessage(nil, 4, appendLayers(AppendMessage(nil, 1, inner.Append(nil)), 2, []Layer{NullableItem}))
	l, err := DecodePageLayout(blob)
	if err != nil || l.Blob == nil || l.Blob.Inner.Constant == nil || len(l.Blob.Layers) != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := DecodePageLayout(AppendMessage(nil, 4, AppendMessage(nil, 1, blob))); !fail.Is(err, fail.Corrupt) {
		t.Errorf("a blob in a blob: %v", err)
	}
}
