package text

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
)

// MergePart is an input of [Merge].
type MergePart struct {
	// Part is a *[Segment] or a [MemView], with the fields of the output in their order.
	Part Part
	// Deleted are the documents that are left out; nil for none.
	Deleted *roaring.Bitmap
}

// Merge writes to w the segment that a [Builder] would make of the documents
// that are left, in the order of the parts: the same bytes. Nothing is analyzed
// again. It walks the terms of all parts in order, twice a field, and holds one
// term's postings at a time, beside some bytes a document and a term. Errors:
// Canceled, Corrupt, w's own, TooLarge when a section would pass 4 GiB.
func Merge(ctx context.Context, w io.Writer, fields []FieldConfig, parts []MergePart) error {
	m := &merger{ctx: ctx, out: newSegmentWriter(w)}
	for _, p := range parts {
		if err := m.add(p, len(fields)); err != nil {
			return err
		}
	}
	m.out.put(segmentHead())
	dir := binary.LittleEndian.AppendUint32(nil, m.n)
	dir = binary.LittleEndian.AppendUint32(dir, uint32(len(fields)))
	for i, c := range fields {
		f := &fieldMerger{merger: m, field: i, config: c}
		if err := f.run(); err != nil {
			return err
		}
		dir = f.describe(dir)
	}
	return m.out.finish(dir)
}

// merger writes one segment.
type merger struct {
	ctx    context.Context
	out    *segmentWriter
	inputs []*mergeInput
	n      uint32 // documents of the output
}

// mergeInput is a part whose documents get new numbers.
type mergeInput struct {
	part  store
	base  uint32   // new number of its first document that is left
	renum []uint32 // by old number, noDoc for a deleted one; nil when all are left
	docs  uint32
	left  uint32
}

func (m *merger) add(p MergePart, fields int) error {
	in := &mergeInput{base: m.n}
	switch part := p.Part.(type) {
	case *Segment:
		if len(part.fields) != fields {
			return fail.Bug("merge of a text segment with %d fields into one with %d", len(part.fields), fields)
		}
		in.part = part
	case MemView:
		in.part = part
	default:
		return fail.Bug("merge of a %T", p.Part)
	}
	in.docs = in.part.NumDocs()
	left := uint64(in.docs)
	if p.Deleted != nil && !p.Deleted.IsEmpty() {
		left = in.number(p.Deleted)
	}
	if uint64(m.n)+left > math.MaxInt32 {
		return fail.New(fail.TooLarge, "a text index holds at most %d documents", math.MaxInt32)
	}
	in.left = uint32(left)
	m.n += in.left
	m.inputs = append(m.inputs, in)
	return nil
}

// number gives the documents that are left their numbers and counts them.
func (in *mergeInput) number(deleted *roaring.Bitmap) uint64 {
	in.renum = make([]uint32, in.docs)
	next := in.base
	for d := range in.renum {
		in.renum[d] = noDoc
		if !deleted.Contains(uint32(d)) {
			in.renum[d] = next
			next++
		}
	}
	return uint64(next - in.base)
}

// newDoc is the number of a document in the output, noDoc for none.
func (in *mergeInput) newDoc(doc uint32) uint32 {
	if in.renum == nil {
		return in.base + doc
	}
	return in.renum[doc]
}

// fieldMerger writes the sections of one field.
type fieldMerger struct {
	*merger
	field  int
	config FieldConfig
	lens   []uint32 // by new document
	sum    FieldStats
	terms  uint32
	at     [numSections][2]uint64 // offset and length of each section

	dict, dictIndex []byte
	prev            []byte
	start           uint64 // of the positions
	// posStart[t] is where the positions of term t start; blocks are the starts of
	// the blocks of its long terms, from there.
	posStart []uint32
	blocks   []uint32
	table    []byte
	// lengthsIndex is written after the lengths, as the table after the postings.
	lengthsIndex []byte

	forward []forwardLists // by input
	posts   []memPosting
	pos     []byte
}

func (f *fieldMerger) run() error {
	f.sumLengths()
	f.forward = make([]forwardLists, len(f.inputs))
	for i, in := range f.inputs {
		f.forward[i] = newForwardLists(in, f.field)
	}
	for _, step := range []struct {
		section int
		write   func() error
	}{
		{secPositions, func() error { return f.walk(true, f.addPositions) }},
		{secPostings, f.writePostings}, {secForward, f.writeForward}, {secForwardIndex, f.writeForwardIndex},
		{secLengths, f.writeLengths}, {secLengthsIndex, f.whole(&f.lengthsIndex)},
		{secTerms, f.whole(&f.table)}, {secDict, f.whole(&f.dict)}, {secDictIndex, f.whole(&f.dictIndex)},
	} {
		f.out.align()
		start := f.out.off
		if err := step.write(); err != nil {
			return err
		}
		if f.out.off-start > math.MaxUint32 {
			return fail.New(fail.TooLarge, "text segment: the %s of field %q take more than 4 GiB", sectionNames[step.section], f.config.Name)
		}
		f.at[step.section] = [2]uint64{start, f.out.off - start}
	}
	f.out.align()
	return f.out.err
}

// whole writes a section that was collected in memory.
func (f *fieldMerger) whole(b *[]byte) func() error {
	return func() error {
		f.out.put(*b)
		*b = nil
		return nil
	}
}

func (f *fieldMerger) describe(dir []byte) []byte {
	dir = appendFieldHead(dir, f.config, f.sum, f.terms)
	for _, at := range f.at {
		dir = binary.LittleEndian.AppendUint64(dir, at[0])
		dir = binary.LittleEndian.AppendUint64(dir, at[1])
	}
	return dir
}

func (f *fieldMerger) sumLengths() {
	f.lens = make([]uint32, f.n)
	for _, in := range f.inputs {
		lens := in.part.lengths(f.field)
		for d := range in.docs {
			to := in.newDoc(d)
			if to == noDoc {
				continue
			}
			l := lens.at(d)
			f.lens[to] = l
			f.sum.Tokens += uint64(l)
			if l > 0 {
				f.sum.Docs++
			}
		}
	}
}

// termReader walks the terms of one input in order.
type termReader interface {
	// next stands at the next term; ok is false after the last.
	next() (term []byte, ok bool, err error)
	// postings appends the documents that are left of the term, under their new
	// numbers, and, if pos is asked for, their positions as they are stored. start
	// of a posting is where its positions begin in pos.
	postings(posts []memPosting, pos []byte, positions bool) ([]memPosting, []byte, error)
	// ordinal of the term in its part.
	ordinal() uint32
}

// walk visits the terms that any document is left of, in order, with their
// postings in f.posts and their positions in f.pos.
func (f *fieldMerger) walk(positions bool, visit func(term []byte, readers []openReader) error) error {
	open, err := f.openReaders()
	if err != nil {
		return err
	}
	at := make([]openReader, 0, len(open))
	for count := 0; len(open) > 0; count++ {
		if count&1023 == 0 && f.ctx.Err() != nil {
			return fail.Ended(f.ctx, "the merge of text indexes")
		}
		least := open[0].term
		for _, r := range open[1:] {
			if bytes.Compare(r.term, least) < 0 {
				least = r.term
			}
		}
		at, f.posts, f.pos = at[:0], f.posts[:0], f.pos[:0]
		for _, r := range open {
			if !bytes.Equal(r.term, least) {
				continue
			}
			before := len(f.posts)
			if f.posts, f.pos, err = r.reader.postings(f.posts, f.pos, positions); err != nil {
				return err
			}
			r.from, r.to = before, len(f.posts)
			at = append(at, r)
		}
		if len(f.posts) > 0 {
			if err := visit(least, at); err != nil {
				return err
			}
		}
		if open, err = advance(open, least); err != nil {
			return err
		}
	}
	return f.out.err
}

// openReader is a reader that stands at a term; its postings are posts[from:to].
type openReader struct {
	input    int
	reader   termReader
	term     []byte
	from, to int
}

func (f *fieldMerger) openReaders() ([]openReader, error) {
	var out []openReader
	for i, in := range f.inputs {
		r, err := in.reader(f.field)
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		term, ok, err := r.next()
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, openReader{input: i, reader: r, term: slices.Clone(term)})
		}
	}
	return out, nil
}

// advance moves the readers that stand at the term.
func advance(open []openReader, term []byte) ([]openReader, error) {
	term = slices.Clone(term) // it is a reader's own
	out := open[:0]
	for _, r := range open {
		if bytes.Equal(r.term, term) {
			next, ok, err := r.reader.next()
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			r.term = append(r.term[:0], next...)
		}
		out = append(out, r)
	}
	return out, nil
}

// addPositions is the first pass: positions, dictionary, and who holds the term.
func (f *fieldMerger) addPositions(term []byte, readers []openReader) error {
	if f.terms == 0 {
		f.start = f.out.off
	}
	start := f.out.off - f.start
	f.addTerm(term)
	for _, r := range readers {
		f.forward[r.input].count(r.reader.ordinal(), f.terms, f.posts[r.from:r.to])
	}
	f.terms++
	f.posStart = append(f.posStart, uint32(min(start, math.MaxUint32)))
	if len(f.posts) >= blockSize {
		for i := 0; i < len(f.posts); i += blockSize {
			f.blocks = append(f.blocks, f.posts[i].start)
		}
	}
	f.out.put(f.pos)
	return f.out.err
}

func (f *fieldMerger) addTerm(term []byte) {
	shared := 0
	if f.terms%dictBlock == 0 {
		f.dictIndex = binary.LittleEndian.AppendUint32(f.dictIndex, uint32(len(f.dict)))
	} else {
		for shared < len(f.prev) && shared < len(term) && f.prev[shared] == term[shared] {
			shared++
		}
	}
	f.dict = binary.AppendUvarint(f.dict, uint64(shared))
	f.dict = binary.AppendUvarint(f.dict, uint64(len(term)-shared))
	f.dict = append(f.dict, term[shared:]...)
	f.prev = append(f.prev[:0], term...)
}

// writePostings is the second pass.
func (f *fieldMerger) writePostings() error {
	for i := range f.forward {
		f.forward[i].prepare()
	}
	start := f.out.off
	ord, block := uint32(0), 0
	var data []byte
	err := f.walk(false, func(_ []byte, readers []openReader) error {
		f.table = binary.LittleEndian.AppendUint32(f.table, uint32(min(f.out.off-start, math.MaxUint32)))
		for _, r := range readers {
			f.forward[r.input].fill(ord, f.posts[r.from:r.to])
		}
		e := termEncoder{posts: f.posts, lens: f.lens}
		if len(f.posts) >= blockSize {
			n := (len(f.posts) + blockSize - 1) / blockSize
			e.starts = f.blocks[block : block+n]
			block += n
		}
		data = binary.AppendUvarint(data[:0], uint64(len(f.posts)))
		data = binary.AppendUvarint(data, uint64(f.posStart[ord]))
		data = e.append(data)
		f.out.put(data)
		ord++
		return f.out.err
	})
	f.table = binary.LittleEndian.AppendUint32(f.table, uint32(min(f.out.off-start, math.MaxUint32)))
	f.posStart, f.blocks = nil, nil
	return err
}

// writeForward writes the terms of each document and keeps where each list starts.
func (f *fieldMerger) writeForward() error {
	f.posStart = f.posStart[:0]
	start := f.out.off
	var list []uint32
	var data []byte
	for i, in := range f.inputs {
		for d := range in.docs {
			to := in.newDoc(d)
			if to == noDoc {
				continue
			}
			var err error
			if list, err = f.forward[i].list(d, to, list[:0]); err != nil {
				return err
			}
			f.posStart = append(f.posStart, uint32(min(f.out.off-start, math.MaxUint32)))
			data = binary.AppendUvarint(data[:0], uint64(len(list)))
			prev := uint32(0)
			for _, ord := range list {
				data = binary.AppendUvarint(data, uint64(ord-prev))
				prev = ord
			}
			f.out.put(data)
		}
	}
	f.forward = nil
	return f.out.err
}

func (f *fieldMerger) writeForwardIndex() error {
	for _, at := range f.posStart {
		f.out.put(binary.LittleEndian.AppendUint32(f.pos[:0], at))
	}
	f.posStart = nil
	return nil
}

func (f *fieldMerger) writeLengths() error {
	var data []byte
	size := 0
	for at := 0; at < len(f.lens); at += lengthsBlock {
		block := f.lens[at:min(at+lengthsBlock, len(f.lens))]
		width := widthOf(block)
		f.lengthsIndex = binary.LittleEndian.AppendUint64(f.lengthsIndex, uint64(size)<<8|uint64(width))
		data = appendPacked(data[:0], block, width)
		f.out.put(data)
		size += len(data)
	}
	f.out.put(make([]byte, packedPad))
	return nil
}
