package rest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// quoted is a JSON string; bytes that are not UTF-8 become U+FFFD.
func quoted(text string) string {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return `""`
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

// writeValue renders a value: numbers with all digits, infinities and NaN as
// text, timestamps as RFC 3339 in UTC, binary as base64, vectors as arrays.
func writeValue(buf *bytes.Buffer, v vec.Value) {
	if v.Null {
		buf.WriteString("null")
		return
	}
	switch v.Type.Kind {
	case types.Boolean:
		buf.WriteString(strconv.FormatBool(v.Bool))
	case types.Int32, types.Int64:
		buf.WriteString(strconv.FormatInt(v.Int, 10))
	case types.Double:
		writeFloat(buf, v.Float, 64)
	case types.Decimal:
		buf.WriteString(v.Dec.ToString(int32(v.Type.Scale)))
	case types.Timestamp:
		buf.WriteString(quoted(time.UnixMicro(v.Int).UTC().Format("2006-01-02T15:04:05.999999Z")))
	case types.Binary:
		buf.WriteString(quoted(base64.StdEncoding.EncodeToString([]byte(v.Str))))
	case types.JSON:
		writeJSONText(buf, v.Str)
	case types.Vector:
		writeFloats(buf, v.Vec)
	case types.Sparse:
		buf.WriteString(`{"indices":[`)
		for i, ix := range v.Sparse.Indices {
			if i > 0 {
				buf.WriteByte(',')
			}
			buf.WriteString(strconv.FormatUint(uint64(ix), 10))
		}
		buf.WriteString(`],"values":`)
		writeFloats(buf, v.Sparse.Values)
		buf.WriteByte('}')
	case types.List:
		buf.WriteByte('[')
		for i, e := range v.List {
			if i > 0 {
				buf.WriteByte(',')
			}
			writeValue(buf, e)
		}
		buf.WriteByte(']')
	case types.Text, types.Unknown:
		buf.WriteString(quoted(v.Str))
	default:
		buf.WriteString(quoted(v.String()))
	}
}

func writeJSONText(buf *bytes.Buffer, text string) {
	if json.Valid([]byte(text)) {
		buf.WriteString(text)
		return
	}
	buf.WriteString(quoted(text))
}

func writeFloat(buf *bytes.Buffer, f float64, bits int) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		buf.WriteString(quoted(vec.FormatDouble(f)))
		return
	}
	buf.WriteString(strconv.FormatFloat(f, 'g', -1, bits))
}

func writeFloats(buf *bytes.Buffer, fs []float32) {
	buf.WriteByte('[')
	for i, f := range fs {
		if i > 0 {
			buf.WriteByte(',')
		}
		writeFloat(buf, float64(f), 32)
	}
	buf.WriteByte(']')
}

// parseValue reads a parameter: numbers, text, booleans, null, arrays of these,
// objects as JSON. An array for a vector becomes one.
func parseValue(raw json.RawMessage, want types.Type) (vec.Value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return vec.Value{}, fail.Wrap(fail.BadRequest, err, "not JSON")
	}
	switch x := v.(type) {
	case nil:
		return vec.Null(types.Of(types.Unknown)), nil
	case bool:
		return vec.Bool(x), nil
	case string:
		return vec.Text(x), nil
	case json.Number:
		return parseNumber(string(x))
	case map[string]any:
		return vec.Value{Type: types.Of(types.JSON), Str: string(bytes.TrimSpace(raw))}, nil
	case []any:
		if want.Kind == types.JSON {
			return vec.Value{Type: types.Of(types.JSON), Str: string(bytes.TrimSpace(raw))}, nil
		}
		if want.Kind == types.Vector {
			return parseVector(raw)
		}
		return parseList(raw)
	}
	return vec.Value{}, fail.Bug("a JSON value of type %T", v)
}

func parseNumber(text string) (vec.Value, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return vec.Int64(i), nil
	}
	if !strings.ContainsAny(text, ".eE") {
		return vec.Text(text), nil // a whole number beyond BIGINT: cast from its digits
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return vec.Value{}, fail.New(fail.OutOfRange, "the number %.40s does not fit DOUBLE", text)
	}
	return vec.Double(f), nil
}

func parseVector(raw json.RawMessage) (vec.Value, error) {
	var fs []float32
	if err := json.Unmarshal(raw, &fs); err != nil {
		return vec.Value{}, fail.New(fail.InvalidVector, "a vector is an array of numbers")
	}
	return vec.VectorValue(fs), nil
}

func parseList(raw json.RawMessage) (vec.Value, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return vec.Value{}, fail.Wrap(fail.BadRequest, err, "not an array")
	}
	values, elem := make([]vec.Value, len(items)), types.Of(types.Unknown)
	for i, item := range items {
		v, err := parseValue(item, types.Of(types.Unknown))
		if err != nil {
			return vec.Value{}, err
		}
		values[i] = v
		switch {
		case v.Null || v.Type.Equal(elem):
		case elem.Kind == types.Unknown:
			elem = v.Type
		case elem.Numeric() && v.Type.Numeric():
			elem = types.Of(types.Double)
		default:
			return vec.Value{}, fail.New(fail.DatatypeMismatch, "an array of %s and %s", elem, v.Type)
		}
	}
	if elem.Kind == types.Unknown {
		elem = types.Of(types.Text)
	}
	for i := range values {
		if elem.Kind == types.Double && values[i].Type.Kind == types.Int64 {
			values[i] = vec.Double(float64(values[i].Int))
		}
		values[i].Type = elem
	}
	return vec.Value{Type: types.ListOf(elem), List: values}, nil
}
