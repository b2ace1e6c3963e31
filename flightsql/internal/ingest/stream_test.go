package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
)

// sampleStream is three batches of 100 rows, the text as a dictionary.
func sampleStream(t testing.TB, options ...ipc.Option) []byte {
	t.Helper()
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "t", Type: dict}}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, append(options, ipc.WithSchema(schema))...)
	for k := range 3 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i := range 100 {
			b.Field(0).(*array.Int64Builder).Append(int64(k*100 + i))
			if err := b.Field(1).(*array.BinaryDictionaryBuilder).AppendString(fmt.Sprint("t", i%3)); err != nil {
				t.Fatal(err)
			}
		}
		rec := b.NewRecordBatch()
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		b.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readAll counts the rows of a stream.
func readAll(from io.Reader) (rows int64, err error) {
	r := NewStream(from, memory.DefaultAllocator)
	defer r.Release()
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += rec.NumRows()
	}
}

func TestStreams(t *testing.T) {
	for name, data := range map[string][]byte{
		"plain": sampleStream(t), "compressed": sampleStream(t, ipc.WithZstd()), "without its end": sampleStream(t)[:len(sampleStream(t))-8],
	} {
		if rows, err := readAll(bytes.NewReader(data)); rows != 300 || err != nil {
			t.Errorf("%s: %d rows, %v", name, rows, err)
		}
		if rows, err := readAll(&slow{data}); rows != 300 || err != nil {
			t.Errorf("%s, byte by byte: %d rows, %v", name, rows, err)
		}
	}
	if rows, err := readAll(bytes.NewReader(nil)); rows != 0 || err != nil {
		t.Errorf("nothing: %d rows, %v", rows, err)
	}
}

// slow gives a byte a read.
type slow struct{ left []byte }

func (s *slow) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:1], s.left)
	s.left = s.left[n:]
	return n, nil
}

// TestCutStreams: cut anywhere but between messages, a stream is an error of the
// caller's, and never more rows than it holds.
func TestCutStreams(t *testing.T) {
	data := sampleStream(t)
	whole := 0
	for n := range data {
		rows, err := readAll(bytes.NewReader(data[:n]))
		if err == nil {
			whole++
		} else if fail.CodeOf(err) != fail.BadRequest {
			t.Errorf("cut at %d: %v", n, err)
		}
		if rows > 300 || rows%100 != 0 {
			t.Errorf("cut at %d: %d rows", n, rows)
		}
	}
	if whole != 6 { // at 0, behind schema, dictionary, three batches
		t.Errorf("%d places leave a whole stream", whole)
	}
}

// TestErrorsOfTheReaderComeThrough, such as that of a body that is too large.
func TestErrorsOfTheReaderComeThrough(t *testing.T) {
	broken := errors.New("the body is too large")
	data := sampleStream(t)
	for n := range data {
		if _, err := readAll(io.MultiReader(bytes.NewReader(data[:n]), failing{broken})); err != nil && !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestLyingLengths cost no memory.
func TestLyingLengths(t *testing.T) {
	data := sampleStream(t)
	for _, size := range []uint32{1, 8, maxHeaderBytes, maxHeaderBytes + 1, 1 << 31, continuation - 1} {
		lie := bytes.Clone(data)
		binary.LittleEndian.PutUint32(lie[4:], size)
		if _, err := readAll(bytes.NewReader(lie)); fail.CodeOf(err) != fail.BadRequest {
			t.Errorf("a header of %d bytes: %v", size, err)
		}
	}
	// A batch's body length, wherever it stands, as a number that is far too large.
	at := bytes.LastIndex(data[:len(data)-8], []byte{0xff, 0xff, 0xff, 0xff})
	for i := at; i+8 < len(data); i += 8 {
		lie := bytes.Clone(data)
		binary.LittleEndian.PutUint64(lie[i:], 1<<40)
		if rows, err := readAll(bytes.NewReader(lie)); err != nil && fail.CodeOf(err) != fail.BadRequest && fail.CodeOf(err) != fail.TooLarge || rows > 300 {
			t.Errorf("at %d: %d rows, %v", i, rows, err)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add(sampleStream(f))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := readAll(bytes.NewReader(data)); err != nil && fail.CodeOf(err) == fail.Internal {
			t.Error(err)
		}
	})
}
