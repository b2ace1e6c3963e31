package binder

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/deparse"
)

func (b *Binder) createNamespace(s *ast.CreateNamespace) (plan.Statement, error) {
	if s.OrReplace {
		return nil, b.unsupported(s.Pos(), "CREATE OR REPLACE NAMESPACE")
	}
	id, err := b.namespaceName(s.Name)
	if err != nil {
		return nil, err
	}
	if isReserved(id.Text) {
		return nil, b.fail(fail.InvalidParameter, id.Pos(), "namespace %q is reserved", id.Text)
	}
	out := &plan.CreateNamespace{Namespace: id.Text, IfNotExists: s.IfNotExists, Options: map[string]string{}}
	for _, o := range s.Options {
		if out.Options[strings.ToLower(o.Name.String())], err = b.optionValue(o.Value); err != nil {
			return nil, err
		}
	}
	return out, b.checkName(id, "namespace")
}

// namespaceName is ns or loam.ns.
func (b *Binder) namespaceName(n ast.Name) (ast.Ident, error) {
	if len(n.Parts) > 2 || len(n.Parts) == 2 && !nameIs(n.Parts[0], catalog.RootCatalog) {
		return ast.Ident{}, b.fail(fail.Syntax, n.Pos(), "%q is not the name of a namespace", n.String())
	}
	return n.Last(), nil
}

// givenNamespace finds the namespace that a statement changes or shows; done says that
// there is none and that the statement asks for nothing then.
func (b *Binder) givenNamespace(name ast.Name, ifExists bool, what string) (ns string, done plan.Statement, err error) {
	id, err := b.namespaceName(name)
	if err != nil {
		return "", nil, err
	}
	if isReserved(id.Text) {
		return "", nil, b.fail(fail.InvalidParameter, id.Pos(), "namespace %q is reserved and cannot be %s", id.Text, what)
	}
	ns, err = b.namespace(name)
	if fail.Is(err, fail.UndefinedNamespace) && ifExists {
		return "", &plan.Nothing{Note: "namespace " + strconv.Quote(id.Text) + " does not exist"}, nil
	}
	return ns, nil, err
}

func (b *Binder) dropNamespace(s *ast.Drop, name ast.Name) (plan.Statement, error) {
	ns, done, err := b.givenNamespace(name, s.IfExists, "dropped")
	if done != nil || err != nil {
		return done, err
	}
	return &plan.DropNamespace{Namespace: ns, Cascade: s.Cascade}, nil
}

// alterNamespace binds ALTER NAMESPACE … SET and RESET.
func (b *Binder) alterNamespace(s *ast.AlterTable) (plan.Statement, error) {
	ns, done, err := b.givenNamespace(s.Name, s.IfExists, "changed")
	if done != nil || err != nil {
		return done, err
	}
	out := &plan.AlterNamespace{Namespace: ns}
	for _, a := range s.Actions {
		if a.Kind != ast.AlterSetOptions && a.Kind != ast.AlterResetOptions {
			return nil, b.unsupported(a.Pos(), "ALTER NAMESPACE … "+a.Kind.String())
		}
		for _, o := range a.Options {
			set := plan.NamespaceOption{Name: strings.ToLower(o.Name.String())}
			if a.Kind == ast.AlterSetOptions {
				value, err := b.optionValue(o.Value)
				if err != nil {
					return nil, err
				}
				set.Value = &value
			}
			out.Options = append(out.Options, set)
		}
	}
	return out, nil
}

// createNamespaceText is the statement that makes a namespace.
func (b *Binder) createNamespaceText(name ast.Name) (ns, text string, err error) {
	if ns, _, err = b.givenNamespace(name, false, "shown"); err != nil {
		return "", "", err
	}
	all, err := b.env.Catalog.Namespaces(b.ctx)
	if err != nil {
		return "", "", b.at(err, name.Pos())
	}
	text = "CREATE NAMESPACE " + deparse.Ident(quoted(ns))
	at := slices.IndexFunc(all, func(n catalog.Namespace) bool { return n.Name == ns })
	if at < 0 || len(all[at].Options) == 0 {
		return ns, text, nil
	}
	return ns, text + " WITH (" + strings.Join(optionTexts(all[at].Options), ", ") + ")", nil
}

// optionTexts are options as WITH takes them.
func optionTexts(options map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		out = append(out, deparse.Ident(quoted(name))+" = "+deparse.Literal(options[name]))
	}
	return out
}
