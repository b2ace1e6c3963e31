package types

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/loamdb/loam/internal/fail"
)

// Arrow is the type's form on the wire and in batches: TEXT and JSON are Utf8,
// BINARY is Binary, TIMESTAMP is timestamp[us] without a zone (UTC instants),
// VECTOR(n) is FixedSizeList<item: float32, n> as pyarrow makes it, Unknown is Utf8.
// UUID is Utf8 too, in lower case: the JDBC driver and Polars cannot read
// arrow.uuid, and its 16 bytes mean nothing to who reads them without it.
func (t Type) Arrow() arrow.DataType {
	switch t.Kind {
	case Boolean:
		return arrow.FixedWidthTypes.Boolean
	case Int32:
		return arrow.PrimitiveTypes.Int32
	case Int64:
		return arrow.PrimitiveTypes.Int64
	case Double:
		return arrow.PrimitiveTypes.Float64
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case Binary:
		return arrow.BinaryTypes.Binary
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Timestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case Interval:
		return arrow.FixedWidthTypes.MonthDayNanoInterval
	case Vector:
		return arrow.FixedSizeListOfField(t.Dim, arrow.Field{Name: "item", Type: arrow.PrimitiveTypes.Float32, Nullable: true})
	case Sparse:
		return SparseArrow
	case Time:
		return arrow.FixedWidthTypes.Time64us
	case List:
		return arrow.ListOf(t.Elem.Arrow())
	case Struct:
		fields := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			fields[i] = arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: true}
		}
		return arrow.StructOf(fields...)
	case Map:
		return arrow.MapOf(t.Key().Arrow(), t.Value().Arrow())
	}
	return arrow.BinaryTypes.String
}

// ArrowNamed is the SQL type that takes the values of an Arrow type, by the name
// that DataFusion prints: Int64, Utf8, Decimal128(10, 2), Timestamp(Nanosecond, None).
func ArrowNamed(name string) (Type, bool) {
	word, args, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(name), ")"), "(")
	switch word {
	case "Boolean":
		return Of(Boolean), true
	case "Int8", "Int16", "Int32", "UInt8", "UInt16":
		return Of(Int32), true
	case "Int64", "UInt32":
		return Of(Int64), true
	case "UInt64":
		return DecimalOf(20, 0), true
	case "Float16", "Float32", "Float64":
		return Of(Double), true
	case "Utf8", "LargeUtf8", "Utf8View":
		return Of(Text), true
	case "Binary", "LargeBinary", "BinaryView", "FixedSizeBinary":
		return Of(Binary), true
	case "Date32", "Date64":
		return Of(Date), true
	case "Time32", "Time64":
		return Of(Time), true
	case "Timestamp":
		return Of(Timestamp), true
	case "Interval", "Duration":
		return Of(Interval), true
	case "Decimal128", "Decimal256":
		var p, s int64
		if n, _ := fmt.Sscanf(strings.ReplaceAll(args, " ", ""), "%d,%d", &p, &s); n == 2 {
			return decimalNamed([]int64{p, s})
		}
	}
	return Type{}, false
}

// SparseArrow is the Arrow form of SPARSE VECTOR.
var SparseArrow = arrow.StructOf(
	arrow.Field{Name: "indices", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Uint32), Nullable: true},
	arrow.Field{Name: "values", Type: arrow.ListOfNonNullable(arrow.PrimitiveTypes.Float32), Nullable: true},
)

// FromArrow is the SQL type that takes the values of an Arrow type: the reading
// direction is wider than Arrow, so that ingest accepts what clients send.
func FromArrow(dt arrow.DataType) (Type, error) {
	switch x := dt.(type) {
	case *arrow.BooleanType:
		return Of(Boolean), nil
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Uint8Type, *arrow.Uint16Type:
		return Of(Int32), nil
	case *arrow.Int64Type, *arrow.Uint32Type:
		return Of(Int64), nil
	case *arrow.Uint64Type:
		return DecimalOf(20, 0), nil
	case *arrow.Float16Type, *arrow.Float32Type, *arrow.Float64Type:
		return Of(Double), nil
	case *arrow.Decimal128Type:
		if x.Scale >= 0 && x.Scale <= x.Precision {
			return DecimalOf(uint8(x.Precision), uint8(x.Scale)), nil
		}
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return Of(Text), nil
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType, *arrow.FixedSizeBinaryType:
		return Of(Binary), nil
	case *arrow.Date32Type, *arrow.Date64Type:
		return Of(Date), nil
	case *arrow.TimestampType:
		return Of(Timestamp), nil
	case *arrow.Time32Type, *arrow.Time64Type:
		return Of(Time), nil
	case *arrow.Decimal32Type, *arrow.Decimal64Type:
		if d := x.(arrow.DecimalType); d.GetScale() >= 0 && d.GetScale() <= d.GetPrecision() {
			return DecimalOf(uint8(d.GetPrecision()), uint8(d.GetScale())), nil
		}
	case *arrow.MonthDayNanoIntervalType, *arrow.DayTimeIntervalType, *arrow.MonthIntervalType, *arrow.DurationType:
		return Of(Interval), nil
	case *arrow.NullType:
		return Of(Unknown), nil
	case *arrow.DictionaryType:
		return FromArrow(x.ValueType)
	case *arrow.FixedSizeListType:
		if isFloat(x.Elem()) && x.Len() > 0 && x.Len() <= MaxDim {
			return VectorOf(x.Len()), nil
		}
		return listFromArrow(x.Elem())
	case *arrow.ListType:
		return listFromArrow(x.Elem())
	case *arrow.LargeListType:
		return listFromArrow(x.Elem())
	case *arrow.ListViewType:
		return listFromArrow(x.Elem())
	case *arrow.StructType:
		if isSparse(x) {
			return Of(Sparse), nil
		}
		return structFromArrow(x)
	case *arrow.MapType:
		return mapFromArrow(x)
	case *extensions.UUIDType:
		return Of(UUID), nil
	case *extensions.JSONType:
		return Of(JSON), nil
	case arrow.ExtensionType:
		return FromArrow(x.StorageType())
	}
	return Type{}, fail.New(fail.Unsupported, "Arrow type %s has no SQL type in Loam", dt)
}

func listFromArrow(elem arrow.DataType) (Type, error) {
	e, err := FromArrow(elem)
	if err != nil {
		return Type{}, err
	}
	return ListOf(e), nil
}

func structFromArrow(x *arrow.StructType) (Type, error) {
	t := Type{Kind: Struct}
	for _, f := range x.Fields() {
		if t.FieldNamed(f.Name) >= 0 {
			return Type{}, fail.New(fail.DuplicateColumn, "the Arrow struct %s has the field %q twice", x, f.Name)
		}
		ft, err := FromArrow(f.Type)
		if err != nil {
			return Type{}, err
		}
		t.Fields = append(t.Fields, Field{f.Name, ft})
	}
	if len(t.Fields) == 0 {
		return Type{}, fail.New(fail.Unsupported, "an Arrow struct without fields has no SQL type in Loam")
	}
	return t, nil
}

func mapFromArrow(x *arrow.MapType) (Type, error) {
	key, err := FromArrow(x.KeyType())
	if err != nil {
		return Type{}, err
	}
	value, err := FromArrow(x.ItemType())
	return MapOf(key, value), err
}

func isFloat(dt arrow.DataType) bool {
	return dt.ID() == arrow.FLOAT32 || dt.ID() == arrow.FLOAT64 || dt.ID() == arrow.FLOAT16
}

func isSparse(s *arrow.StructType) bool {
	return s.NumFields() == 2 && s.Field(0).Name == "indices" && s.Field(1).Name == "values"
}
