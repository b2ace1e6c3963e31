package kernel

import (
	"encoding/binary"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// AppendSortKey appends row i of v as bytes whose order under bytes.Compare is
// the order of [CompareRows], reversed with desc, NULLs before all or behind
// all. Keys of several columns are appended one behind the other: no key is a
// prefix of another of the same column. Equal values have equal bytes.
func AppendSortKey(dst []byte, v *vec.Vector, i int, desc, nullsFirst bool) []byte {
	if v.IsNull(i) {
		if nullsFirst {
			return append(dst, 0)
		}
		return append(dst, 2)
	}
	dst = append(dst, 1)
	start := len(dst)
	v, i = base(v, i)
	dst = appendKey(dst, v, i)
	if desc {
		for j := start; j < len(dst); j++ {
			dst[j] = ^dst[j]
		}
	}
	return dst
}

const signBit = 1 << 63

func appendKey(dst []byte, v *vec.Vector, i int) []byte {
	switch v.Type.Kind {
	case types.Boolean:
		return append(dst, byte(boolInt(v.Bools[i])))
	case types.Int32, types.Date:
		return binary.BigEndian.AppendUint32(dst, uint32(v.Int32s[i])^1<<31)
	case types.Int64, types.Timestamp, types.Time:
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int64s[i])^signBit)
	case types.Double:
		return appendDoubleKey(dst, v.Float64s[i])
	case types.Decimal, types.UUID:
		dst = binary.BigEndian.AppendUint64(dst, uint64(v.Decimals[i].HighBits())^signBit)
		return binary.BigEndian.AppendUint64(dst, v.Decimals[i].LowBits())
	case types.Interval:
		days, nanos := spanKey(v.Spans[i])
		dst = binary.BigEndian.AppendUint64(dst, uint64(days)^signBit)
		return binary.BigEndian.AppendUint64(dst, uint64(nanos))
	case types.Vector:
		d := int(v.Type.Dim)
		for _, f := range v.Float32s[i*d : (i+1)*d] {
			dst = appendDoubleKey(dst, float64(f))
		}
		return dst
	case types.Sparse:
		for j, ix := range v.SparseRows[i].Indices {
			dst = binary.BigEndian.AppendUint32(append(dst, 1), ix)
			dst = appendDoubleKey(dst, float64(v.SparseRows[i].Values[j]))
		}
		return append(dst, 0)
	case types.List, types.Map:
		for j := int(v.Offsets[i]); j < int(v.Offsets[i+1]); j++ {
			// Elements sort behind the end of a shorter list; NULL elements are greatest.
			dst = AppendSortKey(append(dst, 1), v.Child, j, false, false)
		}
		return append(dst, 0)
	case types.Struct:
		for _, f := range v.Fields {
			dst = AppendSortKey(dst, f, i, false, false)
		}
		return dst
	}
	return appendStringKey(dst, v.Strings.At(i))
}

func appendDoubleKey(dst []byte, f float64) []byte {
	b := doubleKey(f)
	if b&signBit != 0 {
		b = ^b
	} else {
		b |= signBit
	}
	return binary.BigEndian.AppendUint64(dst, b)
}

// appendStringKey writes a zero byte as 00 ff and ends with 00 00.
func appendStringKey(dst []byte, s string) []byte {
	for i := range len(s) {
		dst = append(dst, s[i])
		if s[i] == 0 {
			dst = append(dst, 0xff)
		}
	}
	return append(dst, 0, 0)
}
