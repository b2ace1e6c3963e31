package column

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// zone bounds the values of a chunk, for types with a cheap order: no value is below
// lo or above hi. The bounds are values, but for long texts.
func zone(v *vec.Vector) (lo, hi []byte) {
	switch v.Type.Kind {
	case types.Int32, types.Date:
		return zoneOf(v.Int32s, v.Valid)
	case types.Int64, types.Timestamp, types.Time:
		return zoneOf(v.Int64s, v.Valid)
	case types.Double:
		return doubleZone(v)
	case types.Decimal, types.UUID:
		return decimalZone(v)
	case types.Text:
		return textZone(v)
	}
	return nil, nil
}

func zoneOf[T int32 | int64](vals []T, valid vec.Bitmap) (lo, hi []byte) {
	least, most, ok := span(vals, valid)
	if !ok {
		return nil, nil
	}
	return zoneWord(uint64(int64(least))), zoneWord(uint64(int64(most)))
}

// zoneWord writes a zone bound of a number.
func zoneWord(u uint64) []byte { return binary.LittleEndian.AppendUint64(nil, u) }

func doubleZone(v *vec.Vector) (lo, hi []byte) {
	least, most, ok := 0.0, 0.0, false
	for i, f := range v.Float64s {
		switch {
		case !v.Valid.Get(i):
		case !ok:
			least, most, ok = f, f, true
		default:
			if lessDouble(f, least) {
				least = f
			}
			if lessDouble(most, f) {
				most = f
			}
		}
	}
	if !ok {
		return nil, nil
	}
	return zoneWord(math.Float64bits(least)), zoneWord(math.Float64bits(most))
}

func textZone(v *vec.Vector) (lo, hi []byte) {
	least, most, ok := "", "", false
	for i := range v.N {
		if !v.Valid.Get(i) {
			continue
		}
		s := v.Strings.At(i)
		switch {
		case !ok:
			least, most, ok = s, s, true
		case s < least:
			least = s
		case s > most:
			most = s
		}
	}
	if !ok {
		return nil, nil
	}
	low, high := floorText(least), ceilText(most)
	if low == nil || len(high) == 0 { // JSON would leave an empty bound out
		return nil, nil
	}
	return low, high
}

// maxZoneText is the longest text that bounds a zone, in bytes.
const maxZoneText = 64

// floorText is a text of at most maxZoneText bytes that is not above s: s or the
// beginning of it. Nil when it would not be UTF-8.
func floorText(s string) []byte {
	if len(s) > maxZoneText {
		cut := maxZoneText
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	if !utf8.ValidString(s) {
		return nil
	}
	return append([]byte{}, s...)
}

// ceilText is a text of at most maxZoneText bytes that is not below s: s, or its
// beginning with the last character that has a next one replaced by that. Nil when
// there is none. The order of texts is that of their bytes, which for UTF-8 is that
// of their characters.
func ceilText(s string) []byte {
	b := floorText(s)
	if b == nil || len(b) == len(s) {
		return b
	}
	for len(b) > 0 {
		r, size := utf8.DecodeLastRune(b)
		b = b[:len(b)-size]
		switch {
		case r == utf8.MaxRune:
			continue
		case r == surrogates-1:
			r = afterSurrogates
		default:
			r++
		}
		if len(b)+utf8.RuneLen(r) <= maxZoneText {
			return utf8.AppendRune(b, r)
		}
	}
	return nil
}

// The code points that are no characters.
const surrogates, afterSurrogates = 0xD800, 0xE000

func decimalZone(v *vec.Vector) (lo, hi []byte) {
	var least, most decimal128.Num
	ok := false
	for i, d := range v.Decimals {
		switch {
		case !v.Valid.Get(i):
		case !ok:
			least, most, ok = d, d, true
		case d.Less(least):
			least = d
		case most.Less(d):
			most = d
		}
	}
	if !ok {
		return nil, nil
	}
	return appendDecimal(nil, least), appendDecimal(nil, most)
}

// appendDecimal writes the unscaled value in two's complement.
func appendDecimal(dst []byte, d decimal128.Num) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, d.LowBits()), uint64(d.HighBits()))
}

// decodeZones reads a pair of bounds; false when there are none. JSON leaves the
// empty text out, above which all texts are.
func decodeZones(t types.Type, min, max []byte) (lo, hi vec.Value, ok bool) {
	if t.Kind == types.Text && min == nil && max != nil {
		min = []byte{}
	}
	lo, ok1 := decodeZone(t, min)
	hi, ok2 := decodeZone(t, max)
	return lo, hi, ok1 && ok2
}

func decodeZone(t types.Type, b []byte) (vec.Value, bool) {
	switch {
	case b == nil:
		return vec.Value{}, false
	case t.Kind == types.Text:
		return vec.Value{Type: t, Str: unsafe.String(unsafe.SliceData(b), len(b))}, true
	case (t.Kind == types.Decimal || t.Kind == types.UUID) && len(b) == 16:
		return vec.Value{Type: t, Dec: decimal128.New(int64(binary.LittleEndian.Uint64(b[8:])), binary.LittleEndian.Uint64(b))}, true
	case len(b) != 8:
		return vec.Value{}, false
	}
	u := binary.LittleEndian.Uint64(b)
	if t.Kind == types.Double {
		return vec.Value{Type: t, Float: math.Float64frombits(u)}, true
	}
	return vec.Value{Type: t, Int: int64(u)}, true
}

// Less orders two values of one zoned type, scale included; NaN is the greatest double.
func Less(a, b vec.Value) bool {
	switch a.Type.Kind {
	case types.Double:
		return lessDouble(a.Float, b.Float)
	case types.Text:
		return a.Str < b.Str
	case types.Decimal, types.UUID:
		return a.Dec.Less(b.Dec)
	}
	return a.Int < b.Int
}

func lessDouble(a, b float64) bool {
	if a != a {
		return false
	}
	return b != b || a < b
}
