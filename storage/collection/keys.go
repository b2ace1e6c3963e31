package collection

import (
	"cmp"
	"encoding/binary"
	"io"
	"math/bits"
	"slices"
	"sort"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
)

// keyHashes collects the keys section, which finds rows by key: n u32, 0 u32,
// then n hashes (xxh3-64 of the key, ascending) and n row numbers. No two of its rows
// have one key: those that were deleted when the split was built are not in it.
type keyHashes []keyHash

type keyHash struct {
	hash uint64
	row  uint32
}

// add takes the key of a row.
func (k *keyHashes) add(key string, row int) {
	*k = append(*k, keyHash{hash: xxh3.HashString(key), row: uint32(row)})
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
	src ranger
	n   int
}

func openKeys(b []byte) (*keyIndex, error) { return openKeysOf(byteRange(b), int64(len(b))) }

// openKeysOf opens a keys section of the size.
func openKeysOf(src ranger, size int64) (*keyIndex, error) {
	if size < 8 {
		return nil, fail.New(fail.Corrupt, "keys section of %d bytes", size)
	}
	head, err := src.Range(0, 8)
	if err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(head))
	if size != 8+12*n {
		return nil, fail.New(fail.Corrupt, "keys section of %d bytes for %d keys", size, n)
	}
	return &keyIndex{src: src, n: int(n)}, nil
}

// hashes are the hashes of [from, to).
func (k *keyIndex) hashes(from, to int) (hashRun, error) {
	b, err := k.src.Range(8+8*int64(from), 8*int64(to-from))
	return hashRun{b, from, to}, err
}

// hashRun is a run of ascending hashes.
type hashRun struct {
	b        []byte
	from, to int
}

func (r hashRun) at(i int) uint64 { return binary.LittleEndian.Uint64(r.b[8*(i-r.from):]) }

// nearby is how many hashes are read at once, in the middle of which the one
// that is looked for is expected: hashes are spread evenly.
const nearby = 4096

// run is the part of the index in which the first hash that is not below h lies,
// if any, at a place below run.to or at run.to itself.
func (k *keyIndex) run(h uint64) (hashRun, error) {
	hi, _ := bits.Mul64(h, uint64(k.n))
	from := max(0, int(hi)-nearby/2)
	to := min(k.n, from+nearby)
	lo, end := 0, k.n
	for {
		r, err := k.hashes(from, to)
		if err != nil {
			return r, err
		}
		switch {
		case from > lo && r.at(from) >= h:
			end = from + 1
		case to < end && r.at(to-1) < h:
			lo = to
		default:
			return r, nil
		}
		from = max(lo, lo+(end-lo)/2-nearby/2)
		to = min(end, from+nearby)
	}
}

// candidates calls fn with each row whose key hashes like key until fn returns true.
func (k *keyIndex) candidates(key string, fn func(row int32) (bool, error)) error {
	h := xxh3.HashString(key)
	if k.n == 0 {
		return nil
	}
	r, err := k.run(h)
	if err != nil {
		return err
	}
	for i := r.from + sort.Search(r.to-r.from, func(i int) bool { return r.at(r.from+i) >= h }); i < k.n; i++ {
		if i >= r.to {
			if r, err = k.hashes(i, min(k.n, i+8)); err != nil {
				return err
			}
		}
		if r.at(i) != h {
			return nil
		}
		row, err := k.src.Range(8+8*int64(k.n)+4*int64(i), 4)
		if err != nil {
			return err
		}
		if done, err := fn(int32(binary.LittleEndian.Uint32(row))); done || err != nil {
			return err
		}
	}
	return nil
}
