package planner

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/binder"
	"github.com/loamdb/loam/planner/internal/optimizer"
	"github.com/loamdb/loam/planner/internal/parser"
)

// Session is what binding may know of the session that prepares a statement.
type Session struct {
	// Namespace is where names of one part are looked up; "" is catalog.DefaultNamespace.
	Namespace string
	// User and Now answer current_user and now() where an argument must be known
	// while planning; elsewhere these calls stay in the plan.
	User string
	Now  time.Time
	// Options are the session's settings by lower-case name. The planner reads
	// OptionDisabledPasses.
	Options map[string]string
}

// OptionDisabledPasses is the session option that lists optimizer passes to skip,
// separated by commas; "all" skips every one.
const OptionDisabledPasses = "disabled_passes"

// OptionNamespace is the session option that USE sets.
const OptionNamespace = binder.NamespaceOption

// FileSchema tells the fields of files that a query reads. The caller implements
// it and decides which paths may be read at all.
type FileSchema interface {
	// FileSchema returns the fields that the files of a scan have in common, in
	// order. The scan's columns are not set yet.
	FileSchema(ctx context.Context, scan *plan.FileScan) ([]schema.Field, error)
}

// Stats tells the optimizer how large objects are and what is in their fields.
type Stats interface {
	// Statistics estimates what an object holds; false where nothing is known. It is
	// asked once a statement for each object of a join, and of all that EXPLAIN shows.
	Statistics(ctx context.Context, obj *schema.Object) (ObjectStats, bool)
}

// ObjectStats are estimates of an object, ColumnStats of one of its fields.
type (
	ObjectStats = optimizer.ObjectStats
	ColumnStats = optimizer.ColumnStats
)

// Planner prepares statements. It is safe for concurrent use.
type Planner struct {
	cat   catalog.Reader
	fns   expr.Registry
	files FileSchema
	stats Stats
	// dependent is for tests: see binder.Env.KeepDependent.
	dependent bool
}

// New returns a planner over a catalog and a registry of functions.
func New(cat catalog.Reader, fns expr.Registry) *Planner {
	return &Planner{cat: cat, fns: fns}
}

// WithFiles returns a planner that can also bind read_parquet and its like.
func (p *Planner) WithFiles(files FileSchema) *Planner {
	k := *p
	k.files = files
	return &k
}

// WithStats returns a planner that estimates rows, for the order of joins.
func (p *Planner) WithStats(stats Stats) *Planner {
	k := *p
	k.stats = stats
	return &k
}

// WithCatalog returns a planner over another catalog, such as one that a change
// would make.
func (p *Planner) WithCatalog(cat catalog.Reader) *Planner {
	k := *p
	k.cat = cat
	return &k
}

// CheckView binds the query of a view and compares its columns with the view's.
func (p *Planner) CheckView(ctx context.Context, view *schema.Object) error {
	return binder.BindView(ctx, p.env(ctx, Session{}), view)
}

// ViewText is the query of a view with the names that its objects have today.
func (p *Planner) ViewText(ctx context.Context, view *schema.Object) (string, error) {
	return binder.ViewText(ctx, p.env(ctx, Session{}), view)
}

// Transform binds what a link does with the rows of its source, as source and
// target are now. Errors say what of them has changed.
func (p *Planner) Transform(ctx context.Context, link *schema.Object) (*plan.Transform, error) {
	t, err := binder.BindLink(ctx, p.env(ctx, Session{}), link)
	if err != nil {
		return nil, err
	}
	for i, e := range t.Exprs {
		t.Exprs[i] = optimizer.Simplify(e)
	}
	if t.Where != nil {
		t.Where = optimizer.Simplify(t.Where)
	}
	return t, nil
}

// LinkText is the statement that makes a link, with the names that its objects have today.
func (p *Planner) LinkText(ctx context.Context, link *schema.Object) (string, error) {
	return binder.LinkText(ctx, p.env(ctx, Session{}), link)
}

// Prepare parses, binds and optimizes the statements of a text. paramTypes are
// the types of parameters that the client declares; it may be nil or short, and
// types.Unknown leaves the type to the context. Errors carry SQLSTATE, place and
// a cure where there is one. An empty text gives no statement and no error.
func (p *Planner) Prepare(ctx context.Context, sess Session, sql string, paramTypes []types.Type) ([]*plan.Prepared, error) {
	stmts, err := parser.Parse(sql)
	if err != nil {
		return nil, err
	}
	out := make([]*plan.Prepared, len(stmts))
	for i, stmt := range stmts {
		if out[i], err = p.prepare(ctx, sess, sql, stmt, paramTypes); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *Planner) prepare(ctx context.Context, sess Session, sql string, stmt ast.Statement, paramTypes []types.Type) (*plan.Prepared, error) {
	bound, err := binder.Bind(ctx, p.env(ctx, sess), sql, stmt, paramTypes)
	if err != nil {
		return nil, err
	}
	pr := &plan.Prepared{
		SQL: strings.TrimSpace(sql[stmt.Pos():stmt.End()]), Statement: bound.Statement,
		Params: bound.Params, Names: bound.Names, Stable: bound.Stable, Views: bound.Views,
	}
	opts, err := p.options(ctx, sess)
	if err != nil {
		return nil, err
	}
	opts.Unbound = len(pr.Params) > 0
	if pr.Statement, err = optimizer.Statement(pr.Statement, opts); err != nil {
		return nil, err
	}
	return pr, nil
}

func (p *Planner) env(ctx context.Context, sess Session) binder.Env {
	env := &expr.Env{Ctx: ctx, Now: sess.Now, Namespace: sess.Namespace, User: sess.User}
	return binder.Env{
		Catalog: p.cat, Functions: p.fns, Files: p.files, Namespace: sess.Namespace, KeepDependent: p.dependent,
		Settings: slices.Sorted(maps.Keys(sess.Options)), Options: sess.Options, User: sess.User,
		Eval: func(e expr.Expr) (vec.Value, error) { return expr.EvalConst(env, e) },
	}
}

// statsFor asks for statistics in the name of one statement.
func (p *Planner) statsFor(ctx context.Context) optimizer.Stats {
	if p.stats == nil {
		return nil
	}
	return func(obj *schema.Object) (ObjectStats, bool) { return p.stats.Statistics(ctx, obj) }
}

// Rows estimates the rows that each node of a plan gives, as EXPLAIN shows them. The
// function is not for concurrent use.
func (p *Planner) Rows(ctx context.Context) func(plan.Node) float64 {
	return optimizer.Rows(p.statsFor(ctx))
}

func (p *Planner) options(ctx context.Context, sess Session) (optimizer.Options, error) {
	opts := optimizer.Options{Stats: p.statsFor(ctx)}
	for _, name := range strings.Split(sess.Options[OptionDisabledPasses], ",") {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case name == "":
		case name == "all":
			opts.Disabled = append(opts.Disabled, optimizer.PassNames()...)
		case !optimizer.HasPass(name):
			return opts, fail.New(fail.InvalidParameter, "%s: there is no pass %q", OptionDisabledPasses, name).
				WithHint("The passes are %s.", strings.Join(optimizer.PassNames(), ", "))
		default:
			opts.Disabled = append(opts.Disabled, name)
		}
	}
	return opts, nil
}

// PassNames lists the optimizer passes in the order in which they run.
func PassNames() []string { return optimizer.PassNames() }

// SystemTable describes a table whose rows the engine makes: it answers
// system.<Name>, SHOW and information_schema.
type SystemTable = binder.SystemTable

// SystemTables lists the system tables with their columns.
func SystemTables() []SystemTable { return binder.SystemTables }

// ParseFilter binds a predicate over the fields and system columns of an object,
// as scan plans and REST take it. The columns that it reads are returned beside
// it, each under its field name; no parameters, aggregates or subqueries.
func (p *Planner) ParseFilter(ctx context.Context, sess Session, obj *schema.Object, filter string) (expr.Expr, []plan.ScanColumn, error) {
	e, err := parser.ParseExpr(filter)
	if err != nil {
		return nil, nil, err
	}
	pred, cols, err := binder.BindFilter(ctx, p.env(ctx, sess), filter, obj, e)
	if err != nil {
		return nil, nil, err
	}
	return optimizer.Simplify(pred), cols, nil
}

// CheckPredicate parses a text as one expression without parameters. Errors carry
// the place in it.
func CheckPredicate(text string) error {
	e, err := parser.ParseExpr(text)
	if err != nil {
		return err
	}
	ast.Inspect(e, func(n ast.Node) bool {
		if p, ok := n.(*ast.Param); ok && err == nil {
			err = fail.New(fail.UndefinedParameter, "a filter has no parameters").At(text, p.Pos()).
				WithHint("Write the value into the filter, or use the JSON form of filters.")
		}
		return err == nil
	})
	return err
}
