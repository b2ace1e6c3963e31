package text

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
)

// Builder makes one segment: NewBuilder, Add per document in order of document
// number, then Finish once. Not safe for concurrent use.
type Builder struct{ m *Mem }

// NewBuilder starts a segment over the fields.
func NewBuilder(fields []FieldConfig) (*Builder, error) {
	m, err := NewMem(fields)
	if err != nil {
		return nil, err
	}
	return &Builder{m: m}, nil
}

// Add appends a document; see [Mem.Add].
func (b *Builder) Add(values [][]string) error {
	_, err := b.m.Add(values)
	return err
}

// Bytes estimates the memory in use.
func (b *Builder) Bytes() int64 { return b.m.bytes }

// The parts of a segment; docs/formats/text.md draws them.
const (
	segmentMagic   = "LOAMTXT\x00"
	segmentVersion = 0
	headerBytes    = 16
	trailerBytes   = 32
	checksumBlock  = 256 << 10
	dictBlock      = 16   // terms of a dictionary block
	lengthsBlock   = 1024 // documents of a block of lengths
	skipBytes      = 12
)

// Sections of a field, in the order of the directory.
const (
	secPositions = iota
	secPostings
	secForward
	secForwardIndex
	secLengths
	secLengthsIndex
	secTerms
	secDict
	secDictIndex
	numSections
)

var sectionNames = [numSections]string{
	"positions", "postings", "forward lists", "forward index", "lengths",
	"lengths index", "term table", "dictionary", "dictionary index",
}

// Finish writes the segment; the builder must not be used afterwards.
// TooLarge when a section would pass 4 GiB: build smaller segments.
func (b *Builder) Finish() ([]byte, error) {
	out := append([]byte(segmentMagic), make([]byte, headerBytes-len(segmentMagic))...)
	binary.LittleEndian.PutUint32(out[8:], segmentVersion)
	var dir []byte
	dir = binary.LittleEndian.AppendUint32(dir, b.m.n)
	dir = binary.LittleEndian.AppendUint32(dir, uint32(len(b.m.fields)))
	for i := range b.m.fields {
		w := newFieldWriter(&b.m.fields[i], b.m.n)
		dir = appendFieldHead(dir, b.m.config[i], w)
		for s, data := range w.sections {
			if len(data) > math.MaxUint32 {
				return nil, fail.New(fail.TooLarge, "text segment: the %s of field %q take more than 4 GiB", sectionNames[s], b.m.config[i].Name)
			}
			dir = binary.LittleEndian.AppendUint64(dir, uint64(len(out)))
			dir = binary.LittleEndian.AppendUint64(dir, uint64(len(data)))
			out = append(out, data...)
			out = append(out, make([]byte, -len(out)&7)...)
			w.sections[s] = nil
		}
		b.m.fields[i] = memField{}
	}
	return appendTail(out, dir), nil
}

func appendFieldHead(dir []byte, c FieldConfig, w *fieldWriter) []byte {
	for _, s := range []string{c.Name, c.Analyzer} {
		dir = binary.LittleEndian.AppendUint32(dir, uint32(len(s)))
		dir = append(dir, s...)
	}
	dir = binary.LittleEndian.AppendUint64(dir, math.Float64bits(c.K1))
	dir = binary.LittleEndian.AppendUint64(dir, math.Float64bits(c.B))
	dir = binary.LittleEndian.AppendUint64(dir, w.sum.Docs)
	dir = binary.LittleEndian.AppendUint64(dir, w.sum.Tokens)
	return binary.LittleEndian.AppendUint32(dir, uint32(len(w.terms)))
}

// appendTail writes the directory, the checksums and the trailer.
func appendTail(out, dir []byte) []byte {
	le := binary.LittleEndian
	dirAt := len(out)
	out = append(out, dir...)
	end := len(out)
	blocks := 0
	for at := 0; at < end; at += checksumBlock {
		out = le.AppendUint64(out, xxh3.Hash(out[at:min(at+checksumBlock, end)]))
		blocks++
	}
	out = le.AppendUint64(out, uint64(dirAt))
	out = le.AppendUint32(out, uint32(len(dir)))
	out = le.AppendUint32(out, uint32(blocks))
	out = le.AppendUint64(out, xxh3.Hash(out[end:]))
	return append(out, segmentMagic...)
}

// fieldWriter encodes one field.
type fieldWriter struct {
	f        *memField
	n        uint32
	sum      FieldStats
	terms    []*memTerm // sorted
	sections [numSections][]byte
}

func newFieldWriter(f *memField, n uint32) *fieldWriter {
	w := &fieldWriter{f: f, n: n, terms: f.list}
	if n > 0 {
		w.sum = f.sums[n-1]
	}
	slices.SortFunc(w.terms, func(a, b *memTerm) int { return strings.Compare(a.text, b.text) })
	w.dictionary()
	w.forward()
	w.lengths()
	w.postings()
	return w
}

func (w *fieldWriter) dictionary() {
	var dict, index []byte
	prev := ""
	for i, t := range w.terms {
		shared := 0
		if i%dictBlock == 0 {
			index = binary.LittleEndian.AppendUint32(index, uint32(len(dict)))
		} else {
			for shared < len(prev) && shared < len(t.text) && prev[shared] == t.text[shared] {
				shared++
			}
		}
		dict = binary.AppendUvarint(dict, uint64(shared))
		dict = binary.AppendUvarint(dict, uint64(len(t.text)-shared))
		dict = append(dict, t.text[shared:]...)
		prev = t.text
	}
	w.sections[secDict], w.sections[secDictIndex] = dict, index
}

// forward inverts the postings: terms in order append themselves to their documents.
func (w *fieldWriter) forward() {
	starts := make([]uint32, w.n+1)
	for _, t := range w.terms {
		for _, p := range t.posts {
			starts[p.doc+1]++
		}
	}
	for d := range w.n {
		starts[d+1] += starts[d]
	}
	flat := make([]uint32, starts[w.n])
	next := slices.Clone(starts)
	for ord, t := range w.terms {
		for _, p := range t.posts {
			flat[next[p.doc]] = uint32(ord)
			next[p.doc]++
		}
	}
	var data, index []byte
	for d := range w.n {
		index = binary.LittleEndian.AppendUint32(index, uint32(len(data)))
		list := flat[starts[d]:starts[d+1]]
		data = binary.AppendUvarint(data, uint64(len(list)))
		prev := uint32(0)
		for _, ord := range list {
			data = binary.AppendUvarint(data, uint64(ord-prev))
			prev = ord
		}
	}
	w.sections[secForward] = data
	w.sections[secForwardIndex] = index
}

func (w *fieldWriter) lengths() {
	var data, index []byte
	for at := 0; at < len(w.f.lens); at += lengthsBlock {
		block := w.f.lens[at:min(at+lengthsBlock, len(w.f.lens))]
		width := widthOf(block)
		index = binary.LittleEndian.AppendUint64(index, uint64(len(data))<<8|uint64(width))
		data = appendPacked(data, block, width)
	}
	w.sections[secLengths] = append(data, make([]byte, packedPad)...)
	w.sections[secLengthsIndex] = index
}

func (w *fieldWriter) postings() {
	var data, table, pos []byte
	for _, t := range w.terms {
		table = binary.LittleEndian.AppendUint32(table, uint32(len(data)))
		data = binary.AppendUvarint(data, uint64(len(t.posts)))
		data = binary.AppendUvarint(data, uint64(len(pos)))
		e := termEncoder{t: t, lens: w.f.lens, posAt: len(pos), pos: pos}
		data = e.append(data)
		pos = e.pos
		*t = memTerm{}
	}
	table = binary.LittleEndian.AppendUint32(table, uint32(len(data)))
	w.sections[secPositions], w.sections[secPostings], w.sections[secTerms] = pos, data, table
}

// termEncoder writes the postings of one term.
type termEncoder struct {
	t     *memTerm
	lens  []uint32
	posAt int // where the term's positions start in pos
	pos   []byte
	prev  int64 // last document written
}

func (e *termEncoder) append(dst []byte) []byte {
	e.prev = -1
	posts := e.t.posts
	if len(posts) < blockSize {
		e.positions(posts)
		return e.tail(dst, posts)
	}
	var all []impact
	var skips, data []byte
	for at := 0; at < len(posts); at += blockSize {
		block := posts[at:min(at+blockSize, len(posts))]
		skips = binary.LittleEndian.AppendUint32(skips, block[len(block)-1].doc)
		skips = binary.LittleEndian.AppendUint32(skips, uint32(len(data)))
		skips = binary.LittleEndian.AppendUint32(skips, uint32(len(e.pos)-e.posAt))
		e.positions(block)
		list := e.impacts(block)
		all = append(all, list...)
		if len(block) == blockSize {
			data = e.full(data, block, list)
		} else {
			data = e.tail(data, block)
		}
	}
	dst = appendImpacts(dst, frontier(all))
	dst = append(dst, skips...)
	return append(dst, data...)
}

func (e *termEncoder) impacts(block []memPosting) []impact {
	list := make([]impact, len(block))
	for i, p := range block {
		list[i] = impact{p.freq, e.lens[p.doc]}
	}
	return frontier(list)
}

func (e *termEncoder) positions(block []memPosting) {
	for _, p := range block {
		prev := uint32(0)
		for _, at := range e.t.pos[p.start : p.start+p.freq] {
			e.pos = binary.AppendUvarint(e.pos, uint64(at-prev))
			prev = at
		}
	}
}

// full is a block of 128: widths, distances of documents less one, frequencies
// less one, impacts.
func (e *termEncoder) full(dst []byte, block []memPosting, list []impact) []byte {
	var gaps, freqs [blockSize]uint32
	for i, p := range block {
		gaps[i] = uint32(int64(p.doc) - e.prev - 1)
		freqs[i] = p.freq - 1
		e.prev = int64(p.doc)
	}
	gw, fw := widthOf(gaps[:]), widthOf(freqs[:])
	dst = append(dst, byte(gw), byte(fw))
	dst = appendPacked(dst, gaps[:], gw)
	dst = appendPacked(dst, freqs[:], fw)
	return appendImpacts(dst, list)
}

// tail is a block of fewer: per document the distance less one doubled, plus
// one when it occurs once; else the frequency less two follows.
func (e *termEncoder) tail(dst []byte, block []memPosting) []byte {
	for _, p := range block {
		gap := uint64(int64(p.doc)-e.prev-1) << 1
		e.prev = int64(p.doc)
		if p.freq == 1 {
			dst = binary.AppendUvarint(dst, gap|1)
			continue
		}
		dst = binary.AppendUvarint(dst, gap)
		dst = binary.AppendUvarint(dst, uint64(p.freq-2))
	}
	return dst
}
