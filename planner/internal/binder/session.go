package binder

import (
	"slices"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/planner/internal/ast"
)

// NamespaceOption is the session option that USE sets.
const NamespaceOption = "schema"

// set binds SET. Values are kept as text; who owns the option reads them.
func (b *Binder) set(s *ast.Set) (plan.Statement, error) {
	name := strings.ToLower(s.Name.String())
	if s.Local {
		if known := b.env.Settings; len(known) > 0 && !slices.Contains(known, settingKey(name)) {
			return nil, b.noSetting(s.Name.String(), s.Name.Pos())
		}
		return &plan.Nothing{Note: "SET LOCAL has no effect: every statement is a transaction by itself"}, nil
	}
	if len(s.Values) == 1 {
		if _, ok := s.Values[0].(*ast.Default); ok {
			return &plan.SetOption{Option: name}, nil
		}
	}
	var words []string
	for _, v := range s.Values {
		w, err := b.optionValue(v)
		if err != nil {
			return nil, err
		}
		words = append(words, w)
	}
	value := strings.Join(words, ",")
	return &plan.SetOption{Option: name, Value: &value}, nil
}

// optionValue is the text of a literal or a bare word.
func (b *Binder) optionValue(e ast.Expr) (string, error) {
	switch x := e.(type) {
	case *ast.StringLit:
		return x.Value, nil
	case *ast.BoolLit:
		if x.Value {
			return "true", nil
		}
		return "false", nil
	case *ast.ColumnRef:
		return joinParts(x.Parts), nil
	case *ast.TypedLit:
		return x.Value, nil
	case *ast.IntervalLit:
		if t, ok := literalText(x.Value); ok {
			return strings.TrimSpace(t + " " + x.Unit), nil
		}
	case *ast.NullLit:
		return "", nil
	}
	if t, ok := literalText(e); ok {
		return t, nil
	}
	return "", b.fail(fail.InvalidParameter, e.Pos(), "an option takes a literal or a word")
}

func (b *Binder) reset(s *ast.Reset) (plan.Statement, error) {
	if s.Name.IsZero() {
		return &plan.SetOption{Option: "all"}, nil
	}
	return &plan.SetOption{Option: strings.ToLower(s.Name.String())}, nil
}

func (b *Binder) use(s *ast.Use) (plan.Statement, error) {
	if n := len(s.Name.Parts); n > 2 || n == 2 && !nameIs(s.Name.Parts[0], "loam") {
		return nil, b.fail(fail.UndefinedNamespace, s.Pos(), "namespace %q does not exist", s.Name.String())
	}
	ns := s.Name.Last().Text
	if !isReserved(ns) {
		var err error
		if ns, err = b.namespace(s.Name); err != nil {
			return nil, err
		}
	}
	return &plan.SetOption{Option: NamespaceOption, Value: &ns}, nil
}

// settingKey is the name under which a setting is kept.
func settingKey(name string) string {
	switch key := strings.ToLower(name); key {
	case "search_path", "namespace", "current_schema":
		return NamespaceOption
	case "time zone":
		return "timezone"
	default:
		return key
	}
}

// noSetting is the error for a setting that does not exist.
func (b *Binder) noSetting(name string, off int) error {
	err := b.fail(fail.InvalidParameter, off, "there is no setting %q", name)
	if near := fail.Closest(settingKey(name), b.env.Settings); near != "" {
		return err.WithHint("Did you mean %q?", near)
	}
	return err.WithHint("SHOW ALL lists the settings.")
}

// kill binds KILL QUERY: whether the id is that of a running statement shows when it runs.
func (b *Binder) kill(s *ast.Kill) (plan.Statement, error) {
	id, err := strconv.ParseInt(s.ID.Text, 10, 64)
	if err != nil {
		return nil, b.fail(fail.InvalidParameter, s.ID.Pos(), "%s is not the id of a query", s.ID.Text).
			WithHint("SELECT id, sql FROM system.queries WHERE state = 'running' lists them.")
	}
	return &plan.KillQuery{ID: id}, nil
}

// analyze checks the names: there is nothing to do.
func (b *Binder) analyze(s *ast.Analyze) (plan.Statement, error) {
	for _, name := range s.Tables {
		if _, err := b.object(name); err != nil {
			return nil, err
		}
	}
	return &plan.Nothing{Note: "ANALYZE has no effect: statistics are kept while rows are applied; system.column_statistics shows them"}, nil
}
