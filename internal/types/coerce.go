package types

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
	case a.Kind == Vector && b.Kind == List && b.Elem.numericOrUnknown():
		return a, true
	case b.Kind == Vector && a.Kind == List && a.Elem.numericOrUnknown():
		return b, true
	}
	return Type{}, false
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
	if from.Kind == to.Kind && from.Kind != List && from.Kind != Vector && from.Kind != Decimal {
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
		if to == Date {
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
