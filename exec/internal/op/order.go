package op

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Direction is how one sort key orders. NullsFirst alone says where NULLs go.
type Direction struct{ Desc, NullsFirst bool }

// sorter orders row numbers of flat key columns. The order is stable.
type sorter struct {
	ctx  context.Context
	keys []*vec.Vector
	dirs []Direction
	// a and b are scratch for the radix passes; nulls collects the NULL rows.
	a, b  []entry
	nulls []int32
	// compared counts comparisons, between looks at ctx.
	compared int
	err      error
}

// checkEvery is how many items a loop handles between looks at its context.
const checkEvery = 64 << 10

// entry is a row with the first bits of its key: entries of one key kind order
// as their prefixes do, as far as those reach.
type entry struct {
	prefix uint64
	row    int32
}

// entryBytes is the scratch memory of one row while it is sorted.
const entryBytes = 2*16 + 4

// sortRows returns the rows 0..n-1 in the order of the keys; ties keep the order
// of their numbers. The result and its scratch are reserved in account, the
// scratch only while it is used.
func sortRows(ctx context.Context, keys []*vec.Vector, dirs []Direction, n int, account *mem.Account) ([]int32, error) {
	if err := account.Grow(int64(n) * (4 + entryBytes)); err != nil {
		return nil, err
	}
	defer account.Shrink(int64(n) * entryBytes)
	rows := kernel.Identity(n)
	s := newSorter(ctx, keys, dirs, n)
	s.sort(rows, 0)
	return rows, s.err
}

// newSorter returns a sorter of at most n rows at a time. Its scratch is entryBytes a row.
func newSorter(ctx context.Context, keys []*vec.Vector, dirs []Direction, n int) *sorter {
	s := &sorter{ctx: ctx, keys: keys, dirs: dirs}
	if n > smallRun {
		s.a, s.b = make([]entry, n), make([]entry, n)
	}
	return s
}

// smallRun is the length up to which rows are sorted by comparing them.
const smallRun = 64

// sort orders rows, whose keys before k are equal, by the keys from k on.
func (s *sorter) sort(rows []int32, k int) {
	if len(rows) < 2 || k == len(s.keys) || s.err != nil {
		return
	}
	if len(rows) <= smallRun {
		slices.SortStableFunc(rows, func(a, b int32) int { return compareKeys(s.keys[k:], s.dirs[k:], a, b) })
		return
	}
	if s.err = s.ctx.Err(); s.err != nil {
		return
	}
	if radixable(s.keys[k].Type) {
		s.sortPrefix(rows, k)
		return
	}
	slices.SortStableFunc(rows, func(a, b int32) int { return s.checked(k, a, b) })
}

// checked compares by the keys from k on; after a cancellation, which it looks for
// now and then, it compares nothing.
func (s *sorter) checked(k int, a, b int32) int {
	if s.compared++; s.compared%checkEvery == 0 && s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err != nil {
		return 0
	}
	return compareKeys(s.keys[k:], s.dirs[k:], a, b)
}

// sortPrefix parts the NULLs, sorts the rest by 64-bit prefixes, then the runs of ties.
func (s *sorter) sortPrefix(rows []int32, k int) {
	key, dir := s.keys[k], s.dirs[k]
	es := s.a[:0]
	s.nulls = s.nulls[:0]
	hasNulls := key.HasNulls()
	for _, r := range rows {
		if hasNulls && key.IsNull(int(r)) {
			s.nulls = append(s.nulls, r)
		} else {
			es = append(es, entry{row: r})
		}
	}
	tmp := s.b[:len(es)]
	if key.Type.Kind == types.Decimal || key.Type.Kind == types.UUID {
		lowPrefixes(key, dir.Desc, es)
		if es = s.radixSort(es, tmp); len(es) > 0 && &es[0] == &tmp[0] {
			tmp = s.a[:len(es)]
		}
	}
	prefixes(key, dir.Desc, es)
	es = s.radixSort(es, tmp)
	if s.err != nil {
		return
	}
	runs := tieRuns(es)
	null, rest := rows[len(es):], rows[:len(es)]
	if dir.NullsFirst {
		null, rest = rows[:len(s.nulls)], rows[len(s.nulls):]
	}
	copy(null, s.nulls)
	for i, e := range es {
		rest[i] = e.row
	}
	s.sort(null, k+1)
	for i := 0; i < len(runs); i += 2 {
		s.ties(rest[runs[i]:runs[i+1]], k)
	}
}

// ties sorts rows whose prefixes of key k are equal.
func (s *sorter) ties(rows []int32, k int) {
	if exact(s.keys[k].Type) {
		s.sort(rows, k+1)
		return
	}
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	slices.SortStableFunc(rows, func(a, b int32) int { return s.checked(k, a, b) })
}

// tieRuns lists the starts and ends of the runs of two or more equal prefixes.
func tieRuns(es []entry) []int {
	var runs []int
	for i := 1; i < len(es); i++ {
		if es[i].prefix != es[i-1].prefix {
			continue
		}
		from := i - 1
		for i < len(es) && es[i].prefix == es[from].prefix {
			i++
		}
		runs = append(runs, from, i)
	}
	return runs
}

// compareKeys orders two rows by all keys.
func compareKeys(keys []*vec.Vector, dirs []Direction, a, b int32) int {
	for i, k := range keys {
		if c := compareKey(k, dirs[i], a, b); c != 0 {
			return c
		}
	}
	return 0
}

func compareKey(k *vec.Vector, dir Direction, a, b int32) int {
	if k.HasNulls() {
		na, nb := k.IsNull(int(a)), k.IsNull(int(b))
		switch {
		case na && nb:
			return 0
		case na != nb && na == dir.NullsFirst:
			return -1
		case na != nb:
			return 1
		}
	}
	c := kernel.CompareRows(k, int(a), k, int(b))
	if dir.Desc {
		return -c
	}
	return c
}

// radixable reports whether prefixes exist for the type.
func radixable(t types.Type) bool {
	switch t.Kind {
	case types.Text, types.Binary, types.Unknown, types.JSON, types.Decimal, types.UUID:
		return true
	}
	return exact(t)
}

// exact reports whether equal prefixes mean equal keys.
func exact(t types.Type) bool {
	switch t.Kind {
	case types.Boolean, types.Int32, types.Date, types.Int64, types.Timestamp, types.Time, types.Double:
		return true
	}
	return false
}

const signBit = 1 << 63

// prefixes fills the entries' prefixes from a flat key column.
func prefixes(key *vec.Vector, desc bool, es []entry) {
	switch key.Type.Kind {
	case types.Int64, types.Timestamp, types.Time:
		for i := range es {
			es[i].prefix = uint64(key.Int64s[es[i].row]) ^ signBit
		}
	case types.Int32, types.Date:
		for i := range es {
			es[i].prefix = uint64(int64(key.Int32s[es[i].row])) ^ signBit
		}
	case types.Double:
		for i := range es {
			es[i].prefix = floatPrefix(key.Float64s[es[i].row])
		}
	case types.Boolean:
		for i := range es {
			es[i].prefix = 0
			if key.Bools[es[i].row] {
				es[i].prefix = 1
			}
		}
	case types.Decimal, types.UUID:
		for i := range es {
			es[i].prefix = uint64(key.Decimals[es[i].row].HighBits()) ^ signBit
		}
	default:
		for i := range es {
			es[i].prefix = textPrefix(key.Strings.At(int(es[i].row)))
		}
	}
	if desc {
		for i := range es {
			es[i].prefix = ^es[i].prefix
		}
	}
}

// lowPrefixes are the lower halves of decimals, which a first stable pass orders.
func lowPrefixes(key *vec.Vector, desc bool, es []entry) {
	for i := range es {
		es[i].prefix = key.Decimals[es[i].row].LowBits()
		if desc {
			es[i].prefix = ^es[i].prefix
		}
	}
}

// floatPrefix orders as doubles do, with -0.0 = 0.0 and NaN the greatest.
func floatPrefix(f float64) uint64 {
	switch {
	case f == 0:
		return signBit
	case f != f:
		return math.MaxUint64
	}
	b := math.Float64bits(f)
	if b&signBit != 0 {
		return ^b
	}
	return b | signBit
}

// textPrefix is the first eight bytes, padded with zeros.
func textPrefix(s string) uint64 {
	if len(s) >= 8 {
		return binary.BigEndian.Uint64([]byte(s[:8]))
	}
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}

// radixSort sorts by prefix, stably, byte by byte from the lowest; bytes that
// are the same in all entries cost no pass. The result lies in es or tmp; after a
// cancellation it is not sorted and s.err is set.
func (s *sorter) radixSort(es, tmp []entry) []entry {
	var counts [8][256]int32
	for _, e := range es {
		p := e.prefix
		for d := range 8 {
			counts[d][byte(p>>(8*d))]++
		}
	}
	for d := range 8 {
		c := &counts[d]
		if len(es) == 0 || int(c[byte(es[0].prefix>>(8*d))]) == len(es) {
			continue
		}
		at := int32(0)
		for i, n := range c {
			c[i] = at
			at += n
		}
		for from := 0; from < len(es) && s.err == nil; from += checkEvery {
			scatterByte(es[from:min(len(es), from+checkEvery)], tmp, d, c)
			s.err = s.ctx.Err()
		}
		es, tmp = tmp, es
	}
	return es
}

// scatterByte places entries by byte d of their prefixes at the next free places.
func scatterByte(es, tmp []entry, d int, next *[256]int32) {
	for _, e := range es {
		b := byte(e.prefix >> (8 * d))
		tmp[next[b]] = e
		next[b]++
	}
}
