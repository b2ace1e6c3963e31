package vec

import (
	"encoding/binary"
	"unsafe"
)

// View is one string in 16 bytes, in the layout of Arrow's StringView: up to 12
// bytes lie inside; a longer one keeps its first 4 bytes and points into a
// buffer. Views hold no Go pointers, so the collector never walks them.
type View struct {
	Len    uint32
	Prefix [4]byte
	// Rest is the rest of an inline string, or buffer index and offset (little endian uint32 each).
	Rest [8]byte
}

// InlineLen is the longest string that lies inside its view.
const InlineLen = 12

// Strings is a column of byte strings: views and the buffers they point into.
type Strings struct {
	Views []View
	Bufs  [][]byte
}

const firstBuf = 4 << 10
const maxBuf = 1 << 20

// Len is the number of strings.
func (s *Strings) Len() int { return len(s.Views) }

// At returns string i. It aliases the column: valid as long as the column is not reset.
func (s *Strings) At(i int) string {
	v := &s.Views[i]
	if v.Len <= InlineLen {
		return unsafe.String(&v.Prefix[0], v.Len)
	}
	buf := binary.LittleEndian.Uint32(v.Rest[:4])
	off := binary.LittleEndian.Uint32(v.Rest[4:])
	return unsafe.String(&s.Bufs[buf][off], v.Len)
}

// Bytes returns string i as bytes that must not be written to.
func (s *Strings) Bytes(i int) []byte {
	str := s.At(i)
	return unsafe.Slice(unsafe.StringData(str), len(str))
}

// Append copies str into the column.
func (s *Strings) Append(str string) {
	s.Views = append(s.Views, s.store(str))
}

// Set replaces string i by a copy of str; the old bytes stay in their buffer.
func (s *Strings) Set(i int, str string) { s.Views[i] = s.store(str) }

func (s *Strings) store(str string) View {
	v := View{Len: uint32(len(str))}
	if len(str) <= InlineLen {
		copy(unsafe.Slice(&v.Prefix[0], InlineLen), str)
		return v
	}
	copy(v.Prefix[:], str)
	last := len(s.Bufs) - 1
	if last < 0 || len(s.Bufs[last])+len(str) > cap(s.Bufs[last]) {
		size := firstBuf
		if last >= 0 {
			size = min(maxBuf, 2*cap(s.Bufs[last]))
		}
		s.Bufs = append(s.Bufs, make([]byte, 0, max(size, len(str))))
		last++
	}
	binary.LittleEndian.PutUint32(v.Rest[:4], uint32(last))
	binary.LittleEndian.PutUint32(v.Rest[4:], uint32(len(s.Bufs[last])))
	s.Bufs[last] = append(s.Bufs[last], str...)
	return v
}

// Reset empties the column. Buffers are dropped, not reused: results of At may
// still be held by whoever copied the views.
func (s *Strings) Reset() { s.Views, s.Bufs = s.Views[:0], nil }

// Wrap makes a column of views over an Arrow offsets buffer and its values,
// without copying the bytes. offsets has one more entry than there are strings.
// Appending to the column never writes behind values, whatever their capacity.
func Wrap(offsets []int32, values []byte) Strings {
	s := Strings{Views: make([]View, len(offsets)-1), Bufs: [][]byte{values[:len(values):len(values)]}}
	for i := range s.Views {
		from, to := offsets[i], offsets[i+1]
		v := View{Len: uint32(to - from)}
		if v.Len <= InlineLen {
			copy(unsafe.Slice(&v.Prefix[0], InlineLen), values[from:to])
		} else {
			copy(v.Prefix[:], values[from:from+4])
			binary.LittleEndian.PutUint32(v.Rest[4:], uint32(from))
		}
		s.Views[i] = v
	}
	return s
}
