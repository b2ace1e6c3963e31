package text

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
)

// Source is the bytes of a segment. Range returns bytes [off, off+n), which lie in
// the segment; they never change and stay valid for as long as they are used. Safe
// for concurrent use. The bytes must have been verified.
type Source interface {
	Range(off, n int64) ([]byte, error)
}

// bytesSource is a segment in memory.
type bytesSource []byte

func (b bytesSource) Range(off, n int64) ([]byte, error) { return b[off : off+n : off+n], nil }

// Segment is an opened index over immutable bytes. It keeps dictionaries, lengths
// and tables in memory; postings, positions and forward lists are read from the
// source when they are asked for. Safe for concurrent use.
type Segment struct {
	n      uint32
	fields []segField
}

var _ Part = (*Segment)(nil)

// segField is one field's sections, checked for size when opened.
type segField struct {
	config  FieldConfig
	sum     FieldStats
	n       uint32 // documents
	terms   uint32
	sec     [numSections][]byte // those that are kept
	at      [numSections]int64
	size    [numSections]int64
	src     Source
	lengths packedLengths
}

// large are the sections that are read by ranges.
var large = [numSections]bool{secPositions: true, secPostings: true, secForward: true}

// read is bytes [from, to) of a large section; the caller has checked to.
func (f *segField) read(section int, from, to int64) ([]byte, error) {
	if from > to || to > f.size[section] {
		return nil, f.corrupt(section, "bytes %d to %d of %d", from, to, f.size[section])
	}
	if from == to {
		return nil, nil
	}
	return f.src.Range(f.at[section]+from, to-from)
}

func corrupt(section, format string, args ...any) *fail.Error {
	return fail.New(fail.Corrupt, "text segment: "+section+": "+format, args...)
}

func (f *segField) corrupt(section int, format string, args ...any) *fail.Error {
	return fail.New(fail.Corrupt, "text segment: field %q: %s: "+format,
		append([]any{f.config.Name, sectionNames[section]}, args...)...)
}

// Open checks the magic, the version, every checksum and the sizes of all
// sections. Errors: Corrupt naming the section, Unsupported for another version.
func Open(data []byte) (*Segment, error) {
	if err := checkSums(data); err != nil {
		return nil, err
	}
	return OpenSource(bytesSource(data), int64(len(data)))
}

// OpenSource is Open of a segment of the size whose source has verified what it
// gives: the checksums in it are not looked at. Errors of the source pass.
func OpenSource(src Source, size int64) (*Segment, error) {
	dir, end, err := readDirectory(src, size)
	if err != nil {
		return nil, err
	}
	d := &decoder{b: dir}
	s := &Segment{n: d.fixed32()}
	count := d.fixed32()
	if d.bad || count > uint32(len(dir)) || s.n > math.MaxInt32 {
		return nil, corrupt("directory", "%d fields and %d documents do not fit", count, s.n)
	}
	for i := range count {
		f, err := openField(d, src, end, s.n)
		if err != nil {
			return nil, err
		}
		if d.bad {
			return nil, corrupt("directory", "ends within field %d", i)
		}
		s.fields = append(s.fields, f)
	}
	if d.at != len(dir) {
		return nil, corrupt("directory", "%d bytes are left over", len(dir)-d.at)
	}
	return s, nil
}

// Resident is about the memory of an open segment, in bytes.
func (s *Segment) Resident() int64 {
	n := int64(1 << 10)
	for i := range s.fields {
		for _, sec := range s.fields[i].sec {
			n += int64(len(sec))
		}
	}
	return n
}

// readDirectory checks the frame and returns the directory, and where the
// checksums begin.
func readDirectory(src Source, size int64) (dir []byte, end int64, err error) {
	le := binary.LittleEndian
	if size < headerBytes+trailerBytes {
		return nil, 0, corrupt("header", "%d bytes are too few", size)
	}
	head, err := src.Range(0, headerBytes)
	if err != nil {
		return nil, 0, err
	}
	if string(head[:8]) != segmentMagic {
		return nil, 0, corrupt("header", "the magic is %q, not %q", head[:8], segmentMagic)
	}
	if v := le.Uint32(head[8:]); v != segmentVersion {
		return nil, 0, fail.New(fail.Unsupported, "text segment version %d is unknown to this build", v).
			WithHint("It was written by a newer release; this one reads version %d.", segmentVersion)
	}
	t, err := src.Range(size-trailerBytes, trailerBytes)
	if err != nil {
		return nil, 0, err
	}
	if string(t[24:]) != segmentMagic {
		return nil, 0, corrupt("trailer", "the magic is missing at the end: the segment is cut short")
	}
	dirAt, dirLen, blocks := le.Uint64(t), uint64(le.Uint32(t[8:])), uint64(le.Uint32(t[12:]))
	stop := uint64(size-trailerBytes) - min(8*blocks, uint64(size-trailerBytes))
	if dirAt < headerBytes || dirAt > stop || dirAt+dirLen != stop || blocks != (stop+checksumBlock-1)/checksumBlock {
		return nil, 0, corrupt("trailer", "directory at %d of %d bytes and %d checksums do not fit %d bytes", dirAt, dirLen, blocks, size)
	}
	dir, err = src.Range(int64(dirAt), int64(dirLen))
	return dir, int64(stop), err
}

// checkSums checks every block of a segment in memory.
func checkSums(data []byte) error {
	le := binary.LittleEndian
	_, stop, err := readDirectory(bytesSource(data), int64(len(data)))
	if err != nil {
		return err
	}
	end, t := uint64(stop), data[len(data)-trailerBytes:]
	sums := data[end : len(data)-trailerBytes]
	if xxh3.Hash(data[end:len(data)-trailerBytes+16]) != le.Uint64(t[16:]) {
		return corrupt("checksums", "their own checksum does not match")
	}
	for i := range uint64(len(sums) / 8) {
		at := i * checksumBlock
		if xxh3.Hash(data[at:min(at+checksumBlock, end)]) != le.Uint64(sums[8*i:]) {
			return corrupt("checksums", "the block at byte %d does not match its checksum", at)
		}
	}
	return nil
}

func (d *decoder) fixed32() uint32 {
	if b := d.bytes(4); !d.bad {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) fixed64() uint64 {
	if b := d.bytes(8); !d.bad {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func openField(d *decoder, src Source, end int64, n uint32) (segField, error) {
	f := segField{n: n, src: src}
	f.config.Name = string(d.bytes(uint64(d.fixed32())))
	f.config.Analyzer = string(d.bytes(uint64(d.fixed32())))
	f.config.K1 = math.Float64frombits(d.fixed64())
	f.config.B = math.Float64frombits(d.fixed64())
	f.sum = FieldStats{Docs: d.fixed64(), Tokens: d.fixed64()}
	f.terms = d.fixed32()
	for s := range f.sec {
		at, size := d.fixed64(), d.fixed64()
		if d.bad || at > uint64(end) || size > uint64(end)-at {
			return f, f.corrupt(s, "%d bytes at %d do not fit %d bytes", size, at, end)
		}
		f.at[s], f.size[s] = int64(at), int64(size)
		if large[s] || size == 0 {
			continue
		}
		b, err := src.Range(int64(at), int64(size))
		if err != nil {
			return f, err
		}
		f.sec[s] = slices.Clone(b) // of a source's block it would hold all
	}
	return f, f.checkSizes()
}

func (f *segField) checkSizes() error {
	want := [numSections]int{
		secForwardIndex: 4 * int(f.n),
		secLengthsIndex: 8 * ((int(f.n) + lengthsBlock - 1) / lengthsBlock),
		secTerms:        4 * (int(f.terms) + 1),
		secDictIndex:    4 * ((int(f.terms) + dictBlock - 1) / dictBlock),
	}
	for _, s := range []int{secForwardIndex, secLengthsIndex, secTerms, secDictIndex} {
		if len(f.sec[s]) != want[s] {
			return f.corrupt(s, "%d bytes, not %d", len(f.sec[s]), want[s])
		}
	}
	if f.sum.Docs > uint64(f.n) || (f.sum.Docs == 0) != (f.sum.Tokens == 0) {
		return f.corrupt(secLengths, "%d of %d documents with %d tokens", f.sum.Docs, f.n, f.sum.Tokens)
	}
	return f.openLengths()
}

// NumDocs is the number of documents.
func (s *Segment) NumDocs() uint32 { return s.n }

// Fields are the fields the segment was built with.
func (s *Segment) Fields() []FieldConfig {
	var out []FieldConfig
	for _, f := range s.fields {
		out = append(out, f.config)
	}
	return out
}

// Bind looks the query's terms up. Fields that were added to the collection
// after the segment was built are absent in all its documents.
func (s *Segment) Bind(ctx context.Context, q *Query, e *Exclusion) (*Bound, error) {
	return bind(ctx, s, q, e)
}

func (s *Segment) field(i int) *segField {
	if i >= len(s.fields) {
		return nil
	}
	return &s.fields[i]
}

func (s *Segment) totals(field int) FieldStats {
	if f := s.field(field); f != nil {
		return f.sum
	}
	return FieldStats{}
}

func (s *Segment) lengths(field int) lengths {
	if f := s.field(field); f != nil {
		return lengths{packed: &f.lengths}
	}
	return lengths{}
}

func (s *Segment) find(field int, term string) (source, error) {
	f := s.field(field)
	if f == nil || f.terms == 0 {
		return nil, nil
	}
	it, err := f.seek([]byte(term))
	if err != nil || !it.valid || string(it.term) != term {
		return nil, err
	}
	return f.open(it.ordinal)
}

func (s *Segment) walk(field int, prefix string, visit func([]byte, func() (source, error)) error) error {
	f := s.field(field)
	if f == nil || f.terms == 0 {
		return nil
	}
	it, err := f.seek([]byte(prefix))
	for ; err == nil && it.valid && bytes.HasPrefix(it.term, []byte(prefix)); err = it.next() {
		if err := visit(it.term, func() (source, error) { return f.open(it.ordinal) }); err != nil {
			return err
		}
	}
	return err
}

func (s *Segment) countTerms(docs []uint32) ([][]uint32, error) {
	table := make([][]uint32, len(s.fields))
	for i := range s.fields {
		f := &s.fields[i]
		table[i] = make([]uint32, f.terms)
		for _, doc := range docs {
			if doc >= s.n {
				break
			}
			if err := f.forward(doc, table[i]); err != nil {
				return nil, err
			}
		}
	}
	return table, nil
}

// forward counts the terms of the document.
func (f *segField) forward(doc uint32, counts []uint32) error {
	return f.eachTerm(doc, uint32(len(counts)), func(ord uint32) { counts[ord]++ })
}

// documentTerms appends the document's terms, each by its number in ords.
func (f *segField) documentTerms(doc uint32, ords, dst []uint32) ([]uint32, error) {
	err := f.eachTerm(doc, uint32(len(ords)), func(ord uint32) { dst = append(dst, ords[ord]) })
	return dst, err
}

// eachTerm visits the ordinals of the document's terms, which are below terms.
func (f *segField) eachTerm(doc, terms uint32, visit func(ord uint32)) error {
	index := f.sec[secForwardIndex]
	from, to := int64(binary.LittleEndian.Uint32(index[4*int(doc):])), f.size[secForward]
	if doc+1 < f.n {
		to = int64(binary.LittleEndian.Uint32(index[4*int(doc)+4:]))
	}
	list, err := f.read(secForward, from, to)
	if err != nil {
		return err
	}
	d := &decoder{b: list}
	ord := uint64(0)
	for range d.u32() {
		if ord += uint64(d.u32()); d.bad || ord >= uint64(terms) {
			return f.corrupt(secForward, "document %d lists term %d of %d", doc, ord, terms)
		}
		visit(uint32(ord))
	}
	if d.bad {
		return f.corrupt(secForward, "the list of document %d", doc)
	}
	return nil
}

// dictIter walks the terms in order.
type dictIter struct {
	f       *segField
	d       decoder
	ordinal uint32
	term    []byte
	valid   bool
}

// seek stands at the first term ≥ key.
func (f *segField) seek(key []byte) (*dictIter, error) {
	index := f.sec[secDictIndex]
	blocks := len(index) / 4
	it := &dictIter{f: f, d: decoder{b: f.sec[secDict]}}
	var bad error
	b := sort.Search(blocks, func(b int) bool { // first block that starts past the key
		first, err := f.firstOf(b)
		if err != nil {
			bad = err
		}
		return bytes.Compare(first, key) > 0
	})
	if bad != nil {
		return it, bad
	}
	b = max(b-1, 0)
	it.d.at = int(binary.LittleEndian.Uint32(index[4*b:]))
	it.ordinal = uint32(b * dictBlock)
	err := it.read()
	for err == nil && it.valid && bytes.Compare(it.term, key) < 0 {
		err = it.next()
	}
	return it, err
}

func (f *segField) firstOf(b int) ([]byte, error) {
	d := decoder{b: f.sec[secDict], at: int(binary.LittleEndian.Uint32(f.sec[secDictIndex][4*b:]))}
	if d.at > len(d.b) {
		return nil, f.corrupt(secDictIndex, "block %d starts past the end", b)
	}
	d.uvarint()
	first := d.bytes(d.uvarint())
	if d.bad {
		return nil, f.corrupt(secDict, "block %d is cut short", b)
	}
	return first, nil
}

// read decodes the entry of the current ordinal.
func (it *dictIter) read() error {
	if it.ordinal >= it.f.terms {
		it.valid = false
		return nil
	}
	shared := it.d.uvarint()
	if it.ordinal%dictBlock == 0 && shared != 0 || shared > uint64(len(it.term)) {
		it.d.bad = true
	}
	suffix := it.d.bytes(it.d.uvarint())
	if it.d.bad {
		it.valid = false
		return it.f.corrupt(secDict, "term %d is cut short", it.ordinal)
	}
	it.term = append(it.term[:shared], suffix...)
	it.valid = true
	return nil
}

func (it *dictIter) next() error {
	it.ordinal++
	return it.read()
}

// Terms lists the field's terms in order with their number of documents, for
// tests and tools; it stops when visit returns false.
func (s *Segment) Terms(field int, visit func(term string, docs int) bool) error {
	f := s.field(field)
	if f == nil || f.terms == 0 {
		return nil
	}
	it, err := f.seek(nil)
	for ; err == nil && it.valid; err = it.next() {
		src, err := f.open(it.ordinal)
		if err != nil {
			return err
		}
		if !visit(string(slices.Clone(it.term)), src.df()) {
			return nil
		}
	}
	return err
}

// packedLengths reads lengths in place.
type packedLengths struct{ index, data []byte }

// openLengths checks every block against the data, so that at needs no checks.
func (f *segField) openLengths() error {
	p := packedLengths{index: f.sec[secLengthsIndex], data: f.sec[secLengths]}
	for b := 0; b*8 < len(p.index); b++ {
		e := binary.LittleEndian.Uint64(p.index[8*b:])
		n := min(lengthsBlock, int(f.n)-b*lengthsBlock)
		width := uint(e & 0xff)
		if width > 32 || e>>8 > uint64(len(p.data)) ||
			int(e>>8)+packedBytes(n, width)+packedPad > len(p.data) {
			return f.corrupt(secLengths, "block %d does not fit", b)
		}
	}
	f.lengths = p
	return nil
}

// at is the length of doc, which is less than the number of documents.
func (p *packedLengths) at(doc uint32) uint32 {
	e := binary.LittleEndian.Uint64(p.index[int(doc/lengthsBlock)*8:])
	width := uint32(e & 0xff)
	bit := doc % lengthsBlock * width
	v := binary.LittleEndian.Uint64(p.data[e>>8+uint64(bit>>3):])
	return uint32(v >> (bit & 7) & (1<<width - 1))
}
