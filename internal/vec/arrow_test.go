package vec_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func fromJSON(t *testing.T, dt arrow.DataType, text string) arrow.Array {
	t.Helper()
	arr, _, err := array.FromJSON(memory.DefaultAllocator, dt, strings.NewReader(text))
	if err != nil {
		t.Fatal(dt, err)
	}
	return arr
}

func rowsOf(v *vec.Vector) string {
	var out []string
	for i := range v.N {
		out = append(out, v.Value(i).String())
	}
	return strings.Join(out, " | ")
}

var micro, nano = &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Europe/Berlin"}

// TestFromArrow reads every Arrow type that has an SQL type, whole and sliced.
func TestFromArrow(t *testing.T) {
	p := arrow.PrimitiveTypes
	for _, c := range []struct {
		dt   arrow.DataType
		json string
		to   types.Type
		want string
	}{
		{arrow.FixedWidthTypes.Boolean, `[true, null, false]`, types.Of(types.Boolean), "true | NULL | false"},
		{p.Int8, `[-1, null, 2]`, types.Of(types.Int32), "-1 | NULL | 2"},
		{p.Int16, `[-1, null, 2]`, types.Of(types.Int64), "-1 | NULL | 2"},
		{p.Uint8, `[255, null, 2]`, types.Of(types.Double), "255.0 | NULL | 2.0"},
		{p.Uint16, `[65535, null, 2]`, types.Of(types.Int32), "65535 | NULL | 2"},
		{p.Int32, `[-1, null, 2]`, types.DecimalOf(12, 2), "-1.00 | NULL | 2.00"},
		{p.Uint32, `[4294967295, null, 2]`, types.Of(types.Int64), "4294967295 | NULL | 2"},
		{p.Int64, `[9007199254740993, null, 2]`, types.Of(types.Int64), "9007199254740993 | NULL | 2"},
		{p.Int64, `[5, null, 2]`, types.Of(types.Int32), "5 | NULL | 2"},
		{p.Int64, `[5, null, 2]`, types.Of(types.Double), "5.0 | NULL | 2.0"},
		{p.Uint64, `[18446744073709551615, null, 2]`, types.DecimalOf(20, 0), "18446744073709551615 | NULL | 2"},
		{p.Uint64, `[7, null, 2]`, types.Of(types.Int64), "7 | NULL | 2"},
		{p.Float32, `[1.5, null, -2]`, types.Of(types.Double), "1.5 | NULL | -2.0"},
		{p.Float64, `[1.5, null, -2]`, types.Of(types.Double), "1.5 | NULL | -2.0"},
		{&arrow.Decimal128Type{Precision: 5, Scale: 2}, `["1.25", null, "-0.5"]`, types.DecimalOf(10, 3), "1.250 | NULL | -0.500"},
		{arrow.BinaryTypes.String, `["a", null, "a long string that is not inline"]`, types.Of(types.Text), "a | NULL | a long string that is not inline"},
		{arrow.BinaryTypes.LargeString, `["a", null, "a long string that is not inline"]`, types.Of(types.Text), "a | NULL | a long string that is not inline"},
		{arrow.BinaryTypes.StringView, `["a", null, "a long string that is not inline"]`, types.Of(types.Text), "a | NULL | a long string that is not inline"},
		{arrow.BinaryTypes.String, `["{\"a\": 1}", null, "2"]`, types.Of(types.JSON), `{"a": 1} | NULL | 2`},
		{arrow.BinaryTypes.Binary, `["/w==", null, ""]`, types.Of(types.Binary), `\xff | NULL | \x`},
		{arrow.BinaryTypes.LargeBinary, `["/w==", null, ""]`, types.Of(types.Binary), `\xff | NULL | \x`},
		{&arrow.FixedSizeBinaryType{ByteWidth: 2}, `["/wA=", null, "AAE="]`, types.Of(types.Binary), `\xff00 | NULL | \x0001`},
		{arrow.FixedWidthTypes.Date32, `["2024-02-29", null, "1969-12-31"]`, types.Of(types.Date), "2024-02-29 | NULL | 1969-12-31"},
		{arrow.FixedWidthTypes.Date64, `["2024-02-29", null, "1969-12-31"]`, types.Of(types.Timestamp), "2024-02-29 00:00:00 | NULL | 1969-12-31 00:00:00"},
		{micro, `["2024-02-29 01:02:03.123456", null, "1970-01-01"]`, types.Of(types.Timestamp), "2024-02-29 01:02:03.123456 | NULL | 1970-01-01 00:00:00"},
		{&arrow.TimestampType{Unit: arrow.Second}, `["2024-02-29 01:02:03", null, "1970-01-01"]`, types.Of(types.Timestamp), "2024-02-29 01:02:03 | NULL | 1970-01-01 00:00:00"},
		{&arrow.TimestampType{Unit: arrow.Millisecond}, `["2024-02-29 01:02:03.5", null, "1970-01-01"]`, types.Of(types.Timestamp), "2024-02-29 01:02:03.5 | NULL | 1970-01-01 00:00:00"},
		{arrow.FixedWidthTypes.MonthDayNanoInterval, `[{"months": 1, "days": 2, "nanoseconds": 3000000000}, null, {"months": 0, "days": 0, "nanoseconds": 0}]`, types.Of(types.Interval), "1 mon 2 days 00:00:03 | NULL | 00:00:00"},
		{arrow.Null, `[null, null, null]`, types.Of(types.Int32), "NULL | NULL | NULL"},
		{arrow.Null, `[null, null, null]`, types.VectorOf(2), "NULL | NULL | NULL"},
		{arrow.FixedWidthTypes.Time32s, `["10:00:00", null, "00:00:01"]`, types.Of(types.Time), "10:00:00 | NULL | 00:00:01"},
		{arrow.FixedWidthTypes.Time32ms, `["10:00:00.125", null, "00:00:01"]`, types.Of(types.Time), "10:00:00.125 | NULL | 00:00:01"},
		{arrow.FixedWidthTypes.Time64ns, `["10:00:00.123456789", null, "00:00:01"]`, types.Of(types.Time), "10:00:00.123456 | NULL | 00:00:01"},
		{arrow.FixedWidthTypes.Duration_ms, `["1500ms", null, "1000ms"]`, types.Of(types.Interval), "00:00:01.5 | NULL | 00:00:01"},
		{arrow.FixedWidthTypes.MonthInterval, `[{"months": 13}, null, {"months": 1}]`, types.Of(types.Interval), "1 year 1 mon | NULL | 1 mon"},
		{arrow.FixedWidthTypes.DayTimeInterval, `[{"days": 1, "milliseconds": 500}, null, {"days": 2, "milliseconds": 0}]`, types.Of(types.Interval), "1 day 00:00:00.5 | NULL | 2 days"},
		{arrow.BinaryTypes.String, `["550E8400-e29b-41d4-a716-446655440000", null, "550e8400e29b41d4a716446655440001"]`, types.Of(types.UUID), "550e8400-e29b-41d4-a716-446655440000 | NULL | 550e8400-e29b-41d4-a716-446655440001"},
		{&arrow.FixedSizeBinaryType{ByteWidth: 16}, `["VQ6EAOKbQdSnFkRmVUQAAA==", null, "AAAAAAAAAAAAAAAAAAAAAA=="]`, types.Of(types.UUID), "550e8400-e29b-41d4-a716-446655440000 | NULL | 00000000-0000-0000-0000-000000000000"},
		{arrow.StructOf(arrow.Field{Name: "B", Type: p.Int8, Nullable: true}, arrow.Field{Name: "a", Type: arrow.BinaryTypes.LargeString, Nullable: true}), `[{"B": 1, "a": "x"}, null, {"B": null, "a": null}]`,
			types.StructOf(types.Field{Name: "a", Type: types.Of(types.Text)}, types.Field{Name: "b", Type: types.Of(types.Int64)}, types.Field{Name: "c", Type: types.Of(types.Date)}),
			"{'a': x, 'b': 1, 'c': NULL} | NULL | {'a': NULL, 'b': NULL, 'c': NULL}"},
		{arrow.MapOf(arrow.BinaryTypes.String, p.Int8), `[[{"key": "k", "value": 1}], null, []]`, types.MapOf(types.Of(types.Text), types.Of(types.Int64)), "{k=1} | NULL | {}"},
		{arrow.ListOf(p.Int32), `[[1, null], null, []]`, types.ListOf(types.Of(types.Int64)), "[1, NULL] | NULL | []"},
		{arrow.LargeListOf(arrow.BinaryTypes.String), `[["x"], null, []]`, types.ListOf(types.Of(types.Text)), "[x] | NULL | []"},
		{arrow.FixedSizeListOf(2, p.Int64), `[[1, 2], null, [3, 4]]`, types.ListOf(types.Of(types.Int64)), "[1, 2] | NULL | [3, 4]"},
		{arrow.FixedSizeListOf(2, p.Float32), `[[1, 2], null, [3, 4]]`, types.VectorOf(2), "[1, 2] | NULL | [3, 4]"},
		{arrow.FixedSizeListOf(2, p.Float64), `[[1, 2], null, [3, 4]]`, types.VectorOf(2), "[1, 2] | NULL | [3, 4]"},
		{arrow.FixedSizeListOf(2, p.Float32), `[[1, 2], null, [3, 4]]`, types.ListOf(types.Of(types.Double)), "[1.0, 2.0] | NULL | [3.0, 4.0]"},
		{arrow.ListOf(p.Float32), `[[1, 2], null, [3, 4]]`, types.VectorOf(2), "[1, 2] | NULL | [3, 4]"},
		{arrow.LargeListOf(p.Float64), `[[1, 2], null, [3, 4]]`, types.VectorOf(2), "[1, 2] | NULL | [3, 4]"},
		{types.SparseArrow, `[{"indices": [7, 3], "values": [0.5, 1]}, null, {"indices": [], "values": []}]`, types.Of(types.Sparse), "{3: 1, 7: 0.5} | NULL | {}"},
		{&arrow.DictionaryType{IndexType: p.Int8, ValueType: arrow.BinaryTypes.String}, `["b", null, "a"]`, types.Of(types.Text), "b | NULL | a"},
		{&arrow.DictionaryType{IndexType: p.Uint32, ValueType: p.Int32}, `[5, null, 6]`, types.Of(types.Int64), "5 | NULL | 6"},
	} {
		name := fmt.Sprintf("%s as %s", c.dt, c.to)
		arr := fromJSON(t, c.dt, c.json)
		v, err := vec.FromArrow(arr, c.to)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := rowsOf(v); got != c.want || !v.Type.Equal(c.to) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		part, err := vec.FromArrow(array.NewSlice(arr, 1, 3), c.to)
		if want := c.want[strings.Index(c.want, " | ")+3:]; err != nil || rowsOf(part) != want {
			t.Errorf("%s, sliced: %v %v, want %s", name, err, part, want)
		}
	}
}

func TestFromArrowHalfFloatsAndNanos(t *testing.T) {
	hb := array.NewFloat16Builder(memory.DefaultAllocator)
	hb.AppendValues([]float16.Num{float16.New(1.5), float16.New(-2)}, []bool{true, true})
	if v, err := vec.FromArrow(hb.NewArray(), types.Of(types.Double)); err != nil || rowsOf(v) != "1.5 | -2.0" {
		t.Error(err, v)
	}
	tb := array.NewTimestampBuilder(memory.DefaultAllocator, nano)
	tb.AppendValues([]arrow.Timestamp{1999, -1}, nil)
	if v, err := vec.FromArrow(tb.NewArray(), types.Of(types.Timestamp)); err != nil || rowsOf(v) != "1970-01-01 00:00:00.000001 | 1969-12-31 23:59:59.999999" {
		t.Error(err, rowsOf(v))
	}
}

func TestFromArrowErrors(t *testing.T) {
	p := arrow.PrimitiveTypes
	seconds := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Second})
	seconds.AppendValues([]arrow.Timestamp{0, math.MaxInt64 / 1000}, nil)
	bad := array.NewStringBuilder(memory.DefaultAllocator)
	bad.AppendValues([]string{"ok", "\xff"}, nil)
	for _, c := range []struct {
		arr  arrow.Array
		to   types.Type
		code fail.Code
		want string
	}{
		{fromJSON(t, p.Float64, `[1]`), types.Of(types.Int32), fail.DatatypeMismatch, "INT"},
		{fromJSON(t, p.Int32, `[1]`), types.Of(types.Text), fail.DatatypeMismatch, "column of type TEXT"},
		{fromJSON(t, arrow.BinaryTypes.Binary, `["/w=="]`), types.Of(types.Text), fail.DatatypeMismatch, "utf8"},
		{fromJSON(t, p.Int64, `[1, 3000000000]`), types.Of(types.Int32), fail.OutOfRange, "row 2: 3000000000"},
		{fromJSON(t, p.Int64, `[9007199254740993]`), types.Of(types.Double), fail.OutOfRange, "row 1"},
		{fromJSON(t, &arrow.Decimal128Type{Precision: 5, Scale: 2}, `["1.25"]`), types.DecimalOf(5, 1), fail.OutOfRange, "row 1"},
		{fromJSON(t, p.Int32, `[1000]`), types.DecimalOf(3, 0), fail.OutOfRange, "row 1"},
		{seconds.NewArray(), types.Of(types.Timestamp), fail.OutOfRange, "row 2"},
		{bad.NewArray(), types.Of(types.Text), fail.InvalidEncoding, "row 2"},
		{fromJSON(t, arrow.BinaryTypes.String, `["1", "{"]`), types.Of(types.JSON), fail.InvalidJSON, "row 2"},
		{fromJSON(t, arrow.FixedSizeListOf(2, p.Float32), `[[1, 2]]`), types.VectorOf(3), fail.InvalidVector, "row 1: a vector of 2 dimensions"},
		{fromJSON(t, arrow.ListOf(p.Float32), `[[1, 2, 3], [1]]`), types.VectorOf(3), fail.InvalidVector, "row 2"},
		{fromJSON(t, arrow.FixedSizeListOf(2, p.Float32), `[[1, null]]`), types.VectorOf(2), fail.InvalidVector, "element 2"},
		{fromJSON(t, p.Int32, `[1]`), types.VectorOf(2), fail.DatatypeMismatch, "FixedSizeList<float32, 2>"},
		{fromJSON(t, types.SparseArrow, `[{"indices": [7, 7], "values": [1, 2]}]`), types.Of(types.Sparse), fail.InvalidVector, "twice"},
		{fromJSON(t, types.SparseArrow, `[{"indices": [7], "values": [1, 2]}]`), types.Of(types.Sparse), fail.InvalidVector, "1 index and 2 values"},
		{fromJSON(t, arrow.StructOf(arrow.Field{Name: "a", Type: p.Int32}), `[{"a": 1}]`), types.Of(types.Text), fail.DatatypeMismatch, "struct"},
		{fromJSON(t, arrow.BinaryTypes.String, `["x"]`), types.Of(types.UUID), fail.InvalidText, "row 1"},
		{fromJSON(t, arrow.BinaryTypes.Binary, `["AAAA"]`), types.Of(types.UUID), fail.InvalidText, "row 1"},
		{fromJSON(t, p.Int64, `[1]`), types.Of(types.UUID), fail.DatatypeMismatch, "UUID"},
		{fromJSON(t, arrow.FixedWidthTypes.Time32s, `["10:00:00"]`), types.Of(types.Int64), fail.DatatypeMismatch, "time32"},
		{fromJSON(t, arrow.MapOf(p.Int8, p.Int8), `[[{"key": 1, "value": 1}, {"key": 1, "value": 2}]]`), types.MapOf(types.Of(types.Int32), types.Of(types.Int32)), fail.InvalidParameter, "twice"},
		{fromJSON(t, arrow.StructOf(arrow.Field{Name: "a", Type: p.Int32}), `[{"a": 1}]`), types.StructOf(types.Field{Name: "x", Type: types.Of(types.Int32)}, types.Field{Name: "y", Type: types.Of(types.Int32)}), fail.DatatypeMismatch, "struct"},
		{fromJSON(t, arrow.StructOf(arrow.Field{Name: "a", Type: p.Float64}), `[{"a": 1.5}]`), types.StructOf(types.Field{Name: "a", Type: types.Of(types.Int32)}), fail.DatatypeMismatch, "field"},
	} {
		_, err := vec.FromArrow(c.arr, c.to)
		if !fail.Is(err, c.code) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s as %s: %v, want %s …%s…", c.arr.DataType(), c.to, err, c.code, c.want)
		}
	}
}

// TestFromArrowBadOffsets builds a string array whose offsets point outside, as a
// hostile sender can.
func TestFromArrowBadOffsets(t *testing.T) {
	for _, offsets := range [][]int32{{0, 3, 1, 4}, {-1, 0, 1, 2}} {
		defer func() { _ = recover() }() // arrow-go itself may refuse to make the array
		data := array.NewData(arrow.BinaryTypes.String, 3, []*memory.Buffer{
			nil, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets)), memory.NewBufferBytes([]byte("abcd")),
		}, nil, 0, 0)
		if _, err := vec.FromArrow(array.NewStringData(data), types.Of(types.Text)); !fail.Is(err, fail.BadRequest) {
			t.Errorf("%v: %v", offsets, err)
		}
	}
}

// TestNullViews checks that the garbage under a NULL view is never followed.
func TestNullViews(t *testing.T) {
	var v arrow.ViewHeader
	v.SetIndexOffset(99, 99)
	views := []arrow.ViewHeader{v}
	v2 := vec.View{Len: 40}
	raw := arrow.ViewHeaderTraits.CastToBytes(views)
	raw[0] = byte(v2.Len)
	data := array.NewData(arrow.BinaryTypes.StringView, 1, []*memory.Buffer{memory.NewBufferBytes([]byte{0}), memory.NewBufferBytes(raw)}, nil, 1, 0)
	got, err := vec.FromArrow(array.MakeFromData(data), types.Of(types.Text))
	if err != nil || rowsOf(got) != "NULL" || got.Strings.At(0) != "" {
		t.Error(err, got)
	}
}

// TestFromArrowUUID: arrow.uuid, alone and in a list, is a UUID; as BINARY it is its bytes.
func TestFromArrowUUID(t *testing.T) {
	b := extensions.NewUUIDBuilder(memory.DefaultAllocator)
	b.AppendBytes([16]byte{0x55, 15: 1})
	b.AppendNull()
	arr := b.NewArray()
	st, err := types.FromArrow(arr.DataType())
	if err != nil || st.Kind != types.UUID {
		t.Fatal(st, err)
	}
	for want, ty := range map[string]types.Type{
		"55000000-0000-0000-0000-000000000001 | NULL": types.Of(types.UUID),
		`\x55000000000000000000000000000001 | NULL`:   types.Of(types.Binary),
	} {
		v, err := vec.FromArrow(arr, ty)
		if err != nil || rowsOf(v) != want {
			t.Errorf("%s: %s, want %s (%v)", ty, rowsOf(v), want, err)
		}
	}
}

var nestedStruct = types.StructOf(types.Field{Name: "n", Type: types.Of(types.Int64)}, types.Field{Name: "two words", Type: types.ListOf(types.Of(types.Text))})

var allTypes = []types.Type{
	types.Of(types.Boolean), types.Of(types.Int32), types.Of(types.Int64), types.Of(types.Double), types.DecimalOf(38, 4),
	types.Of(types.Text), types.Of(types.Binary), types.Of(types.Date), types.Of(types.Timestamp), types.Of(types.Interval),
	types.VectorOf(3), types.Of(types.Sparse), types.Of(types.JSON), types.ListOf(types.Of(types.Text)), types.ListOf(types.ListOf(types.Of(types.Int32))),
	types.Of(types.UUID), types.Of(types.Time), nestedStruct, types.MapOf(types.Of(types.Int32), types.Of(types.Text)), types.ListOf(nestedStruct),
}

func drawValue(t *rapid.T, ty types.Type) vec.Value {
	v := vec.Value{Type: ty}
	if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return vec.Null(ty)
	}
	x := rapid.Int64Range(-1000, 1000).Draw(t, "x")
	switch ty.Kind {
	case types.Boolean:
		v.Bool = x > 0
	case types.Double:
		v.Float = float64(x) / 4
	case types.Decimal:
		v.Dec = decimal128.FromI64(x)
	case types.Interval:
		v.Span = vec.Span{Months: int32(x), Days: 1, Nanos: x * 1000}
	case types.Vector:
		v.Vec = []float32{float32(x), 0, 1.5}
	case types.Sparse:
		if x > 0 {
			v.Sparse = vec.SparseRow{Indices: []uint32{3, uint32(x) + 4}, Values: []float32{1, float32(x)}}
		}
	case types.List:
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			v.List = append(v.List, drawValue(t, *ty.Elem))
		}
	case types.UUID:
		v.Dec = decimal128.New(x, uint64(x))
	case types.Time:
		v.Int = (x + 1000) * 43_000_000
	case types.Struct:
		for _, f := range ty.Fields {
			v.List = append(v.List, drawValue(t, f.Type))
		}
	case types.Map: // keys are distinct and not NULL
		for i := range x & 3 {
			key := vec.Int32(int32(i))
			v.List = append(v.List, vec.Value{Type: *ty.Elem, List: []vec.Value{key, drawValue(t, ty.Value())}})
		}
	case types.JSON:
		v.Str = fmt.Sprint(x)
	case types.Text, types.Binary:
		v.Str = strings.Repeat("é", int(x+1000)%20)
	default:
		v.Int = x
	}
	return v
}

// TestRoundTrip sends vectors of every type, encoding and selection to Arrow and back.
func TestRoundTrip(t *testing.T) {
	for _, ty := range allTypes {
		t.Run(ty.String(), rapid.MakeCheck(func(rt *rapid.T) { roundTrip(rt, ty) }))
	}
}

func roundTrip(t *rapid.T, ty types.Type) {
	n := rapid.IntRange(0, 9).Draw(t, "n")
	v := vec.New(ty, n)
	for range n {
		v.Append(drawValue(t, ty))
	}
	switch rapid.IntRange(0, 2).Draw(t, "encoding") {
	case 1:
		v = vec.Const(ty, drawValue(t, ty), n)
	case 2:
		if n > 0 {
			dict := v
			v = &vec.Vector{Type: ty, Encoding: vec.Dictionary, N: n, Dict: dict, Codes: make([]int32, n)}
			for i := range v.Codes {
				v.Codes[i] = int32(rapid.IntRange(0, n-1).Draw(t, "code"))
			}
		}
	}
	var sel []int32
	if rapid.Bool().Draw(t, "select") {
		sel = []int32{}
		for i := range n {
			if rapid.Bool().Draw(t, "row") {
				sel = append(sel, int32(i))
			}
		}
	}
	c := &vec.Chunk{Cols: []*vec.Vector{v}, N: n, Sel: sel}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	rec, err := vec.ChunkToRecord(c, vec.Schema([]string{"c"}, []types.Type{ty}), mem)
	if err != nil {
		t.Fatal(err)
	}
	back, err := vec.FromArrow(rec.Column(0), ty)
	if err != nil {
		t.Fatal(err)
	}
	if back.N != c.Rows() {
		t.Fatalf("%d rows of %d", back.N, c.Rows())
	}
	for i := range back.N {
		if a, b := back.Value(i).String(), v.Value(c.RowAt(i)).String(); a != b {
			t.Fatalf("row %d: %s, want %s", i, a, b)
		}
	}
	rec.Release()
	mem.AssertSize(tb{t}, 0)
}

// tb lets the allocator's check report through rapid.
type tb struct{ *rapid.T }

func (tb) Helper() {}

// TestOnlySelectedBytes: rows that are not selected must not be in the buffers
// (a masked row must never reach the wire).
func TestOnlySelectedBytes(t *testing.T) {
	v := vec.New(types.Of(types.Text), 3)
	for _, s := range []string{"visible text one", "SECRET SECRET SECRET", "visible text two"} {
		v.Append(vec.Text(s))
	}
	arr, err := vec.ToArrow(v, []int32{0, 2}, 2, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range arr.Data().Buffers() {
		if b != nil && strings.Contains(string(b.Buf()), "SECRET") {
			t.Error("a row that is not selected is in the buffer")
		}
	}
}
