package kernel

import (
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func (c *caster) toText(i int) error {
	var buf [32]byte
	switch c.in.Type.Kind {
	case types.Int32:
		c.out.Strings.Set(i, string(strconv.AppendInt(buf[:0], int64(c.in.Int32s[i]), 10)))
	case types.Int64:
		c.out.Strings.Set(i, string(strconv.AppendInt(buf[:0], c.in.Int64s[i], 10)))
	case types.UUID:
		var buf [40]byte
		c.out.Strings.Set(i, string(vec.AppendUUID(buf[:0], c.in.Decimals[i])))
	default:
		c.out.Strings.Set(i, c.in.Value(i).String())
	}
	return nil
}

func (c *caster) toJSON() func(int) error {
	switch c.in.Type.Kind {
	case types.Text, types.Unknown:
		return func(i int) error {
			s := c.in.Strings.At(i)
			if !vec.ValidJSON(s) {
				return fail.New(fail.InvalidJSON, "%s is not valid JSON", quote(s))
			}
			c.out.Strings.Set(i, s)
			return nil
		}
	case types.Binary:
		return nil
	}
	return func(i int) error {
		c.out.Strings.Set(i, string(AppendJSON(nil, c.in.Value(i))))
		return nil
	}
}

// AppendJSON appends a value as JSON: numbers as numbers (a double that JSON
// cannot hold as null), times and other types as strings, lists and vectors as
// arrays, structs and maps as objects (a map's keys as text), JSON as it is.
func AppendJSON(dst []byte, v vec.Value) []byte {
	if v.Null {
		return append(dst, "null"...)
	}
	switch v.Type.Kind {
	case types.JSON:
		return append(dst, v.Str...)
	case types.Boolean, types.Int32, types.Int64, types.Decimal:
		return append(dst, v.String()...)
	case types.Double:
		return appendJSONNumber(dst, v.Float, 64)
	case types.Vector:
		dst = append(dst, '[')
		for i, f := range v.Vec {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONNumber(dst, float64(f), 32)
		}
		return append(dst, ']')
	case types.List:
		dst = append(dst, '[')
		for i, e := range v.List {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, e)
		}
		return append(dst, ']')
	case types.Struct, types.Map:
		return appendObject(dst, v)
	case types.Sparse:
		dst = append(dst, '{')
		for i, ix := range v.Sparse.Indices {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(strconv.AppendUint(append(dst, '"'), uint64(ix), 10), '"', ':')
			dst = appendJSONNumber(dst, float64(v.Sparse.Values[i]), 32)
		}
		return append(dst, '}')
	case types.Text, types.Unknown:
		return gjson.AppendJSONString(dst, v.Str)
	}
	return gjson.AppendJSONString(dst, v.String())
}

func appendJSONNumber(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits)
}

// fromText parses the text that at gives for a row as the target type.
func (c *caster) fromText(at func(int) string) func(int) error {
	switch c.to.Kind {
	case types.Boolean:
		return func(i int) (err error) {
			c.out.Bools[i], err = ParseBool(at(i))
			return err
		}
	case types.Int32:
		return func(i int) error {
			x, err := ParseInt(at(i), c.to)
			c.out.Int32s[i] = int32(x)
			return err
		}
	case types.Int64:
		return func(i int) (err error) {
			c.out.Int64s[i], err = ParseInt(at(i), c.to)
			return err
		}
	case types.Double:
		return func(i int) (err error) {
			c.out.Float64s[i], err = ParseDouble(at(i))
			return err
		}
	case types.Decimal:
		return func(i int) (err error) {
			c.out.Decimals[i], err = ParseDecimal(at(i), c.to)
			return err
		}
	case types.Binary:
		return func(i int) error {
			b, err := ParseBinary(at(i))
			c.out.Strings.Set(i, b)
			return err
		}
	case types.Date:
		return func(i int) (err error) {
			c.out.Int32s[i], err = ParseDate(at(i))
			return err
		}
	case types.Timestamp:
		return func(i int) (err error) {
			c.out.Int64s[i], err = ParseTimestamp(at(i))
			return err
		}
	case types.Time:
		return func(i int) (err error) {
			c.out.Int64s[i], err = ParseTime(at(i))
			return err
		}
	case types.UUID:
		return func(i int) (err error) {
			c.out.Decimals[i], err = ParseUUID(at(i))
			return err
		}
	case types.Interval:
		return func(i int) (err error) {
			c.out.Spans[i], err = ParseInterval(at(i))
			return err
		}
	case types.Vector:
		return func(i int) error { return c.setVector(i, at(i)) }
	case types.Sparse:
		return func(i int) (err error) {
			c.out.SparseRows[i], err = ParseSparse(at(i))
			return err
		}
	}
	return nil
}

func (c *caster) setVector(i int, s string) error {
	fs, err := ParseVector(s)
	if err != nil {
		return err
	}
	d := int(c.to.Dim)
	if len(fs) != d {
		return wrongDim(len(fs), c.to)
	}
	copy(c.out.Float32s[i*d:], fs)
	return nil
}

// fromJSON reads a JSON scalar as the text inside it; null is NULL.
func (c *caster) fromJSON() func(int) error {
	parse := c.fromText(func(i int) string {
		r := gjson.Parse(c.in.Strings.At(i))
		if r.Type == gjson.String {
			return r.Str
		}
		return strings.TrimSpace(r.Raw)
	})
	if parse == nil {
		return nil
	}
	return func(i int) error {
		if gjson.Parse(c.in.Strings.At(i)).Type == gjson.Null {
			c.out.SetNull(i)
			return nil
		}
		return parse(i)
	}
}

// quote shows a text in an error message, shortened.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return `"` + s + `"`
}

func invalidText(s string, t types.Type) *fail.Error {
	return fail.New(fail.InvalidText, "%s is not a valid %s", quote(s), t)
}

// ParseBool reads true, false and PostgreSQL's short forms, in any case.
func ParseBool(s string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "t", "yes", "y", "on", "1":
		return true, nil
	case "false", "f", "no", "n", "off", "0":
		return false, nil
	}
	return false, invalidText(s, types.Of(types.Boolean))
}

// ParseInt reads an integer of type INT or BIGINT.
func ParseInt(s string, t types.Type) (int64, error) {
	bits := 64
	if t.Kind == types.Int32 {
		bits = 32
	}
	x, err := strconv.ParseInt(strings.TrimSpace(s), 10, bits)
	if err == nil {
		return x, nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return 0, OutOfRange(quote(s), t)
	}
	return 0, invalidText(s, t)
}

// ParseDouble reads a floating point number, NaN and infinities included.
func ParseDouble(s string) (float64, error) {
	t := strings.TrimSpace(s)
	if strings.ContainsAny(t, "xX_pP") {
		return 0, invalidText(s, types.Of(types.Double))
	}
	f, err := strconv.ParseFloat(t, 64)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, strconv.ErrRange) {
		return 0, OutOfRange(quote(s), types.Of(types.Double))
	}
	return 0, invalidText(s, types.Of(types.Double))
}

// ParseBinary reads \x followed by hexadecimal digits; any other text is its own bytes.
func ParseBinary(s string) (string, error) {
	digits, ok := strings.CutPrefix(s, `\x`)
	if !ok {
		return s, nil
	}
	b, err := hex.DecodeString(digits)
	if err != nil {
		return "", invalidText(s, types.Of(types.Binary))
	}
	return string(b), nil
}

// ParseVector reads a JSON array of numbers, such as [0.1, -2, 3e-4].
func ParseVector(s string) ([]float32, error) {
	r := gjson.Parse(s)
	if !r.IsArray() || !vec.ValidJSON(s) {
		return nil, fail.New(fail.InvalidVector, "%s is not a vector", quote(s)).WithHint("Write it as '[0.1, 0.2]'.")
	}
	var out []float32
	var err error
	r.ForEach(func(_, e gjson.Result) bool {
		f := float32(e.Num)
		if e.Type != gjson.Number || math.IsInf(float64(f), 0) {
			err = fail.New(fail.InvalidVector, "element %d of the vector is %s, not a number that fits float32", len(out)+1, quote(e.Raw))
			return false
		}
		out = append(out, f)
		return true
	})
	return out, err
}

// ParseSparse reads {"index": value, …} or {"indices": […], "values": […]}.
func ParseSparse(s string) (vec.SparseRow, error) {
	bad := func() (vec.SparseRow, error) {
		return vec.SparseRow{}, fail.New(fail.InvalidVector, "%s is not a sparse vector", quote(s)).
			WithHint(`Write it as '{"7": 0.5, "12": 1.25}', indices from 0 to 4294967295.`)
	}
	r := gjson.Parse(s)
	if !r.IsObject() || !vec.ValidJSON(s) {
		return bad()
	}
	pairs := map[uint32]float32{}
	put := func(key string, val gjson.Result) bool {
		ix, err := strconv.ParseUint(key, 10, 32)
		if _, twice := pairs[uint32(ix)]; err != nil || twice || val.Type != gjson.Number {
			return false
		}
		pairs[uint32(ix)] = float32(val.Num)
		return true
	}
	ok := true
	if ixs := r.Get("indices"); ixs.Exists() {
		keys, vals := ixs.Array(), r.Get("values").Array()
		ok = len(keys) == len(vals)
		for i := 0; ok && i < len(keys); i++ {
			ok = put(keys[i].Raw, vals[i])
		}
	} else {
		r.ForEach(func(k, v gjson.Result) bool {
			ok = put(k.Str, v)
			return ok
		})
	}
	if !ok {
		return bad()
	}
	return sortedSparse(pairs), nil
}

func sortedSparse(pairs map[uint32]float32) vec.SparseRow {
	row := vec.SparseRow{Indices: make([]uint32, 0, len(pairs)), Values: make([]float32, 0, len(pairs))}
	for ix := range pairs {
		row.Indices = append(row.Indices, ix)
	}
	sortUint32(row.Indices)
	for _, ix := range row.Indices {
		row.Values = append(row.Values, pairs[ix])
	}
	return row
}
