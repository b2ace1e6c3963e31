package types

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
)

// Arrow is the type's form on the wire and in batches: TEXT and JSON are Utf8,
// BINARY is Binary, TIMESTAMP is timestamp[us] without a zone (UTC instants),
// VECTOR(n) is FixedSizeList<item: float32, n> as pyarrow makes it, Unknown is Utf8.
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
	case List:
		return arrow.ListOf(t.Elem.Arrow())
	}
	return arrow.BinaryTypes.String
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
	case *arrow.MonthDayNanoIntervalType:
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

func isFloat(dt arrow.DataType) bool {
	return dt.ID() == arrow.FLOAT32 || dt.ID() == arrow.FLOAT64 || dt.ID() == arrow.FLOAT16
}

func isSparse(s *arrow.StructType) bool {
	return s.NumFields() == 2 && s.Field(0).Name == "indices" && s.Field(1).Name == "values"
}
