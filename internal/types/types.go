// Package types is the one table of Loam's SQL types: their names, their Arrow
// forms, and which casts and coercions exist between them.
//
// In: type names from SQL, Arrow types from the wire. Out: [Type] values. It
// never touches data; kernels live above it. It imports fail and arrow only.
package types

import (
	"fmt"
	"strings"
)

// Kind is the family of a type.
type Kind uint8

// The kinds. Unknown is the type of NULL and of string literals that have not
// yet met a context.
const (
	Unknown Kind = iota
	Boolean
	Int32
	Int64
	Double
	Decimal
	Text
	Binary
	Date
	Timestamp
	Interval
	Vector
	Sparse
	List
	JSON
)

// Type is an SQL type. Precision and Scale belong to Decimal, Dim to Vector,
// Elem to List. Compare with Equal: Elem is a pointer.
type Type struct {
	Kind      Kind
	Precision uint8
	Scale     uint8
	Dim       int32
	Elem      *Type
}

// MaxPrecision is the number of decimal digits that DECIMAL holds.
const MaxPrecision = 38

// MaxDim is the largest dimension of VECTOR.
const MaxDim = 65536

// Of returns the type of a kind that has no parameters.
func Of(k Kind) Type { return Type{Kind: k} }

// DecimalOf returns DECIMAL(precision, scale).
func DecimalOf(precision, scale uint8) Type {
	return Type{Kind: Decimal, Precision: precision, Scale: scale}
}

// VectorOf returns VECTOR(dim): dim float32 values.
func VectorOf(dim int32) Type { return Type{Kind: Vector, Dim: dim} }

// ListOf returns a list of elem.
func ListOf(elem Type) Type { return Type{Kind: List, Elem: &elem} }

// Equal reports whether two types are the same, parameters included.
func (t Type) Equal(o Type) bool {
	if t.Kind != o.Kind || t.Precision != o.Precision || t.Scale != o.Scale || t.Dim != o.Dim {
		return false
	}
	if t.Elem == nil || o.Elem == nil {
		return t.Elem == o.Elem
	}
	return t.Elem.Equal(*o.Elem)
}

var kindNames = [...]string{
	Unknown: "UNKNOWN", Boolean: "BOOLEAN", Int32: "INT", Int64: "BIGINT", Double: "DOUBLE",
	Decimal: "DECIMAL", Text: "TEXT", Binary: "BINARY", Date: "DATE", Timestamp: "TIMESTAMP",
	Interval: "INTERVAL", Vector: "VECTOR", Sparse: "SPARSE VECTOR", List: "LIST", JSON: "JSON",
}

// String is the SQL name of the type, as DESCRIBE prints it and the parser reads it.
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case Vector:
		return fmt.Sprintf("VECTOR(%d)", t.Dim)
	case List:
		return t.Elem.String() + "[]"
	}
	return kindNames[t.Kind]
}

// Numeric reports whether arithmetic applies.
func (t Type) Numeric() bool { return t.Kind >= Int32 && t.Kind <= Decimal }

// Integer reports INT or BIGINT.
func (t Type) Integer() bool { return t.Kind == Int32 || t.Kind == Int64 }

// Textual reports the kinds whose values are UTF-8 text.
func (t Type) Textual() bool { return t.Kind == Text || t.Kind == JSON || t.Kind == Unknown }

// Orderable reports whether values have a total order (ORDER BY, MIN, <).
func (t Type) Orderable() bool { return t.Kind != Vector && t.Kind != Sparse && t.Kind != JSON }

// Named returns the type that an SQL type name with its parameters denotes, and
// whether there is one. Names are matched without case; args are the numbers in
// parentheses.
func Named(name string, args []int64) (Type, bool) {
	switch strings.ToUpper(strings.Join(strings.Fields(name), " ")) {
	case "BOOLEAN", "BOOL":
		return Of(Boolean), true
	case "INT", "INTEGER", "INT4", "SMALLINT", "TINYINT", "INT2", "INT32", "SMALLINT UNSIGNED", "TINYINT UNSIGNED":
		return Of(Int32), true
	case "BIGINT", "INT8", "INT64", "LONG", "INTEGER UNSIGNED", "INT UNSIGNED":
		return Of(Int64), true
	case "DOUBLE", "DOUBLE PRECISION", "FLOAT8", "FLOAT64", "REAL", "FLOAT", "FLOAT4":
		return Of(Double), true
	case "BIGINT UNSIGNED":
		return DecimalOf(20, 0), true
	case "DECIMAL", "NUMERIC", "DEC":
		return decimalNamed(args)
	case "TEXT", "VARCHAR", "CHAR", "STRING", "CHARACTER VARYING", "CHARACTER", "BPCHAR", "NAME":
		return Of(Text), true
	case "BINARY", "BYTEA", "BLOB", "VARBINARY", "BINARY VARYING":
		return Of(Binary), true
	case "DATE":
		return Of(Date), true
	case "TIMESTAMP", "DATETIME", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMPTZ":
		return Of(Timestamp), true
	case "INTERVAL":
		return Of(Interval), true
	case "JSON", "JSONB":
		return Of(JSON), true
	case "SPARSE VECTOR":
		return Of(Sparse), true
	case "VECTOR":
		if len(args) == 1 && args[0] > 0 && args[0] <= MaxDim {
			return VectorOf(int32(args[0])), true
		}
	}
	return Type{}, false
}

func decimalNamed(args []int64) (Type, bool) {
	p, s := int64(18), int64(3)
	switch len(args) {
	case 0:
	case 1:
		p, s = args[0], 0
	default:
		p, s = args[0], args[1]
	}
	if p < 1 || p > MaxPrecision || s < 0 || s > p {
		return Type{}, false
	}
	return DecimalOf(uint8(p), uint8(s)), true
}

// Parse reads a type as String prints it, and nothing else. It is the codec of
// types in Loam's formats; SQL's many spellings go through Named.
func Parse(s string) (Type, bool) {
	lists := 0
	for strings.HasSuffix(s, "[]") && lists <= maxLists {
		s, lists = s[:len(s)-2], lists+1
	}
	t, ok := parseElem(s)
	if !ok || t.String() != s || lists > maxLists {
		return Type{}, false
	}
	for range lists {
		t = ListOf(t)
	}
	return t, true
}

// maxLists bounds how deep lists of lists go.
const maxLists = 16

func parseElem(s string) (Type, bool) {
	var p, q int64
	if n, _ := fmt.Sscanf(s, "DECIMAL(%d,%d)", &p, &q); n == 2 {
		return decimalNamed([]int64{p, q})
	}
	if n, _ := fmt.Sscanf(s, "VECTOR(%d)", &p); n == 1 {
		return VectorOf(int32(p)), p > 0 && p <= MaxDim
	}
	for k, name := range kindNames {
		if name == s {
			return Of(Kind(k)), Kind(k) != Decimal && Kind(k) != Vector && Kind(k) != List
		}
	}
	return Type{}, false
}
