package hashtable

import (
	"bytes"
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Groups numbers distinct keys from 0 in order of first appearance. It belongs
// to one goroutine.
type Groups struct {
	types    []types.Type
	account  *mem.Account
	sameHash bool
	n        int

	// One key that fits a word: slots hold the key itself. id is group + 1; 0 is free.
	slots []wordSlot
	words []uint64
	// nulls is the group of the NULL key + 1.
	nulls uint32

	// Any other key: slots hold salt | group + 1; keys lie encoded in pages.
	salted []uint64
	hashes []uint64
	keys   pages
	enc    Encoder
	scratch
}

type wordSlot struct {
	key uint64
	id  uint32
}

// scratch is the memory of one batch of keys.
type scratch struct {
	wordBuf []uint64
	missBuf []int32
	// batchHashes are the hashes of the batch; found[i] is the number + 1 of the key
	// that lies in row i's first slot and equals it, or 0.
	batchHashes []uint64
	found       []uint64
	places      []uint64
}

// first looks into the first slot of n encoded keys, step by step for all of
// them, so that the processor waits for many slots and keys at once.
func (s *scratch) first(slots []uint64, keys *pages, enc *Encoder, n int, sameHash bool) {
	s.batchHashes, s.found, s.places = grow(s.batchHashes, n), grow(s.found, n), grow(s.places, n)
	for i := range n {
		s.batchHashes[i] = hashKey(enc.Row(i), sameHash)
	}
	mask := uint64(len(slots) - 1)
	for i, h := range s.batchHashes {
		at := slots[h&mask]
		s.found[i] = at & rowMask
		if at&^rowMask != saltOf(h) {
			s.found[i] = 0
		}
	}
	for i, at := range s.found {
		s.places[i] = 0
		if at != 0 {
			s.places[i] = keys.offs[at-1]
		}
	}
	for i, at := range s.found {
		if at != 0 && !bytes.Equal(keys.get(s.places[i]), enc.Row(i)) {
			s.found[i] = 0
		}
	}
}

func hashKey(key []byte, sameHash bool) uint64 {
	if sameHash {
		return 0
	}
	return xxh3.Hash(key)
}

// NewGroups returns an empty table for keys of the types (at least one).
// sameHash makes all hashes equal, for tests.
func NewGroups(ts []types.Type, account *mem.Account, sameHash bool) *Groups {
	return &Groups{types: ts, account: account, sameHash: sameHash, enc: Encoder{Types: ts}}
}

// Types are the types of the keys; the caller does not change them.
func (g *Groups) Types() []types.Type { return g.types }

// Len is the number of groups.
func (g *Groups) Len() int { return g.n }

func (g *Groups) word() bool { return len(g.types) == 1 && isWord(g.types[0]) }

// Find sets out[i] to the group of row sel[i] (row i with nil sel) of the key
// columns, adding groups for new keys. Error: fail.Exhausted.
func (g *Groups) Find(cols []*vec.Vector, sel []int32, n int, out []uint32) error {
	if err := g.reserve(n); err != nil {
		return err
	}
	if g.word() {
		return g.findWords(cols[0], sel, n, out)
	}
	g.enc.Encode(cols, sel, n)
	g.first(g.salted, &g.keys, &g.enc, n, g.sameHash)
	for i := range n {
		if at := g.found[i]; at != 0 {
			out[i] = uint32(at) - 1
			continue
		}
		id, err := g.findKey(g.enc.Row(i), g.batchHashes[i])
		if err != nil {
			return err
		}
		out[i] = id
	}
	return nil
}

// FindFrom sets mapping[i] to the group here of group from+i of other, adding
// groups for new keys. Both have the same key types. Error: fail.Exhausted.
func (g *Groups) FindFrom(other *Groups, from int, mapping []uint32) error {
	if err := g.reserve(len(mapping)); err != nil {
		return err
	}
	for i := range mapping {
		id := uint32(from + i)
		switch {
		case !g.word():
			var err error
			if mapping[i], err = g.findKey(other.keys.at(int(id)), other.hashes[id]); err != nil {
				return err
			}
		case other.nulls == id+1:
			mapping[i] = g.findNull()
		default:
			mapping[i] = g.findWord(other.words[id])
		}
	}
	return nil
}

// Keys appends the keys of groups [from, from+n) to cols, flat vectors of the key types.
func (g *Groups) Keys(cols []*vec.Vector, from, n int) {
	for id := from; id < from+n; id++ {
		switch {
		case !g.word():
			Decode(g.keys.at(id), cols)
		case g.nulls == uint32(id)+1:
			cols[0].AppendNull()
		default:
			appendWord(cols[0], g.words[id])
		}
	}
}

func (g *Groups) findWords(v *vec.Vector, sel []int32, n int, out []uint32) error {
	g.wordBuf = grow(g.wordBuf, n)
	words(v, sel, n, g.wordBuf)
	if v.HasNulls() {
		for i, w := range g.wordBuf {
			if v.IsNull(rowOf(sel, i)) {
				out[i] = g.findNull()
			} else {
				out[i] = g.findWord(w)
			}
		}
		return nil
	}
	// Most keys lie in their first slot. Looking there for all rows before any is
	// inserted lets the processor wait for many slots at once.
	g.missBuf = grow(g.missBuf, n)
	k := 0
	if !g.sameHash {
		mask := uint64(len(g.slots) - 1)
		for i, w := range g.wordBuf {
			s := &g.slots[hashWord(w)&mask]
			out[i] = s.id - 1
			g.missBuf[k] = int32(i)
			if s.key != w || s.id == 0 {
				k++
			}
		}
	} else {
		for ; k < n; k++ {
			g.missBuf[k] = int32(k)
		}
	}
	for _, i := range g.missBuf[:k] {
		out[i] = g.findWord(g.wordBuf[i])
	}
	return nil
}

func (g *Groups) findNull() uint32 {
	if g.nulls == 0 {
		g.nulls = uint32(g.n) + 1
		g.words = append(g.words, 0)
		g.n++
	}
	return g.nulls - 1
}

func (g *Groups) findWord(w uint64) uint32 {
	h := uint64(0)
	if !g.sameHash {
		h = hashWord(w)
	}
	mask := uint64(len(g.slots) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		s := &g.slots[at]
		if s.id == 0 {
			s.key, s.id = w, uint32(g.n)+1
			g.words = append(g.words, w)
			g.n++
			return s.id - 1
		}
		if s.key == w {
			return s.id - 1
		}
	}
}

func (g *Groups) findKey(key []byte, h uint64) (uint32, error) {
	mask := uint64(len(g.salted) - 1)
	for at := h & mask; ; at = (at + 1) & mask {
		s := g.salted[at]
		if s == 0 {
			if err := g.keys.add(key, g.account); err != nil {
				return 0, err
			}
			g.n++
			g.salted[at] = saltOf(h) | uint64(g.n)
			g.hashes = append(g.hashes, h)
			return uint32(g.n) - 1, nil
		}
		if s&^rowMask == saltOf(h) {
			if id := int(s&rowMask) - 1; bytes.Equal(g.keys.at(id), key) {
				return uint32(id), nil
			}
		}
	}
}

// reserve makes room for n groups more, so that finding them cannot overfill
// the slots.
func (g *Groups) reserve(n int) error {
	need := g.n + n
	if g.word() {
		if 3*need <= 2*len(g.slots) {
			return nil
		}
		return g.growWords(slotsFor(need))
	}
	if 3*need <= 2*len(g.salted) {
		return nil
	}
	return g.growSalted(slotsFor(need))
}

func (g *Groups) growWords(size int) error {
	const slotBytes, wordBytes = 16, 8
	if err := g.account.Grow(int64(size)*slotBytes + int64(size-len(g.slots))*wordBytes); err != nil {
		return err
	}
	old := g.slots
	g.slots = make([]wordSlot, size)
	mask := uint64(size - 1)
	for _, s := range old {
		if s.id == 0 {
			continue
		}
		at := uint64(0)
		if !g.sameHash {
			at = hashWord(s.key) & mask
		}
		for g.slots[at].id != 0 {
			at = (at + 1) & mask
		}
		g.slots[at] = s
	}
	g.account.Shrink(int64(len(old)) * slotBytes)
	return nil
}

func (g *Groups) growSalted(size int) error {
	// A slot, and for each a hash and an offset that may come to lie beside it.
	const slotBytes, sideBytes = 8, 16
	if err := g.account.Grow(int64(size)*slotBytes + int64(size-len(g.salted))*sideBytes); err != nil {
		return err
	}
	old := len(g.salted)
	g.salted = make([]uint64, size)
	mask := uint64(size - 1)
	for id, h := range g.hashes {
		at := h & mask
		for g.salted[at] != 0 {
			at = (at + 1) & mask
		}
		g.salted[at] = saltOf(h) | uint64(id+1)
	}
	g.account.Shrink(int64(old) * slotBytes)
	return nil
}

// pageBytes is the size of a page of keys; a longer key has its own.
const pageBytes = 256 << 10

// pages is an append-only list of byte strings that never move, each behind its
// length (uint32, little endian).
type pages struct {
	bufs [][]byte
	// offs[i] is page<<32 | offset of string i.
	offs []uint64
}

func (p *pages) at(i int) []byte { return p.get(p.offs[i]) }

func (p *pages) get(place uint64) []byte {
	b := p.bufs[place>>32][uint32(place):]
	return b[4 : 4+binary.LittleEndian.Uint32(b)]
}

func (p *pages) add(b []byte, account *mem.Account) error {
	last := len(p.bufs) - 1
	if last < 0 || len(p.bufs[last])+4+len(b) > cap(p.bufs[last]) {
		size := pageBytes
		if last < 0 {
			size = 4 << 10
		}
		size = max(size, 4+len(b))
		if err := account.Grow(int64(size)); err != nil {
			return err
		}
		p.bufs = append(p.bufs, make([]byte, 0, size))
		last++
	}
	at := len(p.bufs[last])
	p.bufs[last] = binary.LittleEndian.AppendUint32(p.bufs[last], uint32(len(b)))
	p.bufs[last] = append(p.bufs[last], b...)
	p.offs = append(p.offs, uint64(last)<<32|uint64(at))
	return nil
}
