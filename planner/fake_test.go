package planner_test

import (
	"context"
	"sort"
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
)

// fakeCatalog serves objects from memory.
type fakeCatalog struct {
	namespaces []string
	objects    []*schema.Object
}

func matches(n catalog.Name, name string) bool {
	return n.Text == name || !n.Quoted && strings.EqualFold(n.Text, name)
}

func (c *fakeCatalog) Lookup(_ context.Context, ns, obj catalog.Name) (*schema.Object, error) {
	known := false
	for _, n := range c.namespaces {
		known = known || matches(ns, n)
	}
	if !known {
		return nil, suggest(fail.New(fail.UndefinedNamespace, "namespace %q does not exist", ns.Text), ns.Text, c.namespaces)
	}
	var names []string
	for _, o := range c.objects {
		if matches(ns, o.Namespace) && matches(obj, o.Name) {
			return o, nil
		}
		names = append(names, o.Name)
	}
	return nil, suggest(fail.New(fail.UndefinedTable, "table %q does not exist", obj.Text), obj.Text, names)
}

func suggest(e *fail.Error, name string, names []string) error {
	if near := fail.Closest(name, names); near != "" {
		return e.WithHint("Did you mean %q?", near)
	}
	return e
}

func (c *fakeCatalog) Namespaces(context.Context) ([]string, error) { return c.namespaces, nil }

func (c *fakeCatalog) Objects(_ context.Context, ns string) ([]*schema.Object, error) {
	var out []*schema.Object
	for _, o := range c.objects {
		if ns == "" || o.Namespace == ns {
			out = append(out, o)
		}
	}
	return out, nil
}

// fakeRegistry resolves a few functions by simple rules: enough to plan with, not to run.
type fakeRegistry struct{}

var fakeScalars = map[string]func(args []types.Type) (params []types.Type, ret types.Type, ok bool){
	"+": arithmetic, "-": arithmetic, "*": arithmetic, "/": arithmetic, "%": arithmetic,
	"||": texts, "like": condition, "ilike": condition, "similar_to": condition, "~": condition,
	"lower": texts, "upper": texts, "length": oneText(types.Int64), "abs": numeric,
	"date_part": func(a []types.Type) ([]types.Type, types.Type, bool) {
		return []types.Type{types.Of(types.Text), types.Of(types.Timestamp)}, types.Of(types.Double), len(a) == 2
	},
	"now": nullary(types.Timestamp), "random": nullary(types.Double), "current_schema": nullary(types.Text),
	"l2_distance": vectors, "cosine_distance": vectors, "<->": vectors, "<=>": vectors,
	"->>": jsonText, "->": jsonText,
	"make_array": func(a []types.Type) ([]types.Type, types.Type, bool) {
		if len(a) == 0 {
			return nil, types.Type{}, false
		}
		return a, types.ListOf(a[0]), true
	},
	"substring": func(a []types.Type) ([]types.Type, types.Type, bool) {
		ps := []types.Type{types.Of(types.Text), types.Of(types.Int64), types.Of(types.Int64)}
		return ps[:min(3, len(a))], types.Of(types.Text), len(a) == 2 || len(a) == 3
	},
}

var textType = types.Of(types.Text)

func nullary(k types.Kind) func([]types.Type) ([]types.Type, types.Type, bool) {
	return func(a []types.Type) ([]types.Type, types.Type, bool) { return nil, types.Of(k), len(a) == 0 }
}

func textual(a []types.Type) ([]types.Type, bool) {
	out := make([]types.Type, len(a))
	for i, t := range a {
		if types.Cast(t, textType) == types.NoCast {
			return nil, false
		}
		out[i] = textType
	}
	return out, len(a) > 0
}

func texts(a []types.Type) ([]types.Type, types.Type, bool) {
	ps, ok := textual(a)
	return ps, textType, ok
}

func condition(a []types.Type) ([]types.Type, types.Type, bool) {
	ps, ok := textual(a)
	return ps, types.Of(types.Boolean), ok && len(a) >= 2
}

func oneText(k types.Kind) func([]types.Type) ([]types.Type, types.Type, bool) {
	return func(a []types.Type) ([]types.Type, types.Type, bool) {
		return []types.Type{textType}, types.Of(k), len(a) == 1 && a[0].Textual()
	}
}

func jsonText(a []types.Type) ([]types.Type, types.Type, bool) {
	return []types.Type{types.Of(types.JSON), textType}, textType, len(a) == 2 && a[0].Kind == types.JSON
}

func vectors(a []types.Type) ([]types.Type, types.Type, bool) {
	if len(a) != 2 || a[0].Kind != types.Vector || !a[0].Equal(a[1]) {
		return nil, types.Type{}, false
	}
	return a, types.Of(types.Double), true
}

func numeric(a []types.Type) ([]types.Type, types.Type, bool) {
	if len(a) != 1 || !a[0].Numeric() {
		return nil, types.Type{}, false
	}
	return a, a[0], true
}

func arithmetic(a []types.Type) ([]types.Type, types.Type, bool) {
	if len(a) == 1 {
		return numeric(a)
	}
	if len(a) != 2 {
		return nil, types.Type{}, false
	}
	l, r := a[0], a[1]
	switch {
	case l.Kind == types.Timestamp && r.Kind == types.Interval, l.Kind == types.Date && r.Kind == types.Interval:
		return []types.Type{types.Of(types.Timestamp), r}, types.Of(types.Timestamp), true
	case l.Numeric() && r.Kind == types.Interval:
		return []types.Type{types.Of(types.Int64), r}, r, true
	case l.Numeric() && r.Numeric():
		t, _ := types.Common(l, r)
		return []types.Type{t, t}, t, true
	case l.Kind == types.Unknown && r.Kind == types.Unknown:
		t := types.Of(types.Int64)
		return []types.Type{t, t}, t, true
	}
	return nil, types.Type{}, false
}

func (fakeRegistry) Scalar(name string, args []types.Type) (expr.Resolved, error) {
	name = strings.ToLower(name)
	f, ok := fakeScalars[name]
	if !ok {
		return expr.Resolved{}, suggest(fail.New(fail.UndefinedFunction, "function %s does not exist", name), name, scalarNames())
	}
	params, ret, ok := f(args)
	if !ok {
		var ts []string
		for _, a := range args {
			ts = append(ts, a.String())
		}
		return expr.Resolved{}, fail.New(fail.UndefinedFunction, "%s does not take (%s)", name, strings.Join(ts, ", "))
	}
	fn := &expr.ScalarFunc{Name: name}
	switch name {
	case "now", "current_schema":
		fn.Volatility = expr.Stable
	case "random":
		fn.Volatility = expr.Volatile
	}
	return expr.Resolved{Scalar: fn, Params: params, Ret: ret}, nil
}

func scalarNames() []string {
	var names []string
	for n := range fakeScalars {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

func (fakeRegistry) IsAggregate(name string) bool {
	switch strings.ToLower(name) {
	case "count", "sum", "avg", "min", "max", "any_value", "array_agg", "percentile_cont":
		return true
	}
	return false
}

func (r fakeRegistry) Aggregate(name string, args []types.Type) (expr.Resolved, error) {
	name = strings.ToLower(name)
	fn := &expr.AggFunc{Name: name, EmptyIsZero: name == "count"}
	out := expr.Resolved{Agg: fn, Params: args}
	switch {
	case name == "count" && len(args) <= 1:
		out.Ret = types.Of(types.Int64)
	case len(args) == 0:
		return out, fail.New(fail.UndefinedFunction, "%s takes an argument", name)
	case name == "sum" || name == "avg" || name == "percentile_cont":
		if !args[0].Numeric() {
			return out, fail.New(fail.UndefinedFunction, "%s does not take (%s)", name, args[0])
		}
		out.Ret = args[0]
		if name == "avg" {
			out.Ret = types.Of(types.Double)
		}
		if out.Ret.Integer() {
			out.Ret = types.Of(types.Int64)
		}
	default:
		out.Ret = args[0]
	}
	return out, nil
}

func (fakeRegistry) Names() []expr.FuncHelp { return nil }

// fakeFiles gives every file two fields.
type fakeFiles struct{}

func (fakeFiles) FileSchema(_ context.Context, _ plan.FileFormat, paths []string) ([]schema.Field, error) {
	if strings.Contains(paths[0], "missing") {
		return nil, fail.New(fail.UndefinedTable, "file %q does not exist", paths[0])
	}
	return []schema.Field{{Name: "a", Type: types.Of(types.Int64)}, {Name: "b", Type: textType}}, nil
}
