package text

import "encoding/binary"

// segSource is the postings of one term of a segment.
type segSource struct {
	f        *segField
	ord      uint32
	n        int    // documents
	top      []byte // impacts of all blocks; nil when n < blockSize
	skips    []byte // one entry a block; nil when n < blockSize
	data     []byte // the blocks
	posStart uint64
}

// open reads the head of a term's postings.
func (f *segField) open(ord uint32) (source, error) {
	table := f.sec[secTerms]
	from, to := binary.LittleEndian.Uint32(table[4*int(ord):]), binary.LittleEndian.Uint32(table[4*int(ord)+4:])
	if from > to || int64(to) > f.size[secPostings] {
		return nil, f.corrupt(secTerms, "term %d lies at %d to %d", ord, from, to)
	}
	record, err := f.read(secPostings, int64(from), int64(to))
	if err != nil {
		return nil, err
	}
	d := &decoder{b: record}
	n := d.uvarint()
	s := &segSource{f: f, ord: ord, posStart: d.uvarint()}
	if d.bad || n == 0 || n > uint64(f.n) || s.posStart > uint64(f.size[secPositions]) {
		return nil, f.corrupt(secPostings, "the head of term %d (%d documents)", ord, n)
	}
	s.n = int(n)
	if s.n >= blockSize {
		start := d.at
		var buf [maxImpacts]impact
		d.impacts(&buf)
		if !d.bad {
			s.top = d.b[start:d.at]
		}
		s.skips = d.bytes(uint64(s.blocks() * skipBytes))
	}
	if d.bad {
		return nil, f.corrupt(secPostings, "term %d is cut short", ord)
	}
	s.data = d.b[d.at:]
	return s, nil
}

func (s *segSource) df() int         { return s.n }
func (s *segSource) ordinal() uint32 { return s.ord }
func (s *segSource) blocks() int     { return (s.n + blockSize - 1) / blockSize }

// lastDoc of a short term is not stored: its only block reaches everything.
func (s *segSource) lastDoc(b int) uint32 {
	if s.skips == nil {
		return s.f.n - 1
	}
	return binary.LittleEndian.Uint32(s.skips[skipBytes*b:])
}

// size is the number of documents of a block.
func (s *segSource) size(b int) int { return min(blockSize, s.n-b*blockSize) }

// block is the bytes of a block and the last document before it.
func (s *segSource) block(b int) ([]byte, int64, error) {
	if s.skips == nil {
		return s.data, -1, nil
	}
	before := int64(-1)
	if b > 0 {
		before = int64(s.lastDoc(b - 1))
	}
	at := binary.LittleEndian.Uint32(s.skips[skipBytes*b+4:])
	if int64(at) > int64(len(s.data)) || int64(s.lastDoc(b)) <= before || s.lastDoc(b) >= s.f.n {
		return nil, 0, s.bad(b)
	}
	return s.data[at:], before, nil
}

func (s *segSource) bad(b int) error {
	return s.f.corrupt(secPostings, "block %d of term %d", b, s.ord)
}

// widths checks the head of a full block and returns its bit widths.
func (s *segSource) widths(b int, data []byte) (gaps, freqs uint, err error) {
	if len(data) < 2 || data[0] > 32 || data[1] > 32 {
		return 0, 0, s.bad(b)
	}
	gaps, freqs = uint(data[0]), uint(data[1])
	if len(data) < 2+packedBytes(blockSize, gaps)+packedBytes(blockSize, freqs) {
		return 0, 0, s.bad(b)
	}
	return gaps, freqs, nil
}

func (s *segSource) loadDocs(b int, buf *blockBuf) error {
	data, before, err := s.block(b)
	if err != nil {
		return err
	}
	buf.n = s.size(b)
	if buf.n < blockSize {
		return s.loadTail(b, data, before, buf)
	}
	gw, _, err := s.widths(b, data)
	if err != nil {
		return err
	}
	unpack(&buf.docs, data[2:], gw)
	doc := before
	for i := range buf.docs {
		doc += int64(buf.docs[i]) + 1
		buf.docs[i] = uint32(doc)
	}
	if doc != int64(s.lastDoc(b)) {
		return s.bad(b)
	}
	return nil
}

// loadTail decodes documents and frequencies of a short block together.
func (s *segSource) loadTail(b int, data []byte, before int64, buf *blockBuf) error {
	d := &decoder{b: data}
	doc := before
	for i := range buf.n {
		v := d.uvarint()
		doc += int64(v>>1&0xffffffff) + 1
		freq := uint64(1)
		if v&1 == 0 {
			freq = d.uvarint() + 2
		}
		if d.bad || doc >= int64(s.f.n) || v>>33 != 0 || freq>>32 != 0 {
			return s.bad(b)
		}
		buf.docs[i], buf.freqs[i] = uint32(doc), uint32(freq)
	}
	return nil
}

func (s *segSource) loadFreqs(b int, buf *blockBuf) error {
	if buf.n < blockSize {
		return nil // loaded with the documents
	}
	data, _, err := s.block(b)
	if err != nil {
		return err
	}
	gw, fw, err := s.widths(b, data)
	if err != nil {
		return err
	}
	unpack(&buf.freqs, data[2+packedBytes(blockSize, gw):], fw)
	for i := range buf.freqs {
		buf.freqs[i]++
	}
	return nil
}

// impact bounds a block by its stored pairs; a short block is scored whole. A
// bound that cannot be read is no bound: the block's own decoding reports it.
func (s *segSource) impact(b int, sc *scorer) float64 {
	var buf [maxImpacts]impact
	if b < 0 && s.top != nil {
		return sc.bound((&decoder{b: s.top}).impacts(&buf))
	}
	b = max(b, 0)
	if s.size(b) < blockSize {
		return s.tailBound(b, sc)
	}
	data, _, err := s.block(b)
	if err != nil {
		return sc.weight
	}
	gw, fw, err := s.widths(b, data)
	if err != nil {
		return sc.weight
	}
	d := &decoder{b: data, at: 2 + packedBytes(blockSize, gw) + packedBytes(blockSize, fw)}
	list := d.impacts(&buf)
	if d.bad {
		return sc.weight
	}
	return sc.bound(list)
}

func (s *segSource) tailBound(b int, sc *scorer) float64 {
	var buf blockBuf
	if err := s.loadDocs(b, &buf); err != nil {
		return sc.weight
	}
	best := 0.0
	for i := range buf.n {
		best = max(best, sc.at(buf.docs[i], buf.freqs[i]))
	}
	return best
}

// positionsEnd is where the positions of the term end: those of the next begin.
func (s *segSource) positionsEnd() (int64, error) {
	if s.ord+1 >= s.f.terms {
		return s.f.size[secPositions], nil
	}
	table := s.f.sec[secTerms]
	from, to := int64(binary.LittleEndian.Uint32(table[4*int(s.ord)+4:])), int64(binary.LittleEndian.Uint32(table[4*int(s.ord)+8:]))
	head, err := s.f.read(secPostings, from, min(to, from+2*binary.MaxVarintLen64))
	if err != nil {
		return 0, err
	}
	d := &decoder{b: head}
	d.uvarint()
	end := d.uvarint()
	if d.bad || end > uint64(s.f.size[secPositions]) {
		return 0, s.f.corrupt(secPostings, "the head of term %d", s.ord+1)
	}
	return int64(end), nil
}

// allPositions are the bytes of the positions of all documents.
func (s *segSource) allPositions() ([]byte, error) {
	end, err := s.positionsEnd()
	if err != nil {
		return nil, err
	}
	return s.f.read(secPositions, int64(s.posStart), end)
}

// blockPositions are the bytes of the positions of a block.
func (s *segSource) blockPositions(b int) ([]byte, error) {
	from, end := int64(s.posStart), int64(0)
	if s.skips != nil {
		from += int64(binary.LittleEndian.Uint32(s.skips[skipBytes*b+8:]))
	}
	if s.skips != nil && b+1 < s.blocks() {
		end = int64(s.posStart) + int64(binary.LittleEndian.Uint32(s.skips[skipBytes*(b+1)+8:]))
	} else {
		var err error
		if end, err = s.positionsEnd(); err != nil {
			return nil, err
		}
	}
	return s.f.read(secPositions, from, end)
}

func (s *segSource) positions(b, i int, buf *blockBuf, dst []uint32) ([]uint32, error) {
	all, err := s.blockPositions(b)
	if err != nil {
		return dst, err
	}
	d := &decoder{b: all}
	before := uint64(0)
	for _, f := range buf.freqs[:i] {
		before += uint64(f)
	}
	d.skip(before)
	pos := uint32(0)
	for range buf.freqs[i] {
		pos += d.u32()
		if d.bad {
			return dst, s.badPositions(b)
		}
		dst = append(dst, pos)
	}
	if d.bad {
		return dst, s.badPositions(b)
	}
	return dst, nil
}

func (s *segSource) badPositions(b int) error {
	return s.f.corrupt(secPositions, "block %d of term %d", b, s.ord)
}
