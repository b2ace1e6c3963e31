package file

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// When values are stored once, with an index for each row.
const (
	// sampledValues are looked at first: if more than half of them differ, the column is
	// taken for one of different values.
	sampledValues = 2048
	// minRepeatedBytes: smaller pages are not worth a look.
	minRepeatedBytes = 4 << 10
	// shortValue: of longer values, on average, each is better read by itself.
	shortValue = 256
	// maxDictionaryBytes bounds the values of a dictionary, which readers keep.
	maxDictionaryBytes = 1 << 20
	// dictionarySaves is the part of the bytes, in tenths, that it must save.
	dictionarySaves = 3
)

// dictionaryPage lays the segment out with each value stored once; ok is false where
// that does not pay.
func (s *segment) dictionaryPage() (p page, ok bool, err error) {
	sh := &s.leaf.shape
	if !sh.variable() || len(s.ends) == 0 {
		return p, false, nil
	}
	w := sh.offsetBits / 8
	plain := int(s.ends[len(s.ends)-1]-s.base) + w*len(s.ends)
	if plain < minRepeatedBytes || plain > shortValue*len(s.ends) || !s.repeats() {
		return p, false, nil
	}
	seen := map[string]uint32{}
	ends := []uint64{0}
	var values []byte
	indices := make([]byte, 0, 4*len(s.ends))
	for i := range s.ends {
		v := s.value(i)
		at, known := seen[string(v)]
		if !known {
			at = uint32(len(seen))
			seen[string(v)] = at
			values = append(values, v...)
			ends = append(ends, uint64(len(values)))
			if len(values) > maxDictionaryBytes || 10*(len(values)+w*len(ends)) > (10-dictionarySaves)*plain {
				return p, false, nil
			}
		}
		indices = binary.LittleEndian.AppendUint32(indices, at)
	}
	packed := len(s.ends) * bits.Len(uint(len(seen)-1)) / 8
	if 10*(len(values)+w*len(ends)+packed) > (10-dictionarySaves)*plain {
		return p, false, nil
	}
	if p, err = s.indexed(indices).encodeMiniBlock(); err != nil {
		return p, false, err
	}
	l := p.layout.MiniBlock
	l.Dictionary, l.DictionaryItems = pb.VariableEncoding(uint64(sh.offsetBits)), uint64(len(seen))
	p.buffers = append(p.buffers[:2:2], append([][]byte{dictionaryBytes(values, ends, w)}, p.buffers[2:]...)...)
	return p, true, nil
}

// repeats looks at some values, spread over the segment.
func (s *segment) repeats() bool {
	n := min(len(s.ends), sampledValues)
	seed, seen := maphash.MakeSeed(), make(map[uint64]struct{}, n/2)
	for k := 0; k < n && 2*len(seen) <= n; k++ {
		seen[maphash.Bytes(seed, s.value(k*len(s.ends)/n))] = struct{}{}
	}
	return 2*len(seen) <= n
}

// indexed is the segment with an index for each value.
func (s *segment) indexed(indices []byte) *segment {
	l := *s.leaf
	l.shape = shape{typ: arrow.PrimitiveTypes.Uint32, width: 4}
	out := *s
	out.leaf, out.data, out.ends, out.base, out.longest = &l, indices, nil, 0, 0
	return &out
}

// dictionaryBytes is the buffer of a dictionary: in words of the offsets' width its bits
// and where the bytes start, then the offsets from there, and the bytes.
func dictionaryBytes(values []byte, ends []uint64, w int) []byte {
	out := make([]byte, 0, (len(ends)+2)*w+len(values))
	put := func(v uint64) {
		if w == 4 {
			out = binary.LittleEndian.AppendUint32(out, uint32(v))
		} else {
			out = binary.LittleEndian.AppendUint64(out, v)
		}
	}
	put(uint64(8 * w))
	put(uint64((len(ends) + 2) * w))
	for _, e := range ends {
		put(e)
	}
	return append(out, values...)
}
