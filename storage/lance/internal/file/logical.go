package file

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"github.com/loamdb/loam/internal/fail"
)

// simpleTypes are the types whose logical name has no parameters.
var simpleTypes = map[string]arrow.DataType{
	"null":         arrow.Null,
	"bool":         arrow.FixedWidthTypes.Boolean,
	"string":       arrow.BinaryTypes.String,
	"large_string": arrow.BinaryTypes.LargeString,
	"binary":       arrow.BinaryTypes.Binary,
	"large_binary": arrow.BinaryTypes.LargeBinary,
	"json":         jsonText,
	"int8":         arrow.PrimitiveTypes.Int8,
	"int16":        arrow.PrimitiveTypes.Int16,
	"int32":        arrow.PrimitiveTypes.Int32,
	"int64":        arrow.PrimitiveTypes.Int64,
	"uint8":        arrow.PrimitiveTypes.Uint8,
	"uint16":       arrow.PrimitiveTypes.Uint16,
	"uint32":       arrow.PrimitiveTypes.Uint32,
	"uint64":       arrow.PrimitiveTypes.Uint64,
	"halffloat":    arrow.FixedWidthTypes.Float16,
	"float":        arrow.PrimitiveTypes.Float32,
	"double":       arrow.PrimitiveTypes.Float64,
	"date32:day":   arrow.FixedWidthTypes.Date32,
	"date64:ms":    arrow.FixedWidthTypes.Date64,
	"time32:s":     arrow.FixedWidthTypes.Time32s,
	"time32:ms":    arrow.FixedWidthTypes.Time32ms,
	"time64:us":    arrow.FixedWidthTypes.Time64us,
	"time64:ns":    arrow.FixedWidthTypes.Time64ns,
	"duration:s":   arrow.FixedWidthTypes.Duration_s,
	"duration:ms":  arrow.FixedWidthTypes.Duration_ms,
	"duration:us":  arrow.FixedWidthTypes.Duration_us,
	"duration:ns":  arrow.FixedWidthTypes.Duration_ns,
}

// jsonText is the type of JSON columns. Text of that type is not written.
var jsonText = func() arrow.DataType {
	t, err := extensions.NewJSONType(arrow.BinaryTypes.String)
	if err != nil { // JSON is stored as text
		return arrow.BinaryTypes.String
	}
	return t
}()

// logicalNames is the way back: types by their own name.
var logicalNames = func() map[string]string {
	m := map[string]string{}
	for name, t := range simpleTypes {
		m[t.String()] = name
	}
	delete(m, jsonText.String())
	return m
}()

var timeUnits = map[string]arrow.TimeUnit{
	"s": arrow.Second, "ms": arrow.Millisecond, "us": arrow.Microsecond, "ns": arrow.Nanosecond,
}

// Bounds of types with parameters.
const (
	maxFixedBytes = 1 << 24 // of a fixed_size_binary
	maxVectorDim  = 1 << 20
)

// leafLogical is the logical type of a leaf, or an error naming the type.
func leafLogical(t arrow.DataType) (string, error) {
	switch dt := t.(type) {
	case *arrow.FixedSizeListType:
		item, err := leafLogical(dt.Elem())
		if err == nil && vectorItem(dt.Elem()) && dt.Len() > 0 {
			return fmt.Sprintf("fixed_size_list:%s:%d", item, dt.Len()), nil
		}
	case *arrow.TimestampType:
		zone := dt.TimeZone
		if zone == "" {
			zone = "-"
		}
		return "timestamp:" + dt.Unit.String() + ":" + zone, nil
	case *arrow.FixedSizeBinaryType:
		if dt.ByteWidth > 0 && dt.ByteWidth <= maxFixedBytes {
			return fmt.Sprintf("fixed_size_binary:%d", dt.ByteWidth), nil
		}
	case *arrow.Decimal128Type, *arrow.Decimal256Type:
		d, _ := t.(arrow.DecimalType)
		return fmt.Sprintf("decimal:%d:%d:%d", d.BitWidth(), d.GetPrecision(), d.GetScale()), nil
	default:
		if name, ok := logicalNames[t.String()]; ok {
			return name, nil
		}
	}
	return "", fail.New(fail.Unsupported, "lance: Arrow type %s cannot be stored", t)
}

// vectorItem: a fixed-size list of the type is one leaf of fixed width.
func vectorItem(t arrow.DataType) bool {
	if t.ID() == arrow.NULL || t.ID() == arrow.FIXED_SIZE_LIST {
		return false
	}
	_, fixed := t.(arrow.FixedWidthDataType)
	return fixed
}

// arrowLeaf is the Arrow type of a leaf's logical type.
func arrowLeaf(logical string) (arrow.DataType, error) {
	if t, ok := simpleTypes[logical]; ok {
		return t, nil
	}
	kind, rest, _ := strings.Cut(logical, ":")
	var t arrow.DataType
	switch kind {
	case "fixed_size_list":
		t = arrowVector(rest)
	case "fixed_size_binary":
		if n, err := strconv.Atoi(rest); err == nil && n > 0 && n <= maxFixedBytes {
			t = &arrow.FixedSizeBinaryType{ByteWidth: n}
		}
	case "timestamp":
		unit, zone, _ := strings.Cut(rest, ":")
		if u, known := timeUnits[unit]; known {
			if zone == "-" {
				zone = ""
			}
			t = &arrow.TimestampType{Unit: u, TimeZone: zone}
		}
	case "decimal":
		t = arrowDecimal(rest)
	case "dict":
		// dict:values:indices:ordered. Dictionaries are read as their values.
		if parts := strings.Split(rest, ":"); len(parts) >= 3 {
			return arrowLeaf(strings.Join(parts[:len(parts)-2], ":"))
		}
	}
	if t == nil {
		return nil, fail.New(fail.Unsupported, "the logical type %q cannot be read", logical)
	}
	return t, nil
}

// arrowVector is the type of item:dimension, or nil.
func arrowVector(rest string) arrow.DataType {
	at := strings.LastIndexByte(rest, ':')
	if at <= 0 {
		return nil
	}
	item, err := arrowLeaf(rest[:at])
	if err != nil || !vectorItem(item) {
		return nil
	}
	dim, err := strconv.ParseInt(rest[at+1:], 10, 32)
	if err != nil || dim <= 0 || dim > maxVectorDim {
		return nil
	}
	return arrow.FixedSizeListOfField(int32(dim), arrow.Field{Name: "item", Type: item, Nullable: true})
}

// arrowDecimal is the type of bits:precision:scale, or nil.
func arrowDecimal(rest string) arrow.DataType {
	var bits, precision, scale int32
	if n, _ := fmt.Sscanf(rest, "%d:%d:%d", &bits, &precision, &scale); n != 3 || precision < 1 || scale < -precision || scale > precision {
		return nil
	}
	switch {
	case bits == 128 && precision <= 38:
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}
	case bits == 256 && precision <= 76:
		return &arrow.Decimal256Type{Precision: precision, Scale: scale}
	}
	return nil
}
