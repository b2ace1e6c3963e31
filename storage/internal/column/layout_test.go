package column

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// TestLayout draws chunks byte by byte: "chunk TYPE", one value a line, printed
// in groups of eight bytes (docs/formats/column.md).
func TestLayout(t *testing.T) {
	datadriven.RunTest(t, "testdata/layout", func(t *testing.T, d *datadriven.TestData) string {
		name := d.CmdArgs[0].Key
		ty, ok := types.Parse(strings.ReplaceAll(name, "_", " "))
		if !ok {
			t.Fatalf("type %q", name)
		}
		times := 1
		d.MaybeScanArgs(t, "times", &times)
		v := vec.New(ty, 0)
		for range times {
			for line := range strings.SplitSeq(d.Input, "\n") {
				v.Append(readValue(t, ty, line))
			}
		}
		b := appendChunk(nil, v)
		if _, rest, err := decodeChunk(b, ty, v.N); err != nil || len(rest.b) != 0 {
			t.Fatalf("%s: %v, %d bytes left", d.Pos, err, len(rest.b))
		}
		if lo, hi := zone(v); lo != nil {
			return dump(b) + fmt.Sprintf("zone %x to %x\n", lo, hi)
		}
		return dump(b)
	})
}

func dump(b []byte) string {
	var out strings.Builder
	for i := 0; i < len(b); i += 8 {
		fmt.Fprintf(&out, "%3d: % x\n", i, b[i:min(i+8, len(b))])
	}
	return out.String()
}

func readValue(t *testing.T, ty types.Type, line string) vec.Value {
	if line == "NULL" {
		return vec.Null(ty)
	}
	v := vec.Value{Type: ty}
	var err error
	switch ty.Kind {
	case types.Boolean:
		v.Bool = line == "true"
	case types.Double:
		_, err = fmt.Sscan(line, &v.Float)
	case types.Text, types.JSON, types.Binary:
		v.Str = line
	case types.Vector:
		v.Vec = make([]float32, ty.Dim)
		for i, w := range strings.Fields(line) {
			_, err = fmt.Sscan(w, &v.Vec[i])
		}
	case types.Sparse:
		for _, w := range strings.Fields(line) {
			var ix uint32
			var x float32
			_, err = fmt.Sscanf(w, "%d:%g", &ix, &x)
			v.Sparse.Indices, v.Sparse.Values = append(v.Sparse.Indices, ix), append(v.Sparse.Values, x)
		}
	case types.List:
		for w := range strings.FieldsSeq(line) {
			v.List = append(v.List, readValue(t, *ty.Elem, w))
		}
	case types.Decimal:
		var n int64
		_, err = fmt.Sscan(line, &n)
		v.Dec = decimal128.FromI64(n)
	case types.Interval:
		_, err = fmt.Sscan(line, &v.Span.Months, &v.Span.Days, &v.Span.Nanos)
	default:
		_, err = fmt.Sscan(line, &v.Int)
	}
	if err != nil {
		t.Fatalf("%s %q: %v", ty, line, err)
	}
	return v
}

// TestHeadersOfDamagedChunks: what a header says allocates nothing by itself.
func TestHeadersOfDamagedChunks(t *testing.T) {
	for _, ty := range testTypes {
		for _, rows := range []uint32{0, 1, 2, 1 << 20, 1<<28 - 1, 1<<32 - 1} {
			for enc := range byte(6) {
				b := binary.LittleEndian.AppendUint32([]byte{enc, 0, 0, 0}, rows)
				b = append(b, make([]byte, 64)...)
				if v, _, err := decodeChunk(b, ty, 3); err == nil {
					t.Errorf("%s, encoding %d: a chunk of %d rows became %d", ty, enc, rows, v.N)
				}
			}
		}
	}
	for i, b := range [][]byte{{0, 2, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}} {
		b = append(binary.LittleEndian.AppendUint32(b, 1), make([]byte, 64)...)
		if _, _, err := decodeChunk(b, types.Of(types.Double), 1); !fail.Is(err, fail.Corrupt) {
			t.Errorf("reserved bit %d: %v", i, err)
		}
	}
}

// remade is a section with another directory.
func remade(t *testing.T, data []byte, change func(*directory)) []byte {
	t.Helper()
	n := int(binary.LittleEndian.Uint32(data[len(data)-trailerLen:]))
	body := data[:len(data)-trailerLen-n]
	var dir directory
	if err := json.Unmarshal(data[len(body):len(body)+n], &dir); err != nil {
		t.Fatal(err)
	}
	change(&dir)
	w := Writer{buf: append([]byte(nil), body...), dir: dir}
	out, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDirectoriesThatLie are refused when they are opened.
func TestDirectoriesThatLie(t *testing.T) {
	_, data := section(t, rand.New(rand.NewSource(3)), 3000)
	for name, c := range map[string]struct {
		change func(*directory)
		code   fail.Code
	}{
		"nothing changed":     {func(*directory) {}, fail.OK},
		"an unknown type":     {func(d *directory) { d.Columns[0].Type = "GEOPOINT" }, fail.Unsupported},
		"a type cut short":    {func(d *directory) { d.Columns[0].Type = "VECTOR(3" }, fail.Unsupported},
		"too few chunks":      {func(d *directory) { d.Columns[0].Chunks = d.Columns[0].Chunks[:1] }, fail.Corrupt},
		"a chunk outside":     {func(d *directory) { d.Columns[0].Chunks[1].Off = 1 << 40 }, fail.Corrupt},
		"a chunk before":      {func(d *directory) { d.Columns[0].Chunks[1].Off = -8 }, fail.Corrupt},
		"an endless chunk":    {func(d *directory) { d.Columns[0].Chunks[1].Len = 1<<63 - 1 }, fail.Corrupt},
		"negative rows":       {func(d *directory) { d.Rows = -1 }, fail.Corrupt},
		"endless rows":        {func(d *directory) { d.Rows = 1<<63 - 1 }, fail.Corrupt},
		"rows of no columns":  {func(d *directory) { d.Columns = nil }, fail.Corrupt},
		"no rows, no columns": {func(d *directory) { d.Columns, d.Rows = nil, 0 }, fail.OK},
	} {
		if _, err := Open(remade(t, data, c.change)); fail.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	s, err := Open(remade(t, data, func(d *directory) { d.Columns[0].Chunks[1] = d.Columns[0].Chunks[0] }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Chunk("c0", 1); !fail.Is(err, fail.Corrupt) || !strings.Contains(err.Error(), `"c0" chunk 1`) {
		t.Errorf("a chunk of other rows: %v", err)
	}
	binary.LittleEndian.PutUint16(data[len(data)-8:], 9)
	if _, err := Open(data); !fail.Is(err, fail.Unsupported) || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("another version: %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	w := NewWriter(3)
	v := vec.New(types.ListOf(types.Of(types.Text)), 3)
	for range 3 {
		v.Append(vec.Value{Type: v.Type, List: []vec.Value{vec.Text("a"), vec.Text("b")}})
	}
	if err := w.Add("l", v); err != nil {
		f.Fatal(err)
	}
	data, err := w.Finish()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Open(b)
		if err != nil {
			return
		}
		for _, name := range s.Names() {
			for i := range min(4, (s.Rows()+vec.ChunkRows-1)/vec.ChunkRows) {
				if v, err := s.Chunk(name, i); err == nil {
					for row := range v.N {
						_ = v.Value(row).String()
					}
				}
			}
		}
	})
}
