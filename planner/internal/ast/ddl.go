package ast

// ObjectKind is a kind of catalog object, as a DDL statement names it.
type ObjectKind uint8

// The kinds of object. SCHEMA is read as NAMESPACE.
const (
	ObjectNamespace ObjectKind = iota + 1
	ObjectCollection
	ObjectTable
	ObjectView
	ObjectStream
	ObjectLink
	ObjectTag
)

// String is the keyword.
func (k ObjectKind) String() string {
	return [...]string{"?", "NAMESPACE", "COLLECTION", "TABLE", "VIEW", "STREAM", "LINK", "TAG"}[k]
}

// Option is name = value in a WITH list; the name may have dots. A bare word as
// a value is a [ColumnRef] of one part; a name alone has the value TRUE.
type Option struct {
	Span
	Name  Name
	Value Expr
}

// CreateNamespace is CREATE [OR REPLACE] NAMESPACE|SCHEMA [IF NOT EXISTS] name.
type CreateNamespace struct {
	Span
	OrReplace   bool
	IfNotExists bool
	Name        Name
	Options     []*Option
}

// CreateTable is CREATE COLLECTION or CREATE TABLE, with columns or with AS query.
type CreateTable struct {
	Span
	// Kind is ObjectCollection or ObjectTable.
	Kind        ObjectKind
	OrReplace   bool
	Temporary   bool
	IfNotExists bool
	Name        Name
	Columns     []*ColumnDef
	Constraints []*TableConstraint
	Options     []*Option
	As          *Query // nil without AS
}

// ColumnDef is one column of a CREATE TABLE or ADD COLUMN. Type is nil only for
// the bare column names of CREATE TABLE t (a, b) AS ….
type ColumnDef struct {
	Span
	Name        Ident
	Type        *TypeName
	Constraints []*ColumnConstraint
}

// ConstraintKind is the kind of a column or table constraint.
type ConstraintKind uint8

// The constraints. The parser allows each at most once a column.
const (
	ConstraintPrimaryKey ConstraintKind = iota + 1
	ConstraintNotNull
	ConstraintNull
	ConstraintUnique
	ConstraintFullText  // FULLTEXT ['analyzer']
	ConstraintDistance  // DISTANCE metric
	ConstraintModifier  // MODIFIER idf
	ConstraintDefault   // DEFAULT expr
	ConstraintCheck     // CHECK (expr)
	ConstraintComment   // COMMENT 'text'
	ConstraintGenerated // GENERATED ALWAYS AS (expr)
)

// String is the keyword.
func (k ConstraintKind) String() string {
	return [...]string{"?", "PRIMARY KEY", "NOT NULL", "NULL", "UNIQUE", "FULLTEXT", "DISTANCE",
		"MODIFIER", "DEFAULT", "CHECK", "COMMENT", "GENERATED ALWAYS AS"}[k]
}

// ColumnConstraint is one constraint of a column.
type ColumnConstraint struct {
	Span
	Kind ConstraintKind
	// Text is the analyzer of FULLTEXT ("" where none is named), the metric of
	// DISTANCE and the name of MODIFIER (both lower-case), the text of COMMENT.
	Text string
	// Expr is the expression of DEFAULT, CHECK and GENERATED.
	Expr Expr
}

// TableConstraint is PRIMARY KEY (a, b), UNIQUE (a) or CHECK (expr) in a column list.
type TableConstraint struct {
	Span
	Name    Ident // of CONSTRAINT name; zero without
	Kind    ConstraintKind
	Columns []Ident
	Expr    Expr // CHECK
}

// CreateView is CREATE [OR REPLACE] [SEARCH] VIEW name [(columns)] AS query.
type CreateView struct {
	Span
	OrReplace   bool
	Temporary   bool
	Search      bool
	IfNotExists bool
	Name        Name
	Columns     []Ident
	Query       *Query
}

// Drop is DROP kind [IF EXISTS] name, … [CASCADE|RESTRICT].
type Drop struct {
	Span
	Kind     ObjectKind
	IfExists bool
	Names    []Name
	Cascade  bool
	// On is the collection of DROP TAG t ON c; absent otherwise.
	On Name
	// Target is what DROP LINK does with the link's target.
	Target DropTarget
}

// DropTarget says what DROP LINK does with the target of the link.
type DropTarget uint8

// The choices; TargetUnsaid keeps the target.
const (
	TargetUnsaid DropTarget = iota
	TargetKeep
	TargetDrop
)

// String is the clause.
func (t DropTarget) String() string { return [...]string{"", "KEEP TARGET", "DROP TARGET"}[t] }

// AlterTable is ALTER TABLE|COLLECTION|VIEW|NAMESPACE [IF EXISTS] name action, ….
type AlterTable struct {
	Span
	Kind     ObjectKind
	IfExists bool
	Name     Name
	Actions  []*AlterAction
}

// AlterKind is the kind of an [AlterAction].
type AlterKind uint8

// The actions.
const (
	AlterAddColumn    AlterKind = iota + 1 // ADD [COLUMN] [IF NOT EXISTS] def
	AlterDropColumn                        // DROP [COLUMN] [IF EXISTS] name
	AlterRenameColumn                      // RENAME [COLUMN] name TO new
	AlterRename                            // RENAME TO new
	AlterColumnType                        // ALTER [COLUMN] name [SET DATA] TYPE t
	AlterSetDefault                        // ALTER [COLUMN] name SET DEFAULT expr
	AlterDropDefault                       // ALTER [COLUMN] name DROP DEFAULT
	AlterSetNotNull                        // ALTER [COLUMN] name SET NOT NULL
	AlterDropNotNull                       // ALTER [COLUMN] name DROP NOT NULL
	AlterSetOptions                        // SET (k = v, …)
	AlterResetOptions                      // RESET (k, …): options with a nil value
)

// String names the action.
func (k AlterKind) String() string {
	return [...]string{"?", "ADD COLUMN", "DROP COLUMN", "RENAME COLUMN", "RENAME TO", "TYPE", "SET DEFAULT",
		"DROP DEFAULT", "SET NOT NULL", "DROP NOT NULL", "SET", "RESET"}[k]
}

// AlterAction is one action of an [AlterTable]. IfExists is IF EXISTS of a
// dropped column or IF NOT EXISTS of an added one.
type AlterAction struct {
	Span
	Kind     AlterKind
	IfExists bool
	Column   Ident // the column that is dropped, renamed or altered
	NewName  Ident // of the two renames
	Def      *ColumnDef
	Type     *TypeName
	Default  Expr
	Options  []*Option
}

// CreateTag is CREATE [OR REPLACE] TAG [IF NOT EXISTS] name ON collection [AT (…)]
// [WITH (…)].
type CreateTag struct {
	Span
	OrReplace   bool
	IfNotExists bool
	Name        Ident
	On          Name
	At          *At // nil: the current version
	Options     []*Option
}

func (o *Option) children(f func(Node))           { opt(f, o.Value) }
func (s *CreateNamespace) children(f func(Node))  { each(f, s.Options) }
func (c *ColumnConstraint) children(f func(Node)) { opt(f, c.Expr) }
func (c *TableConstraint) children(f func(Node))  { opt(f, c.Expr) }
func (s *CreateView) children(f func(Node))       { opt(f, s.Query) }
func (*Drop) children(func(Node))                 {}
func (s *AlterTable) children(f func(Node))       { each(f, s.Actions) }

func (s *CreateTag) children(f func(Node)) {
	opt(f, s.At)
	each(f, s.Options)
}

func (s *CreateTable) children(f func(Node)) {
	each(f, s.Columns)
	each(f, s.Constraints)
	each(f, s.Options)
	opt(f, s.As)
}

func (c *ColumnDef) children(f func(Node)) {
	opt(f, c.Type)
	each(f, c.Constraints)
}

func (a *AlterAction) children(f func(Node)) {
	opt(f, a.Def)
	opt(f, a.Type)
	opt(f, a.Default)
	each(f, a.Options)
}
