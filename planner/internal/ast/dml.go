package ast

// Insert is INSERT INTO t [(columns)] query | DEFAULT VALUES.
type Insert struct {
	Span
	With      *With
	OrReplace bool
	Table     Name
	Alias     Ident
	Columns   []Ident
	ByName    bool
	// Source is nil for DEFAULT VALUES.
	Source     *Query
	OnConflict *OnConflict
	Returning  []*SelectItem
}

// OnConflict is ON CONFLICT [(columns)] DO NOTHING | DO UPDATE SET … [WHERE …];
// Sets is empty for DO NOTHING.
type OnConflict struct {
	Span
	Columns []Ident
	Sets    []*SetClause
	Where   Expr
}

// SetClause is column = value in UPDATE; with several columns, (a, b) = value,
// where Value is a [Row] or a [Subquery].
type SetClause struct {
	Span
	Columns []Name
	Value   Expr
}

// Update is UPDATE t SET … [FROM …] [WHERE …] [RETURNING …].
type Update struct {
	Span
	With      *With
	Table     Name
	Alias     Ident
	Sets      []*SetClause
	From      []TableRef
	Where     Expr
	Returning []*SelectItem
}

// Delete is DELETE FROM t [USING …] [WHERE …] [RETURNING …].
type Delete struct {
	Span
	With      *With
	Table     Name
	Alias     Ident
	Using     []TableRef
	Where     Expr
	Returning []*SelectItem
}

// Truncate is TRUNCATE [TABLE|COLLECTION] t, ….
type Truncate struct {
	Span
	Tables []Name
}

func (s *Insert) children(f func(Node)) {
	opt(f, s.With)
	opt(f, s.Source)
	opt(f, s.OnConflict)
	each(f, s.Returning)
}

func (o *OnConflict) children(f func(Node)) {
	each(f, o.Sets)
	opt(f, o.Where)
}

func (s *SetClause) children(f func(Node)) { opt(f, s.Value) }

func (s *Update) children(f func(Node)) {
	opt(f, s.With)
	each(f, s.Sets)
	each(f, s.From)
	opt(f, s.Where)
	each(f, s.Returning)
}

func (s *Delete) children(f func(Node)) {
	opt(f, s.With)
	each(f, s.Using)
	opt(f, s.Where)
	each(f, s.Returning)
}

func (*Truncate) children(func(Node)) {}
