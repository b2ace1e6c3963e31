package rest

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func TestValuesAsJSON(t *testing.T) {
	pair := types.StructOf(types.Field{Name: "a", Type: types.Of(types.Int32)}, types.Field{Name: `b"`, Type: types.Of(types.Text)})
	for _, v := range []struct {
		value vec.Value
		want  string
	}{
		{vec.Null(types.Of(types.Text)), `null`},
		{vec.Bool(true), `true`},
		{vec.Int64(math.MaxInt64), `9223372036854775807`},
		{vec.Double(0.1), `0.1`},
		{vec.Double(math.NaN()), `"NaN"`},
		{vec.Double(math.Inf(-1)), `"-Infinity"`},
		{vec.Text("a\"<\xff>\u2028"), "\"a\\\"<\ufffd>\u2028\""},
		{vec.Value{Type: types.DecimalOf(38, 3), Dec: decimal128.FromI64(-5)}, `-0.005`},
		{vec.Value{Type: types.Of(types.Timestamp), Int: -1}, `"1969-12-31T23:59:59.999999Z"`},
		{vec.Value{Type: types.Of(types.Date), Int: -1}, `"1969-12-31"`},
		{vec.Value{Type: types.Of(types.Binary), Str: "\x00\xff"}, `"AP8="`},
		{vec.Value{Type: types.Of(types.JSON), Str: `{"a": [1]}`}, `{"a": [1]}`},
		{vec.Value{Type: types.Of(types.JSON), Str: `{broken`}, `"{broken"`},
		{vec.VectorValue([]float32{0.1, -2}), `[0.1,-2]`},
		{vec.Value{Type: types.Of(types.Sparse), Sparse: vec.SparseRow{Indices: []uint32{1, 7}, Values: []float32{0.5, 1}}}, `{"indices":[1,7],"values":[0.5,1]}`},
		{vec.Value{Type: types.ListOf(types.Of(types.Text)), List: []vec.Value{vec.Text("a"), vec.Null(types.Of(types.Text))}}, `["a",null]`},
		{vec.Value{Type: types.Of(types.Interval), Span: vec.Span{Days: 2}}, `"2 days"`},
		{vec.Value{Type: types.Of(types.Time), Int: 36_000_000_000}, `"10:00:00"`},
		{vec.UUIDValue([16]byte{0x55, 15: 1}), `"55000000-0000-0000-0000-000000000001"`},
		{vec.Value{Type: pair, List: []vec.Value{vec.Int32(1), vec.Text(`"`)}}, `{"a":1,"b\"":"\""}`},
		{vec.Value{Type: types.MapOf(types.Of(types.Int32), types.Of(types.Double)), List: []vec.Value{{List: []vec.Value{vec.Int32(7), vec.Double(1.5)}}}}, `{"7":1.5}`},
		{vec.Value{Type: types.ListOf(pair), List: []vec.Value{{Type: pair, List: []vec.Value{vec.Null(types.Of(types.Int32)), vec.Text("x")}}}}, `[{"a":null,"b\"":"x"}]`},
	} {
		flat := vec.New(v.value.Type, 2)
		flat.Append(v.value)
		flat.N = 1
		same := vec.Const(v.value.Type, v.value, 3)
		coded := &vec.Vector{Type: v.value.Type, Encoding: vec.Dictionary, N: 1, Codes: []int32{0}, Dict: flat}
		for form, col := range map[string]*vec.Vector{"flat": flat, "constant": same, "dictionary": coded} {
			if got := string(appendCell([]byte("x:"), col, 0)); got != "x:"+v.want || !json.Valid([]byte(got[2:])) {
				t.Errorf("%s %v %v: got %s, want %s", form, v.value.Type, v.value, got, v.want)
			}
		}
	}
}

// TestTextAsEncodingJSON: our quoting is that of encoding/json without HTML.
func TestTextAsEncodingJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes")) + rapid.String().Draw(rt, "text")
		got := appendText(nil, text)
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != strings.ToValidUTF8(text, "\uFFFD") && back != perByte(text) {
			rt.Fatalf("%q became %s, %v", text, got, err)
		}
	})
}

// perByte replaces every bad byte, as ranging over a text does.
func perByte(text string) string { return string([]rune(text)) }

func TestDecimalsAsText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		scale := rapid.IntRange(0, 37).Draw(rt, "scale")
		n := decimal128.New(rapid.OneOf(rapid.Just(int64(0)), rapid.Just(int64(-1)), rapid.Int64()).Draw(rt, "high"), rapid.Uint64().Draw(rt, "low"))
		if got := string(appendDecimal(nil, n, scale)); got != n.ToString(int32(scale)) {
			rt.Fatalf("got %s, want %s", got, n.ToString(int32(scale)))
		}
	})
}

func TestFloatsReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := rapid.Float64().Draw(rt, "f")
		got := appendFloat(nil, f, 64)
		var back float64
		if err := json.Unmarshal(got, &back); err != nil || back != f {
			rt.Fatalf("%v became %s and %v, %v", f, got, back, err)
		}
	})
}

func TestParameters(t *testing.T) {
	for _, p := range []struct {
		text string
		want types.Type
		typ  string
		code fail.Code
	}{
		{`null`, types.Of(types.Unknown), "UNKNOWN", fail.OK},
		{`7`, types.Of(types.Unknown), "BIGINT", fail.OK},
		{`7.5`, types.Of(types.Unknown), "DOUBLE", fail.OK},
		{`1e400`, types.Of(types.Unknown), "", fail.OutOfRange},
		{`123456789012345678901234567890`, types.Of(types.Unknown), "TEXT", fail.OK},
		{`[1,2.5,null]`, types.Of(types.Unknown), "DOUBLE[]", fail.OK},
		{`["a"]`, types.Of(types.Unknown), "TEXT[]", fail.OK},
		{`[]`, types.Of(types.Unknown), "TEXT[]", fail.OK},
		{`[1,2]`, types.VectorOf(2), "VECTOR(2)", fail.OK},
		{`["a"]`, types.VectorOf(2), "", fail.InvalidVector},
		{`[1,null]`, types.VectorOf(2), "", fail.InvalidVector},
		{`[1e39]`, types.VectorOf(1), "", fail.InvalidVector},
		{`1.50`, types.DecimalOf(5, 2), "TEXT", fail.OK},
		{`{"a":1}`, types.Of(types.Unknown), "JSON", fail.OK},
		{`[1]`, types.Of(types.JSON), "JSON", fail.OK},
		{`[1,"a"]`, types.Of(types.Unknown), "", fail.DatatypeMismatch},
	} {
		got, err := parseValue(json.RawMessage(p.text), p.want)
		if fail.CodeOf(err) != p.code || err == nil && got.Type.String() != p.typ {
			t.Errorf("%s: %s, %v", p.text, got.Type, err)
		}
	}
}
