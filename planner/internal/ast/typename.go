package ast

// TypeName is a type as written in a cast, a literal or a column definition.
type TypeName struct {
	Span
	// Name is upper-case, its words joined by one blank, with the spelling of
	// the text kept: BIGINT, INT8, DOUBLE PRECISION, SPARSE VECTOR, INTEGER
	// UNSIGNED, TIMESTAMP WITH TIME ZONE (TIMESTAMP WITHOUT TIME ZONE is
	// TIMESTAMP). It is ARRAY for t[], t ARRAY, ARRAY<t> and LIST<t>, STRUCT
	// for STRUCT(…), ROW(…) and STRUCT<…>, MAP for MAP(k, v) and MAP<k, v>. The
	// parser does not know which names exist.
	Name string
	// Mods are the numbers in parentheses: DECIMAL(12, 2), VARCHAR(10), VECTOR(384).
	Mods []int64
	// Elem is the element type of an ARRAY and Size its fixed length, 0 for any:
	// FLOAT[3] is ARRAY of FLOAT with Size 3.
	Elem *TypeName
	Size int64
	// Fields are the fields of a STRUCT.
	Fields []*TypeField
	// Key and Value are the types of a MAP.
	Key, Value *TypeName
}

// TypeField is one field of a STRUCT type.
type TypeField struct {
	Span
	Name Ident
	Type *TypeName
}

func (t *TypeName) children(f func(Node)) {
	opt(f, t.Elem)
	each(f, t.Fields)
	opt(f, t.Key)
	opt(f, t.Value)
}

func (t *TypeField) children(f func(Node)) { opt(f, t.Type) }
