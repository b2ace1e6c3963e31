package types_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

func drawType(t *rapid.T) types.Type {
	kind := types.Kind(rapid.IntRange(0, int(types.Map)).Draw(t, "kind"))
	switch kind {
	case types.Decimal:
		p := rapid.Uint8Range(1, types.MaxPrecision).Draw(t, "precision")
		return types.DecimalOf(p, rapid.Uint8Range(0, p).Draw(t, "scale"))
	case types.Vector:
		return types.VectorOf(rapid.Int32Range(1, types.MaxDim).Draw(t, "dim"))
	case types.List:
		return types.ListOf(drawType(t))
	case types.Map:
		return types.MapOf(drawType(t), drawType(t))
	case types.Struct:
		out := types.Type{Kind: types.Struct}
		for range rapid.IntRange(1, 3).Draw(t, "fields") {
			name := rapid.StringMatching(`[a-z"(), ]{0,3}`).Draw(t, "name")
			if out.FieldNamed(name) < 0 {
				out.Fields = append(out.Fields, types.Field{Name: name, Type: drawType(t)})
			}
		}
		return out
	}
	return types.Of(kind)
}

// TestParseReadsWhatStringPrints: formats store types by name.
func TestParseReadsWhatStringPrints(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := drawType(rt)
		got, ok := types.Parse(want.String())
		if ok == want.Deep() || ok && !got.Equal(want) {
			rt.Fatalf("%s reads back as %s, %t", want, got, ok)
		}
	})
}

// TestParseIsStrict: one type has one name, and nothing stands around it.
func TestParseIsStrict(t *testing.T) {
	for _, s := range []string{
		"", "[]", "[]INT", "int", "INTEGER", " INT", "INT ", "DECIMAL", "DECIMAL(10)", "DECIMAL(10,2", "DECIMAL(10,2)x",
		"DECIMAL( 10,2)", "DECIMAL(+10,2)", "DECIMAL(010,2)", "DECIMAL(39,0)", "DECIMAL(5,6)", "DECIMAL(0,0)", "DECIMAL(5,-1)",
		"VECTOR", "VECTOR()", "VECTOR(0)", "VECTOR(-1)", "VECTOR(3", "VECTOR(3)[", "VECTOR(65537)", "VECTOR(4294967299)", "VECTOR(99999999999999999999)",
		"LIST", "TEXT[][", "SPARSE  VECTOR", "VARCHAR", "INT" + strings.Repeat("[]", 17), strings.Repeat("[]", 1<<20),
		"STRUCT", "STRUCT()", "STRUCT(a)", "STRUCT(a INT", "STRUCT(a INT,b INT)", "STRUCT(a INT, A INT)", "STRUCT(\"a\" INT)", "STRUCT(a  INT)",
		"STRUCT(1 INT)", "MAP", "MAP()", "MAP(INT)", "MAP(INT, INT", "MAP(INT,INT)", "MAP(INT, INT, INT)", "STRUCT(\"a INT)",
		strings.Repeat("STRUCT(a ", 1000) + "INT" + strings.Repeat(")", 1000), strings.Repeat("MAP(INT, ", 9) + "INT" + strings.Repeat(")", 9),
	} {
		if got, ok := types.Parse(s); ok {
			t.Errorf("%.40q reads as %.40s", s, got)
		}
	}
}

// TestNamed: the spellings of SQL.
func TestNamed(t *testing.T) {
	for name, want := range map[string]string{
		"boolean": "BOOLEAN", "Bool": "BOOLEAN", "integer": "INT", "int4": "INT", "smallint": "INT", "bigint": "BIGINT", "int8": "BIGINT",
		"double  precision": "DOUBLE", "real": "DOUBLE", "decimal": "DECIMAL(18,3)", "numeric": "DECIMAL(18,3)", "varchar": "TEXT",
		"character varying": "TEXT", "bytea": "BINARY", "date": "DATE", "timestamp with time zone": "TIMESTAMP",
		"interval": "INTERVAL", "jsonb": "JSON", "sparse vector": "SPARSE VECTOR", "bigint unsigned": "DECIMAL(20,0)",
		"vector": "", "list": "", "unknown": "", "": "", "int[]": "",
	} {
		got, ok := types.Named(name, nil)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q is %s, %t; want %q", name, got, ok, want)
		}
	}
	for _, c := range []struct {
		name string
		args []int64
		want string
	}{
		{"decimal", []int64{5}, "DECIMAL(5,0)"}, {"decimal", []int64{5, 5}, "DECIMAL(5,5)"}, {"decimal", []int64{38, 0}, "DECIMAL(38,0)"},
		{"decimal", []int64{0}, ""}, {"decimal", []int64{39}, ""}, {"decimal", []int64{5, 6}, ""}, {"decimal", []int64{5, -1}, ""},
		{"decimal", []int64{1 << 40, 1}, ""}, {"vector", []int64{1}, "VECTOR(1)"}, {"vector", []int64{types.MaxDim}, "VECTOR(65536)"},
		{"vector", []int64{0}, ""}, {"vector", []int64{-1}, ""}, {"vector", []int64{1 << 33}, ""}, {"vector", []int64{1, 2}, ""},
		{"varchar", []int64{255}, "TEXT"},
	} {
		got, ok := types.Named(c.name, c.args)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s%v is %s, %t; want %q", c.name, c.args, got, ok, c.want)
		}
	}
}

// TestEqual: parameters count, and so do the elements of lists.
func TestEqual(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := drawType(rt), drawType(rt)
		if !a.Equal(a) || a.Equal(b) != b.Equal(a) || a.Equal(b) != (a.String() == b.String()) {
			rt.Fatalf("%s, %s: %t", a, b, a.Equal(b))
		}
	})
}

// TestFromArrow reads what clients send, wider than what Loam writes.
func TestFromArrow(t *testing.T) {
	p := arrow.PrimitiveTypes
	for _, c := range []struct {
		dt   arrow.DataType
		want string
	}{
		{p.Int8, "INT"}, {p.Uint16, "INT"}, {p.Uint32, "BIGINT"}, {p.Uint64, "DECIMAL(20,0)"}, {arrow.FixedWidthTypes.Float16, "DOUBLE"},
		{p.Float32, "DOUBLE"}, {arrow.BinaryTypes.LargeString, "TEXT"}, {arrow.BinaryTypes.StringView, "TEXT"},
		{&arrow.FixedSizeBinaryType{ByteWidth: 16}, "BINARY"}, {arrow.FixedWidthTypes.Date64, "DATE"},
		{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, "TIMESTAMP"}, {arrow.Null, "UNKNOWN"},
		{&arrow.DictionaryType{IndexType: p.Int8, ValueType: arrow.BinaryTypes.String}, "TEXT"},
		{arrow.FixedSizeListOf(3, p.Float64), "VECTOR(3)"}, {arrow.FixedSizeListOf(3, p.Int32), "INT[]"},
		{arrow.FixedSizeListOf(types.MaxDim+1, p.Float32), "DOUBLE[]"}, {arrow.ListOf(p.Float32), "DOUBLE[]"},
		{arrow.LargeListOf(arrow.ListOf(p.Int64)), "BIGINT[][]"}, {types.SparseArrow, "SPARSE VECTOR"},
		{&arrow.Decimal128Type{Precision: 38, Scale: 38}, "DECIMAL(38,38)"}, {&arrow.Decimal128Type{Precision: 5, Scale: -1}, ""},
		{&arrow.Decimal128Type{Precision: 3, Scale: 5}, ""}, {arrow.FixedWidthTypes.Duration_s, "INTERVAL"}, {arrow.FixedWidthTypes.Time64ns, "TIME"},
		{&arrow.Decimal256Type{Precision: 40, Scale: 0}, ""}, {arrow.StructOf(arrow.Field{Name: "a", Type: p.Int8}), "STRUCT(a INT)"}, {arrow.StructOf(), ""},
		{arrow.MapOf(p.Int8, p.Int8), "MAP(INT, INT)"}, {arrow.ListOf(arrow.FixedWidthTypes.Time32s), "TIME[]"},
		{extensions.NewUUIDType(), "UUID"}, {arrow.ListOf(extensions.NewUUIDType()), "UUID[]"}, {&arrow.Decimal64Type{Precision: 18, Scale: 2}, "DECIMAL(18,2)"},
		{arrow.FixedWidthTypes.DayTimeInterval, "INTERVAL"}, {arrow.FixedWidthTypes.MonthInterval, "INTERVAL"},
		{arrow.StructOf(arrow.Field{Name: "a", Type: &arrow.Decimal256Type{Precision: 40}}), ""}, {arrow.RunEndEncodedOf(p.Int32, p.Int32), ""},
	} {
		got, err := types.FromArrow(c.dt)
		if c.want == "" {
			if !fail.Is(err, fail.Unsupported) {
				t.Errorf("%s: %s, %v", c.dt, got, err)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s: %s, %v; want %s", c.dt, got, err, c.want)
		}
	}
}

// TestArrowNamed: arrow_cast reads the names that DataFusion prints.
func TestArrowNamed(t *testing.T) {
	for name, want := range map[string]string{
		"Int8": "INT", "UInt32": "BIGINT", "UInt64": "DECIMAL(20,0)", "Float16": "DOUBLE", " Utf8View ": "TEXT", "LargeBinary": "BINARY", "Date64": "DATE",
		"Time64(Nanosecond)": "TIME", "Timestamp(Nanosecond, Some(\"+00:00\"))": "TIMESTAMP", "Interval(MonthDayNano)": "INTERVAL", "Boolean": "BOOLEAN",
		"Decimal128(10, 2)": "DECIMAL(10,2)", "Decimal256(38,0)": "DECIMAL(38,0)", "Decimal128(39, 0)": "", "Decimal128": "", "int8": "", "": "", "List(Int8)": "",
	} {
		got, ok := types.ArrowNamed(name)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q is %s, %t; want %q", name, got, ok, want)
		}
	}
}

// FuzzParse: what is read prints as the same text, and nothing panics.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"INT", "STRUCT(a INT, \"b\"\"c\" TEXT[])", "MAP(TEXT, STRUCT(x DECIMAL(10,2)))[]", "STRUCT(", "MAP(INT", "VECTOR(3)[][]", `STRUCT("" UUID)`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, ok := types.Parse(s); ok && (got.String() != s || got.Deep()) {
			t.Fatalf("%q reads as %s", s, got)
		}
	})
}
