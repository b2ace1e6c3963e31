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
	UUID
	Time
	Struct
	Map
)

// Type is an SQL type. Precision and Scale belong to Decimal, Dim to Vector,
// Elem to List and Map, Fields to Struct. A map is laid out as a list whose
// elements are structs of key and value: Elem is that struct. Compare with Equal.
type Type struct {
	Kind      Kind
	Precision uint8
	Scale     uint8
	Dim       int32
	Elem      *Type
	Fields    []Field
}

// Field is one field of a struct. Names are unique within it without regard to case.
type Field struct {
	Name string
	Type Type
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

// StructOf returns STRUCT(fields); it keeps the slice.
func StructOf(fields ...Field) Type { return Type{Kind: Struct, Fields: fields} }

// MapOf returns MAP(key, value).
func MapOf(key, value Type) Type {
	entry := StructOf(Field{"key", key}, Field{"value", value})
	return Type{Kind: Map, Elem: &entry}
}

// Key and Value are the types of a map's keys and values.
func (t Type) Key() Type   { return t.Elem.Fields[0].Type }
func (t Type) Value() Type { return t.Elem.Fields[1].Type }

// Listed reports the kinds that are laid out as lists: LIST and MAP.
func (t Type) Listed() bool { return t.Kind == List || t.Kind == Map }

// Nested reports the kinds whose values hold other values.
func (t Type) Nested() bool { return t.Kind == List || t.Kind == Struct || t.Kind == Map }

// Settled is the type with TEXT for every Unknown in it: what a value becomes
// when no context gives it a type. An empty list keeps its open element.
func (t Type) Settled() Type {
	switch {
	case t.Kind == Unknown:
		return Of(Text)
	case t.Kind == List && t.Elem.Kind != Unknown, t.Kind == Map:
		elem := t.Elem.Settled()
		t.Elem = &elem
	case t.Kind == Struct:
		fields := make([]Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = Field{f.Name, f.Type.Settled()}
		}
		t.Fields = fields
	}
	return t
}

// FieldNamed finds a field of a struct: the one of exactly this name, else the
// one that matches without case; -1 if there is none.
func (t Type) FieldNamed(name string) int {
	found := -1
	for i, f := range t.Fields {
		if f.Name == name {
			return i
		}
		if strings.EqualFold(f.Name, name) {
			found = i
		}
	}
	return found
}

// FieldNames lists the names of a struct's fields.
func (t Type) FieldNames() []string {
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
	}
	return names
}

// Equal reports whether two types are the same, parameters included; fields of
// structs also by name.
func (t Type) Equal(o Type) bool {
	if t.Kind != o.Kind || t.Precision != o.Precision || t.Scale != o.Scale || t.Dim != o.Dim || len(t.Fields) != len(o.Fields) {
		return false
	}
	for i, f := range t.Fields {
		if f.Name != o.Fields[i].Name || !f.Type.Equal(o.Fields[i].Type) {
			return false
		}
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
	UUID: "UUID", Time: "TIME", Struct: "STRUCT", Map: "MAP",
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
	case Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = quoteName(f.Name) + " " + f.Type.String()
		}
		return "STRUCT(" + strings.Join(parts, ", ") + ")"
	case Map:
		return "MAP(" + t.Key().String() + ", " + t.Value().String() + ")"
	}
	return kindNames[t.Kind]
}

// Numeric reports whether arithmetic applies.
func (t Type) Numeric() bool { return t.Kind >= Int32 && t.Kind <= Decimal }

// Integer reports INT or BIGINT.
func (t Type) Integer() bool { return t.Kind == Int32 || t.Kind == Int64 }

// Textual reports the kinds whose values are UTF-8 text.
func (t Type) Textual() bool { return t.Kind == Text || t.Kind == JSON || t.Kind == Unknown }

// Orderable reports whether values have a total order (ORDER BY, MIN, <). Lists
// and structs are ordered by their elements, maps by their entries in order.
func (t Type) Orderable() bool {
	for _, f := range t.Fields {
		if !f.Type.Orderable() {
			return false
		}
	}
	return t.Kind != Vector && t.Kind != Sparse && t.Kind != JSON && (t.Kind != Map || t.Elem.Orderable())
}

// Named returns the type that an SQL type name with its parameters denotes, and
// whether there is one. Names are matched without case; args are the numbers in
// parentheses.
func Named(name string, args []int64) (Type, bool) {
	switch strings.ToUpper(strings.Join(strings.Fields(name), " ")) {
	case "BOOLEAN", "BOOL":
		return Of(Boolean), true
	case "INT", "INTEGER", "INT4", "SMALLINT", "TINYINT", "INT1", "INT2", "INT16", "INT32", "SHORT", "SMALLINT UNSIGNED",
		"TINYINT UNSIGNED", "UTINYINT", "USMALLINT", "UINT8", "UINT16":
		return Of(Int32), true
	case "BIGINT", "INT8", "INT64", "LONG", "INTEGER UNSIGNED", "INT UNSIGNED", "UINTEGER", "UINT32":
		return Of(Int64), true
	case "DOUBLE", "DOUBLE PRECISION", "FLOAT8", "FLOAT64", "REAL", "FLOAT", "FLOAT4":
		return Of(Double), true
	case "BIGINT UNSIGNED", "UBIGINT", "UINT64":
		return DecimalOf(20, 0), true
	case "HUGEINT", "INT128":
		return DecimalOf(MaxPrecision, 0), true
	case "UUID", "GUID":
		return Of(UUID), true
	case "TIME", "TIME WITHOUT TIME ZONE":
		return Of(Time), true
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
