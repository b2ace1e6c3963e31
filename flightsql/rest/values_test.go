package rest

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func TestValuesAsJSON(t *testing.T) {
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
		{vec.Text("a\"<\xff>\u2028"), "\"a\\\"<\\ufffd>\\u2028\""},
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
	} {
		var buf bytes.Buffer
		writeValue(&buf, v.value)
		if buf.String() != v.want || !json.Valid(buf.Bytes()) {
			t.Errorf("%v %v: got %s, want %s", v.value.Type, v.value, buf.String(), v.want)
		}
	}
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
