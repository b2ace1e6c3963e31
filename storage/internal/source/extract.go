package source

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Extractor reads typed fields out of documents. It holds scratch space: one a goroutine.
type Extractor struct {
	obj   *schema.Object
	index map[string]int
	found []gjson.Result
	vals  []vec.Value
}

// NewExtractor returns an extractor for the object's fields.
func NewExtractor(obj *schema.Object) *Extractor {
	x := &Extractor{obj: obj, index: make(map[string]int, len(obj.Fields)), found: make([]gjson.Result, len(obj.Fields))}
	for i, f := range obj.Fields {
		x.index[f.Name] = i
	}
	return x
}

// Append appends the document's fields to out, one vector a field; nil vectors
// and fields outside _source are skipped. An absent field is NULL; of repeated
// members the last counts. The document must be valid JSON. On an error, which
// names the field, no vector has grown.
func (x *Extractor) Append(doc string, out []*vec.Vector) error {
	x.scan(doc)
	vals := x.values(len(out))
	for i, v := range out {
		if v == nil || Outside(v.Type) {
			continue
		}
		val, err := valueOf(x.found[i], v.Type)
		if err != nil {
			return fieldError(x.obj, &x.obj.Fields[i], err)
		}
		vals[i] = val
	}
	for i, v := range out {
		if v != nil && !Outside(v.Type) {
			v.Append(vals[i])
		}
	}
	return nil
}

// values is scratch space of n values.
func (x *Extractor) values(n int) []vec.Value {
	if cap(x.vals) < n {
		x.vals = make([]vec.Value, n)
	}
	return x.vals[:n]
}

func (x *Extractor) scan(doc string) {
	clear(x.found)
	gjson.Parse(doc).ForEach(func(key, val gjson.Result) bool {
		if i, ok := x.index[key.String()]; ok {
			x.found[i] = val
		}
		return true
	})
}

// valueOf converts a JSON value to the type; an absent or null value is NULL, but
// null in a JSON field is JSON's null.
func valueOf(r gjson.Result, t types.Type) (vec.Value, error) {
	if r.Type == gjson.Null {
		if t.Kind == types.JSON && r.Raw == "null" {
			return vec.Value{Type: t, Str: "null"}, nil
		}
		return vec.Null(t), nil
	}
	v := vec.Value{Type: t}
	var err error
	switch t.Kind {
	case types.Boolean:
		v.Bool = r.Bool()
		err = want(r, t, r.Type == gjson.True || r.Type == gjson.False)
	case types.Int32:
		v.Int, err = integer(r, t, 32)
	case types.Int64:
		v.Int, err = integer(r, t, 64)
	case types.Double:
		v.Float, err = double(r, t)
	case types.Decimal:
		v.Dec, err = decimalOf(r, t)
	case types.Text:
		v.Str = r.String()
		err = want(r, t, r.Type == gjson.String)
	case types.JSON:
		v.Str = r.Raw
	case types.Binary:
		var b []byte
		b, derr := base64.StdEncoding.DecodeString(r.String())
		v.Str = string(b)
		err = want(r, t, r.Type == gjson.String && derr == nil)
	case types.Date:
		var at time.Time
		at, perr := time.Parse("2006-01-02", r.String())
		v.Int = at.Unix() / 86400
		if r.Type != gjson.String || perr != nil {
			err = fail.New(fail.InvalidDatetime, "%s is not a DATE", clip(r.Raw)).WithHint("Write it as \"2026-01-31\".")
		}
	case types.Timestamp:
		v.Int, err = timestamp(r, t)
	case types.Time:
		v.Int, err = clockOf(r, t)
	case types.UUID:
		var ok bool
		v.Dec, ok = vec.ParseUUID(r.String())
		if r.Type != gjson.String || !ok {
			err = fail.New(fail.InvalidText, "%s is not a UUID", clip(r.Raw)).WithHint("Write it as \"550e8400-e29b-41d4-a716-446655440000\".")
		}
	case types.List:
		return listOf(r, t)
	case types.Struct:
		return structOf(r, t)
	case types.Map:
		return mapOf(r, t)
	default:
		err = fail.New(fail.Unsupported, "%s cannot be stored in a document", t)
	}
	return v, err
}

func want(r gjson.Result, t types.Type, ok bool) error {
	if ok {
		return nil
	}
	return fail.New(fail.DatatypeMismatch, "%s is not a %s", clip(r.Raw), t)
}

func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

var timestampLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02"}

func timestamp(r gjson.Result, t types.Type) (int64, error) {
	if r.Type == gjson.String {
		for _, layout := range timestampLayouts {
			if at, err := time.Parse(layout, r.Str); err == nil {
				return at.UnixMicro(), nil
			}
		}
	}
	return 0, fail.New(fail.InvalidDatetime, "%s is not a TIMESTAMP", clip(r.Raw)).WithHint("Write it as RFC 3339, such as \"2026-01-31T12:00:00Z\".")
}

func listOf(r gjson.Result, t types.Type) (vec.Value, error) {
	v := vec.Value{Type: t}
	if !r.IsArray() {
		return v, want(r, t, false)
	}
	for _, e := range r.Array() {
		item, err := vec.Null(*t.Elem), error(nil)
		if e.Type != gjson.Null { // in a list null is NULL, of JSON too
			item, err = valueOf(e, *t.Elem)
		}
		if err != nil {
			return v, err
		}
		v.List = append(v.List, item)
	}
	return v, nil
}
