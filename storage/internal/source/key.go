package source

import (
	"strconv"
	"unicode/utf8"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// MaxKeyBytes is the longest primary key.
const MaxKeyBytes = 4096

// Key is loam_canonical_v1 of the key fields' values, in key order: a string as
// it is, an integer in decimal, a UUID in lower case, a composite as a JSON array. Errors name the field.
func Key(obj *schema.Object, vals []vec.Value) (string, error) {
	for i, v := range vals {
		f := obj.Fields[obj.Key[i]]
		if v.Null {
			return "", fail.New(fail.NotNull, "key field %q of %s is NULL", f.Name, obj.Name).WithHint("Give every row a value for %q.", f.Name)
		}
		if v.Type.Kind == types.Text && !utf8.ValidString(v.Str) {
			return "", fail.New(fail.InvalidEncoding, "key field %q of %s is not valid UTF-8", f.Name, obj.Name)
		}
	}
	var key string
	switch {
	case len(vals) == 1 && vals[0].Type.Kind == types.Text:
		key = vals[0].Str
	case len(vals) == 1 && vals[0].Type.Kind == types.UUID:
		key = vec.FormatUUID(vals[0].Dec)
	case len(vals) == 1:
		key = strconv.FormatInt(vals[0].Int, 10)
	default:
		key = composite(vals)
	}
	if len(key) > MaxKeyBytes {
		return "", fail.New(fail.TooLarge, "a key of %s has %d bytes; the limit is %d", obj.Name, len(key), MaxKeyBytes)
	}
	return key, nil
}

func composite(vals []vec.Value) string {
	b := []byte{'['}
	for i, v := range vals {
		if i > 0 {
			b = append(b, ',')
		}
		switch v.Type.Kind {
		case types.Text:
			b = quote(b, v.Str)
		case types.UUID:
			b = quote(b, vec.FormatUUID(v.Dec))
		default:
			b = strconv.AppendInt(b, v.Int, 10)
		}
	}
	return string(append(b, ']'))
}

// KeyAt is Key of row i of the object's fields; cols has one vector a field, nil where absent.
func KeyAt(obj *schema.Object, cols []*vec.Vector, i int) (string, error) {
	var one [1]vec.Value
	vals := one[:0]
	for _, k := range obj.Key {
		if cols[k] == nil {
			f := obj.Fields[k]
			return "", fail.New(fail.NotNull, "key field %q of %s is missing", f.Name, obj.Name).WithHint("Give every row a value for %q.", f.Name)
		}
		vals = append(vals, cols[k].Value(i))
	}
	return Key(obj, vals)
}

const hexDigits = "0123456789abcdef"

// quote appends s, valid UTF-8, as a JSON string in the form of RFC 8785
// §3.2.2.2: only the quotation mark, the backslash and control characters are
// escaped. Keys of several fields are made of it: its output can never change.
func quote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(append(dst, s[from:i]...), '\\')
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, c)
		case '\b':
			dst = append(dst, 'b')
		case '\f':
			dst = append(dst, 'f')
		case '\n':
			dst = append(dst, 'n')
		case '\r':
			dst = append(dst, 'r')
		case '\t':
			dst = append(dst, 't')
		default:
			dst = append(dst, 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}
