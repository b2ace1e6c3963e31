package demo

import (
	_ "embed"
	"encoding/binary"
	"math"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
)

// Dim is the dimension of every demo vector.
const Dim = 384

// The layout of embeddings.bin, docs/formats/demo-embeddings.md.
const (
	embMagic   = "LOAMEMB\x00"
	embVersion = 0
	headerSize = len(embMagic) + 2 + 2 + 4 + 4
	sumSize    = 8
	symbolSize = 8 + 4 + Dim // key, scale, codes
)

//go:embed embeddings.bin
var embeddingsFile []byte

// Embeddings are the committed vectors of symbols and questions. They are
// read-only after [LoadEmbeddings]; any number may call them at once.
type Embeddings struct {
	keys      []byte // little-endian uint64 each, ascending
	scales    []byte // little-endian float32 each
	codes     []byte // Dim int8 each
	questions []Question
}

// Question is something a Go programmer asks, with its vector.
type Question struct {
	Text string
	// Vector has length [Dim] and unit length. It is shared: do not change it.
	Vector []float32
}

// LoadEmbeddings checks and opens the vectors built into the program.
func LoadEmbeddings() (*Embeddings, error) { return decodeEmbeddings(embeddingsFile) }

// Len is the number of symbols that have a vector.
func (e *Embeddings) Len() int { return len(e.keys) / 8 }

// Vector returns a fresh copy of a symbol's vector, of length [Dim] and unit
// length, and false for a symbol the file does not know.
func (e *Embeddings) Vector(id string) ([]float32, bool) {
	key := xxh3.HashString(id)
	i := sort.Search(e.Len(), func(i int) bool { return e.key(i) >= key })
	if i == e.Len() || e.key(i) != key {
		return nil, false
	}
	return dequantise(scaleAt(e.scales, i), e.codes[i*Dim:(i+1)*Dim]), true
}

// Questions returns the questions in the order of the file. The slice is the
// caller's, the vectors are shared.
func (e *Embeddings) Questions() []Question { return slices.Clone(e.questions) }

func (e *Embeddings) key(i int) uint64 { return binary.LittleEndian.Uint64(e.keys[i*8:]) }

func scaleAt(scales []byte, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(scales[i*4:]))
}

// dequantise returns code × scale, stretched to unit length: rounding to int8
// moves the length by up to a percent.
func dequantise(scale float32, codes []byte) []float32 {
	v := make([]float32, len(codes))
	sum := 0.0
	for i, c := range codes {
		v[i] = float32(int8(c)) * scale
		sum += float64(v[i]) * float64(v[i])
	}
	inverse := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= inverse
	}
	return v
}

// decodeEmbeddings reads a file of the layout; the result keeps slices of it.
// Anything else is [fail.Corrupt].
func decodeEmbeddings(file []byte) (*Embeddings, error) {
	if len(file) < headerSize+sumSize || string(file[:len(embMagic)]) != embMagic {
		return nil, corrupt("not an embeddings file: %d bytes without the magic", len(file))
	}
	le := binary.LittleEndian
	at := len(embMagic)
	if v := le.Uint16(file[at:]); v != embVersion {
		return nil, corrupt("version %d is unknown, this program reads %d", v, embVersion)
	}
	body, sum := file[:len(file)-sumSize], le.Uint64(file[len(file)-sumSize:])
	if got := xxh3.Hash(body); got != sum {
		return nil, corrupt("checksum %016x, the file says %016x", got, sum)
	}
	if d := le.Uint16(file[at+2:]); d != Dim {
		return nil, corrupt("dimension %d, want %d", d, Dim)
	}
	symbols, questions := uint64(le.Uint32(file[at+4:])), uint64(le.Uint32(file[at+8:]))
	rest := body[headerSize:]
	if symbols > uint64(len(rest))/uint64(symbolSize) {
		return nil, corrupt("%d symbols do not fit in %d bytes", symbols, len(rest))
	}
	n := int(symbols)
	e := &Embeddings{keys: rest[:n*8], scales: rest[n*8 : n*12], codes: rest[n*12 : n*symbolSize]}
	if err := e.checkSymbols(); err != nil {
		return nil, err
	}
	if err := e.readQuestions(rest[n*symbolSize:], questions); err != nil {
		return nil, err
	}
	return e, nil
}

// checkSymbols verifies that keys ascend and that every vector has a length.
func (e *Embeddings) checkSymbols() error {
	for i := range e.Len() {
		if i > 0 && e.key(i-1) >= e.key(i) {
			return corrupt("key %d does not ascend", i)
		}
		if err := checkVector(scaleAt(e.scales, i), e.codes[i*Dim:(i+1)*Dim]); err != nil {
			return corrupt("symbol vector %d: %v", i, err)
		}
	}
	return nil
}

// readQuestions reads count questions, which must end where rest ends.
func (e *Embeddings) readQuestions(rest []byte, count uint64) error {
	for i := range count {
		if len(rest) < 2 {
			return corrupt("question %d of %d is cut off", i, count)
		}
		textLen := int(binary.LittleEndian.Uint16(rest))
		end := 2 + textLen + 4 + Dim
		if len(rest) < end {
			return corrupt("question %d of %d is cut off", i, count)
		}
		text, tail := rest[2:2+textLen], rest[2+textLen:end]
		if textLen == 0 || !utf8.Valid(text) {
			return corrupt("question %d has no valid text", i)
		}
		if err := checkVector(scaleAt(tail, 0), tail[4:]); err != nil {
			return corrupt("question vector %d: %v", i, err)
		}
		e.questions = append(e.questions, Question{Text: string(text), Vector: dequantise(scaleAt(tail, 0), tail[4:])})
		rest = rest[end:]
	}
	if len(rest) > 0 {
		return corrupt("%d bytes after the last question", len(rest))
	}
	return nil
}

// checkVector refuses what cannot be brought to unit length. A scale is the
// largest absolute value of a unit vector divided by 127, so it lies below 1.
func checkVector(scale float32, codes []byte) error {
	if !(scale > 1e-6 && scale <= 1) {
		return fail.New(fail.Corrupt, "scale %g is out of range", scale)
	}
	for _, c := range codes {
		if c != 0 {
			return nil
		}
	}
	return fail.New(fail.Corrupt, "all codes are zero")
}

func corrupt(format string, args ...any) error {
	return fail.New(fail.Corrupt, "embeddings.bin: "+format, args...)
}
