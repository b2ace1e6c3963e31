package functions

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// jsonTable holds the access to JSON. A step is a key, an index from 0 (from the
// end when negative) or a path such as '$.a.b[0]'. What is not there, or is of
// another type than asked for, is NULL.
var jsonTable = []def{
	{names: "json_get json_extract json_extract_path jsonb_extract_path", help: "the value at a path, as JSON", sigs: jsonSigs("json", func(r gjson.Result, out *vec.Vector, i int) bool {
		out.Strings.Set(i, r.Raw)
		return true
	})},
	{names: "->", help: "the value at a key, index or path, as JSON", sigs: jsonSigs("json", func(r gjson.Result, out *vec.Vector, i int) bool {
		out.Strings.Set(i, r.Raw)
		return true
	})},
	{names: "->> json_as_text json_extract_string json_value json_extract_path_text jsonb_extract_path_text", help: "the value at a key, index or path, as text; JSON null is NULL", sigs: jsonSigs("text", func(r gjson.Result, out *vec.Vector, i int) bool {
		out.Strings.Set(i, jsonText(r))
		return r.Type != gjson.Null
	})},
	{names: "#>", help: "the value at a list of keys and indexes, as JSON", sigs: []sig{{in: "jsontext, text[]", ret: "json", eval: jsonByList(func(r gjson.Result) (string, bool) { return r.Raw, true })}}},
	{names: "#>>", help: "the value at a list of keys and indexes, as text", sigs: []sig{{in: "jsontext, text[]", ret: "text", eval: jsonByList(func(r gjson.Result) (string, bool) { return jsonText(r), r.Type != gjson.Null })}}},
	{names: "json_get_str", help: "the text at a path, if it is a string", sigs: jsonSigs("text", func(r gjson.Result, out *vec.Vector, i int) bool {
		out.Strings.Set(i, r.Str)
		return r.Type == gjson.String
	})},
	{names: "json_get_int", help: "the whole number at a path", sigs: jsonSigs("bigint", func(r gjson.Result, out *vec.Vector, i int) bool {
		x, ok := jsonInt(r)
		out.Int64s[i] = x
		return ok
	})},
	{names: "json_get_float", help: "the number at a path", sigs: jsonSigs("double", func(r gjson.Result, out *vec.Vector, i int) bool {
		out.Float64s[i] = r.Num
		return r.Type == gjson.Number && !math.IsInf(r.Num, 0)
	})},
	{names: "json_get_bool", help: "the boolean at a path", sigs: jsonSigs("boolean", func(r gjson.Result, out *vec.Vector, i int) bool {
		out.Bools[i] = r.Type == gjson.True
		return r.Type == gjson.True || r.Type == gjson.False
	})},
	{names: "json_length json_array_length jsonb_array_length", help: "number of elements or members at a path", sigs: jsonSigs("bigint", func(r gjson.Result, out *vec.Vector, i int) bool {
		r.ForEach(func(_, _ gjson.Result) bool {
			out.Int64s[i]++
			return true
		})
		return r.IsArray() || r.IsObject()
	})},
	{names: "json_contains json_exists ?", help: "whether there is something at a path", sigs: []sig{{in: "jsonbytes, any...", bind: bindJSON("boolean"), eval: evalJSONContains}}},
	{names: "json_typeof json_type jsonb_typeof", help: "object, array, string, number, boolean or null", sigs: jsonSigs("text", func(r gjson.Result, out *vec.Vector, i int) bool {
		out.Strings.Set(i, jsonType(r))
		return true
	})},
	{names: "json_valid is_json", help: "whether a text, or bytes, are JSON", sigs: []sig{{in: "text", ret: "boolean", eval: evalJSONValid}, {in: "binary", ret: "boolean", eval: evalJSONValid}}},
}

// put stores what was found and says whether the row has a value.
type jsonPut = func(r gjson.Result, out *vec.Vector, i int) bool

func jsonSigs(ret string, put jsonPut) []sig {
	return []sig{{in: "jsonbytes, any...", ret: ret, bind: bindJSON(ret), eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		return eachJSON(args, n, func(i int, r gjson.Result) {
			if !r.Exists() || !put(r, out, i) {
				out.SetNull(i)
			}
		})
	}}}
}

// documents are the JSON of an argument, or its text or bytes as they are.
type documents struct {
	texts
	bytes bool
}

func documentsOf(v *vec.Vector) documents {
	return documents{textsOf(v), v.Type.Kind == types.Binary}
}

// parse reads document i; bytes that are no JSON hold nothing.
func (d documents) parse(i int) gjson.Result {
	s := d.at(i)
	if d.bytes && !(utf8.ValidString(s) && vec.ValidJSON(s)) {
		return gjson.Result{}
	}
	return gjson.Parse(s)
}

// bindJSON takes JSON, text or bytes, then keys, paths (text) and indexes (integers).
func bindJSON(ret string) bindFunc {
	return func(args []types.Type) ([]types.Type, types.Type, error) {
		if len(args) < 1 {
			return nil, types.Type{}, nil
		}
		params := make([]types.Type, len(args))
		doc, ok := matchPattern("jsonbytes", args[0])
		if !ok {
			return nil, types.Type{}, nil
		}
		params[0] = doc
		for i, a := range args[1:] {
			switch {
			case a.Kind == types.Text, a.Kind == types.Unknown:
				params[i+1] = types.Of(types.Text)
			case a.Integer():
				params[i+1] = types.Of(types.Int64)
			default:
				return nil, types.Type{}, nil
			}
		}
		return params, typeNamed(ret), nil
	}
}

func evalJSONValid(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	s := textsOf(args[0])
	for i := range n {
		out.Bools[i] = utf8.ValidString(s.at(i)) && vec.ValidJSON(s.at(i))
	}
	return nil
}

func evalJSONContains(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	return eachJSON(args, n, func(i int, r gjson.Result) { out.Bools[i] = r.Exists() })
}

// eachJSON walks the steps of each row.
func eachJSON(args []*vec.Vector, n int, visit func(int, gjson.Result)) error {
	doc := documentsOf(args[0])
	walks := make([]pathMemo, len(args)-1)
	for i := range n {
		r := doc.parse(i)
		for k, a := range args[1:] {
			if a.Type.Kind == types.Int64 {
				r = index(r, longs(a).at(i))
				continue
			}
			steps, err := walks[k].get(textsOf(a).at(i))
			if err != nil {
				return err
			}
			for _, s := range steps {
				r = s.take(r)
			}
		}
		visit(i, r)
	}
	return nil
}

// jsonByList walks a list of steps; a number is an index where it meets an array.
func jsonByList(show func(gjson.Result) (string, bool)) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		doc := textsOf(args[0])
		for i := range n {
			r := gjson.Parse(doc.at(i))
			for _, s := range args[1].Value(i).List {
				at, err := strconv.ParseInt(s.Str, 10, 32)
				r = jsonStep{key: s.Str, index: at, isIndex: err == nil && r.IsArray()}.take(r)
			}
			s, ok := show(r)
			out.Strings.Set(i, s)
			if !ok || !r.Exists() {
				out.SetNull(i)
			}
		}
		return nil
	}
}

// jsonStep is a key or, with isIndex, an index.
type jsonStep struct {
	key     string
	index   int64
	isIndex bool
}

func (s jsonStep) take(r gjson.Result) gjson.Result {
	if s.isIndex {
		return index(r, s.index)
	}
	return member(r, s.key)
}

// member is the value of a key; the first if the key repeats.
func member(r gjson.Result, key string) (found gjson.Result) {
	if !r.IsObject() {
		return gjson.Result{}
	}
	r.ForEach(func(k, v gjson.Result) bool {
		if k.Str == key {
			found = v
			return false
		}
		return true
	})
	return found
}

func index(r gjson.Result, at int64) (found gjson.Result) {
	if !r.IsArray() {
		return gjson.Result{}
	}
	if at < 0 {
		r.ForEach(func(_, _ gjson.Result) bool { at++; return true })
		if at < 0 {
			return gjson.Result{}
		}
	}
	r.ForEach(func(_, v gjson.Result) bool {
		if at == 0 {
			found = v
		}
		at--
		return at >= 0
	})
	return found
}

// pathMemo keeps the steps of the last text of a run of rows.
type pathMemo struct {
	text  string
	steps []jsonStep
}

func (m *pathMemo) get(text string) ([]jsonStep, error) {
	if m.steps != nil && m.text == text {
		return m.steps, nil
	}
	steps := []jsonStep{{key: strings.Clone(text)}}
	if strings.HasPrefix(text, "$") {
		var err error
		if steps, err = parsePath(text); err != nil {
			return nil, err
		}
	}
	m.text, m.steps = strings.Clone(text), steps
	return steps, nil
}

// parsePath reads $, .key, ."key", ['key'] and [index].
func parsePath(path string) ([]jsonStep, error) {
	bad := func() ([]jsonStep, error) {
		return nil, fail.New(fail.InvalidParameter, "%q is not a JSON path", path).WithHint("Write it as '$.a.b[0]'.")
	}
	steps, rest := []jsonStep{}, strings.Clone(path[1:])
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, `."`):
			key, after, ok := strings.Cut(rest[2:], `"`)
			if !ok {
				return bad()
			}
			steps, rest = append(steps, jsonStep{key: key}), after
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			if end == 0 {
				return bad()
			}
			steps, rest = append(steps, jsonStep{key: rest[1 : 1+end]}), rest[1+end:]
		case rest[0] == '[':
			inside, after, ok := strings.Cut(rest[1:], "]")
			step, good := bracketStep(inside)
			if !ok || !good {
				return bad()
			}
			steps, rest = append(steps, step), after
		default:
			return bad()
		}
	}
	return steps, nil
}

func bracketStep(s string) (jsonStep, bool) {
	s = strings.TrimSpace(s)
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		return jsonStep{key: s[1 : n-1]}, true
	}
	at, err := strconv.ParseInt(s, 10, 32)
	return jsonStep{index: at, isIndex: true}, err == nil
}

// jsonText is a string without its quotes, anything else as it is written.
func jsonText(r gjson.Result) string {
	if r.Type == gjson.String {
		return r.Str
	}
	return r.Raw
}

// jsonInt reads a whole number, with a fraction of zeros or an exponent too.
func jsonInt(r gjson.Result) (int64, bool) {
	if r.Type != gjson.Number {
		return 0, false
	}
	if x, err := strconv.ParseInt(r.Raw, 10, 64); err == nil {
		return x, true
	}
	x, ok := kernel.DoubleToInt(r.Num)
	return x, ok && float64(x) == r.Num && math.Abs(r.Num) < 1<<53
}

func jsonType(r gjson.Result) string {
	switch {
	case r.IsObject():
		return "object"
	case r.IsArray():
		return "array"
	}
	switch r.Type {
	case gjson.String:
		return "string"
	case gjson.Number:
		return "number"
	case gjson.Null:
		return "null"
	}
	return "boolean"
}
