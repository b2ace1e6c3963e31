package vec

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/types"
)

// Value is one boxed value: literals, parameters, group keys in tests. Which
// field holds it follows from the type as in [Vector]; Int serves INT, BIGINT,
// DATE (days), TIMESTAMP and TIME (microseconds). List holds the elements of a
// list, the fields of a struct, the entries of a map as structs of key and value.
type Value struct {
	Type   types.Type
	Null   bool
	Bool   bool
	Int    int64
	Float  float64
	Dec    decimal128.Num
	Str    string
	Span   Span
	Vec    []float32
	Sparse SparseRow
	List   []Value
}

// Null returns the NULL of a type.
func Null(t types.Type) Value { return Value{Type: t, Null: true} }

// Text returns a TEXT value.
func Text(s string) Value { return Value{Type: types.Of(types.Text), Str: s} }

// Int64 returns a BIGINT value.
func Int64(i int64) Value { return Value{Type: types.Of(types.Int64), Int: i} }

// Int32 returns an INT value.
func Int32(i int32) Value { return Value{Type: types.Of(types.Int32), Int: int64(i)} }

// Double returns a DOUBLE value.
func Double(f float64) Value { return Value{Type: types.Of(types.Double), Float: f} }

// Bool returns a BOOLEAN value.
func Bool(b bool) Value { return Value{Type: types.Of(types.Boolean), Bool: b} }

// VectorValue returns a VECTOR value; it keeps v.
func VectorValue(v []float32) Value { return Value{Type: types.VectorOf(int32(len(v))), Vec: v} }

// String prints the value as the table format of the shell and CAST to TEXT do;
// NULL prints as "NULL".
func (v Value) String() string {
	if v.Null {
		return "NULL"
	}
	switch v.Type.Kind {
	case types.Boolean:
		return strconv.FormatBool(v.Bool)
	case types.Int32, types.Int64:
		return strconv.FormatInt(v.Int, 10)
	case types.Double:
		return FormatDouble(v.Float)
	case types.Decimal:
		return v.Dec.ToString(int32(v.Type.Scale))
	case types.Date:
		return FormatDate(int32(v.Int))
	case types.Timestamp:
		return FormatTimestamp(v.Int)
	case types.Time:
		return FormatTime(v.Int)
	case types.UUID:
		return FormatUUID(v.Dec)
	case types.Interval:
		return v.Span.String()
	case types.Binary:
		return `\x` + hex.EncodeToString([]byte(v.Str))
	case types.Vector:
		return joinFloats(v.Vec)
	case types.Sparse:
		return v.Sparse.String()
	case types.List:
		parts := make([]string, len(v.List))
		for i, e := range v.List {
			parts[i] = e.String()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case types.Struct:
		parts := make([]string, len(v.List))
		for i, e := range v.List {
			parts[i] = "'" + strings.ReplaceAll(v.Type.Fields[i].Name, "'", "''") + "': " + e.String()
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case types.Map:
		parts := make([]string, len(v.List))
		for i, e := range v.List {
			parts[i] = e.List[0].String() + "=" + e.List[1].String()
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return v.Str
}

// FormatTime prints microseconds since midnight as ISO with as many fraction
// digits as are needed; the end of the day is 24:00:00.
func FormatTime(micros int64) string {
	if micros == microsPerDay {
		return "24:00:00"
	}
	return time.UnixMicro(micros).UTC().Format("15:04:05.999999")
}

// FormatDouble prints the shortest text that reads back as f; whole numbers
// keep a ".0", so that the type shows.
func FormatDouble(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case math.IsNaN(f):
		return "NaN"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if abs := math.Abs(f); abs == 0 || abs >= 1e-5 && abs < 1e16 {
		s = strconv.FormatFloat(f, 'f', -1, 64)
	}
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

// FormatDate prints days since 1970-01-01 as an ISO date.
func FormatDate(days int32) string {
	return time.Unix(int64(days)*86400, 0).UTC().Format("2006-01-02")
}

// FormatTimestamp prints microseconds since the epoch as ISO with as many
// fraction digits as are needed, in UTC, without a zone.
func FormatTimestamp(micros int64) string {
	return time.UnixMicro(micros).UTC().Format("2006-01-02 15:04:05.999999")
}

// String prints an interval as PostgreSQL does: "1 mon 2 days 03:04:05".
func (s Span) String() string {
	var parts []string
	plural := func(n int32, unit string) {
		if n == 0 {
			return
		}
		if n != 1 && n != -1 {
			unit += "s"
		}
		parts = append(parts, strconv.Itoa(int(n))+" "+unit)
	}
	plural(s.Months/12, "year")
	plural(s.Months%12, "mon")
	plural(s.Days, "day")
	if s.Nanos != 0 || len(parts) == 0 {
		sign, n := "", s.Nanos
		if n < 0 {
			sign, n = "-", -n
		}
		clock := time.Unix(0, 0).UTC().Add(time.Duration(n % int64(24*time.Hour))).Format("04:05.999999999")
		parts = append(parts, sign+pad2(n/int64(time.Hour))+":"+clock)
	}
	return strings.Join(parts, " ")
}

func pad2(n int64) string {
	if n < 10 {
		return "0" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

func joinFloats(fs []float32) string {
	parts := make([]string, len(fs))
	for i, f := range fs {
		parts[i] = strconv.FormatFloat(float64(f), 'g', -1, 32)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// String prints a sparse vector as {index: value, …}.
func (r SparseRow) String() string {
	parts := make([]string, len(r.Indices))
	for i, ix := range r.Indices {
		parts[i] = strconv.FormatUint(uint64(ix), 10) + ": " + strconv.FormatFloat(float64(r.Values[i]), 'g', -1, 32)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
