package hashtable

import (
	"bytes"
	"context"

	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Join finds the build rows of a key. It is built once by [BuildJoin] and then
// read by any number of goroutines through their own [Probe].
type Join struct {
	types    []types.Type
	nullSafe []bool
	sameHash bool

	// heads of chains: row + 1. A word key lies in its slot; others are compared
	// with the key of the chain's head.
	slots  []joinSlot
	salted []uint64
	keys   pages
	keyRow []uint32
	// next[row] is the next row of row's key + 1, 0 at the end; nil when no key repeats.
	next []uint32
}

type joinSlot struct {
	key  uint64
	head uint32
}

// checkEvery is how many rows a loop handles between looks at its context.
const checkEvery = 64 << 10

// BuildJoin indexes n rows of flat key columns. Rows with a NULL in a key that
// is not null-safe are left out: they match nothing. Chains list rows in
// ascending order. Errors: fail.Exhausted, the context's.
func BuildJoin(ctx context.Context, keys []*vec.Vector, nullSafe []bool, n int, account *mem.Account, sameHash bool) (*Join, error) {
	j := &Join{nullSafe: nullSafe, sameHash: sameHash}
	for _, k := range keys {
		j.types = append(j.types, k.Type)
	}
	size := slotsFor(n)
	slotBytes := int64(8)
	if j.word() {
		slotBytes = 16
	}
	if err := account.Grow(int64(size)*slotBytes + int64(n)*4); err != nil {
		return nil, err
	}
	j.next = make([]uint32, n)
	repeats := false
	var err error
	if j.word() {
		j.slots = make([]joinSlot, size)
		repeats, err = j.buildWords(ctx, keys[0], n)
	} else {
		j.salted = make([]uint64, size)
		repeats, err = j.buildKeys(ctx, keys, n, account)
	}
	if !repeats {
		j.next = nil
		account.Shrink(int64(n) * 4)
	}
	return j, err
}

func (j *Join) word() bool { return len(j.types) == 1 && isWord(j.types[0]) && !j.nullSafe[0] }

// Unique reports that no key has two rows.
func (j *Join) Unique() bool { return j.next == nil }

// Next is the build row after row in its chain, and whether there is one.
func (j *Join) Next(row uint32) (uint32, bool) {
	if j.next == nil || j.next[row] == 0 {
		return 0, false
	}
	return j.next[row] - 1, true
}

func (j *Join) buildWords(ctx context.Context, key *vec.Vector, n int) (repeats bool, err error) {
	buf := make([]uint64, min(n, checkEvery))
	mask := uint64(len(j.slots) - 1)
	nulls := key.HasNulls()
	for to := n; to > 0; {
		from := max(0, to-checkEvery)
		if ctx.Err() != nil {
			return repeats, ctx.Err()
		}
		words(key.Slice(from, to), nil, to-from, buf)
		for r := to - 1; r >= from; r-- {
			if nulls && key.IsNull(r) {
				continue
			}
			w := buf[r-from]
			at := j.hashWord(w) & mask
			for j.slots[at].head != 0 && j.slots[at].key != w {
				at = (at + 1) & mask
			}
			s := &j.slots[at]
			repeats = repeats || s.head != 0
			j.next[r] = s.head
			s.key, s.head = w, uint32(r)+1
		}
		to = from
	}
	return repeats, nil
}

func (j *Join) hashWord(w uint64) uint64 {
	if j.sameHash {
		return 0
	}
	return hashWord(w)
}

// buildKeys stores each distinct key once; a slot holds salt | key number + 1
// and keyRow the head of the key's chain.
func (j *Join) buildKeys(ctx context.Context, keys []*vec.Vector, n int, account *mem.Account) (repeats bool, err error) {
	enc := Encoder{Types: j.types}
	mask := uint64(len(j.salted) - 1)
	part := make([]*vec.Vector, len(keys))
	for to := n; to > 0; {
		from := max(0, to-vec.ChunkRows)
		if ctx.Err() != nil {
			return repeats, ctx.Err()
		}
		for i, k := range keys {
			part[i] = k.Slice(from, to)
		}
		enc.Encode(part, nil, to-from)
		for r := to - 1; r >= from; r-- {
			if j.nullKey(part, r-from) {
				continue
			}
			k := enc.Row(r - from)
			h := hashKey(k, j.sameHash)
			at := h & mask
			for j.salted[at] != 0 && !j.matches(j.salted[at], h, k) {
				at = (at + 1) & mask
			}
			if j.salted[at] == 0 {
				if err := account.Grow(16); err != nil {
					return repeats, err
				}
				if err := j.keys.add(k, account); err != nil {
					return repeats, err
				}
				j.keyRow = append(j.keyRow, uint32(r)+1)
				j.salted[at] = saltOf(h) | uint64(len(j.keyRow))
				continue
			}
			head := &j.keyRow[j.salted[at]&rowMask-1]
			j.next[r], *head = *head, uint32(r)+1
			repeats = true
		}
		to = from
	}
	return repeats, nil
}

// nullKey reports a NULL in a key that is not null-safe.
func (j *Join) nullKey(cols []*vec.Vector, row int) bool {
	for i, c := range cols {
		if !j.nullSafe[i] && c.HasNulls() && c.IsNull(row) {
			return true
		}
	}
	return false
}

func (j *Join) matches(slot, h uint64, key []byte) bool {
	return slot&^rowMask == saltOf(h) && bytes.Equal(j.keys.at(int(slot&rowMask)-1), key)
}

// Probe is one goroutine's view of a join table.
type Probe struct {
	j   *Join
	enc Encoder
	scratch
}

// NewProbe returns a probe of j.
func (j *Join) NewProbe() *Probe { return &Probe{j: j, enc: Encoder{Types: j.types}} }

// Heads sets out[i] to the first build row + 1 that matches row sel[i] (row i
// with nil sel) of the key columns, or 0.
func (p *Probe) Heads(cols []*vec.Vector, sel []int32, n int, out []uint32) {
	if p.j.word() {
		p.wordHeads(cols[0], sel, n, out)
		return
	}
	j := p.j
	mask := uint64(len(j.salted) - 1)
	p.enc.Encode(cols, sel, n)
	p.first(j.salted, &j.keys, &p.enc, n, j.sameHash)
	for i := range n {
		out[i] = 0
		if j.nullKey(cols, rowOf(sel, i)) {
			continue
		}
		if at := p.found[i]; at != 0 {
			out[i] = j.keyRow[at-1]
			continue
		}
		k, h := p.enc.Row(i), p.batchHashes[i]
		for at := h & mask; j.salted[at] != 0; at = (at + 1) & mask {
			if j.matches(j.salted[at], h, k) {
				out[i] = j.keyRow[j.salted[at]&rowMask-1]
				break
			}
		}
	}
}

func (p *Probe) wordHeads(v *vec.Vector, sel []int32, n int, out []uint32) {
	j := p.j
	mask := uint64(len(j.slots) - 1)
	p.wordBuf = grow(p.wordBuf, n)
	words(v, sel, n, p.wordBuf)
	for i, w := range p.wordBuf {
		at := j.hashWord(w) & mask
		for j.slots[at].head != 0 && j.slots[at].key != w {
			at = (at + 1) & mask
		}
		out[i] = j.slots[at].head
	}
	if !v.HasNulls() {
		return
	}
	for i := range n {
		if v.IsNull(rowOf(sel, i)) {
			out[i] = 0
		}
	}
}
