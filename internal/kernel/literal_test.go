package kernel_test

import (
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// literals are texts near the edges of what the types read.
var literals = []string{
	"", " ", "1", "-1", "+", "1e400", "NaN", "true", "\\x", "\\xzz", "550e8400-e29b-41d4-a716-446655440000", "{550E8400E29B41D4A716446655440000}", "{}", "{", "-",
	"10:00", "24:00:00", "24:00:01", "12:30 am", "0:00 pm", "10:00:00.123456789", "23:59:60", "2024-02-29", "2023-02-29", "2024-02-29T10:00:00+14:00", "9999999-01-01",
	"1 day", "P1Y2M3DT4H5M6.5S", "P", "PT", "1-2", "-1-2 3 04:05:06", "1:2:3:4", "1 day ago", "ago", "1.5 months", "99999999999 years", "-", "1-", "- 1", "1 2 3", "3 -04:05",
	"[]", "[1, null]", `["a"]`, "[[1]]", `{"a": 1}`, `{"a": {"b": [1]}}`, `{"a": 1, "a": 2}`, `[{"key": 1, "value": 2}]`, `[{"key": null}]`, `{"1": 1}`, "null", "[1", strings.Repeat("[", 2000),
}

var literalTypes = append([]types.Type{
	types.StructOf(types.Field{Name: "a", Type: types.Of(types.Int32)}, types.Field{Name: "b", Type: types.ListOf(types.Of(types.Date))}),
	types.MapOf(types.Of(types.Int32), types.Of(types.Text)), types.MapOf(types.Of(types.Text), nestedStruct),
	types.ListOf(types.ListOf(types.Of(types.UUID))), types.ListOf(types.Of(types.JSON)),
}, allTypes...)

// FuzzLiterals: no text makes a cast panic or hang; what it refuses is the
// user's failure; TRY gives NULL there and nowhere else; and what was read and
// printed reads as the same value again.
func FuzzLiterals(f *testing.F) {
	for _, s := range literals {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, ty := range literalTypes {
			v, err := kernel.CastValue(vec.Text(s), ty, false)
			tried, terr := kernel.CastValue(vec.Text(s), ty, true)
			switch {
			case terr != nil:
				t.Fatalf("TRY_CAST(%q AS %s): %v", s, ty, terr)
			case err != nil && (fail.Is(err, fail.Internal) || !tried.Null):
				t.Fatalf("CAST(%q AS %s): %v; TRY %s", s, ty, err, tried)
			case err != nil:
				continue
			}
			if ty.Nested() || ty.Kind == types.Vector || ty.Kind == types.Sparse || ty.Kind == types.Unknown || v.Null {
				continue
			}
			back, err := kernel.CastValue(vec.Text(v.String()), ty, false)
			if err != nil || kernel.CompareBoxed(v, back) != 0 {
				t.Fatalf("%s of %q prints as %s, which reads as %s, %v", ty, s, v, back, err)
			}
		}
	})
}

// TestNestedThroughJSON: a nested value reads back from its JSON.
func TestNestedThroughJSON(t *testing.T) {
	for _, s := range literals {
		for _, ty := range literalTypes {
			v, err := kernel.CastValue(vec.Text(s), ty, false)
			if err != nil || !ty.Nested() || v.Null {
				continue
			}
			back, err := kernel.CastValue(vec.Value{Type: types.Of(types.JSON), Str: string(kernel.AppendJSON(nil, v))}, ty, false)
			if err != nil || back.String() != v.String() {
				t.Errorf("%s %s reads back as %s, %v", ty, v, back, err)
			}
		}
	}
}
