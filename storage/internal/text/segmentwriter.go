package text

import (
	"encoding/binary"
	"io"

	"github.com/zeebo/xxh3"
)

// segmentWriter writes the frame of a segment and sums each block of it. The
// first error stays.
type segmentWriter struct {
	w    io.Writer
	off  uint64
	sum  *xxh3.Hasher
	sums []byte
	buf  []byte
	err  error
}

// writeBytes is how much a segmentWriter collects before it writes.
const writeBytes = 64 << 10

func newSegmentWriter(w io.Writer) *segmentWriter {
	return &segmentWriter{w: w, sum: xxh3.New()}
}

// put appends bytes, which it does not keep.
func (s *segmentWriter) put(p []byte) {
	s.buf = append(s.buf, p...)
	for len(p) > 0 {
		n := min(len(p), checksumBlock-int(s.off%checksumBlock))
		_, _ = s.sum.Write(p[:n])
		if s.off += uint64(n); s.off%checksumBlock == 0 {
			s.endBlock()
		}
		p = p[n:]
	}
	if len(s.buf) >= writeBytes {
		s.flush()
	}
}

func (s *segmentWriter) endBlock() {
	s.sums = binary.LittleEndian.AppendUint64(s.sums, s.sum.Sum64())
	s.sum.Reset()
}

func (s *segmentWriter) flush() {
	if s.err == nil {
		_, s.err = s.w.Write(s.buf)
	}
	s.buf = s.buf[:0]
}

// align pads to the start of a section.
func (s *segmentWriter) align() {
	var zero [8]byte
	s.put(zero[:-s.off&7])
}

func segmentHead() []byte {
	head := append([]byte(segmentMagic), make([]byte, headerBytes-len(segmentMagic))...)
	binary.LittleEndian.PutUint32(head[8:], segmentVersion)
	return head
}

// finish writes the directory, the checksums and the trailer.
func (s *segmentWriter) finish(dir []byte) error {
	dirAt := s.off
	s.put(dir)
	if s.off%checksumBlock != 0 {
		s.endBlock()
	}
	tail := s.sums
	blocks := len(tail) / 8
	tail = binary.LittleEndian.AppendUint64(tail, dirAt)
	tail = binary.LittleEndian.AppendUint32(tail, uint32(len(dir)))
	tail = binary.LittleEndian.AppendUint32(tail, uint32(blocks))
	tail = binary.LittleEndian.AppendUint64(tail, xxh3.Hash(tail))
	s.buf = append(append(s.buf, tail...), segmentMagic...)
	s.flush()
	return s.err
}
