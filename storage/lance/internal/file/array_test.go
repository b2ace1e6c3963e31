package file

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/klauspost/compress/zstd"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// arrayPageOf lays buffers out in a file and gives a reader of the page they make.
func arrayPageOf(buffers ...[]byte) *arrayReader {
	var file []byte
	p := &arrayPage{}
	for _, b := range buffers {
		p.buffers = append(p.buffers, span{int64(len(file)), int64(len(b))})
		file = append(file, b...)
	}
	return &arrayReader{ctx: context.Background(), src: &memSource{b: file}, page: p}
}

func flatArray(bits uint64, buffer int) *pb.ArrayEncoding {
	return &pb.ArrayEncoding{Kind: pb.ArrayFlat, Bits: bits, Buffer: buffer}
}

func nullableArray(values, validity *pb.ArrayEncoding) *pb.ArrayEncoding {
	return &pb.ArrayEncoding{Kind: pb.ArrayNullable, Inner: values, Second: validity}
}

func binaryArray(ends, data int, adjust uint64) *pb.ArrayEncoding {
	return &pb.ArrayEncoding{Kind: pb.ArrayBinary, Second: nullableArray(flatArray(64, ends), nil), Inner: flatArray(8, data), Adjust: adjust}
}

func u64s(vs ...uint64) []byte {
	var out []byte
	for _, v := range vs {
		out = binary.LittleEndian.AppendUint64(out, v)
	}
	return out
}

// show prints decoded values: what is null, then the value.
func (v *arrays) show(width int) string {
	var out []string
	from := 0
	for i := range v.n {
		var val []byte
		if width == 0 {
			val, from = v.data[from:v.ends[i]], v.ends[i]
		} else {
			val = v.fixed[i*width : (i+1)*width]
		}
		switch {
		case v.valid != nil && v.valid[i] == 0:
			out = append(out, "null")
		case width == 0:
			out = append(out, string(val))
		default:
			out = append(out, fmt.Sprintf("%x", val))
		}
	}
	return strings.Join(out, " ")
}

var (
	arrayText = shape{typ: arrow.BinaryTypes.String, offsetBits: 32}
	arrayByte = shape{typ: arrow.PrimitiveTypes.Uint8, width: 1}
	arrayBool = shape{typ: arrow.FixedWidthTypes.Boolean, width: 1, bits: true}
	arrayVec  = shape{typ: vectorType(2), width: 8, dim: 2, itemWidth: 4}
	arrayPack = shape{typ: arrow.StructOf(), width: 3, members: []shape{{width: 1}, {width: 2}}}
	arrayDict = shape{typ: arrow.BinaryTypes.String, offsetBits: 32, dictionary: true}
)

// TestArrayValues decodes each array encoding of format 2.0, in ranges.
func TestArrayValues(t *testing.T) {
	words := []byte("onetwothree")
	ends := u64s(3, 3+100, 6, 11) // one, null, two, three; 100 marks null
	table := make([]byte, fsstTableSize)
	table[0], table[3] = 1, 1
	copy(table[8:], "loam")
	table[16] = 4
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := e.EncodeAll([]byte{9, 8, 7, 6, 5}, u64s(5))
	dictionary := func(bits uint64) *pb.ArrayEncoding {
		return &pb.ArrayEncoding{Kind: pb.ArrayDictionary, Second: flatArray(bits, 2), Inner: binaryArray(0, 1, 100), Items: 4}
	}
	for name, tc := range map[string]struct {
		enc     *pb.ArrayEncoding
		shape   shape
		buffers [][]byte
		ranges  []rowRange
		want    string
	}{
		"flat":              {flatArray(8, 0), arrayByte, [][]byte{{1, 2, 3, 4}}, []rowRange{{0, 1}, {2, 4}}, "01 03 04"},
		"second buffer":     {flatArray(8, 1), arrayByte, [][]byte{{1}, {7, 8}}, []rowRange{{1, 2}}, "08"},
		"bits":              {flatArray(1, 0), arrayBool, [][]byte{{0b10100110, 1}}, []rowRange{{1, 4}, {7, 9}}, "01 01 00 01 01"},
		"no nulls":          {nullableArray(flatArray(8, 0), nil), arrayByte, [][]byte{{1, 2}}, []rowRange{{0, 2}}, "01 02"},
		"some nulls":        {nullableArray(flatArray(8, 1), flatArray(1, 0)), arrayByte, [][]byte{{0b101}, {1, 2, 3}}, []rowRange{{0, 3}}, "01 null 03"},
		"all null":          {nullableArray(nil, nil), arrayByte, nil, []rowRange{{5, 8}}, "null null null"},
		"all null texts":    {nullableArray(nil, nil), arrayText, nil, []rowRange{{0, 2}}, "null null"},
		"texts":             {binaryArray(0, 1, 100), arrayText, [][]byte{ends, words}, []rowRange{{0, 4}}, "one null two three"},
		"texts in parts":    {binaryArray(0, 1, 100), arrayText, [][]byte{ends, words}, []rowRange{{0, 1}, {2, 4}}, "one two three"},
		"a later text":      {binaryArray(0, 1, 100), arrayText, [][]byte{ends, words}, []rowRange{{3, 4}}, "three"},
		"no text":           {binaryArray(0, 1, 0), arrayText, [][]byte{nil, nil}, nil, ""},
		"symbols":           {&pb.ArrayEncoding{Kind: pb.ArrayFsst, Table: table, Inner: binaryArray(0, 1, 9)}, arrayText, [][]byte{u64s(2, 4), {0, 0, 255, 'x'}}, []rowRange{{0, 2}}, "loamloam x"},
		"words, 0 is null":  {dictionary(8), arrayText, [][]byte{ends, words, {1, 0, 4, 3, 2}}, []rowRange{{0, 5}}, "one null three two null"},
		"words of the type": {dictionary(16), arrayDict, [][]byte{ends, words, {0, 0, 3, 0, 1, 0}}, []rowRange{{0, 3}}, "one three null"},
		"vectors": {nullableArray(&pb.ArrayEncoding{Kind: pb.ArrayFixedSizeList, Items: 2, Inner: flatArray(32, 1)}, flatArray(1, 0)), arrayVec,
			[][]byte{{0b10}, {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}}, []rowRange{{0, 2}}, "null 0300000004000000"},
		"packed rows": {&pb.ArrayEncoding{Kind: pb.ArrayPackedStruct, Members: []*pb.ArrayEncoding{flatArray(8, 0), flatArray(16, 0)}}, arrayPack,
			[][]byte{{1, 2, 3, 4, 5, 6}}, []rowRange{{1, 2}}, "040506"},
		"zstd": {&pb.ArrayEncoding{Kind: pb.ArrayFlat, Bits: 8, Scheme: "zstd"}, arrayByte, [][]byte{packed}, []rowRange{{1, 3}, {4, 5}}, "08 07 05"},
	} {
		r := arrayPageOf(tc.buffers...)
		for range 2 { // from the caches, too
			v, err := r.values(tc.enc, tc.ranges, &tc.shape)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			if got := v.show(tc.shape.width); got != tc.want {
				t.Errorf("%s: %q, want %q", name, got, tc.want)
			}
		}
	}
	v, err := arrayPageOf([]byte{0b1101}, make([]byte, 16)).values(
		&pb.ArrayEncoding{Kind: pb.ArrayFixedSizeList, Items: 2, Inner: nullableArray(flatArray(32, 1), flatArray(1, 0))}, []rowRange{{0, 2}}, &arrayVec)
	if err != nil || !bytes.Equal(v.items, []byte{1, 0, 1, 1}) || v.valid != nil {
		t.Errorf("items: %+v, %v", v, err)
	}
}

// TestArrayRefused: encodings that do not fit the column or the buffers are errors
// that bytes may cause.
func TestArrayRefused(t *testing.T) {
	words := []byte("onetwo")
	one := []rowRange{{0, 1}}
	for name, tc := range map[string]struct {
		enc     *pb.ArrayEncoding
		shape   shape
		buffers [][]byte
		ranges  []rowRange
		code    fail.Code
	}{
		"other width":           {flatArray(16, 0), arrayByte, [][]byte{{1, 2}}, one, fail.Corrupt},
		"no buffer":             {flatArray(8, 3), arrayByte, [][]byte{{1}}, one, fail.Corrupt},
		"buffer too short":      {flatArray(8, 0), arrayByte, [][]byte{{1}}, []rowRange{{0, 2}}, fail.Corrupt},
		"bits too few":          {flatArray(1, 0), arrayBool, [][]byte{{1}}, []rowRange{{3, 9}}, fail.Corrupt},
		"flat texts":            {flatArray(8, 0), arrayText, [][]byte{words}, one, fail.Unsupported},
		"unknown kind":          {&pb.ArrayEncoding{Kind: 12}, arrayByte, nil, one, fail.Unsupported},
		"validity of texts":     {nullableArray(flatArray(8, 0), binaryArray(0, 0, 1)), arrayByte, [][]byte{{1}}, one, fail.Unsupported},
		"ends out of order":     {binaryArray(0, 1, 100), arrayText, [][]byte{u64s(3, 1), words}, []rowRange{{0, 2}}, fail.Corrupt},
		"ends beyond the data":  {binaryArray(0, 1, 1<<40), arrayText, [][]byte{u64s(50), words}, one, fail.Corrupt},
		"ends of no page":       {binaryArray(0, 1, 1<<60), arrayText, [][]byte{u64s(1 << 50), words}, one, fail.Corrupt},
		"no adjustment":         {binaryArray(0, 1, 0), arrayText, [][]byte{u64s(3), words}, one, fail.Corrupt},
		"texts as numbers":      {binaryArray(0, 1, 100), arrayByte, [][]byte{u64s(3), words}, one, fail.Unsupported},
		"ends of 3 bits":        {&pb.ArrayEncoding{Kind: pb.ArrayBinary, Second: flatArray(3, 0), Inner: flatArray(8, 1), Adjust: 9}, arrayText, [][]byte{u64s(3), words}, one, fail.Unsupported},
		"other dimension":       {&pb.ArrayEncoding{Kind: pb.ArrayFixedSizeList, Items: 3, Inner: flatArray(32, 0)}, arrayVec, [][]byte{make([]byte, 24)}, one, fail.Corrupt},
		"vectors of nothing":    {&pb.ArrayEncoding{Kind: pb.ArrayFixedSizeList, Items: 2}, arrayVec, nil, one, fail.Corrupt},
		"symbols of nothing":    {&pb.ArrayEncoding{Kind: pb.ArrayFsst}, arrayText, nil, one, fail.Corrupt},
		"no symbol table":       {&pb.ArrayEncoding{Kind: pb.ArrayFsst, Inner: binaryArray(0, 1, 100)}, arrayText, [][]byte{u64s(3), words}, one, fail.Corrupt},
		"dictionary of nothing": {&pb.ArrayEncoding{Kind: pb.ArrayDictionary}, arrayText, nil, one, fail.Corrupt},
		"index too high": {&pb.ArrayEncoding{Kind: pb.ArrayDictionary, Second: flatArray(8, 2), Inner: binaryArray(0, 1, 100), Items: 1}, arrayText,
			[][]byte{u64s(3), words, {2}}, one, fail.Corrupt},
		"too many items": {&pb.ArrayEncoding{Kind: pb.ArrayDictionary, Second: flatArray(8, 2), Inner: binaryArray(0, 1, 100), Items: 1 << 50}, arrayText,
			[][]byte{u64s(3), words, {1}}, one, fail.Corrupt},
		"other members":  {&pb.ArrayEncoding{Kind: pb.ArrayPackedStruct, Members: []*pb.ArrayEncoding{flatArray(8, 0)}}, arrayPack, [][]byte{{1, 2, 3}}, one, fail.Unsupported},
		"unknown scheme": {&pb.ArrayEncoding{Kind: pb.ArrayFlat, Bits: 8, Scheme: "brotli"}, arrayByte, [][]byte{{1}}, one, fail.Unsupported},
		"no frame":       {&pb.ArrayEncoding{Kind: pb.ArrayFlat, Bits: 8, Scheme: "zstd"}, arrayByte, [][]byte{words}, one, fail.Corrupt},
		"frame too short": {&pb.ArrayEncoding{Kind: pb.ArrayFlat, Bits: 8, Scheme: "lz4"}, arrayByte,
			[][]byte{{1, 0, 0, 0, 0x10, 'a'}}, []rowRange{{0, 2}}, fail.Corrupt},
	} {
		v, err := arrayPageOf(tc.buffers...).values(tc.enc, tc.ranges, &tc.shape)
		if !fail.Is(err, tc.code) {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// TestArrayColumns: in format 2.0 structs and lists have columns of their own, which
// the leaves below them share.
func TestArrayColumns(t *testing.T) {
	pair := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int8}, arrow.Field{Name: "y", Type: arrow.ListOf(arrow.BinaryTypes.String)})
	packs := arrow.NewMetadata([]string{"lance-encoding:packed"}, []string{"true"})
	for want, f := range map[int]arrow.Field{
		1: {Name: "n", Type: arrow.PrimitiveTypes.Int32},
		2: {Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)},
		4: {Name: "s", Type: pair},
		5: {Name: "ls", Type: arrow.ListOf(pair)},
		7: {Name: "ss", Type: arrow.StructOf(arrow.Field{Name: "a", Type: pair}, arrow.Field{Name: "b", Type: arrow.ListOf(arrow.PrimitiveTypes.Int8)})},
		9: {Name: "pp", Type: arrow.StructOf(arrow.Field{Name: "a", Type: pair}, arrow.Field{Name: "b", Type: pair})},
	} {
		leaves, err := collectLeaves(f, 0, f.Name, nil, 0)
		if err != nil || arrayColumns(leaves) != want {
			t.Errorf("%s: %d columns (%v), want %d", f.Type, arrayColumns(leaves), err, want)
		}
	}
	leaves, err := collectLeaves(arrow.Field{Name: "p", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int8}), Metadata: packs}, 0, "p", nil, 0)
	if err != nil || arrayColumns(leaves) != 1 {
		t.Errorf("a packed struct: %d columns, %v", arrayColumns(leaves), err)
	}
}

// TestArrayPages reads lists whose pages and those of their items begin elsewhere.
func TestArrayPages(t *testing.T) {
	list := func(first, rows, firstItem, items int64, ends []uint64) (*arrayPage, []byte) {
		return &arrayPage{first: first, rows: rows, firstItem: firstItem,
			enc: &pb.ArrayEncoding{Kind: pb.ArrayList, Inner: flatArray(64, 0), Adjust: 100, Items: uint64(items)}}, u64s(ends...)
	}
	var file []byte
	place := func(p *arrayPage, b []byte) *arrayPage {
		p.buffers = []span{{int64(len(file)), int64(len(b))}}
		file = append(file, b...)
		return p
	}
	l0 := place(list(0, 3, 0, 3, []uint64{2, 102, 3})) // [0 1] null [2]
	l1 := place(list(3, 2, 3, 4, []uint64{0, 4}))      // [] [3 4 5 6]
	i0 := place(&arrayPage{rows: 5, enc: flatArray(8, 0)}, []byte{0, 1, 2, 3, 4})
	i1 := place(&arrayPage{first: 5, rows: 2, enc: flatArray(8, 0)}, []byte{5, 6})
	field := arrow.Field{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint8)}
	leaves, err := collectLeaves(field, 0, "l", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &column{leaf: leaves[0], limit: int64(len(file)), arrays: []*arrayNode{{pages: []*arrayPage{l0, l1}}, {pages: []*arrayPage{i0, i1}}}}
	for want, runs := range map[string][]rowRange{
		"[[0 1] (null) [2] [] [3 4 5 6]]": {{0, 5}},
		"[[2] [] [3 4 5 6]]":              {{2, 5}},
		"[[0 1] [3 4 5 6]]":               {{0, 1}, {4, 5}},
		"[(null) []]":                     {{1, 2}, {3, 4}},
	} {
		s := newSink(c.leaf, field, defaultMemory)
		if err := c.readRows(context.Background(), &memSource{b: file}, runs, s); err != nil {
			t.Fatal(err)
		}
		data, err := buildArray(field.Type, []*sink{s}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := textOf(data); got != want {
			t.Errorf("rows %v: %s, want %s", runs, got, want)
		}
	}
}
