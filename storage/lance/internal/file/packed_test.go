package file

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

var defaultMemory = memory.DefaultAllocator

// textOf is an array as Arrow prints it.
func textOf(data arrow.ArrayData) string { return fmt.Sprint(array.MakeFromData(data)) }

// packedSink has the rows of a packed struct of a byte and a text.
func packedSink(t *testing.T, rows ...string) (*sink, arrow.Field) {
	t.Helper()
	field := arrow.Field{Name: "p", Type: arrow.StructOf(
		arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Uint8}, arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true})}
	sh, err := packedShape(field.Type.(*arrow.StructType))
	if err != nil {
		t.Fatal(err)
	}
	s := newSink(&leaf{name: "p", path: []node{{kind: nodeLeaf}}, shape: sh}, field, defaultMemory)
	for _, r := range rows {
		s.addValue([]byte(r))
		s.nodes[0].valid.addValid(1)
	}
	return s, field
}

func TestPackedRows(t *testing.T) {
	s, field := packedSink(t, "\x07\x02\x00\x00\x00hi", "", "\x09\x00\x00\x00\x00")
	data, err := s.leafArray(field.Type, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := textOf(data), `{[7 0 9] ["hi" "" ""]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for name, row := range map[string]string{
		"cut in a length": "\x07\x02\x00", "cut in a text": "\x07\x05\x00\x00\x00hi", "too long": "\x07\x01\x00\x00\x00hi", "a huge length": "\x07\xFF\xFF\xFF\xFFhi",
	} {
		s, field := packedSink(t, row)
		if _, err := s.leafArray(field.Type, nil); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPackedMembers(t *testing.T) {
	s, _ := packedSink(t)
	sh := &s.leaf.shape
	text := pb.VariableEncoding(32)
	good := func() *pb.Encoding {
		return &pb.Encoding{Kind: pb.VariablePacked, Members: []pb.Member{{Value: pb.FlatEncoding(8), Bits: 8}, {Value: text, Bits: 32, Variable: true}}}
	}
	page := func(e *pb.Encoding) *storedPage {
		return &storedPage{col: &column{leaf: s.leaf}, layout: pb.PageLayout{FullZip: &pb.FullZipLayout{Value: e}}}
	}
	if err := page(good()).zippedRows(good()); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(e *pb.Encoding){
		"one member":          func(e *pb.Encoding) { e.Members = e.Members[:1] },
		"other width":         func(e *pb.Encoding) { e.Members[0].Bits = 16 },
		"text of width":       func(e *pb.Encoding) { e.Members[1].Variable = false },
		"no encoding":         func(e *pb.Encoding) { e.Members[0].Value = nil },
		"packed numbers":      func(e *pb.Encoding) { e.Members[0].Value = &pb.Encoding{Kind: pb.InlinePacking, Bits: 8} },
		"text of run lengths": func(e *pb.Encoding) { e.Members[1].Value = &pb.Encoding{Kind: pb.Rle} },
		"rows of width":       func(e *pb.Encoding) { e.Kind = pb.PackedStruct },
	} {
		e := good()
		change(e)
		if err := page(e).zippedRows(e); !fail.Is(err, fail.Corrupt) && !fail.Is(err, fail.Unsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A compressed member is decoded row by row.
	table := make([]byte, fsstTableSize)
	table[0], table[3] = 1, 1
	copy(table[8:], "loam")
	table[16] = 4
	e := good()
	e.Members[1].Value = &pb.Encoding{Kind: pb.Fsst, Bytes: table, Inner: text}
	p := page(e)
	if err := p.zippedRows(e); err != nil {
		t.Fatal(err)
	}
	row, err := p.decodeRow([]byte("\x07\x02\x00\x00\x00\x00\x00"))
	if err != nil || string(row) != "\x07\x08\x00\x00\x00loamloam" {
		t.Errorf("%q, %v", row, err)
	}
	for name, bad := range map[string]string{"cut": "\x07\x09\x00\x00\x00\x00", "no such symbol": "\x07\x01\x00\x00\x00\x05"} {
		if _, err := p.decodeRow([]byte(bad)); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := packedShape(arrow.StructOf(arrow.Field{Name: "b", Type: arrow.FixedWidthTypes.Boolean})); !fail.Is(err, fail.Unsupported) {
		t.Errorf("packed booleans: %v", err)
	}
	if sh.width != 0 || sh.offsetBits != 64 {
		t.Errorf("rows with a text are of width %d, lengths of %d bits", sh.width, sh.offsetBits)
	}
}

// TestStreams: the bytes of values side by side, and what is too short for it.
func TestStreams(t *testing.T) {
	e := &pb.Encoding{Kind: pb.ByteStreamSplit, Inner: pb.FlatEncoding(32)}
	got, err := decodeFixed(e, [][]byte{{1, 5, 2, 6, 3, 7, 4, 8}}, 2, 32)
	if err != nil || string(got) != "\x01\x02\x03\x04\x05\x06\x07\x08" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := decodeFixed(e, [][]byte{{1, 5, 2}}, 2, 32); !fail.Is(err, fail.Corrupt) {
		t.Errorf("short streams: %v", err)
	}
	if _, err := decodeFixed(e, [][]byte{{1, 5, 2, 6}}, 1, 16); !fail.Is(err, fail.Unsupported) {
		t.Errorf("streams of another width: %v", err)
	}
	if got, err := decodeFixed(pb.FlatEncoding(1), [][]byte{{0b1010}}, 4, 1); err != nil || string(got) != "\x00\x01\x00\x01" {
		t.Errorf("bits: %v, %v", got, err)
	}
	if _, err := decodeFixed(pb.FlatEncoding(1), [][]byte{{1}}, 9, 1); !fail.Is(err, fail.Corrupt) {
		t.Errorf("short bits: %v", err)
	}
	if _, err := decodeFixed(&pb.Encoding{Kind: pb.InlinePacking, Bits: 128}, [][]byte{make([]byte, 64)}, 1, 128); !fail.Is(err, fail.Unsupported) {
		t.Errorf("packed decimals: %v", err)
	}
}

// TestBlobPlaces: blobs lie in the file and share its bytes; a place without bytes
// does not part the reads around it.
func TestBlobPlaces(t *testing.T) {
	b := blobSpans{limit: 100}
	for _, p := range [][2]uint64{{0, 0}, {10, 20}, {0, 0}, {30, 5}} {
		if err := b.add(p[0], p[1]); err != nil {
			t.Fatal(err)
		}
	}
	if reads := join(b.all[1:], 0); len(reads) != 1 || b.total != 25 {
		t.Errorf("%d reads, %d bytes", len(reads), b.total)
	}
	for name, p := range map[string][2]uint64{"behind the end": {101, 1}, "over the end": {99, 2}, "overlapping others": {0, 80}, "a huge size": {5, 1 << 63}} {
		bad := b
		if err := bad.add(p[0], p[1]); !fail.Is(err, fail.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
