package source

import (
	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/vec"
)

// Patch replaces the members of some fields in a document by row i of values (nil
// where the member stays) and keeps the bytes of all others. Members that the
// document lacks are appended in field order.
func (x *Extractor) Patch(doc string, values []*vec.Vector, i int) ([]byte, error) {
	out := append(make([]byte, 0, len(doc)+64), '{')
	done := make([]bool, len(values))
	var err error
	member := func(f int) {
		done[f] = true
		val := values[f].Value(i)
		if leftOut(val) {
			return
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(quote(out, x.obj.Fields[f].Name), ':')
		var e error
		if out, e = appendValue(out, val); e != nil && err == nil {
			err = fieldError(x.obj, &x.obj.Fields[f], e)
		}
	}
	gjson.Parse(doc).ForEach(func(key, val gjson.Result) bool {
		f, known := x.index[key.String()]
		if known && values[f] != nil && !Outside(x.obj.Fields[f].Type) {
			if !done[f] {
				member(f)
			}
			return err == nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, key.Raw...), ':'), val.Raw...)
		return true
	})
	for f, v := range values {
		if v != nil && !done[f] && !Outside(x.obj.Fields[f].Type) && err == nil {
			member(f)
		}
	}
	if err != nil {
		return nil, err
	}
	out = append(out, '}')
	if len(out) > MaxDocumentBytes {
		return nil, tooLarge(x.obj, len(out))
	}
	return out, nil
}
