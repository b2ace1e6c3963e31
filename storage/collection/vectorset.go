package collection

import (
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/source"
)

// vectorSet says of a record that it changes nothing but some vectors of the document
// that it replaces: bit i stands for vector field number i, as vectorFields counts.
// 0 is a record that may change anything, and a delete. A record of a set repeats all
// else of what it was made from, and was sequenced on top of just that (AppendIf).
type vectorSet uint64

// maxInSet is the number of vector fields that a set can name.
const maxInSet = 64

// then is what two records change together, t after s.
func (s vectorSet) then(t vectorSet) vectorSet {
	if s == 0 || t == 0 {
		return 0
	}
	return s | t
}

// has reports whether vector field number i is in the set.
func (s vectorSet) has(i int) bool { return i < maxInSet && s>>i&1 == 1 }

// setOf is the set of the fields that have values; 0 when one of them is no vector.
func setOf(obj *schema.Object, values []*vec.Vector) vectorSet {
	set := vectorSet(0)
	number := 0
	for i, f := range obj.Fields {
		vector := source.Outside(f.Type)
		switch {
		case values[i] != nil && (!vector || number >= maxInSet):
			return 0
		case values[i] != nil:
			set |= 1 << number
		}
		if vector {
			number++
		}
	}
	return set
}

// setAt is that of row i; no list is one of zeros.
func setAt(sets []vectorSet, i int) vectorSet {
	if sets == nil {
		return 0
	}
	return sets[i]
}
