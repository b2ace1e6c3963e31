package collection

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/internal/column"
	"github.com/loamdb/loam/storage/object"
)

// The bundle is one object with all index sections of a split and a section
// table at its end (docs/formats/split.md):
//
//	sections…, table (JSON), xxh3(table) u64, table length u32, version u16, 0 u16, "LSPL"
const (
	bundleMagic   = "LSPL"
	bundleVersion = 0
	bundleTail    = 20
	// blockBytes is the unit of checksums.
	blockBytes = 256 << 10
)

// Section names.
const (
	sectionColumn = "column"
	sectionText   = "text"
	sectionKeys   = "keys"
)

// bundleTable describes the split; it is the JSON at the end of the bundle.
type bundleTable struct {
	Object   uint64          `json:"object"`
	Rows     int             `json:"rows"`
	Fields   []bundleField   `json:"fields"`
	Sections []bundleSection `json:"sections"`
	// Files are the Lance files of the split's fragments.
	Files []bundleFile `json:"files,omitempty"`
}

// bundleFile is a Lance file by its name, with the xxh3 of each of its 256 KiB blocks.
type bundleFile struct {
	Name   string   `json:"name"`
	Blocks []uint64 `json:"xxh3"`
}

// fileSums are the sums of the blocks of a Lance file; nil when the split does not name it.
func (t *bundleTable) fileSums(name string) []uint64 {
	for i := range t.Files {
		if t.Files[i].Name == name {
			return t.Files[i].Blocks
		}
	}
	return nil
}

// bundleField is a field at the time the split was built.
type bundleField struct {
	ID       int32  `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	FullText string `json:"fulltext,omitempty"`
	// Stats are those of the field's column; nil of fields that are in the Lance files.
	Stats *column.Statistics `json:"stats,omitempty"`
}

type bundleSection struct {
	Name   string   `json:"name"`
	Off    int64    `json:"off"`
	Len    int64    `json:"len"`
	Blocks []uint64 `json:"xxh3"`
}

// blockSums are the xxh3 of each block of b.
func blockSums(b []byte) []uint64 {
	var out []uint64
	for off := 0; off < len(b); off += blockBytes {
		out = append(out, xxh3.Hash(b[off:min(off+blockBytes, len(b))]))
	}
	return out
}

// bundleWriter writes a bundle section by section: begin, Write as often as it
// takes, the next begin; then finish.
type bundleWriter struct {
	w        io.Writer
	off      int64
	open     *summing
	sections []bundleSection
}

// begin ends the section before and starts one at the next multiple of 64.
func (b *bundleWriter) begin(name string) error {
	if err := b.end(); err != nil {
		return err
	}
	b.sections = append(b.sections, bundleSection{Name: name, Off: b.off})
	b.open = &summing{w: b.w}
	return nil
}

// Write appends to the section that began last.
func (b *bundleWriter) Write(p []byte) (int, error) {
	n, err := b.open.Write(p)
	b.off += int64(n)
	return n, err
}

func (b *bundleWriter) end() error {
	if b.open == nil {
		return nil
	}
	s := &b.sections[len(b.sections)-1]
	s.Len, s.Blocks, b.open = b.off-s.Off, b.open.finish(), nil
	pad := make([]byte, -b.off&63)
	b.off += int64(len(pad))
	_, err := b.w.Write(pad)
	return err
}

// finish appends the table with the sections, and returns the size of the bundle.
func (b *bundleWriter) finish(t bundleTable) (int64, error) {
	if err := b.end(); err != nil {
		return 0, err
	}
	t.Sections = b.sections
	tail, err := json.Marshal(t)
	if err != nil {
		return 0, fail.Wrap(fail.Internal, err, "split table")
	}
	n := len(tail)
	tail = binary.LittleEndian.AppendUint64(tail, xxh3.Hash(tail))
	tail = binary.LittleEndian.AppendUint32(tail, uint32(n))
	tail = binary.LittleEndian.AppendUint16(tail, bundleVersion)
	tail = append(append(tail, 0, 0), bundleMagic...)
	_, err = b.w.Write(tail)
	return b.off + int64(len(tail)), err
}

// summing passes bytes on and sums each block of them.
type summing struct {
	w    io.Writer
	hash *xxh3.Hasher
	have int // bytes of the block that is not full
	sums []uint64
}

func (s *summing) Write(p []byte) (int, error) {
	if s.hash == nil {
		s.hash = xxh3.New()
	}
	n, err := s.w.Write(p)
	for rest := p[:n]; len(rest) > 0; {
		k := min(blockBytes-s.have, len(rest))
		_, _ = s.hash.Write(rest[:k])
		rest = rest[k:]
		if s.have += k; s.have == blockBytes {
			s.endBlock()
		}
	}
	return n, err
}

func (s *summing) endBlock() {
	s.sums = append(s.sums, s.hash.Sum64())
	s.hash.Reset()
	s.have = 0
}

func (s *summing) finish() []uint64 {
	if s.have > 0 {
		s.endBlock()
	}
	return s.sums
}

// bundle is an opened bundle. Sections are read whole and verified when asked for.
type bundle struct {
	key   string
	store object.Store
	far   object.Object // of a far store, where an open object costs nothing; else nil
	table bundleTable
}

// firstRead is how much of the end of a bundle is read at once; most tables fit.
const firstRead = 64 << 10

func openBundle(ctx context.Context, store object.Store, key string, size int64) (*bundle, error) {
	if size < bundleTail {
		return nil, fail.New(fail.Corrupt, "split %s has %d bytes", key, size)
	}
	n := min(size, firstRead)
	end, err := store.GetRange(ctx, key, size-n, n)
	if err != nil {
		return nil, err
	}
	tail := end[len(end)-bundleTail:]
	if string(tail[bundleTail-4:]) != bundleMagic {
		return nil, fail.New(fail.Corrupt, "split %s does not end with %q", key, bundleMagic)
	}
	if v := binary.LittleEndian.Uint16(tail[12:]); v != bundleVersion {
		return nil, fail.New(fail.Unsupported, "split %s has version %d, which this Loam does not know", key, v)
	}
	if tail[14] != 0 || tail[15] != 0 {
		return nil, fail.New(fail.Corrupt, "split %s: the reserved bytes at its end are not zero", key)
	}
	length := int64(binary.LittleEndian.Uint32(tail[8:]))
	if length > size-bundleTail {
		return nil, fail.New(fail.Corrupt, "split %s: table of %d bytes in %d", key, length, size)
	}
	table := end[:len(end)-bundleTail]
	if length > int64(len(table)) {
		if table, err = store.GetRange(ctx, key, size-bundleTail-length, length); err != nil {
			return nil, err
		}
	}
	table = table[int64(len(table))-length:]
	if xxh3.Hash(table) != binary.LittleEndian.Uint64(tail) {
		return nil, fail.New(fail.Corrupt, "split %s: checksum of the section table", key)
	}
	b := &bundle{key: key, store: store}
	if object.Far(store) {
		var err error
		if b.far, err = object.OpenSized(ctx, store, key, size); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(table, &b.table); err != nil {
		return nil, fail.New(fail.Corrupt, "split %s: section table: %v", key, err)
	}
	return b, nil
}

// section reads and verifies a section; nil when the split has none of the name.
func (b *bundle) section(ctx context.Context, name string) ([]byte, error) {
	for _, s := range b.table.Sections {
		if s.Name != name {
			continue
		}
		data, err := b.store.GetRange(ctx, b.key, s.Off, s.Len)
		if err != nil {
			return nil, err
		}
		sums := blockSums(data)
		if len(sums) != len(s.Blocks) {
			return nil, fail.New(fail.Corrupt, "split %s section %s: %d blocks, want %d", b.key, name, len(sums), len(s.Blocks))
		}
		for i := range sums {
			if sums[i] != s.Blocks[i] {
				return nil, fail.New(fail.Corrupt, "split %s section %s: checksum of block %d", b.key, name, i)
			}
		}
		return data, nil
	}
	return nil, nil
}
