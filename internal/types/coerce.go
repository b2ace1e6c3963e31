package types

import "strings"

// Common returns the type that both operands are brought to for comparison, set
// operations, CASE branches and function arguments, and whether there is one.
// Unknown takes the other side's type; numbers go INT → BIGINT → DECIMAL → DOUBLE.
func Common(a, b Type) (Type, bool) {
	switch {
	case a.Equal(b):
		return a, true
	case a.Kind == Unknown:
		return b, true
	case b.Kind == Unknown:
		return a, true
	case a.Numeric() && b.Numeric():
		return commonNumber(a, b), true
	case a.Kind == Date && b.Kind == Timestamp, a.Kind == Timestamp && b.Kind == Date:
		return Of(Timestamp), true
	case a.Kind == JSON && b.Kind == Text, a.Kind == Text && b.Kind == JSON:
		return Of(Text), true
	case a.Kind == List && b.Kind == List:
		elem, ok := Common(*a.Elem, *b.Elem)
		return ListOf(elem), ok
	case a.Kind == Map && b.Kind == Map:
		entry, ok := commonStruct(*a.Elem, *b.Elem)
		return Type{Kind: Map, Elem: &entry}, ok
	case a.Kind == Struct && b.Kind == Struct:
		return commonStruct(a, b)
	case a.Kind == Vector && b.Kind == List && b.Elem.numericOrUnknown():
		return a, true
	case b.Kind == Vector && a.Kind == List && a.Elem.numericOrUnknown():
		return b, true
	}
	return Type{}, false
}

// commonStruct is the common type of two structs with the same names in the same
// order; names that differ in case alone are those of the first.
func commonStruct(a, b Type) (Type, bool) {
	if len(a.Fields) != len(b.Fields) {
		return Type{}, false
	}
	out := Type{Kind: Struct, Fields: make([]Field, len(a.Fields))}
	for i, f := range a.Fields {
		t, ok := Common(f.Type, b.Fields[i].Type)
		if !ok || !strings.EqualFold(f.Name, b.Fields[i].Name) {
			return Type{}, false
		}
		out.Fields[i] = Field{min(f.Name, b.Fields[i].Name), t}
	}
	return out, true
}

// MatchFields says which field of one struct each field of another is taken
// from in a cast: the one of its name or, when no name is shared and the counts
// agree, the one in its place. -1 is NULL. false when they have nothing in common.
func MatchFields(from, to Type) ([]int, bool) {
	at, shared := make([]int, len(to.Fields)), 0
	for i, f := range to.Fields {
		if at[i] = from.FieldNamed(f.Name); at[i] >= 0 {
			shared++
		}
	}
	if shared > 0 {
		return at, true
	}
	for i := range at {
		at[i] = i
	}
	return at, len(from.Fields) == len(to.Fields)
}

// castStruct is the worst of the casts of its fields.
func castStruct(from, to Type) CastKind {
	at, ok := MatchFields(from, to)
	if !ok {
		return NoCast
	}
	worst := ImplicitCast
	if len(from.Fields) != len(to.Fields) {
		worst = ExplicitCast
	}
	for i, f := range to.Fields {
		switch {
		case at[i] < 0:
			worst = min(worst, ExplicitCast)
		default:
			if !strings.EqualFold(from.Fields[at[i]].Name, f.Name) {
				worst = min(worst, ExplicitCast)
			}
			worst = min(worst, Cast(from.Fields[at[i]].Type, f.Type))
		}
	}
	return worst
}

func (t Type) numericOrUnknown() bool { return t.Numeric() || t.Kind == Unknown }

func commonNumber(a, b Type) Type {
	if a.Kind == Double || b.Kind == Double {
		return Of(Double)
	}
	if a.Kind == Decimal || b.Kind == Decimal {
		a, b = a.AsDecimal(), b.AsDecimal()
		scale := max(a.Scale, b.Scale)
		whole := max(a.Precision-a.Scale, b.Precision-b.Scale)
		return DecimalOf(min(whole+scale, MaxPrecision), scale)
	}
	return Of(Int64)
}

// AsDecimal is the decimal type that holds every value of an integer or decimal type.
func (t Type) AsDecimal() Type {
	switch t.Kind {
	case Int32:
		return DecimalOf(10, 0)
	case Int64:
		return DecimalOf(19, 0)
	}
	return t
}

// CastKind says how a cast is allowed.
type CastKind uint8

// Cast kinds: not at all; only when written (CAST, ::); also where an
// expression's context asks for the type.
const (
	NoCast CastKind = iota
	ExplicitCast
	ImplicitCast
)

// Cast says whether from can be brought to to.
func Cast(from, to Type) CastKind {
	if from.Kind == to.Kind && !hasParameters(from.Kind) {
		return ImplicitCast
	}
	switch {
	case from.Equal(to), from.Kind == Unknown:
		return ImplicitCast
	case from.Kind == Decimal && to.Kind == Decimal:
		return ImplicitCast
	case from.Numeric() && to.Numeric():
		if from.Kind < to.Kind && !(from.Kind == Double && to.Kind == Decimal) || from.Kind == Decimal && to.Kind == Double {
			return ImplicitCast
		}
		return ExplicitCast
	case from.Kind == List && to.Kind == List:
		return Cast(*from.Elem, *to.Elem)
	case from.Kind == Map && to.Kind == Map:
		return castStruct(*from.Elem, *to.Elem)
	case from.Kind == Struct && to.Kind == Struct:
		return castStruct(from, to)
	case from.Kind == List && to.Kind == Vector:
		if from.Elem.numericOrUnknown() {
			return ImplicitCast
		}
		return NoCast
	case from.Kind == Vector && to.Kind == List && to.Elem.Kind == Double:
		return ExplicitCast
	}
	return castRow(from.Kind, to.Kind)
}

// castRow is the table for pairs of different families.
func castRow(from, to Kind) CastKind {
	switch from {
	case Text:
		return ExplicitCast
	case JSON:
		if to == Text {
			return ImplicitCast
		}
		return ExplicitCast
	case Date:
		if to == Timestamp {
			return ImplicitCast
		}
	case Timestamp:
		if to == Date || to == Time {
			return ExplicitCast
		}
	case Time:
		if to == Interval {
			return ExplicitCast
		}
	case Interval:
		if to == Time {
			return ExplicitCast
		}
	case UUID:
		if to == Binary {
			return ExplicitCast
		}
	case Binary:
		if to == UUID {
			return ExplicitCast
		}
	case Boolean:
		if to == Int32 || to == Int64 {
			return ExplicitCast
		}
	case Int32, Int64:
		if to == Boolean {
			return ExplicitCast
		}
	}
	if to == Text || to == JSON && from != Binary {
		return ExplicitCast
	}
	return NoCast
}
