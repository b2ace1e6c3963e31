package source

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
)

// maxDiscovered bounds the fields of a collection that takes unknown members in.
const maxDiscovered = 1000

// Discover lists the members of documents that the object does not declare, in
// order of first appearance, with the types that dynamic fields get: integers
// BIGINT, other numbers DOUBLE (those out of range JSON), strings TEXT, booleans BOOLEAN, arrays of strings
// TEXT[], all else and mixtures JSON. Members that are only null, whose names
// begin with an underscore, or that do not fit under the limit of fields stay in
// _source alone. Documents must be valid JSON objects.
func (x *Extractor) Discover(docs [][]byte) []schema.Field {
	var out []schema.Field
	at := map[string]int{}
	for _, doc := range docs {
		gjson.ParseBytes(doc).ForEach(func(key, val gjson.Result) bool {
			name := key.String()
			if _, known := x.index[name]; known || name == "" || strings.HasPrefix(name, "_") || val.Type == gjson.Null {
				return true
			}
			i, seen := at[name]
			if !seen {
				if len(x.obj.Fields)+len(out) >= maxDiscovered {
					return true
				}
				i = len(out)
				at[name] = i
				out = append(out, schema.Field{Name: name, Type: types.Of(types.Unknown)})
			}
			out[i].Type = widen(out[i].Type, memberType(val))
			return true
		})
	}
	return out
}

func memberType(v gjson.Result) types.Type {
	switch {
	case v.Type == gjson.String:
		return types.Of(types.Text)
	case v.IsBool():
		return types.Of(types.Boolean)
	case v.Type == gjson.Number:
		return numberType(v.Raw)
	case v.IsArray():
		for _, e := range v.Array() {
			if e.Type != gjson.String {
				return types.Of(types.JSON)
			}
		}
		return types.ListOf(types.Of(types.Text))
	}
	return types.Of(types.JSON)
}

// numberType is the type of a number; one that neither BIGINT nor DOUBLE holds is JSON.
func numberType(raw string) types.Type {
	if !strings.ContainsAny(raw, ".eE") {
		if _, err := strconv.ParseInt(raw, 10, 64); err == nil {
			return types.Of(types.Int64)
		}
		return types.Of(types.JSON)
	}
	if _, err := strconv.ParseFloat(raw, 64); err == nil {
		return types.Of(types.Double)
	}
	return types.Of(types.JSON)
}

// widen is the type that holds the members of both types.
func widen(a, b types.Type) types.Type {
	switch {
	case a.Kind == types.Unknown, a.Equal(b):
		return b
	case a.Numeric() && b.Numeric():
		return types.Of(types.Double)
	}
	return types.Of(types.JSON)
}
