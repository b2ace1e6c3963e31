package source

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

var nestedStruct = types.StructOf(types.Field{Name: "n", Type: types.Of(types.Int64)}, types.Field{Name: "j ä\"", Type: types.Of(types.JSON)}, types.Field{Name: "t", Type: types.Of(types.Time)})

var propertyTypes = []types.Type{
	types.Of(types.Boolean), types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double), types.DecimalOf(38, 7),
	types.Of(types.Text), types.Of(types.Binary), types.Of(types.Date), types.Of(types.Timestamp), types.Of(types.JSON),
	types.ListOf(types.Of(types.Text)), types.ListOf(types.Of(types.Timestamp)), types.ListOf(types.ListOf(types.Of(types.Int64))),
	types.Of(types.UUID), types.Of(types.Time), nestedStruct, types.ListOf(nestedStruct),
	types.MapOf(types.Of(types.Int32), types.Of(types.JSON)), types.MapOf(types.Of(types.Text), types.Of(types.Double)),
}

// drawValue makes any value of the type, also ones that documents cannot hold.
func drawValue(t *rapid.T, ty types.Type) vec.Value {
	if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		return vec.Null(ty)
	}
	v := vec.Value{Type: ty}
	switch ty.Kind {
	case types.Boolean:
		v.Bool = rapid.Bool().Draw(t, "bool")
	case types.Int32, types.Date:
		v.Int = int64(rapid.Int32().Draw(t, "int"))
	case types.Int64, types.Timestamp:
		v.Int = rapid.Int64().Draw(t, "bigint")
	case types.Double:
		v.Float = math.Float64frombits(rapid.Uint64().Draw(t, "double"))
	case types.Decimal:
		v.Dec = decimal128.FromI64(rapid.Int64().Draw(t, "decimal")).Mul(decimal128.FromI64(rapid.Int64Range(0, 1e18).Draw(t, "factor")))
	case types.Text:
		v.Str = string(rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
	case types.Binary:
		v.Str = string(rapid.SliceOf(rapid.Byte()).Draw(t, "binary"))
	case types.JSON:
		v.Str = rapid.SampledFrom([]string{"null", "1", `{"a": [1, {"b": null}]}`, `"x"`, "{", "", "1 2", "[1]}"}).Draw(t, "json")
	case types.UUID:
		v.Dec = decimal128.New(rapid.Int64().Draw(t, "high"), rapid.Uint64().Draw(t, "low"))
	case types.Time:
		v.Int = rapid.Int64Range(0, 86_400_000_000).Draw(t, "time")
	case types.Struct:
		for _, f := range ty.Fields {
			v.List = append(v.List, drawValue(t, f.Type))
		}
	case types.Map:
		for i := range rapid.IntRange(0, 3).Draw(t, "entries") {
			key := vec.Value{Type: ty.Key(), Int: int64(i), Str: strings.Repeat("k\"", i)}
			v.List = append(v.List, vec.Value{Type: *ty.Elem, List: []vec.Value{key, drawValue(t, ty.Value())}})
		}
	case types.List:
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			v.List = append(v.List, drawValue(t, *ty.Elem))
		}
	}
	return v
}

// TestWrittenIsReadBack: each row is refused, or read back as it was. A row that is
// written but cannot be read would block the log behind it.
func TestWrittenIsReadBack(t *testing.T) {
	obj := &schema.Object{Name: "docs"}
	for i, ty := range propertyTypes {
		obj.Fields = append(obj.Fields, schema.Field{ID: int32(i), Name: "f" + string(rune('a'+i)) + `"ä`, Type: ty})
	}
	rapid.Check(t, func(rt *rapid.T) {
		cols := make([]*vec.Vector, len(obj.Fields))
		for i, f := range obj.Fields {
			if rapid.IntRange(0, 2).Draw(rt, "absent") == 0 {
				continue
			}
			cols[i] = vec.New(f.Type, 1)
			cols[i].Append(drawValue(rt, f.Type))
		}
		src, err := Append(nil, obj, cols, 0)
		if err != nil {
			if c := fail.CodeOf(err); c != fail.OutOfRange && c != fail.InvalidEncoding && c != fail.InvalidJSON {
				rt.Fatalf("refused with %s: %v", c, err)
			}
			return
		}
		if !json.Valid(src) {
			rt.Fatalf("not JSON: %s", src)
		}
		if err := readBack(obj, string(src), cols); err != nil {
			rt.Fatalf("%s: %v", src, err)
		}
	})
}

// TestStringsAsJSON: another decoder reads the same text.
func TestStringsAsJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.String().Draw(rt, "text")
		var got string
		if err := json.Unmarshal(quote(nil, want), &got); err != nil || got != want {
			rt.Fatalf("%q: %q, %v", want, got, err)
		}
	})
}

// TestKeysAreDistinct: two composite keys are equal only if their parts are.
func TestKeysAreDistinct(t *testing.T) {
	text := types.Of(types.Text)
	obj := &schema.Object{Name: "docs", Key: []int{0, 1}, Fields: []schema.Field{{Name: "a", Type: text}, {Name: "b", Type: text}}}
	part := rapid.StringOfN(rapid.RuneFrom([]rune(`",[]\a`)), 0, 4, -1)
	rapid.Check(t, func(rt *rapid.T) {
		var keys [2]string
		var parts [2][2]string
		for i := range keys {
			parts[i] = [2]string{part.Draw(rt, "a"), part.Draw(rt, "b")}
			var err error
			if keys[i], err = Key(obj, []vec.Value{vec.Text(parts[i][0]), vec.Text(parts[i][1])}); err != nil {
				rt.Fatal(err)
			}
		}
		if (keys[0] == keys[1]) != (parts[0] == parts[1]) {
			rt.Fatalf("%q and %q have the keys %s and %s", parts[0], parts[1], keys[0], keys[1])
		}
	})
}

func keyed() *schema.Object {
	return &schema.Object{Name: "docs", Key: []int{0}, Fields: []schema.Field{
		{ID: 1, Name: "id", Type: types.Of(types.Text)}, {ID: 2, Name: "t", Type: types.Of(types.Text)},
		{ID: 3, Name: "v", Type: types.VectorOf(2), Metric: schema.L2}, {ID: 4, Name: "m", Type: types.DecimalOf(10, 2)},
	}}
}

func TestLimits(t *testing.T) {
	obj := keyed()
	x := NewExtractor(obj)
	long := strings.Repeat("x", MaxDocumentBytes)
	for name, c := range map[string]struct {
		doc  string
		code fail.Code
	}{
		"a document that is too large": {`{"id":"a","t":"` + long + `"}`, fail.TooLarge},
		"a document at the limit":      {`{"id":"a","t":"` + long[:MaxDocumentBytes-17] + `"}`, fail.OK},
		"a key that is too long":       {`{"id":"` + long[:MaxKeyBytes+1] + `"}`, fail.TooLarge},
		"a key at the limit":           {`{"id":"` + long[:MaxKeyBytes] + `"}`, fail.OK},
		"brackets":                     {strings.Repeat("[", MaxDocumentBytes), fail.InvalidJSON},
		"nested as deep as it goes":    {`{"id":"a","x":` + strings.Repeat("[", vec.MaxJSONDepth-1) + strings.Repeat("]", vec.MaxJSONDepth-1) + `}`, fail.OK},
		"nested deeper":                {`{"id":"a","x":` + strings.Repeat("[", vec.MaxJSONDepth) + strings.Repeat("]", vec.MaxJSONDepth) + `}`, fail.InvalidJSON},
		"invalid UTF-8":                {"{\"id\":\"\xff\"}", fail.InvalidEncoding},
		"a decimal of many digits":     {`{"id":"a","m":0.` + strings.Repeat("0", 1_000_000) + `}`, fail.DatatypeMismatch},
	} {
		if _, err := x.Parse([]byte(c.doc)); fail.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	cols := make([]*vec.Vector, len(obj.Fields))
	cols[1] = vec.New(types.Of(types.Text), 1)
	cols[1].Append(vec.Text(long))
	if _, err := Append(nil, obj, cols, 0); !fail.Is(err, fail.TooLarge) {
		t.Errorf("a row that is too large: %v", err)
	}
	if _, err := x.Patch(`{"id":"a"}`, cols, 0); !fail.Is(err, fail.TooLarge) {
		t.Errorf("a patch that makes a document too large: %v", err)
	}
}

// TestAppendIsWhole: a document with a wrong member leaves no half row.
func TestAppendIsWhole(t *testing.T) {
	obj := keyed()
	x := NewExtractor(obj)
	out := make([]*vec.Vector, len(obj.Fields))
	for i, f := range obj.Fields {
		out[i] = vec.New(f.Type, 1)
	}
	if err := x.Append(`{"id":"a","t":5}`, out); !fail.Is(err, fail.DatatypeMismatch) || out[0].N != 0 {
		t.Fatalf("%v, %d rows", err, out[0].N)
	}
	if err := x.Append(`{"id":"b"}`, out); err != nil || out[0].N != 1 || !out[1].IsNull(0) || out[2].N != 0 {
		t.Fatalf("%v, %v", err, out[0])
	}
}

// FuzzParse: any bytes give a document that reads back, or a user's error.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":"a","t":"x","v":[1,2],"m":1.5,"x":{}}`))
	f.Add([]byte(` {"id":"","v":null , "\u0076":[0,0]}`))
	f.Add([]byte(`{"id":"a","m":"1e-5"}`))
	obj := keyed()
	f.Fuzz(func(t *testing.T, data []byte) {
		x := NewExtractor(obj)
		d, err := x.Parse(data)
		if err != nil {
			if c := fail.CodeOf(err); c == fail.Internal || c == fail.Corrupt {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := x.Parse(d.Source)
		if err != nil || again.Key != d.Key || string(again.Source) != string(d.Source) {
			t.Fatalf("%q became %q, then %+v, %v", data, d.Source, again, err)
		}
		if strings.Contains(string(d.Source), `"v"`) && !strings.Contains(string(data), `"v"`) {
			t.Fatalf("%q", d.Source)
		}
	})
}
