package ast

// Op is an operator of a [Unary], [Binary], [Logic] or [Quantified] node. Its
// value is the operator's canonical SQL spelling.
type Op string

// The operators. Spellings such as <>, == and ** are read as !=, = and ^.
const (
	OpAnd Op = "AND"
	OpOr  Op = "OR"

	OpNot    Op = "NOT" // unary
	OpNeg    Op = "-"   // unary; the same text as OpSub
	OpPlus   Op = "+"   // unary; the same text as OpAdd
	OpBitNot Op = "~"   // unary; the same text as OpRegex

	OpEq          Op = "="
	OpNe          Op = "!="
	OpLt          Op = "<"
	OpLe          Op = "<="
	OpGt          Op = ">"
	OpGe          Op = ">="
	OpDistinct    Op = "IS DISTINCT FROM"
	OpNotDistinct Op = "IS NOT DISTINCT FROM"

	OpAdd    Op = "+"
	OpSub    Op = "-"
	OpMul    Op = "*"
	OpDiv    Op = "/"
	OpIntDiv Op = "//"
	OpMod    Op = "%"
	OpPow    Op = "^"

	OpConcat     Op = "||"
	OpBitAnd     Op = "&"
	OpBitOr      Op = "|"
	OpBitXor     Op = "#"
	OpShiftLeft  Op = "<<"
	OpShiftRight Op = ">>"

	OpRegex      Op = "~"
	OpRegexI     Op = "~*"
	OpNotRegex   Op = "!~"
	OpNotRegexI  Op = "!~*"
	OpContains   Op = "@>"
	OpContained  Op = "<@"
	OpOverlap    Op = "&&"
	OpArrow      Op = "->"  // JSON member, or a lambda where the function takes one
	OpArrowText  Op = "->>" // JSON member as text
	OpHashArrow  Op = "#>"
	OpHashArrowT Op = "#>>"

	OpL2Distance     Op = "<->"
	OpCosineDistance Op = "<=>"
	OpInnerProduct   Op = "<#>" // the negated inner product, as in pgvector
)

// Precedences of the language, loosest first. Both the parser and the deparser
// read them, so that they cannot disagree. A left-associative operator of
// precedence p takes a right operand that binds tighter than p.
const (
	PrecOr         = 10
	PrecAnd        = 20
	PrecNot        = 30
	PrecIs         = 40 // IS NULL, IS TRUE, IS DISTINCT FROM
	PrecComparison = 45 // = != < <= > >=, not chained
	PrecRange      = 50 // BETWEEN, IN, LIKE, ILIKE, SIMILAR TO, not chained
	PrecOther      = 60 // every operator not named elsewhere
	PrecAdd        = 70
	PrecMul        = 80
	PrecPow        = 90
	PrecTimeZone   = 93 // AT TIME ZONE
	PrecCollate    = 94 // COLLATE
	PrecUnary      = 100
	PrecPostfix    = 110 // :: [] .
	PrecPrimary    = 120
)

// Precedence is the binding power of the operator between two operands; 0 for
// an operator that is not binary.
func (o Op) Precedence() int {
	switch o {
	case OpOr:
		return PrecOr
	case OpAnd:
		return PrecAnd
	case OpDistinct, OpNotDistinct:
		return PrecIs
	case OpEq, OpNe, OpLt, OpLe, OpGt, OpGe:
		return PrecComparison
	case OpAdd, OpSub:
		return PrecAdd
	case OpMul, OpDiv, OpIntDiv, OpMod:
		return PrecMul
	case OpPow:
		return PrecPow
	case OpNot:
		return 0
	default:
		return PrecOther
	}
}

// IsComparison reports whether the operator compares two values and gives a boolean.
func (o Op) IsComparison() bool {
	p := o.Precedence()
	return p == PrecComparison || p == PrecIs
}
