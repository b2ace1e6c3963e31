package source

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Append writes row i as source_json_v1 to dst: members in field order, absent
// columns (nil) and vector fields left out, NULL as null. Errors name the field.
func Append(dst []byte, obj *schema.Object, cols []*vec.Vector, i int) ([]byte, error) {
	dst = append(dst, '{')
	first := true
	for f := range obj.Fields {
		field := &obj.Fields[f]
		if cols[f] == nil || Outside(field.Type) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(quote(dst, field.Name), ':')
		var err error
		if dst, err = appendValue(dst, cols[f].Value(i)); err != nil {
			return nil, fail.New(fail.CodeOf(err), "field %q of %s: %s", field.Name, obj.Name, err.Error())
		}
	}
	return append(dst, '}'), nil
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
		return append(append(append(dst, '"'), vec.FormatDate(int32(v.Int))...), '"'), nil
	case types.Timestamp:
		dst = append(dst, '"')
		dst = time.UnixMicro(v.Int).UTC().AppendFormat(dst, "2006-01-02T15:04:05.999999Z")
		return append(dst, '"'), nil
	case types.JSON:
		return append(dst, v.Str...), nil
	case types.List:
		dst = append(dst, '[')
		for i, e := range v.List {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendValue(dst, e); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case types.Text, types.Unknown:
		return quote(dst, v.Str), nil
	}
	return nil, fail.New(fail.Unsupported, "%s cannot be stored in a document", v.Type)
}

// appendDouble writes the shortest text that reads back as f. JSON has no NaN
// and no infinities.
func appendDouble(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fail.New(fail.OutOfRange, "%v cannot be stored in a document", f).WithHint("Store NULL instead.")
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64), nil
}
