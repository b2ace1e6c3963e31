package source

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/dense"
)

// MaxDocumentBytes is the largest document.
const MaxDocumentBytes = 16 << 20

// Document is one document ready for the log: its key, its source without
// vector members, and one value for each vector field (nil elsewhere).
type Document struct {
	Key     string
	Source  []byte
	Vectors []vec.Value
}

// Parse reads a JSON document as a user sent it: it must be an object, its
// declared fields must have their types, its key must be there. The bytes are
// kept but for vector members. Vectors are checked with CheckVector.
func (x *Extractor) Parse(doc []byte) (Document, error) {
	switch {
	case len(doc) > MaxDocumentBytes:
		return Document{}, tooLarge(x.obj, len(doc))
	case !utf8.Valid(doc):
		return Document{}, fail.New(fail.InvalidEncoding, "a document of %s is not valid UTF-8", x.obj.Name)
	}
	text := string(doc)
	if !vec.ValidJSON(text) || !gjson.Parse(text).IsObject() {
		return Document{}, fail.New(fail.InvalidJSON, "a document of %s is not a JSON object: %s", x.obj.Name, clip(text)).
			WithHint("It is one object {…}, nested at most %d deep.", vec.MaxJSONDepth)
	}
	d := Document{Vectors: make([]vec.Value, len(x.obj.Fields))}
	x.scan(text)
	vals := make([]vec.Value, len(x.obj.Fields))
	outside := false
	for i := range x.obj.Fields {
		f := &x.obj.Fields[i]
		var err error
		if Outside(f.Type) {
			outside = outside || x.found[i].Exists()
			d.Vectors[i], err = vectorOf(x.found[i], f.Type)
			if err == nil {
				err = CheckVector(f, d.Vectors[i])
			}
		} else {
			if vals[i], err = valueOf(x.found[i], f.Type); err == nil {
				err = CheckLength(f, vals[i])
			}
		}
		if err == nil && f.NotNull && vals[i].Null && !Outside(f.Type) && !x.obj.IsKey(i) {
			err = fail.New(fail.NotNull, "NULL is not allowed")
		}
		if err != nil {
			return Document{}, fieldError(x.obj, f, err)
		}
	}
	keys := make([]vec.Value, len(x.obj.Key))
	for i, k := range x.obj.Key {
		keys[i] = vals[k]
	}
	var err error
	if d.Key, err = Key(x.obj, keys); err != nil {
		return Document{}, err
	}
	d.Source = doc
	if outside {
		d.Source = x.strip(text)
	}
	return d, nil
}

func fieldError(obj *schema.Object, f *schema.Field, err error) error {
	e := fail.As(err)
	out := fail.New(e.Code, "field %q of %s: %s", f.Name, obj.Name, e.Message)
	out.Hint = e.Hint
	return out
}

// strip drops the vector members and keeps the other members' bytes.
func (x *Extractor) strip(doc string) []byte {
	out := make([]byte, 0, len(doc))
	out = append(out, '{')
	gjson.Parse(doc).ForEach(func(key, val gjson.Result) bool {
		if i, ok := x.index[key.String()]; ok && Outside(x.obj.Fields[i].Type) {
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, key.Raw...)
		out = append(out, ':')
		out = append(out, val.Raw...)
		return true
	})
	return append(out, '}')
}

func vectorOf(r gjson.Result, t types.Type) (vec.Value, error) {
	if !r.Exists() || r.Type == gjson.Null {
		return vec.Null(t), nil
	}
	v := vec.Value{Type: t}
	if t.Kind == types.Sparse {
		return sparseOf(r, v)
	}
	if !r.IsArray() {
		return v, want(r, t, false)
	}
	for _, e := range r.Array() {
		if e.Type != gjson.Number {
			return v, want(e, types.Of(types.Double), false)
		}
		v.Vec = append(v.Vec, float32(e.Float()))
	}
	return v, nil
}

// sparseOf reads {"indices": […], "values": […]}.
func sparseOf(r gjson.Result, v vec.Value) (vec.Value, error) {
	indices, values := r.Get("indices"), r.Get("values")
	if !r.IsObject() || !indices.IsArray() || !values.IsArray() {
		return v, fail.New(fail.DatatypeMismatch, "%s is not a %s", clip(r.Raw), v.Type).
			WithHint("Write it as {\"indices\": [1, 7], \"values\": [0.5, 2]}.")
	}
	for _, e := range indices.Array() {
		ix, err := strconv.ParseUint(e.Raw, 10, 32)
		if err != nil {
			return v, fail.New(fail.InvalidVector, "%s is not an index of a sparse vector", clip(e.Raw)).
				WithHint("Indices are whole numbers from 0 to %d.", uint32(math.MaxUint32))
		}
		v.Sparse.Indices = append(v.Sparse.Indices, uint32(ix))
	}
	for _, e := range values.Array() {
		if e.Type != gjson.Number {
			return v, want(e, types.Of(types.Double), false)
		}
		v.Sparse.Values = append(v.Sparse.Values, float32(e.Float()))
	}
	return v, nil
}

// CheckLength refuses a text that is longer than its field, VARCHAR(n), takes.
func CheckLength(f *schema.Field, v vec.Value) error {
	if f.MaxChars == 0 || v.Null || f.Type.Kind != types.Text || len(v.Str) <= int(f.MaxChars) {
		return nil
	}
	if n := utf8.RuneCountInString(v.Str); n > int(f.MaxChars) {
		return fail.New(fail.TextTooLong, "a text of %s is too long for VARCHAR(%d)", fail.Count(n, "character"), f.MaxChars)
	}
	return nil
}

// CheckVector refuses a vector that could not be ranked: wrong dimension, NaN,
// infinite, zero under cosine; for sparse ones unsorted, repeated or not finite.
func CheckVector(f *schema.Field, v vec.Value) error {
	if v.Null {
		if f.NotNull {
			return fail.New(fail.NotNull, "NULL is not allowed")
		}
		return nil
	}
	if f.Type.Kind == types.Sparse {
		return checkSparse(v.Sparse)
	}
	metric := dense.L2 // without a declared distance any finite vector will do
	if f.Metric != "" {
		var err error
		if metric, err = dense.MetricByName(string(f.Metric)); err != nil {
			return err
		}
	}
	return dense.ValidateVector(metric, int(f.Type.Dim), v.Vec)
}

func checkSparse(s vec.SparseRow) error {
	if len(s.Indices) != len(s.Values) {
		return fail.New(fail.InvalidVector, "a sparse vector with %s and %s", fail.Count(len(s.Indices), "index", "indices"), fail.Count(len(s.Values), "value"))
	}
	for i := range s.Indices {
		if i > 0 && s.Indices[i] <= s.Indices[i-1] {
			return fail.New(fail.InvalidVector, "indices of a sparse vector must ascend without repeats (%d after %d)", s.Indices[i], s.Indices[i-1])
		}
		if f := float64(s.Values[i]); math.IsNaN(f) || math.IsInf(f, 0) {
			return fail.New(fail.InvalidVector, "value %d of the sparse vector is %v", i, f)
		}
	}
	return nil
}
