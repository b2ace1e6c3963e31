package rest

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

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
		return parseNumber(string(x), want)
	case map[string]any:
		return vec.Value{Type: types.Of(types.JSON), Str: string(bytes.TrimSpace(raw))}, nil
	case []any:
		if want.Kind == types.JSON || want.Kind == types.Map || want.Kind == types.List && want.Elem.Nested() { // a cast reads it
			return vec.Value{Type: types.Of(types.JSON), Str: string(bytes.TrimSpace(raw))}, nil
		}
		if want.Kind == types.Vector {
			return parseVector(raw)
		}
		return parseList(raw)
	}
	return vec.Value{}, fail.Bug("a JSON value of type %T", v)
}

// parseNumber keeps the digits where the parameter is exact.
func parseNumber(text string, want types.Type) (vec.Value, error) {
	if want.Kind == types.Decimal || want.Kind == types.Text {
		return vec.Text(text), nil
	}
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
	var given []*float32
	if err := json.Unmarshal(raw, &given); err != nil {
		return vec.Value{}, fail.New(fail.InvalidVector, "a vector is an array of numbers")
	}
	fs := make([]float32, len(given))
	for i, f := range given {
		if f == nil {
			return vec.Value{}, fail.New(fail.InvalidVector, "number %d of the vector is null", i+1)
		}
		fs[i] = *f
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

// whole is a number without a fraction in a request. 10.0 is one: some languages
// write their numbers so.
type whole int64

// UnmarshalJSON implements json.Unmarshaler.
func (w *whole) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		*w = whole(n)
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return fail.New(fail.BadRequest, "%.40s is not a whole number of 64 bits", text)
	}
	*w = whole(f)
	return nil
}
