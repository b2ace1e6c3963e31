package sketch

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/loamdb/loam/internal/fail"
)

// A sketch is a HyperLogLog of 2^precision registers of one byte. The first
// precision bits of a hash choose a register, which keeps the greatest rank of the
// other bits: one more than the zeros that they begin with.
const (
	precision = 10
	registers = 1 << precision
	maxRank   = 64 - precision + 1
)

// RelativeError is the standard error of an estimate as a part of the count:
// 1.04/√registers. Of a few hundred values it is smaller.
const RelativeError = 1.04 / 32

// Sketch is a set of 64-bit hashes of which only the number is known, about. The
// zero value is the empty set. Not for concurrent use while it is changed.
type Sketch struct{ ranks [registers]uint8 }

// Add puts a hash into the set. All 64 bits of it must be well mixed.
func (s *Sketch) Add(hash uint64) {
	rank := uint8(bits.LeadingZeros64(hash<<precision|1<<(precision-1)) + 1)
	if r := &s.ranks[hash>>(64-precision)]; rank > *r {
		*r = rank
	}
}

// Merge makes s the union of both.
func (s *Sketch) Merge(o *Sketch) {
	for i, r := range o.ranks {
		if r > s.ranks[i] {
			s.ranks[i] = r
		}
	}
}

// Count estimates the number of different hashes. The estimator has no bias and
// needs no table for small counts: Ertl, "New cardinality estimation algorithms for
// HyperLogLog sketches" (2017), algorithm 6.
func (s *Sketch) Count() float64 {
	var of [maxRank + 1]int // registers by rank
	for _, r := range s.ranks {
		of[r]++
	}
	const m = float64(registers)
	z := m * tau(1-float64(of[maxRank])/m)
	for r := maxRank - 1; r > 0; r-- {
		z = (z + float64(of[r])) / 2
	}
	z += m * sigma(float64(of[0])/m)
	return m * m / (2 * math.Ln2 * z)
}

// sigma is x + Σ 2^(k−1)·x^(2^k), k from 1: the part of the registers that are empty.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	for y, z := 1.0, x; ; y *= 2 {
		x *= x
		before := z
		if z += x * y; z == before {
			return z
		}
	}
}

// tau is the same for the registers that are full.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	for y, z := 0.5, 1-x; ; y /= 2 {
		x = math.Sqrt(x)
		before := z
		if z -= (1 - x) * (1 - x) * y; z == before {
			return z / 3
		}
	}
}

// Encoded sketches begin with the form: the registers that are not zero, as register
// u16 and rank u8, ascending; or, where that is shorter, all registers.
const (
	formSparse = 0
	formDense  = 1
	sparseItem = 3
)

// Encode returns at most 1 + 1,024 bytes; 3 bytes for each of a few values.
func (s *Sketch) Encode() []byte {
	sparse := []byte{formSparse}
	for i, r := range s.ranks {
		if r == 0 {
			continue
		}
		if len(sparse)+sparseItem > registers {
			return append([]byte{formDense}, s.ranks[:]...)
		}
		sparse = append(binary.LittleEndian.AppendUint16(sparse, uint16(i)), r)
	}
	return sparse
}

// Decode reads what Encode wrote. Errors: fail.Corrupt.
func Decode(b []byte) (*Sketch, error) {
	s := &Sketch{}
	switch {
	case len(b) == 0 || b[0] > formDense:
		return nil, corrupt("it begins with no known form")
	case b[0] == formDense:
		if len(b) != 1+registers {
			return nil, corrupt("%s of registers, want %d", fail.Count(len(b)-1, "byte"), registers)
		}
		copy(s.ranks[:], b[1:])
	case (len(b)-1)%sparseItem != 0:
		return nil, corrupt("it ends within a register")
	default:
		before := -1
		for at := 1; at < len(b); at += sparseItem {
			i := int(binary.LittleEndian.Uint16(b[at:]))
			if i <= before || i >= registers {
				return nil, corrupt("register %d after %d", i, before)
			}
			s.ranks[i], before = b[at+2], i
		}
	}
	for i, r := range s.ranks {
		if r > maxRank {
			return nil, corrupt("register %d has rank %d", i, r)
		}
	}
	return s, nil
}

func corrupt(format string, args ...any) *fail.Error {
	return fail.New(fail.Corrupt, "distinct sketch: "+format, args...)
}
