package collection

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/object"
)

// stranger reads a table from its objects with nothing but what docs/formats
// says: manifest.md, split.md, column.md. It shares no code with the room. What
// does not hold ends the test.
type stranger struct {
	t     *testing.T
	store object.Store
}

var le = binary.LittleEndian

func (s *stranger) get(key string) []byte {
	s.t.Helper()
	b, err := s.store.Get(context.Background(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

func (s *stranger) hold(ok bool, format string, args ...any) {
	s.t.Helper()
	if !ok {
		s.t.Fatalf(format, args...)
	}
}

// strangeManifest is what manifest.md says of a manifest and its segments.
type strangeManifest struct {
	Version  uint64
	Applied  []uint64
	Segments []struct {
		Rows, Deleted int
		Split         string
		SplitSize     int64  `json:"split_size"`
		SplitXXH3     uint64 `json:"split_xxh3"`
		Fragments     []struct {
			ID            uint64
			Rows, Deleted int
			Deletion      *strangeObject
		}
	}
}

type strangeObject struct {
	Key  string
	Size int64
	XXH3 uint64
}

func (s *stranger) manifest(key string) (m strangeManifest) {
	b := s.get(key)
	s.hold(string(b[:4]) == "LMAN" && le.Uint16(b[4:]) == 0 && le.Uint16(b[6:]) == 0, "header % x", b[:8])
	s.hold(le.Uint64(b[8:]) == xxh3.Hash(b[16:]), "checksum")
	s.hold(json.Unmarshal(b[16:], &m) == nil, "JSON")
	return m
}

// section reads a section of a split; the object's id and its rows are checked.
func (s *stranger) section(key, name string, rows int) []byte {
	b := s.get(key)
	end := b[len(b)-20:]
	s.hold(string(end[16:]) == "LSPL" && le.Uint32(end[12:]) == 0, "end % x", end)
	body := b[:len(b)-20]
	raw := body[len(body)-int(le.Uint32(end[8:])):]
	s.hold(le.Uint64(end) == xxh3.Hash(raw), "checksum of the table")
	var table struct {
		Rows     int
		Sections []struct {
			Name     string
			Off, Len int
			XXH3     []uint64
		}
	}
	s.hold(json.Unmarshal(raw, &table) == nil && table.Rows == rows, "table %s", raw)
	for _, sec := range table.Sections {
		if sec.Name != name {
			continue
		}
		s.hold(sec.Off%64 == 0, "section at %d", sec.Off)
		data := b[sec.Off : sec.Off+sec.Len]
		i := 0
		for block := range slices.Chunk(data, 256<<10) {
			s.hold(xxh3.Hash(block) == sec.XXH3[i], "checksum of block %d", i)
			i++
		}
		return data
	}
	s.t.Fatalf("no section %s", name)
	return nil
}

// column reads all rows of a column as texts.
func (s *stranger) column(sec []byte, name string) (out []string) {
	tail := sec[len(sec)-12:]
	s.hold(string(tail[8:]) == "LCOL" && le.Uint32(tail[4:]) == 0, "trailer % x", tail)
	body := sec[:len(sec)-12]
	var dir struct {
		Rows    int
		Columns []struct {
			Name, Type string
			Chunks     []struct{ Off, Len, Nulls int }
		}
	}
	s.hold(json.Unmarshal(body[len(body)-int(le.Uint32(tail)):], &dir) == nil, "directory")
	for _, c := range dir.Columns {
		if c.Name != name {
			continue
		}
		for _, k := range c.Chunks {
			rows := s.chunk(sec[k.Off:k.Off+k.Len], c.Type)
			nulls := 0
			for _, r := range rows {
				if r == "NULL" {
					nulls++
				}
			}
			s.hold(nulls == k.Nulls, "%d NULLs, the directory says %d", nulls, k.Nulls)
			out = append(out, rows...)
		}
	}
	s.hold(len(out) == dir.Rows, "%d rows of %s, want %d", len(out), name, dir.Rows)
	return out
}

func (s *stranger) chunk(b []byte, typ string) []string {
	enc, flags, n := b[0], b[1], int(le.Uint32(b[4:]))
	b = b[8:]
	valid := func(int) bool { return true }
	if flags&1 == 1 {
		words := b
		b = b[(n+63)/64*8:]
		valid = func(i int) bool { return le.Uint64(words[i/64*8:])>>(i%64)&1 == 1 }
	}
	out := make([]string, n)
	switch {
	case typ == "INT" || typ == "BIGINT":
		s.hold(enc == 1, "encoding %d of %s", enc, typ)
		lo, width := int64(le.Uint64(b)), int(b[8])
		for i := range out {
			out[i] = fmt.Sprint(lo + int64(bitsAt(b[16:], i, width)))
		}
	case enc == 2:
		size, width := int(le.Uint32(b)), int(le.Uint32(b[4:]))
		dict := flatStrings(b[8+(n*width+63)/64*8:], size)
		for i := range out {
			out[i] = dict[bitsAt(b[8:], i, width)]
		}
	case enc == 3:
		out = s.zipped(b, n)
	default:
		out = flatStrings(b, n)
	}
	for i := range out {
		if !valid(i) {
			out[i] = "NULL"
		}
	}
	return out
}

// bitsAt is value i of packed bits, one bit after the other.
func bitsAt(b []byte, i, width int) (x uint64) {
	for j := range width {
		bit := i*width + j
		x |= uint64(b[bit/8]>>(bit%8)&1) << j
	}
	return x
}

func flatStrings(b []byte, n int) []string {
	out := make([]string, n)
	text := b[4*(n+1):]
	for i := range out {
		out[i] = string(text[le.Uint32(b[4*i:]):le.Uint32(b[4*i+4:])])
	}
	return out
}

func (s *stranger) zipped(b []byte, n int) []string {
	dec, err := zstd.NewReader(nil)
	s.hold(err == nil, "zstd: %v", err)
	defer dec.Close()
	offsets := b[:4*(n+1)]
	head := b[len(offsets):]
	frames := int(le.Uint32(head))
	rest := head[4+8*frames:]
	var text []byte
	for f := range frames {
		end, size := le.Uint32(head[4+8*f:]), int(le.Uint32(head[8+8*f:]))
		if text, err = dec.DecodeAll(rest[:size], text); err != nil {
			s.t.Fatal(err)
		}
		s.hold(len(text) == int(le.Uint32(offsets[4*end:])), "frame %d ends inside of a string", f)
		rest = rest[size:]
	}
	return flatStrings(append(slices.Clone(offsets), text...), n)
}

// deleted reads a segment's deletion bitmap.
func (s *stranger) deleted(d *strangeObject) *roaring.Bitmap {
	del := roaring.New()
	if d != nil {
		b := s.get(d.Key)
		s.hold(int64(len(b)) == d.Size && xxh3.Hash(b) == d.XXH3, "deletions %+v", d)
		if err := del.UnmarshalBinary(b); err != nil {
			s.t.Fatal(err)
		}
	}
	return del
}

// TestAStrangersReader writes a table of several segments with deletions, and
// reads it with a reader that knows the pages only.
func TestAStrangersReader(t *testing.T) {
	ctx := context.Background()
	obj := &schema.Object{Namespace: "public", Name: "events", Kind: schema.Table, Partitions: 1, Fields: []schema.Field{
		{ID: 1, Name: "n", Type: types.Of(types.Int32)}, {ID: 2, Name: "kind", Type: types.Of(types.Text)},
		{ID: 3, Name: "note", Type: types.Of(types.Text)}, {ID: 4, Name: "long", Type: types.Of(types.Text)},
	}}
	b := newBench(t, obj, Options{})
	defer b.c.Close()
	for batch := range 2 {
		cols := newColumns(obj, 0)
		for i := range 2500 {
			n := batch*2500 + i
			cols[0].Append(vec.Int32(int32(n*37%1000 - 500)))
			cols[1].Append(vec.Text([]string{"click", "view", ""}[n%3]))
			cols[2].Append(vec.Text(fmt.Sprint("note ", n)))
			cols[3].Append(vec.Text(strings.Repeat(fmt.Sprint(n, " and again "), 4)))
			if n%11 == 0 {
				for _, c := range cols {
					c.SetNull(i)
				}
			}
		}
		rows, err := FromColumns(obj, cols, 2500)
		b.must(err)
		_, err = b.c.Append(ctx, rows)
		b.must(err)
		b.must(b.c.Apply(ctx, nil))
	}
	_, err := b.c.Append(ctx, &Rows{Cols: make([]*vec.Vector, 4), Gone: []Identity{{0, 3}, {0, 4}, {0, 2499}, {0, 2500}}})
	b.must(err)
	b.must(b.c.Apply(ctx, nil))

	s := &stranger{t: t, store: b.deps.Objects}
	head, _, _, err := b.deps.Meta.Heads(ctx, obj.ID)
	b.must(err)
	m := s.manifest(head.ManifestKey)
	s.hold(m.Version == head.Version && len(m.Segments) == 2 && slices.Equal(m.Applied, head.Applied), "%+v, head %+v", m, head)
	var got []string
	for _, seg := range m.Segments {
		s.hold(len(seg.Fragments) == 1 && seg.Fragments[0].Rows == seg.Rows && seg.Fragments[0].Deleted == seg.Deleted, "segment %+v", seg)
		frag := seg.Fragments[0]
		del := s.deleted(frag.Deletion)
		want := map[uint64]int{0: 3, 1: 1}[frag.ID]
		s.hold(int(del.GetCardinality()) == want && seg.Deleted == want, "fragment %d: %d deleted, want %d", frag.ID, seg.Deleted, want)
		split := s.get(seg.Split)
		s.hold(int64(len(split)) == seg.SplitSize && xxh3.Hash(split) == seg.SplitXXH3, "split %+v", seg)
		sec := s.section(seg.Split, "column", seg.Rows)
		var cols [][]string
		for _, name := range []string{"f1", "f2", "f3", "f4", "_ingest_partition", "_ingest_offset"} {
			cols = append(cols, s.column(sec, name))
		}
		for row := range seg.Rows {
			if del.Contains(uint32(row)) {
				continue
			}
			var line []string
			for _, c := range cols {
				line = append(line, c[row])
			}
			got = append(got, strings.Join(line, "|"))
		}
		s.keys(seg.Split, seg.Rows, cols[5])
	}
	sort.Strings(got)
	want := tableRows(t, b.strong())
	if len(got) != 4996 || !slices.Equal(got, want) {
		t.Fatalf("the stranger reads %d rows, the room %d", len(got), len(want))
	}
}

// keys looks every identity up by its hash.
func (s *stranger) keys(split string, rows int, offsets []string) {
	sec := s.section(split, "keys", rows)
	n := int(le.Uint32(sec))
	s.hold(n == rows && len(sec) == 8+12*n, "%d keys in %d bytes", n, len(sec))
	for row, text := range offsets {
		var offset uint64
		_, err := fmt.Sscan(text, &offset)
		s.hold(err == nil, "offset %q", text)
		h := xxh3.Hash(binary.BigEndian.AppendUint64(make([]byte, 4), offset))
		i := sort.Search(n, func(i int) bool { return le.Uint64(sec[8+8*i:]) >= h })
		s.hold(i < n && le.Uint64(sec[8+8*i:]) == h && int(le.Uint32(sec[8+8*n+4*i:])) == row, "row %d is not found by its key", row)
	}
}

// tableRows are all rows of a snapshot as the room reads them, sorted.
func tableRows(t *testing.T, snap *Snapshot) []string {
	t.Helper()
	n := &plan.Scan{Object: snap.obj, Limit: plan.NoLimit}
	for i, name := range []string{"n", "kind", "note", "long", "_ingest_partition", "_ingest_offset"} {
		ref, err := resolve(snap.obj, name)
		if err != nil {
			t.Fatal(err)
		}
		n.Cols = append(n.Cols, plan.ScanColumn{Column: plan.Column{ID: expr.ColumnID(i + 1), Name: name, Type: ref.t}, Field: name})
	}
	sc, err := snap.Scan(testEnv(), n)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sc.Close() }()
	var out []string
	for {
		c, err := sc.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if c == nil {
			sort.Strings(out)
			return out
		}
		for i := range c.Rows() {
			var line []string
			for _, col := range c.Cols {
				line = append(line, col.Value(c.RowAt(i)).String())
			}
			out = append(out, strings.Join(line, "|"))
		}
	}
}
