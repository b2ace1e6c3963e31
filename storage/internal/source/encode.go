package source

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Append writes row i as source_json_v1 to dst: members in field order, absent
// columns (nil) and vector fields left out, NULL as null. A NULL in a JSON field
// is left out too, since null is a value there. Whatever it writes, an
// [Extractor] reads back as the same values: what could not be read back is an
// error here, before anything is durable. Errors name the field.
func Append(dst []byte, obj *schema.Object, cols []*vec.Vector, i int) ([]byte, error) {
	start := len(dst)
	dst = append(dst, '{')
	for f := range obj.Fields {
		field := &obj.Fields[f]
		if cols[f] == nil || Outside(field.Type) {
			continue
		}
		val := peek(cols[f], i)
		if leftOut(val) {
			continue
		}
		if len(dst) > start+1 {
			dst = append(dst, ',')
		}
		dst = append(quote(dst, field.Name), ':')
		var err error
		if dst, err = appendValue(dst, val); err != nil {
			return nil, fieldError(obj, field, err)
		}
	}
	dst = append(dst, '}')
	if n := len(dst) - start; n > MaxDocumentBytes {
		return nil, tooLarge(obj, n)
	}
	return dst, nil
}

// peek is row i of a vector. Unlike Vector.Value it does not copy a string: it
// must not outlive the vector.
func peek(v *vec.Vector, i int) vec.Value {
	if len(v.Strings.Views) == 0 || v.IsNull(i) {
		return v.Value(i)
	}
	return vec.Value{Type: v.Type, Str: v.Strings.At(v.Row(i))}
}

func tooLarge(obj *schema.Object, n int) error {
	return fail.New(fail.TooLarge, "a document of %s has %d bytes; the limit is %d", obj.Name, n, MaxDocumentBytes)
}

// leftOut says that a value has no member: a NULL where null would read back as
// JSON's null.
func leftOut(v vec.Value) bool { return v.Null && v.Type.Kind == types.JSON }

// ReadsBack reports the types of which an [Extractor] reads every value that
// [Append] wrote as the very same value. JSON is not one: blanks around it go.
func ReadsBack(t types.Type) bool {
	switch t.Kind {
	case types.Boolean, types.Int32, types.Int64, types.Double, types.Text, types.Date, types.Timestamp, types.Time, types.UUID:
		return true
	}
	return false
}

// Outside reports the types that lie beside _source, not in it.
func Outside(t types.Type) bool { return t.Kind == types.Vector || t.Kind == types.Sparse }

func appendValue(dst []byte, v vec.Value) ([]byte, error) {
	if v.Null {
		return append(dst, "null"...), nil
	}
	switch v.Type.Kind {
	case types.Boolean:
		return strconv.AppendBool(dst, v.Bool), nil
	case types.Int32, types.Int64:
		return strconv.AppendInt(dst, v.Int, 10), nil
	case types.Double:
		return appendDouble(dst, v.Float)
	case types.Decimal:
		return append(dst, v.Dec.ToString(int32(v.Type.Scale))...), nil
	case types.Binary:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, []byte(v.Str))
		return append(dst, '"'), nil
	case types.Date:
		return appendTime(dst, time.Unix(v.Int*86400, 0), v, "2006-01-02")
	case types.Timestamp:
		return appendTime(dst, time.UnixMicro(v.Int), v, "2006-01-02T15:04:05.999999Z")
	case types.JSON:
		if !vec.ValidJSON(v.Str) || !utf8.ValidString(v.Str) {
			return nil, fail.New(fail.InvalidJSON, "%s is not JSON", clip(v.Str))
		}
		return append(dst, v.Str...), nil
	case types.Time, types.UUID:
		return append(append(append(dst, '"'), v.String()...), '"'), nil
	case types.List:
		return appendList(dst, v.List)
	case types.Struct:
		return appendStruct(dst, v)
	case types.Map:
		return appendMap(dst, v)
	case types.Text, types.Unknown:
		if !utf8.ValidString(v.Str) {
			return nil, fail.New(fail.InvalidEncoding, "the text is not valid UTF-8")
		}
		return quote(dst, v.Str), nil
	}
	return nil, fail.New(fail.Unsupported, "%s cannot be stored in a document", v.Type)
}

func appendList(dst []byte, list []vec.Value) ([]byte, error) {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, e); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendStruct writes an object of all fields in order. A NULL in a JSON field is
// left out, as in a document.
func appendStruct(dst []byte, v vec.Value) ([]byte, error) {
	dst = append(dst, '{')
	start := len(dst)
	for i, e := range v.List {
		if leftOut(e) {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(quote(dst, v.Type.Fields[i].Name), ':')
		var err error
		if dst, err = appendValue(dst, e); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendMap writes a map whose keys are TEXT as an object, another as an array
// of {"key": …, "value": …}.
func appendMap(dst []byte, v vec.Value) ([]byte, error) {
	if v.Type.Key().Kind != types.Text {
		return appendList(dst, v.List)
	}
	dst = append(dst, '{')
	for i, e := range v.List {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, e.List[0]); err != nil {
			return nil, err
		}
		if dst, err = appendValue(append(dst, ':'), e.List[1]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendTime writes the years that RFC 3339 has; others could not be read back.
func appendTime(dst []byte, at time.Time, v vec.Value, layout string) ([]byte, error) {
	at = at.UTC()
	if y := at.Year(); y < 0 || y > 9999 {
		return nil, fail.New(fail.OutOfRange, "%s %s cannot be stored in a document", v.Type, v).
			WithHint("Documents hold the years 0000 to 9999.")
	}
	dst = at.AppendFormat(append(dst, '"'), layout)
	return append(dst, '"'), nil
}
