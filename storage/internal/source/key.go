package source

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// MaxKeyBytes is the longest primary key.
const MaxKeyBytes = 4096

// Key is loam_canonical_v1 of the key fields' values, in key order: a string as
// it is, an integer in decimal, a composite as a JSON array. Errors name the field.
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
	key := ""
	switch {
	case len(vals) == 1 && vals[0].Type.Kind == types.Text:
		key = vals[0].Str
	case len(vals) == 1:
		key = strconv.FormatInt(vals[0].Int, 10)
	default:
		var b strings.Builder
		b.WriteByte('[')
		for i, v := range vals {
			if i > 0 {
				b.WriteByte(',')
			}
			if v.Type.Kind == types.Text {
				b.Write(quote(nil, v.Str))
			} else {
				b.WriteString(strconv.FormatInt(v.Int, 10))
			}
		}
		b.WriteByte(']')
		key = b.String()
	}
	if len(key) > MaxKeyBytes {
		return "", fail.New(fail.TooLarge, "a key of %s has %d bytes; the limit is %d", obj.Name, len(key), MaxKeyBytes)
	}
	return key, nil
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

// quote appends s as a JSON string: the shortest escapes, no HTML escaping.
func quote(dst []byte, s string) []byte {
	plain := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return append(dst, `""`...)
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
