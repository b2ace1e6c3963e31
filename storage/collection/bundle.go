package collection

import (
	"context"
	"encoding/binary"
	"encoding/json"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
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
	// Lance holds the xxh3 of each 256 KiB block of the fragment's data file.
	Lance []uint64 `json:"lance,omitempty"`
}

// bundleField is a field at the time the split was built.
type bundleField struct {
	ID       int32  `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	FullText string `json:"fulltext,omitempty"`
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

// encodeBundle lays the sections out behind one another and appends the table.
func encodeBundle(t bundleTable, names []string, sections map[string][]byte) ([]byte, error) {
	size := 64 << 10 // the table, as a rule
	for _, sec := range sections {
		size += len(sec) + 64
	}
	b := make([]byte, 0, size)
	for _, name := range names {
		sec := sections[name]
		if sec == nil {
			continue
		}
		t.Sections = append(t.Sections, bundleSection{Name: name, Off: int64(len(b)), Len: int64(len(sec)), Blocks: blockSums(sec)})
		b = append(b, sec...)
		b = append(b, make([]byte, -len(b)&63)...)
	}
	table, err := json.Marshal(t)
	if err != nil {
		return nil, fail.Wrap(fail.Internal, err, "split table")
	}
	b = append(b, table...)
	b = binary.LittleEndian.AppendUint64(b, xxh3.Hash(table))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(table)))
	b = binary.LittleEndian.AppendUint16(b, bundleVersion)
	b = append(b, 0, 0)
	return append(b, bundleMagic...), nil
}

// bundle is an opened bundle. Sections are read whole and verified when asked for.
type bundle struct {
	key   string
	store object.Store
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
