package text

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
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
	var out bytes.Buffer
	err := b.FinishTo(context.Background(), &out)
	return out.Bytes(), err
}

// FinishTo is Finish to a writer, without holding the segment in memory.
func (b *Builder) FinishTo(ctx context.Context, w io.Writer) error {
	return Merge(ctx, w, b.m.config, []MergePart{{Part: b.m.At(b.m.n)}})
}

func appendFieldHead(dir []byte, c FieldConfig, sum FieldStats, terms uint32) []byte {
	for _, s := range []string{c.Name, c.Analyzer} {
		dir = binary.LittleEndian.AppendUint32(dir, uint32(len(s)))
		dir = append(dir, s...)
	}
	dir = binary.LittleEndian.AppendUint64(dir, math.Float64bits(c.K1))
	dir = binary.LittleEndian.AppendUint64(dir, math.Float64bits(c.B))
	dir = binary.LittleEndian.AppendUint64(dir, sum.Docs)
	dir = binary.LittleEndian.AppendUint64(dir, sum.Tokens)
	return binary.LittleEndian.AppendUint32(dir, terms)
}

// termEncoder writes the postings of one term.
type termEncoder struct {
	posts []memPosting
	lens  []uint32
	// starts are where the positions of each block start, for a term with blocks.
	starts []uint32
	prev   int64 // last document written
}

func (e *termEncoder) append(dst []byte) []byte {
	e.prev = -1
	posts := e.posts
	if len(posts) < blockSize {
		return e.tail(dst, posts)
	}
	var all []impact
	var skips, data []byte
	for at := 0; at < len(posts); at += blockSize {
		block := posts[at:min(at+blockSize, len(posts))]
		skips = binary.LittleEndian.AppendUint32(skips, block[len(block)-1].doc)
		skips = binary.LittleEndian.AppendUint32(skips, uint32(len(data)))
		skips = binary.LittleEndian.AppendUint32(skips, e.starts[at/blockSize])
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
