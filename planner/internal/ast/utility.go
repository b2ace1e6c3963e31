package ast

// Explain is EXPLAIN [ANALYZE] [VERBOSE] [FORMAT f] statement.
type Explain struct {
	Span
	Analyze bool
	Verbose bool
	Format  string // lower-case; "" where none is written
	Stmt    Statement
}

// ShowKind is what SHOW lists.
type ShowKind uint8

// The lists of SHOW. SCHEMAS and DATABASES are read as NAMESPACES.
const (
	ShowNamespaces ShowKind = iota + 1
	ShowCollections
	ShowTables
	ShowViews
	ShowColumns
	ShowFunctions
	ShowTags
	ShowStreams
	ShowLinks
	ShowAll     // SHOW ALL: every setting
	ShowSetting // SHOW name
	ShowCreate  // SHOW CREATE kind name
)

// String is the keyword.
func (k ShowKind) String() string {
	return [...]string{"?", "NAMESPACES", "COLLECTIONS", "TABLES", "VIEWS", "COLUMNS", "FUNCTIONS", "TAGS",
		"STREAMS", "LINKS", "ALL", "SETTING", "CREATE"}[k]
}

// Show is SHOW list [FROM name] [LIKE 'pattern' | WHERE cond], SHOW setting, or
// SHOW CREATE kind name.
type Show struct {
	Span
	Kind ShowKind
	// Object is the kind of SHOW CREATE.
	Object ObjectKind
	// Name is the setting, the object of SHOW CREATE, the table of SHOW COLUMNS
	// FROM, the collection of SHOW TAGS ON, the namespace of SHOW TABLES FROM.
	Name  Name
	Like  Expr // a StringLit; nil without LIKE
	Where Expr
}

// Describe is DESCRIBE name or DESCRIBE query; exactly one is set.
type Describe struct {
	Span
	Name  Name
	Query *Query
}

// Set is SET [SESSION|LOCAL] name = value, …; SET TIME ZONE x sets timezone. A
// bare word as a value is a [ColumnRef] of one part; DEFAULT is [Default].
type Set struct {
	Span
	Local  bool
	Name   Name
	Values []Expr
}

// Reset is RESET name, or RESET ALL with an absent name.
type Reset struct {
	Span
	Name Name
}

// Use is USE [NAMESPACE|SCHEMA] name.
type Use struct {
	Span
	Name Name
}

// TxKind is the kind of a [Transaction] statement.
type TxKind uint8

// The transaction statements. START TRANSACTION is BEGIN, END is COMMIT, ABORT is ROLLBACK.
const (
	TxBegin TxKind = iota + 1
	TxCommit
	TxRollback
)

// String is the keyword.
func (k TxKind) String() string { return [...]string{"?", "BEGIN", "COMMIT", "ROLLBACK"}[k] }

// Transaction is BEGIN, COMMIT or ROLLBACK. Mode is the upper-case text of the
// modes of BEGIN (READ ONLY, ISOLATION LEVEL SERIALIZABLE), joined by ", ".
type Transaction struct {
	Span
	Kind TxKind
	Mode string
}

// Kill is KILL [QUERY] id or CANCEL [QUERY] id: it ends a running statement.
type Kill struct {
	Span
	ID *NumberLit
}

// Analyze is ANALYZE [tables].
type Analyze struct {
	Span
	Tables []Name
}

func (s *Explain) children(f func(Node)) { opt(f, s.Stmt) }

func (s *Show) children(f func(Node)) {
	opt(f, s.Like)
	opt(f, s.Where)
}

func (s *Describe) children(f func(Node)) { opt(f, s.Query) }
func (s *Set) children(f func(Node))      { each(f, s.Values) }
func (*Reset) children(func(Node))        {}
func (*Use) children(func(Node))          {}
func (*Transaction) children(func(Node))  {}
func (s *Kill) children(f func(Node))     { opt(f, s.ID) }
func (*Analyze) children(func(Node))      {}

func (*Query) statement()           {}
func (*Insert) statement()          {}
func (*Update) statement()          {}
func (*Delete) statement()          {}
func (*Truncate) statement()        {}
func (*CreateNamespace) statement() {}
func (*CreateTable) statement()     {}
func (*CreateView) statement()      {}
func (*CreateTag) statement()       {}
func (*Drop) statement()            {}
func (*AlterTable) statement()      {}
func (*Explain) statement()         {}
func (*Show) statement()            {}
func (*Describe) statement()        {}
func (*Set) statement()             {}
func (*Reset) statement()           {}
func (*Use) statement()             {}
func (*Transaction) statement()     {}
func (*Kill) statement()            {}
func (*Analyze) statement()         {}
func (*CreateStream) statement()    {}
func (*CreateLink) statement()      {}
func (*AlterLink) statement()       {}
