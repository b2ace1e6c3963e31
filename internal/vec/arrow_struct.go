package vec

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// structFromArrow reads a struct column; the fields become those of t, matched
// as a cast matches them ([types.MatchFields]).
func structFromArrow(v *Vector, a *array.Struct, t types.Type) (*Vector, error) {
	if t.Kind != types.Struct {
		return v, nil // widen refuses it by name
	}
	names := types.Type{Kind: types.Struct}
	for _, f := range a.DataType().(*arrow.StructType).Fields() {
		names.Fields = append(names.Fields, types.Field{Name: f.Name})
	}
	at, ok := types.MatchFields(names, t)
	if !ok {
		return nil, fail.New(fail.DatatypeMismatch, "Arrow type %s does not fit a column of type %s", a.DataType(), t)
	}
	out := &Vector{Type: t, N: v.N, Valid: v.Valid}
	for i, f := range t.Fields {
		field := allNull(f.Type, v.N)
		if at[i] >= 0 {
			var err error
			if field, err = FromArrow(a.Field(at[i]), f.Type); err != nil {
				return nil, fail.Wrap(fail.CodeOf(err), err, "field %q", f.Name)
			}
		}
		out.Fields = append(out.Fields, field.Flatten())
	}
	return out, nil
}

// CheckMaps refuses maps with a NULL key or one key twice, naming the row.
func (v *Vector) CheckMaps() error {
	for i := range v.N {
		if v.IsNull(i) {
			continue
		}
		if err := CheckEntries(v.Value(i).List); err != nil {
			return fail.Wrap(fail.CodeOf(err), err, "row %d", i+1)
		}
	}
	return nil
}

// CheckEntries refuses the entries of a map with a NULL key or one key twice.
func CheckEntries(entries []Value) error {
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		if e.Null || e.List[0].Null {
			return fail.New(fail.InvalidParameter, "a key of a map is NULL")
		}
		key := e.List[0].String()
		if seen[key] {
			return fail.New(fail.InvalidParameter, "the map has the key %.60s twice", key)
		}
		seen[key] = true
	}
	return nil
}

// fillUUIDs reads texts or 16 bytes a row.
func (v *Vector) fillUUIDs(from *Vector) error {
	v.Decimals = make([]decimal128.Num, v.N)
	for i := range v.N {
		if v.IsNull(i) {
			continue
		}
		s := from.Strings.At(i)
		ok := len(s) == 16
		if from.Type.Kind == types.Text {
			v.Decimals[i], ok = ParseUUID(s)
		} else if ok {
			v.Decimals[i] = MakeUUID([16]byte([]byte(s)))
		}
		if !ok {
			return fail.New(fail.InvalidText, "row %d: %.60q is not a UUID", i+1, s)
		}
	}
	return nil
}

// fillClock reads times of day of any unit.
func fillClock[T int32 | int64](out *Vector, vals []T, unit arrow.TimeUnit) error {
	out.Int64s = make([]int64, len(vals))
	for i, x := range vals {
		us := int64(x)
		switch unit {
		case arrow.Second:
			us *= 1_000_000
		case arrow.Millisecond:
			us *= 1000
		case arrow.Nanosecond:
			us = floorDiv(us, 1000)
		}
		if (us < 0 || us > microsPerDay) && !out.IsNull(i) {
			return fail.New(fail.OutOfRange, "row %d: %d %s is not a time of the day", i+1, x, unit)
		}
		out.Int64s[i] = us
	}
	return nil
}
