package binder

import (
	"context"
	"errors"
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

// FileSchema tells the fields of files; see the planner's interface of the same name.
type FileSchema interface {
	FileSchema(ctx context.Context, scan *plan.FileScan) ([]schema.Field, error)
}

// Env is what binding may know. It is read-only while a statement is bound.
type Env struct {
	Catalog   catalog.Reader
	Functions expr.Registry
	// Files is nil where files cannot be read.
	Files FileSchema
	// Namespace is where names of one part are looked up.
	Namespace string
	// Settings are the names that SHOW knows; with none it takes any name.
	Settings []string
	// Options are the values in force by name, User who asks.
	Options map[string]string
	User    string
	// Eval computes an expression without columns and parameters whose functions
	// are immutable. nil leaves casts of literals in the plan.
	Eval func(expr.Expr) (vec.Value, error)
	// KeepDependent leaves dependent joins (plan.Join.Apply) in the plan instead of
	// unnesting them: for a reference that runs them row by row.
	KeepDependent bool
}

// Result is a bound statement.
type Result struct {
	Statement plan.Statement
	// Params are the types of the parameters by number; Unknown where nothing says.
	Params []types.Type
	// Names are the parameters' names, "" for those that have a number only.
	Names []string
	// Stable is set when the plan reads now() or session state.
	Stable bool
	// Views are the views whose queries are in the plan.
	Views []plan.ViewRef
}

// Binder holds the state of one statement. It is used once, by one goroutine.
type Binder struct {
	ctx    context.Context
	env    *Env
	text   string
	nextID expr.ColumnID
	params []types.Type
	names  map[string]int // named parameters
	stable bool
	// places says where in the text a column reference stands, for errors found later.
	places map[*expr.Column]int
	// chosen are the columns that calls of COLUMNS mean, each in its copy.
	chosen map[*ast.FuncCall]*visible
	ctes   *cteScope
	// binding are the tables of WITH whose queries are being bound, innermost last.
	binding []*cteScope
	// bound counts the expressions bound so far.
	bound int
	// system holds the names of system columns that the statement mentions.
	system map[string]bool
	// view is the view whose query is bound, nil outside of views; views are all that
	// were bound; uses collects what the names of a new view mean while it is made.
	view  *viewScope
	views []plan.ViewRef
	uses  *[]schema.Use
	// making is set while the query of a new view is bound.
	making bool
}

// Bind binds one statement of text. paramTypes gives the types of parameters
// that are known beforehand; it may be short or nil, and Unknown means not known.
func Bind(ctx context.Context, env Env, text string, stmt ast.Statement, paramTypes []types.Type) (Result, error) {
	b := newBinder(ctx, env, text)
	b.params = append(b.params, paramTypes...)
	b.survey(stmt)
	bound, err := b.statement(stmt)
	if err != nil {
		return Result{}, err
	}
	return Result{Statement: bound, Params: b.params, Names: b.paramNames(), Stable: b.stable, Views: b.views}, nil
}

// BindFilter binds a predicate over the fields and system columns of an object.
// The result reads columns whose names are field names; cols says which.
func BindFilter(ctx context.Context, env Env, text string, obj *schema.Object, e ast.Expr) (expr.Expr, []plan.ScanColumn, error) {
	b := newBinder(ctx, env, text)
	b.survey(e)
	scan, sc := b.scanObject(obj, obj.Name)
	c := &clause{b: b, scope: sc, name: "a filter"}
	pred, err := c.predicate(e)
	if err != nil {
		return nil, nil, err
	}
	if len(c.joins) > 0 {
		return nil, nil, b.fail(fail.Unsupported, e.Pos(), "a filter cannot hold a subquery")
	}
	if len(b.params) > 0 {
		return nil, nil, b.fail(fail.UndefinedParameter, e.Pos(), "a filter cannot have parameters")
	}
	return pred, usedColumns(scan.Cols, pred), nil
}

// usedColumns are the scan columns that a predicate reads.
func usedColumns(cols []plan.ScanColumn, pred expr.Expr) []plan.ScanColumn {
	used := map[expr.ColumnID]bool{}
	expr.Columns(pred, used)
	var out []plan.ScanColumn
	for _, c := range cols {
		if used[c.ID] {
			out = append(out, c)
		}
	}
	return out
}

func newBinder(ctx context.Context, env Env, text string) *Binder {
	if env.Namespace == "" {
		env.Namespace = catalog.DefaultNamespace
	}
	return &Binder{
		ctx: ctx, env: &env, text: text, nextID: 1,
		names: map[string]int{}, places: map[*expr.Column]int{}, chosen: map[*ast.FuncCall]*visible{}, system: map[string]bool{},
	}
}

// survey makes room for the numbered parameters, so that the named ones follow,
// and notes the system columns that are named anywhere, so that scans have them.
func (b *Binder) survey(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Param:
			b.growParams(x.Index)
		case *ast.Sample:
			if x.Seed != nil {
				b.system[string(schema.ColRowID)] = true
			}
		case *ast.ColumnRef:
			b.system[strings.ToLower(x.Parts[len(x.Parts)-1].Text)] = true
		}
		return true
	})
}

// maxParams bounds the number of parameters, as the wire protocols do.
const maxParams = 65535

func (b *Binder) growParams(n int) {
	for len(b.params) < min(n, maxParams) {
		b.params = append(b.params, types.Type{})
	}
}

// paramNames are the names by number, "" where there is none.
func (b *Binder) paramNames() []string {
	out := make([]string, len(b.params))
	for name, i := range b.names {
		out[i] = name
	}
	return out
}

func (b *Binder) newID() expr.ColumnID {
	id := b.nextID
	b.nextID++
	return id
}

// newColumn makes a column with a fresh id.
func (b *Binder) newColumn(name string, t types.Type) plan.Column {
	return plan.Column{ID: b.newID(), Name: name, Type: t}
}

// Limits on the size of what a statement turns into. A short text can stand for
// a huge plan: tables of WITH and aliases that each name the one before twice.
const (
	maxColumns = 1 << 17
	maxBound   = 1 << 19
)

// checkSize refuses a statement whose plan grows out of all proportion, and ends
// planning with its context.
func (b *Binder) checkSize(off int) error {
	if err := b.ctx.Err(); err != nil {
		return fail.Wrap(fail.Canceled, err, "planning was canceled")
	}
	if int(b.nextID) <= maxColumns && b.bound <= maxBound {
		return nil
	}
	return b.fail(fail.TooDeep, off, "the statement is too complex: its plan has more than %d columns or %d expressions", maxColumns, maxBound).
		WithHint("Store the rows of a part of it with CREATE TABLE AS.")
}

// fail makes an error at a byte offset of the statement.
func (b *Binder) fail(code fail.Code, off int, format string, args ...any) *fail.Error {
	return fail.New(code, format, args...).At(b.text, off)
}

// at gives an error of another room a place in the statement, if it has none.
func (b *Binder) at(err error, off int) error {
	var e *fail.Error
	if err == nil || !errors.As(err, &e) || e.Pos.Line > 0 {
		return err
	}
	placed := *e
	return placed.At(b.text, off)
}

// unsupported is the error for what the parser reads and the binder does not bind.
func (b *Binder) unsupported(off int, what string) error {
	err := b.fail(fail.Unsupported, off, "%s is not supported", what)
	if cure := cures[what]; cure != "" {
		return err.WithHint("%s", cure)
	}
	return err
}

// cures say what to write in place of what is not bound.
var cures = map[string]string{
	"SET NOT NULL":        "Create another table and fill it with INSERT INTO … SELECT.",
	"ALTER COLUMN … TYPE": "ADD another column, UPDATE it with CAST(…), and DROP the old one.",
}

// statement binds any statement.
func (b *Binder) statement(stmt ast.Statement) (plan.Statement, error) {
	switch s := stmt.(type) {
	case *ast.Query:
		return b.queryStatement(s)
	case *ast.Insert:
		return b.insert(s)
	case *ast.Update:
		return b.update(s)
	case *ast.Delete:
		return b.delete(s)
	case *ast.Truncate:
		return b.truncate(s)
	case *ast.CreateNamespace:
		return b.createNamespace(s)
	case *ast.CreateTable:
		return b.createTable(s)
	case *ast.CreateView:
		return b.createView(s)
	case *ast.CreateStream:
		return b.createStream(s)
	case *ast.CreateLink:
		return b.createLink(s)
	case *ast.AlterLink:
		return b.alterLink(s)
	case *ast.AlterTable:
		return b.alter(s)
	case *ast.Drop:
		return b.drop(s)
	case *ast.CreateTag:
		return b.createTag(s)
	case *ast.Explain:
		return b.explain(s)
	case *ast.Show:
		return b.show(s)
	case *ast.Describe:
		return b.describe(s)
	case *ast.Set:
		return b.set(s)
	case *ast.Reset:
		return b.reset(s)
	case *ast.Use:
		return b.use(s)
	case *ast.Kill:
		return b.kill(s)
	case *ast.Analyze:
		return b.analyze(s)
	case *ast.Transaction:
		return &plan.Nothing{Note: s.Kind.String() + " has no effect: every statement is atomic by itself"}, nil
	}
	return nil, b.unsupported(stmt.Pos(), statementName(stmt))
}

// statementName names a statement that is not bound, for its error.
func statementName(stmt ast.Statement) string {
	switch stmt.(type) {
	}
	return "this statement"
}

func (b *Binder) queryStatement(q *ast.Query) (plan.Statement, error) {
	root, err := b.query(q, nil)
	if err != nil {
		return nil, err
	}
	root = b.settleTypes(root)
	return &plan.Query{Root: root, Cols: root.Columns()}, nil
}

func (b *Binder) explain(s *ast.Explain) (plan.Statement, error) {
	if s.Format != "" && s.Format != "text" && s.Format != "tree" {
		return nil, b.unsupported(s.Pos(), "EXPLAIN in the format "+s.Format)
	}
	target, err := b.statement(s.Stmt)
	if err != nil {
		return nil, err
	}
	return &plan.Explain{Target: target, Analyze: s.Analyze}, nil
}
