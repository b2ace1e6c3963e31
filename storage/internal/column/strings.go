package column

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/klauspost/compress/zstd"

	"github.com/loamdb/loam/internal/vec"
)

var encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))

// maxDecoded bounds what one frame of strings may decompress to.
const maxDecoded = 1 << 31

var decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxDecoded))

// frameBytes is the size of text at which a compressed frame ends, so that one
// row is read without decompressing its whole chunk.
const frameBytes = 32 << 10

// appendStrings picks a dictionary when at most half of the values are
// distinct, zstd when long values shrink by a quarter, else flat: (n+1) u32
// offsets, then the bytes.
func appendStrings(dst []byte, v *vec.Vector) (byte, []byte) {
	at := func(i int) string {
		if v.Valid.Get(i) {
			return v.Strings.At(i)
		}
		return ""
	}
	if codes, distinct := dictionaryOf(v.N, at); codes != nil {
		width := bits.Len(uint(len(distinct) - 1))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(distinct)))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(width))
		dst = packBits(dst, codes, width)
		return encDict, appendFlatStrings(dst, len(distinct), func(i int) string { return distinct[i] })
	}
	start := len(dst)
	dst = appendFlatStrings(dst, v.N, at)
	text := start + 4*(v.N+1)
	if size := len(dst) - text; size >= 32*v.N && size > 0 {
		if frames := appendFrames(nil, dst[start:text], dst[text:]); len(frames) < size*3/4 {
			return encZstd, append(dst[:text], frames...)
		}
	}
	return encFlat, dst
}

// dictionaryOf numbers the distinct values; nil when more than half are distinct.
func dictionaryOf(n int, at func(int) string) (codes []uint64, distinct []string) {
	if n < 16 {
		return nil, nil
	}
	codes = make([]uint64, n)
	index := make(map[string]uint64, 16)
	for i := range n {
		s := at(i)
		c, ok := index[s]
		if !ok {
			if len(distinct) == n/2 {
				return nil, nil
			}
			c = uint64(len(distinct))
			index[s] = c
			distinct = append(distinct, s)
		}
		codes[i] = c
	}
	return codes, distinct
}

func appendFlatStrings(dst []byte, n int, at func(int) string) []byte {
	off := uint32(0)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	for i := range n {
		off += uint32(len(at(i)))
		dst = binary.LittleEndian.AppendUint32(dst, off)
	}
	for i := range n {
		dst = append(dst, at(i)...)
	}
	return dst
}

// appendFrames writes the bytes of n strings compressed: number of frames u32;
// per frame the row after its last u32 and its length u32; then the frames, each
// a zstd frame of whole strings, ended when it holds frameBytes.
func appendFrames(dst, offsets, text []byte) []byte {
	n := len(offsets)/4 - 1
	off := func(i int) int { return int(binary.LittleEndian.Uint32(offsets[4*i:])) }
	var head, body []byte
	for from, i := 0, 1; i <= n; i++ {
		if i < n && off(i)-off(from) < frameBytes {
			continue
		}
		at := len(body)
		body = encoder.EncodeAll(text[off(from):off(i)], body)
		head = binary.LittleEndian.AppendUint32(head, uint32(i))
		head = binary.LittleEndian.AppendUint32(head, uint32(len(body)-at))
		from = i
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(head)/8))
	return append(append(dst, head...), body...)
}

// stringBlock is a run of strings that is not decoded yet: n+1 offsets, and
// their bytes, plain or in frames.
type stringBlock struct {
	offsets []byte
	n       int
	text    []byte // plain
	frames  []frame
}

// frame holds the strings up to row end, packed.
type frame struct {
	end int
	zip []byte
}

// off is offset i. That it does not descend is for the reader to check.
func (s *stringBlock) off(i int) int { return int(binary.LittleEndian.Uint32(s.offsets[4*i:])) }

// readStrings takes a block of n strings.
func readStrings(c *cursor, n int, zipped bool) (*stringBlock, error) {
	s := &stringBlock{n: n, offsets: c.take(4 * (n + 1))}
	if c.bad {
		return nil, corrupt("offsets are cut short")
	}
	last := s.off(n)
	if last > maxDecoded {
		return nil, corrupt("strings of %d bytes", last)
	}
	if !zipped {
		if s.text = c.take(last); c.bad {
			return nil, corrupt("string bytes are cut short")
		}
		return s, nil
	}
	count := int(c.u32())
	head := c.take(8 * min(count, n))
	if c.bad || count > n {
		return nil, corrupt("frames are cut short")
	}
	from := 0
	for i := range count {
		f := frame{end: int(binary.LittleEndian.Uint32(head[8*i:])), zip: c.take(int(binary.LittleEndian.Uint32(head[8*i+4:])))}
		if c.bad || f.end <= from || f.end > n {
			return nil, corrupt("frame %d of %d", i, count)
		}
		s.frames = append(s.frames, f)
		from = f.end
	}
	if from != n {
		return nil, corrupt("frames end at row %d of %d", from, n)
	}
	return s, nil
}

// open decompresses the strings of rows [from, to), which a frame holds, after
// what buf holds already.
func (s *stringBlock) open(f frame, from int, buf []byte) ([]byte, error) {
	size := s.off(f.end) - s.off(from)
	start := len(buf)
	if size < 0 || size > maxDecoded {
		return nil, corrupt("frame of %d bytes", size)
	}
	if cap(buf)-start < size {
		buf = append(make([]byte, 0, start+size), buf...)
	}
	out, err := decoder.DecodeAll(f.zip, buf)
	if err != nil || len(out) != start+size {
		return nil, corrupt("compressed strings: %v", err)
	}
	return out, nil
}

// all decodes every string. The result aliases plain bytes.
func (s *stringBlock) all() (vec.Strings, error) {
	text := s.text
	if len(s.frames) > 0 {
		text = make([]byte, 0, s.off(s.n))
		from := 0
		for _, f := range s.frames {
			var err error
			if text, err = s.open(f, from, text); err != nil {
				return vec.Strings{}, err
			}
			from = f.end
		}
	}
	out := vec.Strings{Views: make([]vec.View, s.n), Bufs: [][]byte{text[:len(text):len(text)]}}
	from := uint32(0)
	for i := range out.Views {
		to := binary.LittleEndian.Uint32(s.offsets[4*i+4:])
		if to < from || int(to) > len(text) {
			return vec.Strings{}, corrupt("offsets are not ascending")
		}
		setView(&out.Views[i], text, from, to)
		from = to
	}
	return out, nil
}

// setView makes v the string text[from:to], inside v if it is short, else by
// buffer 0 and its offset. Bytes of v beyond a short string are zero.
func setView(v *vec.View, text []byte, from, to uint32) {
	n := to - from
	*v = vec.View{Len: n}
	switch {
	case n > vec.InlineLen:
		copy(v.Prefix[:], text[from:from+4])
		binary.LittleEndian.PutUint32(v.Rest[4:], from)
	case int(from)+16 <= len(text):
		lo := binary.LittleEndian.Uint64(text[from:])
		hi := binary.LittleEndian.Uint64(text[from+8:])
		if n < 8 {
			lo &= 1<<(8*n) - 1
			hi = 0
		} else {
			hi &= 1<<(8*(n-8)) - 1
		}
		binary.LittleEndian.PutUint32(v.Prefix[:], uint32(lo))
		binary.LittleEndian.PutUint64(v.Rest[:], lo>>32|hi<<32)
	default:
		copy(unsafe.Slice(&v.Prefix[0], vec.InlineLen), text[from:to])
	}
}

// some appends the strings of ascending rows to out.
func (s *stringBlock) some(rows []int32, out *vec.Strings) error {
	var text []byte
	at, from := 0, 0 // text holds the rows of frame at from row from on
	loaded := false
	for _, r := range rows {
		lo, hi := s.off(int(r)), s.off(int(r)+1)
		if len(s.frames) == 0 {
			if lo > hi || hi > len(s.text) {
				return corrupt("offsets are not ascending")
			}
			out.Append(unsafe.String(unsafe.SliceData(s.text[lo:hi]), hi-lo))
			continue
		}
		for int(r) >= s.frames[at].end {
			from, loaded = s.frames[at].end, false
			at++
		}
		if !loaded {
			var err error
			if text, err = s.open(s.frames[at], from, text[:0]); err != nil {
				return err
			}
			loaded = true
		}
		lo, hi = lo-s.off(from), hi-s.off(from)
		if lo < 0 || lo > hi || hi > len(text) {
			return corrupt("offsets are not ascending")
		}
		out.Append(unsafe.String(unsafe.SliceData(text[lo:hi]), hi-lo))
	}
	return nil
}
