package collection

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"sort"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
)

// keyHashes collects the keys section, which finds rows by key: n u32, 0 u32,
// then n hashes (xxh3-64 of the key, ascending) and n row numbers.
type keyHashes []keyHash

type keyHash struct {
	hash uint64
	row  uint32
}

// add takes the key of the next row.
func (k *keyHashes) add(key string) {
	*k = append(*k, keyHash{hash: xxh3.HashString(key), row: uint32(len(*k))})
}

// writeTo sorts the hashes and writes the section, piece by piece.
func (k keyHashes) writeTo(w io.Writer) error {
	slices.SortFunc(k, func(a, b keyHash) int {
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		return cmp.Compare(a.row, b.row)
	})
	const piece = 8 << 10
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(k)))
	b = append(b, 0, 0, 0, 0)
	for part := range slices.Chunk(k, piece) {
		for _, h := range part {
			b = binary.LittleEndian.AppendUint64(b, h.hash)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	for part := range slices.Chunk(k, piece) {
		for _, h := range part {
			b = binary.LittleEndian.AppendUint32(b, h.row)
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	_, err := w.Write(b)
	return err
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
