package file

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
)

// JSON columns store each document in a binary form: big endian words of which the
// high bits are a kind and the low 28 a count or a length. A container is a word with
// its kind and the count of its values, one word a value (of an object: all keys, then
// all values), and then their bytes in the same order. A document that is no container
// is one word of kind binScalar and its value.
const (
	binArray  = 0x8
	binObject = 0x4
	binScalar = 0x2
)

// Kinds of values.
const (
	binNull      = 0x0
	binString    = 0x1
	binNumber    = 0x2
	binFalse     = 0x3
	binTrue      = 0x4
	binContainer = 0x5
)

// Kinds of numbers, the high half of their first byte. The three without a value are
// what JSON cannot write; the client's own text has null for them.
const (
	numZero     = 0x0
	numNaN      = 0x1
	numInf      = 0x2
	numMinusInf = 0x3
	numSigned   = 0x4
	numUnsigned = 0x5
	numDouble   = 0x6
)

// maxDocumentDepth bounds containers within containers.
const maxDocumentDepth = 1000

// textOfJSON appends the JSON text of a document.
func textOfJSON(to, doc []byte) ([]byte, error) {
	d := jsonReader{in: doc, out: to}
	kind, count, err := d.word()
	switch {
	case err != nil:
		return nil, err
	case kind == binScalar:
		if kind, count, err = d.word(); err == nil {
			err = d.value(kind, count, 0)
		}
	default:
		err = d.container(kind, count, 0)
	}
	if err == nil && len(d.in) > 0 {
		err = corrupt("JSON document with %d bytes too many", len(d.in))
	}
	return d.out, err
}

// jsonReader turns in, which it consumes, into text behind out.
type jsonReader struct{ in, out []byte }

func (d *jsonReader) take(n int) ([]byte, error) {
	if n > len(d.in) {
		return nil, corrupt("JSON document is cut off: %d of %d bytes", len(d.in), n)
	}
	b := d.in[:n]
	d.in = d.in[n:]
	return b, nil
}

func (d *jsonReader) word() (kind uint32, n int, err error) {
	b, err := d.take(4)
	if err != nil {
		return 0, 0, err
	}
	w := binary.BigEndian.Uint32(b)
	return w >> 28, int(w & (1<<28 - 1)), nil
}

func (d *jsonReader) value(kind uint32, n, depth int) error {
	b, err := d.take(n)
	if err != nil {
		return err
	}
	switch kind {
	case binNull:
		d.out = append(d.out, "null"...)
	case binFalse:
		d.out = append(d.out, "false"...)
	case binTrue:
		d.out = append(d.out, "true"...)
	case binString:
		return d.text(b)
	case binNumber:
		return d.number(b)
	case binContainer:
		return d.within(b, depth+1)
	default:
		return unsupported("JSON values of kind %d are not readable", kind)
	}
	return nil
}

// within reads a container that fills b.
func (d *jsonReader) within(b []byte, depth int) error {
	if depth > maxDocumentDepth {
		return unsupported("JSON nested deeper than %d is not readable", maxDocumentDepth)
	}
	inner := jsonReader{in: b, out: d.out}
	kind, n, err := inner.word()
	if err == nil {
		err = inner.container(kind, n, depth)
	}
	if err == nil && len(inner.in) > 0 {
		err = corrupt("JSON container with %d bytes too many", len(inner.in))
	}
	d.out = inner.out
	return err
}

func (d *jsonReader) container(kind uint32, n, depth int) error {
	switch kind {
	case binArray:
		return d.array(n, depth)
	case binObject:
		return d.object(n, depth)
	}
	return corrupt("JSON container of kind %d", kind)
}

func (d *jsonReader) array(n, depth int) error {
	words, err := d.take(4 * n)
	if err != nil {
		return err
	}
	d.out = append(d.out, '[')
	for i := range n {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		if err := d.entry(words[4*i:], depth); err != nil {
			return err
		}
	}
	d.out = append(d.out, ']')
	return nil
}

// object writes the keys as they lie: in their byte order, each once.
func (d *jsonReader) object(n, depth int) error {
	words, err := d.take(8 * n)
	if err != nil {
		return err
	}
	keys := make([][]byte, n)
	for i := range keys {
		w := binary.BigEndian.Uint32(words[4*i:])
		if w>>28 != binString {
			return corrupt("JSON key of kind %d", w>>28)
		}
		if keys[i], err = d.take(int(w & (1<<28 - 1))); err != nil {
			return err
		}
	}
	d.out = append(d.out, '{')
	for i, key := range keys {
		if i > 0 {
			d.out = append(d.out, ',')
		}
		if err := d.text(key); err != nil {
			return err
		}
		d.out = append(d.out, ':')
		if err := d.entry(words[4*(n+i):], depth); err != nil {
			return err
		}
	}
	d.out = append(d.out, '}')
	return nil
}

// entry writes the value of the word at the front of words.
func (d *jsonReader) entry(words []byte, depth int) error {
	w := binary.BigEndian.Uint32(words)
	return d.value(w>>28, int(w&(1<<28-1)), depth)
}

func (d *jsonReader) text(b []byte) error {
	if !utf8.Valid(b) {
		return corrupt("JSON text that is not UTF-8")
	}
	const hex = "0123456789abcdef"
	d.out = append(d.out, '"')
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			d.out = append(d.out, '\\', c)
		case c >= ' ':
			d.out = append(d.out, c)
		case c == '\b':
			d.out = append(d.out, `\b`...)
		case c == '\f':
			d.out = append(d.out, `\f`...)
		case c == '\n':
			d.out = append(d.out, `\n`...)
		case c == '\r':
			d.out = append(d.out, `\r`...)
		case c == '\t':
			d.out = append(d.out, `\t`...)
		default:
			d.out = append(d.out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	d.out = append(d.out, '"')
	return nil
}

func (d *jsonReader) number(b []byte) error {
	if len(b) == 0 {
		return corrupt("JSON number without bytes")
	}
	kind, b := b[0]>>4, b[1:]
	whole := len(b) == 1 || len(b) == 2 || len(b) == 4 || len(b) == 8
	bits := uint64(0)
	for _, c := range b[:min(len(b), 8)] {
		bits = bits<<8 | uint64(c)
	}
	switch {
	case kind == numZero && len(b) == 0:
		d.out = append(d.out, '0')
	case (kind == numNaN || kind == numInf || kind == numMinusInf) && len(b) == 0:
		d.out = append(d.out, "null"...)
	case kind == numSigned && whole:
		unused := 64 - 8*len(b)
		d.out = strconv.AppendInt(d.out, int64(bits<<unused)>>unused, 10)
	case kind == numUnsigned && whole:
		d.out = strconv.AppendUint(d.out, bits, 10)
	case kind == numDouble && len(b) == 8:
		d.out = appendDouble(d.out, math.Float64frombits(bits))
	case kind > numDouble:
		return unsupported("JSON numbers of kind %d are not readable", kind)
	default:
		return corrupt("JSON number of kind %d in %d bytes", kind, len(b))
	}
	return nil
}

// appendDouble writes the shortest text that is a double again: with a point, or with
// an exponent where the point would be far away.
func appendDouble(to []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(to, "null"...)
	}
	if a := math.Abs(v); a != 0 && (a < 1e-5 || a >= 1e16) {
		var buf [32]byte
		text := strconv.AppendFloat(buf[:0], v, 'e', -1, 64)
		if n := len(text); text[n-3] == '-' && text[n-2] == '0' { // e-07
			text = append(text[:n-2], text[n-1])
		}
		return append(to, text...)
	}
	from := len(to)
	to = strconv.AppendFloat(to, v, 'f', -1, 64)
	for _, c := range to[from:] {
		if c == '.' {
			return to
		}
	}
	return append(to, ".0"...)
}

// jsonBuffers are the offsets and the bytes of the texts of the documents that the
// sink has collected; a null has an empty text. It consumes the documents.
func (s *sink) jsonBuffers(valid *memory.Buffer) ([]*memory.Buffer, error) {
	n := s.nodes[len(s.nodes)-1].valid.n
	offs, text := growBuf{mem: s.values.mem}, growBuf{mem: s.values.mem}
	defer func() { offs.release(); text.release() }()
	putOffset(&offs, 4, 0)
	offs.hint(4 * n)
	ends, docs := s.offsets.used(), s.values.used()
	var buf []byte
	for i := range n {
		doc := docs[offsetAt(ends, i, 8):offsetAt(ends, i+1, 8)]
		buf = buf[:0]
		if valid == nil || bitutil.BitIsSet(valid.Bytes(), i) {
			var err error
			if buf, err = textOfJSON(buf, doc); err != nil {
				return nil, fail.Wrap(fail.CodeOf(err), err, "column %q, value %d", s.leaf.name, i)
			}
		}
		if len(buf) > math.MaxInt32-text.n {
			return nil, tooLong(s.leaf.name)
		}
		copy(text.extend(len(buf)), buf)
		putOffset(&offs, 4, text.n)
	}
	s.values.release()
	s.offsets.release()
	return []*memory.Buffer{offs.buffer(), text.buffer()}, nil
}
