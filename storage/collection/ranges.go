package collection

import (
	"unicode/utf8"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
)

// Range bounds what the rows of a segment hold, deleted rows included.
type Range struct {
	// Keys are the least and the greatest key by bytes, of a collection; nil when
	// one of them is longer than maxRangeKey.
	Keys *KeyRange `json:"keys,omitempty"`
	// MinTS and MaxTS are ingest times in microseconds.
	MinTS int64 `json:"min_ts"`
	MaxTS int64 `json:"max_ts"`
	// Offsets are by partition, ascending; partitions without rows are left out.
	Offsets []OffsetRange `json:"offsets"`
}

// KeyRange are the least and the greatest key.
type KeyRange struct {
	Min string `json:"min"`
	Max string `json:"max"`
}

// OffsetRange is the offsets of a partition's rows: none is below First, none at
// Next or above.
type OffsetRange struct {
	Partition int    `json:"partition"`
	First     uint64 `json:"first"`
	Next      uint64 `json:"next"`
}

// maxRangeKey is the longest key that bounds a range, in bytes.
const maxRangeKey = 64

// mayHold reports whether a row can have the key.
func (r *Range) mayHold(key string) bool {
	return r == nil || r.Keys == nil || key >= r.Keys.Min && key <= r.Keys.Max
}

// join bounds what either bounds; nil when one of them is unknown.
func (r *Range) join(o *Range) *Range {
	if r == nil || o == nil {
		return nil
	}
	out := &Range{MinTS: min(r.MinTS, o.MinTS), MaxTS: max(r.MaxTS, o.MaxTS)}
	if r.Keys != nil && o.Keys != nil {
		out.Keys = &KeyRange{Min: min(r.Keys.Min, o.Keys.Min), Max: max(r.Keys.Max, o.Keys.Max)}
	}
	out.Offsets = append(out.Offsets, r.Offsets...)
	for _, p := range o.Offsets {
		out.widen(p)
	}
	return out
}

// widen takes a run of offsets in.
func (r *Range) widen(p OffsetRange) {
	at := 0
	for at < len(r.Offsets) && r.Offsets[at].Partition < p.Partition {
		at++
	}
	if at < len(r.Offsets) && r.Offsets[at].Partition == p.Partition {
		r.Offsets[at].First = min(r.Offsets[at].First, p.First)
		r.Offsets[at].Next = max(r.Offsets[at].Next, p.Next)
		return
	}
	r.Offsets = append(r.Offsets, OffsetRange{})
	copy(r.Offsets[at+1:], r.Offsets[at:])
	r.Offsets[at] = p
}

// rangeBuilder finds the range of rows as they come.
type rangeBuilder struct {
	out  Range
	keys KeyRange
	long bool // a key was too long to bound
	any  bool
}

// add takes the system columns of n rows: of a collection the keys first, then
// partitions, offsets and ingest times.
func (b *rangeBuilder) add(kind schema.Kind, cols []*vec.Vector, n int) {
	if kind == schema.Collection {
		b.addKeys(cols[0], n)
		cols = cols[1:]
	} else {
		b.long = true
	}
	parts, offsets, times := cols[0].Int32s[:n], cols[1].Int64s[:n], cols[2].Int64s[:n]
	for i := range parts {
		if !b.any {
			b.any, b.out.MinTS, b.out.MaxTS = true, times[i], times[i]
		}
		b.out.MinTS, b.out.MaxTS = min(b.out.MinTS, times[i]), max(b.out.MaxTS, times[i])
		at := uint64(offsets[i])
		if k := len(b.out.Offsets) - 1; k >= 0 && b.out.Offsets[k].Partition == int(parts[i]) && at >= b.out.Offsets[k].First {
			b.out.Offsets[k].Next = max(b.out.Offsets[k].Next, at+1)
			continue
		}
		b.out.widen(OffsetRange{Partition: int(parts[i]), First: at, Next: at + 1})
	}
}

func (b *rangeBuilder) addKeys(keys *vec.Vector, n int) {
	for i := range n {
		k := keys.Strings.At(i)
		switch {
		case len(k) > maxRangeKey || !utf8.ValidString(k):
			b.long = true
		case !b.any && i == 0:
			b.keys = KeyRange{Min: copyOf(k), Max: copyOf(k)}
		case k < b.keys.Min:
			b.keys.Min = copyOf(k)
		case k > b.keys.Max:
			b.keys.Max = copyOf(k)
		}
	}
}

// copyOf is a key that does not hold the column it lies in.
func copyOf(k string) string { return string([]byte(k)) }

// finish is the range; nil without rows. It shares nothing with the builder, which
// is a part of something large.
func (b *rangeBuilder) finish() *Range {
	if !b.any {
		return nil
	}
	out := b.out
	if !b.long {
		keys := b.keys
		out.Keys = &keys
	}
	return &out
}
