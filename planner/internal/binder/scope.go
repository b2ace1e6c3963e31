package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/planner/internal/ast"
)

// table is one item of FROM under the name by which columns are qualified.
type table struct {
	name string
	// path is namespace and catalog of an unaliased object, for ns.t.c.
	path []string
	// object is the name that an alias hides.
	object string
	pos    int
}

// visible is a column that expressions can name.
type visible struct {
	name  string
	table *table // nil for the merged columns of USING
	e     expr.Expr
	// inStar columns are part of *; bare ones are found by their name alone.
	// The columns that USING merges are neither: only t.c finds them.
	inStar, bare bool
}

// scope is what the expressions of one query see: its own columns, then those of
// the query around it.
type scope struct {
	parent *scope
	cols   []*visible
	tables []*table
	// lateral is set for scopes whose columns stand left of a lateral item.
	lateral bool
}

// join appends the columns of another scope at the same level.
func (s *scope) join(o *scope) *scope {
	return &scope{
		parent: s.parent,
		cols:   append(append([]*visible(nil), s.cols...), o.cols...),
		tables: append(append([]*table(nil), s.tables...), o.tables...),
	}
}

// owns reports whether a column of this scope has the id.
func (s *scope) owns(id expr.ColumnID) bool {
	for _, v := range s.cols {
		found := false
		expr.Walk(v.e, func(e expr.Expr) bool {
			if c, ok := e.(*expr.Column); ok && c.ID == id {
				found = true
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// tableScope makes the scope of one FROM item.
func tableScope(t *table, cols []plan.Column) *scope {
	s := &scope{tables: []*table{t}}
	for _, c := range cols {
		s.cols = append(s.cols, &visible{name: c.Name, table: t, e: c.Ref(), inStar: true, bare: true})
	}
	return s
}

// nameIs compares an identifier with a declared name.
func nameIs(id ast.Ident, name string) bool {
	if id.Quoted {
		return id.Text == name
	}
	return strings.EqualFold(id.Text, name)
}

// pick chooses among the columns that match a name: an exact match wins over one
// that differs in case. n is the number of equally good matches.
func pick(id ast.Ident, found []*visible) (v *visible, n int) {
	if len(found) > 1 {
		var exact []*visible
		for _, f := range found {
			if f.name == id.Text {
				exact = append(exact, f)
			}
		}
		if len(exact) > 0 {
			found = exact
		}
	}
	if len(found) == 0 {
		return nil, 0
	}
	return found[0], len(found)
}

// matchBare finds a column by its name alone at this level.
func (s *scope) matchBare(id ast.Ident) []*visible {
	var found []*visible
	for _, v := range s.cols {
		if v.bare && nameIs(id, v.name) {
			found = append(found, v)
		}
	}
	return found
}

// matchTable finds the tables that a qualifier names at this level.
func (s *scope) matchTable(parts []ast.Ident) []*table {
	var found []*table
	for _, t := range s.tables {
		if t.matches(parts) {
			found = append(found, t)
		}
	}
	return found
}

// matches compares a qualifier of one to three parts with the table's name.
func (t *table) matches(parts []ast.Ident) bool {
	last := len(parts) - 1
	if last > len(t.path) || !nameIs(parts[last], t.name) {
		return false
	}
	for i := 1; i <= last; i++ {
		if !nameIs(parts[last-i], t.path[i-1]) {
			return false
		}
	}
	return true
}

// resolve finds the column that a reference names, in this scope or around it.
func (b *Binder) resolve(s *scope, ref *ast.ColumnRef) (expr.Expr, error) {
	last := ref.Parts[len(ref.Parts)-1]
	qual := ref.Parts[:len(ref.Parts)-1]
	for level := s; level != nil; level = level.parent {
		var found []*visible
		if len(qual) == 0 {
			found = level.matchBare(last)
		} else {
			tables := level.matchTable(qual)
			if len(tables) == 0 {
				continue
			}
			if len(tables) > 1 {
				return nil, b.fail(fail.AmbiguousName, ref.Pos(), "table name %q is ambiguous", joinParts(qual)).
					WithHint("Give the tables different aliases.")
			}
			if found = tableColumns(level, tables[0], last); len(found) == 0 {
				return nil, b.noColumn(level, tables[0], ref)
			}
		}
		v, n := pick(last, found)
		if n > 1 {
			return nil, b.ambiguous(ref, found)
		}
		if v != nil {
			return b.read(v, ref.Pos()), nil
		}
	}
	return nil, b.unresolved(s, ref)
}

// tableColumns are the columns of one table with the name.
func tableColumns(s *scope, t *table, id ast.Ident) []*visible {
	var found []*visible
	for _, v := range s.cols {
		if v.table == t && nameIs(id, v.name) {
			found = append(found, v)
		}
	}
	return found
}

// read is an expression that reads a visible column, with its place noted.
func (b *Binder) read(v *visible, pos int) expr.Expr {
	c, ok := v.e.(*expr.Column)
	if !ok {
		return v.e
	}
	ref := *c
	b.places[&ref] = pos
	return &ref
}

func joinParts(parts []ast.Ident) string { return ast.Name{Parts: parts}.String() }

func (b *Binder) ambiguous(ref *ast.ColumnRef, found []*visible) error {
	err := b.fail(fail.AmbiguousColumn, ref.Pos(), "column %q is ambiguous", joinParts(ref.Parts))
	var names []string
	for _, v := range found {
		if v.table != nil {
			names = append(names, v.table.name+"."+v.name)
		}
	}
	if len(names) > 1 && names[0] != names[1] {
		return err.WithHint("It could be %s.", strings.Join(names, " or "))
	}
	return err.WithHint("Two columns have this name; quote the one that is meant, or give aliases.")
}

// noColumn is the error for t.c where t exists and c does not.
func (b *Binder) noColumn(s *scope, t *table, ref *ast.ColumnRef) error {
	var names []string
	for _, v := range s.cols {
		if v.table == t {
			names = append(names, v.name)
		}
	}
	return b.suggest(fail.UndefinedColumn, ref.Parts[len(ref.Parts)-1], names, "column %q does not exist in %q",
		ref.Parts[len(ref.Parts)-1].Text, t.name)
}

// suggest makes an error about a name with the nearest candidate in its hint.
func (b *Binder) suggest(code fail.Code, id ast.Ident, names []string, format string, args ...any) error {
	err := b.fail(code, id.Pos(), format, args...)
	if near := fail.Closest(id.Text, names); near != "" {
		if strings.EqualFold(near, id.Text) && id.Quoted {
			return err.WithHint("Quoted names match exactly; did you mean %q?", near)
		}
		return err.WithHint("Did you mean %q?", near)
	}
	return err
}

// unresolved is the error for a reference that no scope knows.
func (b *Binder) unresolved(s *scope, ref *ast.ColumnRef) error {
	last := ref.Parts[len(ref.Parts)-1]
	if len(ref.Parts) > 1 {
		return b.unresolvedTable(s, ref)
	}
	var names []string
	for level := s; level != nil; level = level.parent {
		for _, v := range level.cols {
			if v.bare {
				names = append(names, v.name)
			}
		}
		for _, t := range level.tables {
			if nameIs(last, t.name) {
				return b.fail(fail.Unsupported, ref.Pos(), "a whole row of %q as a value is not supported", t.name).
					WithHint("Name its columns.")
			}
		}
	}
	if s != nil && len(s.cols) == 0 && s.parent == nil && len(s.tables) == 0 {
		return b.fail(fail.UndefinedColumn, ref.Pos(), "column %q does not exist: there is no FROM", last.Text).
			WithHint("Text values stand in single quotes: '%s'", last.Text)
	}
	if strings.EqualFold(last.Text, "_score") || strings.EqualFold(last.Text, "_fused_score") {
		return b.fail(fail.UndefinedColumn, last.Pos(), "column %q does not exist", last.Text).
			WithHint("_score is made by text_search(…) and vector_search(…) in FROM, _fused_score by rrf(…).")
	}
	if near := fail.Closest(last.Text, names); last.Quoted && !strings.EqualFold(near, last.Text) {
		return b.fail(fail.UndefinedColumn, last.Pos(), "column %q does not exist", last.Text).
			WithHint("Double quotes are for names; text values stand in single quotes: '%s'", last.Text)
	}
	return b.suggest(fail.UndefinedColumn, last, names, "column %q does not exist", last.Text)
}

func (b *Binder) unresolvedTable(s *scope, ref *ast.ColumnRef) error {
	qual := ref.Parts[:len(ref.Parts)-1]
	var names []string
	hidden := ""
	for level := s; level != nil; level = level.parent {
		for _, t := range level.tables {
			names = append(names, t.name)
			if t.object != "" && nameIs(qual[len(qual)-1], t.object) {
				hidden = t.name
			}
		}
	}
	err := b.fail(fail.UndefinedTable, ref.Pos(), "table %q is not in FROM here", joinParts(qual))
	if hidden != "" {
		return err.WithHint("Its alias is %q here.", hidden)
	}
	if near := fail.Closest(qual[len(qual)-1].Text, names); near != "" {
		return err.WithHint("Did you mean %q?", near)
	}
	if len(names) > 0 {
		return err.WithHint("FROM has %s.", strings.Join(names, ", "))
	}
	return err
}
