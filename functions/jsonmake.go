package functions

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// jsonMakeTable holds the functions that make, change and list JSON.
var jsonMakeTable = []def{
	{names: "json_object json_build_object jsonb_build_object", apart: true, help: "a JSON object of names and values in turn", nulls: true, sigs: []sig{{in: "any...", bind: bindAny(true), eval: evalJSONObject}}},
	{names: "json_array json_build_array jsonb_build_array", apart: true, help: "a JSON array of the arguments", nulls: true, sigs: []sig{{in: "any...", bind: bindAny(false), eval: evalJSONArray}}},
	{names: "to_json to_jsonb row_to_json array_to_json json_quote", help: "a value as JSON; NULL becomes null", nulls: true, sigs: []sig{{in: "any", ret: "json", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		for i := range n {
			out.Strings.Set(i, string(kernel.AppendJSON(nil, args[0].Value(i))))
		}
		return nil
	}}}},
	{names: "json", help: "a text, or bytes, as JSON without white space; an error if it is not JSON", sigs: []sig{{in: "jsonbytes", ret: "json", eval: jsonText1(func(s string) (string, error) { return compacted(s) })}}},
	{names: "json_pretty jsonb_pretty", help: "JSON over several lines", sigs: []sig{{in: "jsontext", ret: "text", eval: jsonText1(func(s string) (string, error) {
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(s), "", "    "); err != nil {
			return "", notJSON(s)
		}
		return b.String(), nil
	})}}},
	{names: "json_keys json_object_keys", help: "the keys of an object as a list, at a path if one is given; NULL for anything else", sigs: []sig{{in: "jsonbytes, any...", bind: bindJSON("text[]"), eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		return eachJSON(args, n, func(_ int, r gjson.Result) {
			if !r.IsObject() {
				out.AppendNull()
				return
			}
			var keys []string
			r.ForEach(func(k, _ gjson.Result) bool {
				keys = append(keys, k.String())
				return true
			})
			appendTexts(out, keys)
		})
	}}}},
	{names: "json_strip_nulls jsonb_strip_nulls", help: "without the members of objects that are null", sigs: []sig{{in: "jsontext", ret: "json", eval: jsonText1(func(s string) (string, error) {
		if !vec.ValidJSON(s) {
			return "", notJSON(s)
		}
		return string(stripNulls(nil, gjson.Parse(s))), nil
	})}}},
	{names: "json_merge_patch", help: "the first document changed by the second, as RFC 7396 says: null removes a member", sigs: []sig{{in: "jsontext, jsontext", ret: "json", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		a, b := textsOf(args[0]), textsOf(args[1])
		return growing(n, out, func(i int) (string, error) {
			if !vec.ValidJSON(a.at(i)) || !vec.ValidJSON(b.at(i)) {
				return "", notJSON(a.at(i))
			}
			return string(mergePatch(nil, gjson.Parse(a.at(i)), gjson.Parse(b.at(i)))), nil
		})
	}}}},
}

func notJSON(s string) error {
	return fail.New(fail.InvalidJSON, "%.60q is not valid JSON", s)
}

func jsonText1(f func(string) (string, error)) expr.EvalFunc { return text1e(f) }

func compacted(s string) (string, error) {
	var b bytes.Buffer
	if !utf8.ValidString(s) || !vec.ValidJSON(s) || json.Compact(&b, []byte(s)) != nil {
		return "", notJSON(s)
	}
	return b.String(), nil
}

// bindAny takes any arguments, in pairs if told, and gives JSON.
func bindAny(pairs bool) bindFunc {
	return func(args []types.Type) ([]types.Type, types.Type, error) {
		if pairs && len(args)%2 == 1 {
			return nil, types.Type{}, nil
		}
		params := make([]types.Type, len(args))
		for i, a := range args {
			params[i] = a.Settled()
		}
		return params, typeNamed("json"), nil
	}
}

func evalJSONObject(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	return growing(n, out, func(i int) (string, error) {
		b := []byte{'{'}
		for k := 0; k < len(args); k += 2 {
			if k > 0 {
				b = append(b, ',')
			}
			if args[k].IsNull(i) {
				return "", fail.New(fail.InvalidParameter, "a name of the JSON object is NULL")
			}
			b = append(gjson.AppendJSONString(b, args[k].Value(i).String()), ':')
			b = kernel.AppendJSON(b, args[k+1].Value(i))
		}
		return string(append(b, '}')), nil
	})
}

func evalJSONArray(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	return growing(n, out, func(i int) (string, error) {
		b := []byte{'['}
		for k, a := range args {
			if k > 0 {
				b = append(b, ',')
			}
			b = kernel.AppendJSON(b, a.Value(i))
		}
		return string(append(b, ']')), nil
	})
}

// object writes the members that each gives as an object.
func object(dst []byte, each func(put func(key gjson.Result, value func([]byte) []byte))) []byte {
	dst = append(dst, '{')
	start := len(dst)
	each(func(key gjson.Result, value func([]byte) []byte) {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = value(append(append(dst, key.Raw...), ':'))
	})
	return append(dst, '}')
}

// stripNulls appends JSON of bounded depth without members that are null.
func stripNulls(dst []byte, r gjson.Result) []byte {
	switch {
	case r.IsObject():
		return object(dst, func(put func(gjson.Result, func([]byte) []byte)) {
			r.ForEach(func(k, v gjson.Result) bool {
				if v.Type != gjson.Null {
					put(k, func(b []byte) []byte { return stripNulls(b, v) })
				}
				return true
			})
		})
	case r.IsArray():
		dst = append(dst, '[')
		for i, e := range r.Array() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = stripNulls(dst, e)
		}
		return append(dst, ']')
	}
	return append(dst, strings.TrimSpace(r.Raw)...)
}

// mergePatch is RFC 7396's MergePatch.
func mergePatch(dst []byte, target, patch gjson.Result) []byte {
	if !patch.IsObject() {
		return append(dst, strings.TrimSpace(patch.Raw)...)
	}
	if !target.IsObject() {
		target = gjson.Result{}
	}
	return object(dst, func(put func(gjson.Result, func([]byte) []byte)) {
		changes := map[string]gjson.Result{}
		patch.ForEach(func(k, v gjson.Result) bool { changes[k.String()] = v; return true })
		target.ForEach(func(k, v gjson.Result) bool {
			change, ok := changes[k.String()]
			delete(changes, k.String())
			switch {
			case !ok:
				put(k, func(b []byte) []byte { return append(b, v.Raw...) })
			case change.Type != gjson.Null:
				put(k, func(b []byte) []byte { return mergePatch(b, v, change) })
			}
			return true
		})
		patch.ForEach(func(k, v gjson.Result) bool {
			if change, ok := changes[k.String()]; ok && change.Type != gjson.Null {
				delete(changes, k.String())
				put(k, func(b []byte) []byte { return mergePatch(b, gjson.Result{}, change) })
			}
			return true
		})
	})
}
