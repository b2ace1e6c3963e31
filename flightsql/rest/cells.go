package rest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// appendCell renders row i of a column as JSON: numbers with all digits,
// infinities and NaN as text, timestamps as RFC 3339 in UTC, binary as base64,
// vectors and lists as arrays, structs and maps as objects. It allocates nothing but buf for the types that
// result columns usually have.
func appendCell(buf []byte, col *vec.Vector, i int) []byte {
	if col.IsNull(i) {
		return append(buf, "null"...)
	}
	at := col.Row(i)
	if col.Encoding == vec.Dictionary {
		return appendCell(buf, col.Dict, at)
	}
	switch col.Type.Kind {
	case types.Boolean:
		return strconv.AppendBool(buf, col.Bools[at])
	case types.Int32:
		return strconv.AppendInt(buf, int64(col.Int32s[at]), 10)
	case types.Int64:
		return strconv.AppendInt(buf, col.Int64s[at], 10)
	case types.Double:
		return appendFloat(buf, col.Float64s[at], 64)
	case types.Decimal:
		return appendDecimal(buf, col.Decimals[at], int(col.Type.Scale))
	case types.UUID:
		buf = vec.AppendUUID(append(buf, '"'), col.Decimals[at])
		return append(buf, '"')
	case types.Text, types.Unknown:
		return appendText(buf, col.Strings.At(at))
	case types.JSON:
		return appendJSONText(buf, col.Strings.Bytes(at))
	case types.Binary:
		buf = append(buf, '"')
		buf = base64.StdEncoding.AppendEncode(buf, col.Strings.Bytes(at))
		return append(buf, '"')
	case types.Date:
		buf = append(buf, '"')
		buf = time.Unix(int64(col.Int32s[at])*86400, 0).UTC().AppendFormat(buf, time.DateOnly)
		return append(buf, '"')
	case types.Timestamp:
		buf = append(buf, '"')
		buf = time.UnixMicro(col.Int64s[at]).UTC().AppendFormat(buf, "2006-01-02T15:04:05.999999Z")
		return append(buf, '"')
	}
	return appendNested(buf, col, at)
}

// appendNested renders position at of a flat column of a type with parts.
func appendNested(buf []byte, col *vec.Vector, at int) []byte {
	switch col.Type.Kind {
	case types.Vector:
		dim := int(col.Type.Dim)
		return appendFloats(buf, col.Float32s[at*dim:(at+1)*dim])
	case types.Sparse:
		row := col.SparseRows[at]
		buf = append(buf, `{"indices":[`...)
		for k, ix := range row.Indices {
			if k > 0 {
				buf = append(buf, ',')
			}
			buf = strconv.AppendUint(buf, uint64(ix), 10)
		}
		buf = append(buf, `],"values":`...)
		return append(appendFloats(buf, row.Values), '}')
	case types.List:
		buf = append(buf, '[')
		for k := col.Offsets[at]; k < col.Offsets[at+1]; k++ {
			if k > col.Offsets[at] {
				buf = append(buf, ',')
			}
			buf = appendCell(buf, col.Child, int(k))
		}
		return append(buf, ']')
	case types.Struct:
		buf = append(buf, '{')
		for k, f := range col.Type.Fields {
			if k > 0 {
				buf = append(buf, ',')
			}
			buf = appendCell(append(appendText(buf, f.Name), ':'), col.Fields[k], at)
		}
		return append(buf, '}')
	case types.Map:
		keys, values := col.Child.Fields[0], col.Child.Fields[1]
		buf = append(buf, '{')
		for k := col.Offsets[at]; k < col.Offsets[at+1]; k++ {
			if k > col.Offsets[at] {
				buf = append(buf, ',')
			}
			buf = appendCell(append(appendText(buf, keys.Value(int(k)).String()), ':'), values, int(k))
		}
		return append(buf, '}')
	}
	return appendText(buf, col.Value(at).String())
}

const hexDigits = "0123456789abcdef"

// appendText is a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendText(buf []byte, s string) []byte {
	buf = append(buf, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				buf = append(append(buf, s[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += n
			continue
		}
		buf = append(buf, s[from:i]...)
		switch c {
		case '"', '\\':
			buf = append(buf, '\\', c)
		case '\n':
			buf = append(buf, `\n`...)
		case '\r':
			buf = append(buf, `\r`...)
		case '\t':
			buf = append(buf, `\t`...)
		default:
			buf = append(buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(buf, s[from:]...), '"')
}

// appendJSONText keeps a JSON value but for line breaks between its parts, which
// would end a line of NDJSON.
func appendJSONText(buf, text []byte) []byte {
	if !json.Valid(text) {
		return appendText(buf, unsafe.String(unsafe.SliceData(text), len(text)))
	}
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return append(buf, text...)
	}
	out := bytes.NewBuffer(buf)
	_ = json.Compact(out, text) // valid, as checked above
	return out.Bytes()
}

// appendFloat prints the shortest digits that read back as f, with an exponent
// only where it is much shorter.
func appendFloat(buf []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return appendText(buf, vec.FormatDouble(f))
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(buf, f, 'e', -1, bits)
	}
	return strconv.AppendFloat(buf, f, 'f', -1, bits)
}

func appendFloats(buf []byte, fs []float32) []byte {
	buf = append(buf, '[')
	for i, f := range fs {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendFloat(buf, float64(f), 32)
	}
	return append(buf, ']')
}

// appendDecimal prints a decimal with all its digits; those of 64 bits without
// the detour over big numbers.
func appendDecimal(buf []byte, d decimal128.Num, scale int) []byte {
	low := int64(d.LowBits())
	if d.HighBits() != low>>63 || low == math.MinInt64 {
		return append(buf, d.ToString(int32(scale))...)
	}
	if low < 0 {
		buf, low = append(buf, '-'), -low
	}
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], low, 10)
	if scale == 0 {
		return append(buf, text...)
	}
	whole := len(text) - scale
	if whole <= 0 {
		buf = append(buf, '0')
	} else {
		buf = append(buf, text[:whole]...)
	}
	buf = append(buf, '.')
	for ; whole < 0; whole++ {
		buf = append(buf, '0')
	}
	return append(buf, text[whole:]...)
}
