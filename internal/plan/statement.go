package plan

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
)

// Statement is what a session runs: a query, a change of data, a change of the
// catalog, or a session command.
type Statement interface{ statement() }

// Query returns rows. Cols are the output columns as the client sees them
// (names may repeat); Root's columns correspond by position.
type Query struct {
	Root Node
	Cols []Column
}

// Written is the label of the leaf that RETURNING reads.
const Written = "written"

// Insert writes rows; into a collection it is an upsert by key. Fields[i] is the
// field that column i of Input sets; other fields are NULL.
type Insert struct {
	Object *schema.Object
	Input  Node
	Fields []string
	// Returning is a plan over the leaf Written, whose rows are those of Input; nil
	// without RETURNING.
	Returning Node
	// Conflict is ON CONFLICT, or nil: rows replace those of their keys.
	Conflict *Conflict
}

// Conflict says what an INSERT does with rows whose key is there: nothing, or
// Update: a plan over the leaf Written, for each such row its _pk and then the
// values of Fields.
type Conflict struct {
	Update Node
	Fields []string
}

// Update patches rows. Input has _ingest_partition and _ingest_offset of each row (and _pk
// for a collection) as its first columns, then one column for each of Fields with the new value.
type Update struct {
	Object *schema.Object
	Input  Node
	Fields []string
	// Joined is set when a row may come several times; the first counts.
	Joined    bool
	Returning Node
}

// Delete removes rows. Input has _ingest_partition and _ingest_offset of each row (and _pk for a collection).
type Delete struct {
	Object    *schema.Object
	Input     Node
	Joined    bool
	Returning Node
}

// CreateNamespace and DropNamespace change the list of namespaces.
type CreateNamespace struct {
	Namespace   string
	IfNotExists bool
	Options     map[string]string
}

// AlterNamespace changes options of a namespace.
type AlterNamespace struct {
	Namespace string
	Options   []NamespaceOption // in the order in which they take effect
}

// NamespaceOption is an option and its new value; nil takes it away.
type NamespaceOption struct {
	Name  string
	Value *string
}

// DropNamespace removes a namespace; with Cascade also what is in it, and the
// views that read it.
type DropNamespace struct {
	Namespace string
	Cascade   bool
}

// CreateObject makes a collection or a table. As, when not nil, gives its first
// rows (CREATE TABLE AS), column i for field i.
type CreateObject struct {
	// Object has no ID yet.
	Object      *schema.Object
	IfNotExists bool
	OrReplace   bool
	As          Node
}

// CreateView makes a view, or gives the view Old another query.
type CreateView struct {
	// View has no id yet.
	View *schema.Object
	// Old is what has the name already, or nil.
	Old         *schema.Object
	IfNotExists bool
}

// CreateLink makes a link.
type CreateLink struct {
	// Link has no id yet.
	Link *schema.Object
	// Latest says that the link begins at the source's end, not at its beginning.
	Latest bool
	// Dead describes the dead letters where they have to be made; Link.Link.Dead is
	// then to be set.
	Dead *schema.Object
}

// AlterLink pauses a link, lets it go on, or changes its options: New describes it
// afterwards.
type AlterLink struct {
	Old, New *schema.Object
	// Earliest and Latest let it go on at the oldest record that the source keeps, or
	// behind the newest; never before where it stopped.
	Earliest, Latest bool
	Note             string
}

// AlterObject gives an object another description.
type AlterObject struct {
	Old, New *schema.Object
	// Note tells of what IF EXISTS and IF NOT EXISTS passed over.
	Note string
}

// DropObjects removes objects together; with Cascade also the views that read them.
type DropObjects struct {
	Objects []*schema.Object
	Cascade bool
	// Note tells of those that IF EXISTS did not find.
	Note string
}

// CreateTag gives a version of an object a name that keeps it.
type CreateTag struct {
	Object *schema.Object
	Name   string
	// At is the state to tag; nil: the current one, which is applied first.
	At *At
	// Expires is a TIMESTAMP without columns, or nil: never.
	Expires     expr.Expr
	Protect     bool
	Comment     string
	IfNotExists bool
}

// DropTags removes tags of one object. Offsets are their places in the text.
type DropTags struct {
	Object   *schema.Object
	Names    []string
	Offsets  []int
	IfExists bool
}

// ViewRef is a view at one version.
type ViewRef struct {
	ID      uint64 `json:"id"`
	Version uint64 `json:"version"`
}

// Nothing is a statement with no effect (DROP … IF EXISTS of what is not there,
// BEGIN, COMMIT); Note is told to the user.
type Nothing struct{ Note string }

// KillQuery ends a running statement, by its id in system.queries.
type KillQuery struct{ ID int64 }

// SetOption sets a session option; Value nil resets it to its default.
type SetOption struct {
	Option string
	Value  *string
}

// Explain describes the plan of a statement; Analyze runs it.
type Explain struct {
	Target  Statement
	Analyze bool
}

func (*Query) statement()           {}
func (*Insert) statement()          {}
func (*Update) statement()          {}
func (*Delete) statement()          {}
func (*CreateNamespace) statement() {}
func (*AlterNamespace) statement()  {}
func (*DropNamespace) statement()   {}
func (*CreateObject) statement()    {}
func (*DropObjects) statement()     {}
func (*CreateView) statement()      {}
func (*CreateLink) statement()      {}
func (*AlterLink) statement()       {}
func (*AlterObject) statement()     {}
func (*Nothing) statement()         {}
func (*CreateTag) statement()       {}
func (*DropTags) statement()        {}
func (*SetOption) statement()       {}
func (*KillQuery) statement()       {}
func (*Explain) statement()         {}

// Prepared is a bound and optimized statement with its parameters.
type Prepared struct {
	SQL       string
	Statement Statement
	// Params are the parameters' types in order of first use; Unknown where no
	// context says.
	Params []types.Type
	// Names are the parameters' names, "" for those that have a number only.
	Names []string
	// Stable is set when the plan reads now() or session state.
	Stable bool
	// Views are the views whose queries the plan holds.
	Views []ViewRef
}
