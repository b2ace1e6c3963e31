package datafile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/loamdb/loam/internal/fail"
)

// Format is a file format.
type Format string

// The formats. JSON is one object a line, one after the other, or an array of
// objects; Arrow is an IPC file or stream.
const (
	CSV     Format = "csv"
	TSV     Format = "tsv"
	JSON    Format = "json"
	Parquet Format = "parquet"
	Arrow   Format = "arrow"
)

// Formats lists the formats, for messages.
const Formats = "csv, tsv, json, parquet or arrow"

// extensions are the endings of file names, without compression.
var extensions = map[string]Format{
	".csv": CSV, ".tsv": TSV, ".tab": TSV,
	".json": JSON, ".jsonl": JSON, ".ndjson": JSON,
	".parquet": Parquet, ".pq": Parquet,
	".arrow": Arrow, ".arrows": Arrow, ".ipc": Arrow, ".feather": Arrow,
}

// compressions are the endings of compressed files.
var compressions = []string{".gz", ".gzip", ".zst", ".zstd"}

// FormatOfName is the format that a file's name says, or "".
func FormatOfName(name string) Format {
	name = strings.ToLower(name)
	for _, c := range compressions {
		name = strings.TrimSuffix(name, c)
	}
	return extensions[path.Ext(name)]
}

// ParseFormat reads a format's name.
func ParseFormat(s string) (Format, error) {
	switch f := Format(strings.ToLower(s)); f {
	case CSV, TSV, JSON, Parquet, Arrow:
		return f, nil
	case "jsonl", "ndjson":
		return JSON, nil
	}
	return "", fail.New(fail.InvalidParameter, "there is no format %q", s).WithHint("Formats are %s.", Formats)
}

// sampleBytes is how much of a file is looked at to find out what it is.
const sampleBytes = 256 << 10

// Open finds out what a file is and reads it. It may read from the input at
// once. Errors: fail.InvalidEncoding, fail.InvalidParameter, each
// with the file's name.
func Open(in Input, o Options) (*Reader, error) {
	r, err := open(in, o)
	if err != nil {
		return nil, named(in.Name, err)
	}
	r.name = in.Name
	return r, nil
}

func open(in Input, o Options) (*Reader, error) {
	raw := bufio.NewReaderSize(in.Reader, sampleBytes)
	plain, done, packed, err := decompress(raw)
	if err != nil {
		return nil, err
	}
	head, err := plain.Peek(sampleBytes)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		done()
		return nil, err
	}
	r := &Reader{name: in.Name, format: o.Format, close: done}
	if r.format == "" {
		r.format = FormatOfName(in.Name)
	}
	if m := magic(head); m != "" && (r.format == "" || !r.format.binary()) {
		r.format = m // what it is, whatever it is called
	}
	if r.format == "" {
		r.format = sniffText(head)
	}
	whole := errors.Is(err, io.EOF)
	switch r.format {
	case JSON:
		err = r.openJSON(plain, head)
	case Parquet:
		err = r.openParquet(in, packed)
	case Arrow:
		err = r.openArrow(plain, head)
	default:
		err = r.openCSV(plain, head, whole, o)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (f Format) binary() bool { return f == Parquet || f == Arrow }

// decompress looks at the first bytes, whatever the name says.
func decompress(raw *bufio.Reader) (plain *bufio.Reader, done func(), packed bool, err error) {
	head, err := raw.Peek(10)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, false, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, nil, true, fail.Wrap(fail.InvalidParameter, err, "the gzip header is broken")
		}
		return bufio.NewReaderSize(unpacked{z}, sampleBytes), func() { _ = z.Close() }, true, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(512<<20))
		if err != nil {
			return nil, nil, true, fail.Wrap(fail.InvalidParameter, err, "the zstd header is broken")
		}
		return bufio.NewReaderSize(unpacked{z}, sampleBytes), z.Close, true, nil
	}
	if name, cure := otherCompression(head); name != "" {
		return nil, nil, true, fail.New(fail.Unsupported, "it is compressed with %s", name).WithHint("Unpack it first, such as with: %s", cure)
	}
	return raw, func() {}, false, nil
}

func otherCompression(head []byte) (name, cure string) {
	switch {
	case bytes.HasPrefix(head, []byte("BZh")):
		if len(head) == 10 && string(head[4:]) == "1AY&SY" {
			return "bzip2", "bunzip2 FILE"
		}
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X'}):
		return "xz", "unxz FILE"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "zip", "unzip FILE"
	}
	return "", ""
}

// unpacked tells a broken archive from a broken file.
type unpacked struct{ r io.Reader }

// Read implements io.Reader.
func (u unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	return n, fail.Wrap(fail.InvalidParameter, err, "the compressed data is broken")
}

// magic is the format that the first bytes say without doubt, or "".
func magic(head []byte) Format {
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return Parquet
	case bytes.HasPrefix(head, []byte("ARROW1")), bytes.HasPrefix(head, []byte{0xff, 0xff, 0xff, 0xff}) && len(head) > 8:
		return Arrow
	}
	return ""
}

// sniffText tells JSON from CSV.
func sniffText(head []byte) Format {
	head = bytes.TrimPrefix(head, utf8BOM)
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) > 0 && head[0] == '{' {
		return JSON
	}
	if len(head) > 0 && head[0] == '[' {
		rest := bytes.TrimLeft(head[1:], " \t\r\n")
		if len(rest) == 0 || rest[0] == '{' || rest[0] == ']' {
			return JSON
		}
	}
	return CSV
}

var utf8BOM = []byte{0xef, 0xbb, 0xbf}

// checkText refuses what is no UTF-8 text, by name.
func checkText(head []byte) error {
	wide := func(name, from string) error {
		return fail.New(fail.InvalidEncoding, "it is %s, and UTF-8 is needed", name).
			WithHint("Convert it with: iconv -f %s -t UTF-8 FILE > NEW", from)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe, 0, 0}), bytes.HasPrefix(head, []byte{0, 0, 0xfe, 0xff}):
		return wide("UTF-32", "UTF-32")
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return wide("UTF-16", "UTF-16")
	}
	zeros := [2]int{}
	n := min(len(head), 1000)
	for i := range n {
		if head[i] == 0 {
			zeros[i%2]++
		}
	}
	switch {
	case n >= 4 && zeros[1] > n/4 && zeros[0] == 0:
		return wide("UTF-16 (little endian, without a byte order mark)", "UTF-16LE")
	case n >= 4 && zeros[0] > n/4 && zeros[1] == 0:
		return wide("UTF-16 (big endian, without a byte order mark)", "UTF-16BE")
	case zeros[0]+zeros[1] > 0:
		return fail.New(fail.InvalidEncoding, "it is a binary file of no known format").WithHint("Formats are %s, plain or as .gz or .zst.", Formats)
	}
	return nil
}

// notUTF8 is the error of a text with a byte that UTF-8 has not.
func notUTF8(text []byte) error {
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	var b byte
	if at < len(text) {
		b = text[at]
	}
	return fail.New(fail.InvalidEncoding, "byte 0x%02X is not UTF-8", b).
		WithHint("If the file is Latin-1, convert it with: iconv -f LATIN1 -t UTF-8 FILE > NEW")
}
