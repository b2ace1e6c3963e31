package collection

import (
	"encoding/binary"
	"sort"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
)

// The keys section finds rows by key: n u32, 0 u32, then n hashes (xxh3-64 of
// the key, ascending) and n row numbers.
func encodeKeys(keys []string) []byte {
	hashes := make([]uint64, len(keys))
	rows := make([]uint32, len(keys))
	for i, k := range keys {
		hashes[i], rows[i] = xxh3.HashString(k), uint32(i)
	}
	sort.Sort(&byHash{hashes, rows})
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(keys)))
	b = append(b, 0, 0, 0, 0)
	for _, h := range hashes {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	for _, r := range rows {
		b = binary.LittleEndian.AppendUint32(b, r)
	}
	return b
}

type byHash struct {
	hashes []uint64
	rows   []uint32
}

func (s *byHash) Len() int           { return len(s.hashes) }
func (s *byHash) Less(i, j int) bool { return s.hashes[i] < s.hashes[j] }
func (s *byHash) Swap(i, j int) {
	s.hashes[i], s.hashes[j] = s.hashes[j], s.hashes[i]
	s.rows[i], s.rows[j] = s.rows[j], s.rows[i]
}

// keyIndex is an opened keys section.
type keyIndex struct {
	hashes, rows []byte
	n            int
}

func openKeys(b []byte) (*keyIndex, error) {
	if len(b) < 8 {
		return nil, fail.New(fail.Corrupt, "keys section of %d bytes", len(b))
	}
	n := int(binary.LittleEndian.Uint32(b))
	if len(b) != 8+12*n {
		return nil, fail.New(fail.Corrupt, "keys section of %d bytes for %d keys", len(b), n)
	}
	return &keyIndex{hashes: b[8 : 8+8*n], rows: b[8+8*n:], n: n}, nil
}

func (k *keyIndex) hash(i int) uint64 { return binary.LittleEndian.Uint64(k.hashes[8*i:]) }

// candidates calls fn with each row whose key hashes like key until fn returns true.
func (k *keyIndex) candidates(key string, fn func(row int32) (bool, error)) error {
	h := xxh3.HashString(key)
	for i := sort.Search(k.n, func(i int) bool { return k.hash(i) >= h }); i < k.n && k.hash(i) == h; i++ {
		row := binary.LittleEndian.Uint32(k.rows[4*i:])
		if done, err := fn(int32(row)); done || err != nil {
			return err
		}
	}
	return nil
}
