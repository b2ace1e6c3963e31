package column

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/sketch"
)

// Statistics say what is in a column, in JSON as a bundle's table has them. They
// never change: rows that are deleted later still count.
type Statistics struct {
	Nulls int `json:"nulls"`
	// Min and Max bound the values as the zone map of a chunk does; absent when
	// nothing is known.
	Min []byte `json:"min,omitempty"`
	Max []byte `json:"max,omitempty"`
	// Distinct is the encoded sketch of the values that are not NULL; absent of types
	// whose values are not counted.
	Distinct []byte `json:"distinct,omitempty"`
}

// Bounds are values of the column's type: none is below lo or above hi.
func (s *Statistics) Bounds(t types.Type) (lo, hi vec.Value, ok bool) {
	return decodeZones(t, s.Min, s.Max)
}

// Statistics are those of each column of a finished section.
func (s *Stream) Statistics() []Statistics {
	out := make([]Statistics, len(s.cols))
	for i := range s.cols {
		c := &s.cols[i]
		out[i] = fold(c.pending.Type, s.rows, c.dir.Chunks)
		if c.distinct != nil {
			out[i].Distinct = c.distinct.Encode()
		}
	}
	return out
}

// Statistics are those of a column that exists, without its distinct values.
func (s *Section) Statistics(name string) Statistics {
	c := s.cols[name]
	return fold(c.t, s.dir.Rows, c.Chunks)
}

// fold joins the zone maps of a column's chunks.
func fold(t types.Type, rows int, chunks []chunkDir) Statistics {
	var out Statistics
	var lo, hi vec.Value
	bounded := true
	for i := range chunks {
		k := &chunks[i]
		out.Nulls += k.Nulls
		if k.Nulls == min(vec.ChunkRows, rows-i*vec.ChunkRows) {
			continue
		}
		least, most, ok := decodeZones(t, k.Min, k.Max)
		if bounded = bounded && ok; !bounded {
			continue
		}
		if out.Max == nil || Less(least, lo) {
			out.Min, lo = k.Min, least
		}
		if out.Max == nil || Less(hi, most) {
			out.Max, hi = k.Max, most
		}
	}
	if !bounded {
		out.Min, out.Max = nil, nil
	}
	return out
}

// counted reports whether the different values of a type are counted: of all that
// have one value and not many.
func counted(t types.Type) bool {
	switch t.Kind {
	case types.Boolean, types.Int32, types.Date, types.Int64, types.Timestamp, types.Time, types.Double,
		types.Decimal, types.UUID, types.Text:
		return true
	}
	return false
}

// addDistinct adds the values of a flat vector that are not NULL. Values that SQL
// calls equal have one hash: XXH3-64 of 8 bytes for numbers and times, of 16 for
// DECIMAL and UUID, of the text.
func addDistinct(s *sketch.Sketch, v *vec.Vector) {
	var buf [16]byte
	word := func(u uint64) {
		binary.LittleEndian.PutUint64(buf[:], u)
		s.Add(xxh3.Hash(buf[:8]))
	}
	for i := range v.N {
		if !v.Valid.Get(i) {
			continue
		}
		switch v.Type.Kind {
		case types.Boolean:
			if v.Bools[i] {
				word(1)
			} else {
				word(0)
			}
		case types.Int32, types.Date:
			word(uint64(int64(v.Int32s[i])))
		case types.Int64, types.Timestamp, types.Time:
			word(uint64(v.Int64s[i]))
		case types.Double:
			word(doubleWord(v.Float64s[i]))
		case types.Decimal, types.UUID:
			s.Add(xxh3.Hash(appendDecimal(buf[:0], v.Decimals[i])))
		case types.Text:
			s.Add(xxh3.HashString(v.Strings.At(i)))
		}
	}
}

// doubleWord is the same for values that SQL calls equal: the two zeros, all NaN.
func doubleWord(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case f != f:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}
