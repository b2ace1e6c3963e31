package functions

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// def is one function as data: its names (the first is the one that EXPLAIN
// shows), one line of help and its overloads in order of preference.
type def struct {
	names string
	help  string
	// example is a call that shows what the function does. The tests run it, and
	// docs/functions.md shows its result.
	example string
	// form is what stands in the parentheses of a function that the planner binds
	// by rules of its own; such a function has no overloads here.
	form string
	vol  expr.Volatility
	// nulls functions see NULL arguments.
	nulls bool
	// zero (EmptyIsZero), inOrder, grows and sorted are those of [expr.AggFunc].
	zero, inOrder, grows, sorted bool
	// window is the kind of a window function.
	window expr.WindowKind
	// apart functions take two arguments of different meaning: an untyped literal
	// does not take the type of the other.
	apart bool
	sigs  []sig
}

// sig is one overload. in lists parameter patterns separated by commas; the last
// may end in "..." for none or more. ret is a type name, "same" for the type of
// the first argument, or empty when bind says.
type sig struct {
	in, ret string
	eval    expr.EvalFunc
	prepare func(consts []*vecValue) (expr.EvalFunc, error)
	agg     newAgg
	// bind, instead of patterns, gives parameter types and result for argument
	// types; nil parameters mean that the overload does not fit.
	bind func(args []types.Type) (params []types.Type, ret types.Type, err error)
}

// overload is a sig made ready for resolution.
type overload struct {
	sig
	params   []string
	variadic bool
	scalar   *expr.ScalarFunc
	aggFn    *expr.AggFunc
	winFn    *expr.WindowFunc
}

type entry struct {
	name, help string
	apart      bool
	overloads  []*overload
}

// registry implements expr.Registry over two tables.
type registry struct {
	scalars, aggs, windows map[string]*entry
	help                   []expr.FuncHelp
}

// groups are the tables in the order of docs/functions.md.
var groups = []struct {
	name, kind string
	defs       []def
}{
	{"Operators", "scalar", operatorTable}, {"NULL and choice", "scalar", nullTable}, {"NULL and choice", "scalar", choiceTable},
	{"Numbers", "scalar", mathTable}, {"Numbers", "scalar", numberTable},
	{"Text", "scalar", textTable}, {"Text", "scalar", wordTable}, {"Text", "scalar", similarTable},
	{"Patterns", "scalar", patternTable}, {"Hashes and encodings", "scalar", encodeTable},
	{"Dates and times", "scalar", timeTable}, {"Dates and times", "scalar", calendarTable}, {"Dates and times", "scalar", clockTable}, {"Dates and times", "scalar", formatTable},
	{"JSON", "scalar", jsonTable}, {"JSON", "scalar", jsonMakeTable}, {"Lists", "scalar", listTable}, {"Lists", "scalar", setTable},
	{"Structs and maps", "scalar", nestedTable}, {"Vectors", "scalar", vectorTable}, {"The session and its values", "scalar", sessionTable},
	{"Aggregates", "aggregate", aggregateTable}, {"Aggregates", "aggregate", orderedTable}, {"Aggregates", "aggregate", regrTable},
	{"Window functions", "window", windowTable},
}

// Default returns the registry of all built-in functions. It is built once per
// call and immutable.
func Default() expr.Registry {
	r := &registry{scalars: map[string]*entry{}, aggs: map[string]*entry{}, windows: map[string]*entry{}}
	for _, g := range groups {
		for _, d := range g.defs {
			r.add(g.name, d, g.kind)
		}
	}
	sort.SliceStable(r.help, func(i, j int) bool { return r.help[i].Name < r.help[j].Name })
	return r
}

// add registers a definition under all its names.
func (r *registry) add(group string, d def, kind string) {
	to, shown := r.scalars, examples
	switch kind {
	case "aggregate":
		to, shown = r.aggs, aggregateExamples
	case "window":
		to, shown = r.windows, windowExamples
	}
	names := strings.Fields(d.names)
	if d.example == "" {
		d.example = shown[names[0]]
	}
	e := &entry{name: names[0], help: d.help, apart: d.apart}
	for i := range d.sigs {
		e.overloads = append(e.overloads, d.ready(names[0], &d.sigs[i], kind))
	}
	for _, n := range names {
		h := expr.FuncHelp{Name: n, Of: names[0], Group: group, Kind: kind, Help: d.help, Example: d.example}
		if d.form != "" {
			h.Signature = n + "(" + d.form + ")"
			r.help = append(r.help, h)
			continue
		}
		to[n] = e
		for _, o := range e.overloads {
			h.Signature = o.signature(n)
			r.help = append(r.help, h)
		}
	}
}

func (d *def) ready(name string, s *sig, kind string) *overload {
	o := &overload{sig: *s}
	in := s.in
	if strings.HasSuffix(in, "...") {
		o.variadic, in = true, strings.TrimSuffix(in, "...")
	}
	if in != "" {
		for _, p := range strings.Split(in, ",") {
			o.params = append(o.params, strings.TrimSpace(p))
		}
	}
	switch kind {
	case "aggregate":
		o.aggFn = &expr.AggFunc{Name: name, EmptyIsZero: d.zero, InOrder: d.inOrder, Grows: d.grows, Sorted: d.sorted, New: s.agg}
		return o
	case "window":
		o.winFn = &expr.WindowFunc{Name: name, Kind: d.window}
		return o
	}
	o.scalar = &expr.ScalarFunc{Name: name, Volatility: d.vol, CalledOnNull: d.nulls, Eval: s.eval, Prepare: s.prepare}
	return o
}

// signature prints an overload as SHOW FUNCTIONS and errors do.
func (o *overload) signature(name string) string {
	in := strings.ToUpper(strings.NewReplacer("astext", "any", "jsontext", "json", "jsonbytes", "json").Replace(o.in))
	if o.ret == "" || o.ret == "same" {
		return fmt.Sprintf("%s(%s)", name, in)
	}
	return fmt.Sprintf("%s(%s) → %s", name, in, strings.ToUpper(o.ret))
}

// Scalar implements expr.Registry.
func (r *registry) Scalar(name string, args []types.Type) (expr.Resolved, error) {
	return r.resolve(r.scalars, name, args)
}

// Aggregate implements expr.Registry.
func (r *registry) Aggregate(name string, args []types.Type) (expr.Resolved, error) {
	return r.resolve(r.aggs, name, args)
}

// Window implements expr.Registry.
func (r *registry) Window(name string, args []types.Type) (expr.Resolved, error) {
	return r.resolve(r.windows, name, args)
}

// IsWindow implements expr.Registry.
func (r *registry) IsWindow(name string) bool { return r.windows[strings.ToLower(name)] != nil }

// IsAggregate implements expr.Registry.
func (r *registry) IsAggregate(name string) bool { return r.aggs[strings.ToLower(name)] != nil }

// Names implements expr.Registry.
func (r *registry) Names() []expr.FuncHelp { return slices.Clone(r.help) }

func (r *registry) resolve(table map[string]*entry, name string, args []types.Type) (expr.Resolved, error) {
	e := table[strings.ToLower(name)]
	if e == nil {
		return expr.Resolved{}, r.unknown(name)
	}
	if other, ok := literalAsOther(args); ok && !e.apart {
		// An untyped literal beside a typed operand is first taken for the same type.
		if res, cost, _ := e.best(other); res != nil && cost == 0 {
			return *res, nil
		}
	}
	res, _, err := e.best(args)
	if err != nil {
		return expr.Resolved{}, err
	}
	if res == nil {
		return expr.Resolved{}, e.noOverload(name, args)
	}
	return *res, nil
}

// literalAsOther replaces the untyped one of two arguments by the other's type.
func literalAsOther(args []types.Type) ([]types.Type, bool) {
	if len(args) != 2 || (args[0].Kind == types.Unknown) == (args[1].Kind == types.Unknown) {
		return nil, false
	}
	if args[0].Kind == types.Unknown {
		return []types.Type{args[1], args[1]}, true
	}
	return []types.Type{args[0], args[0]}, true
}

// best finds the overload whose parameters cost least to reach; earlier ones win ties.
func (e *entry) best(args []types.Type) (*expr.Resolved, int, error) {
	var found *expr.Resolved
	least := noFit
	var failure error
	for _, o := range e.overloads {
		params, ret, err := o.fit(args)
		if err != nil {
			failure = err
			continue
		}
		if params == nil {
			continue
		}
		cost := 0
		for i, p := range params {
			cost += castCost(args[i], p)
		}
		if cost < least || found == nil && cost < noFit {
			least = cost
			found = &expr.Resolved{Scalar: o.scalar, Agg: o.aggFn, Window: o.winFn, Params: params, Ret: ret}
		}
	}
	if found == nil {
		return nil, noFit, failure
	}
	return found, least, nil
}

// fit gives the parameter types of an overload for these arguments; nil when it
// does not take them (an empty slice for none).
func (o *overload) fit(args []types.Type) ([]types.Type, types.Type, error) {
	if o.bind != nil {
		return o.bind(args)
	}
	if len(args) < len(o.params) && !(o.variadic && len(args) == len(o.params)-1) || len(args) > len(o.params) && !o.variadic {
		return nil, types.Type{}, nil
	}
	params := make([]types.Type, len(args))
	for i, a := range args {
		pattern := o.params[min(i, len(o.params)-1)]
		p, ok := matchPattern(pattern, a)
		if !ok {
			return nil, types.Type{}, nil
		}
		params[i] = p
	}
	if o.ret == "same" {
		return params, params[0], nil
	}
	return params, typeNamed(o.ret), nil
}

var typeNames = map[string]types.Type{
	"boolean": types.Of(types.Boolean), "int": types.Of(types.Int32), "bigint": types.Of(types.Int64),
	"double": types.Of(types.Double), "text": types.Of(types.Text), "binary": types.Of(types.Binary),
	"date": types.Of(types.Date), "timestamp": types.Of(types.Timestamp), "interval": types.Of(types.Interval),
	"time": types.Of(types.Time), "uuid": types.Of(types.UUID),
	"json": types.Of(types.JSON), "text[]": types.ListOf(types.Of(types.Text)),
	"double[]": types.ListOf(types.Of(types.Double)), "bigint[]": types.ListOf(types.Of(types.Int64)),
}

func typeNamed(name string) types.Type { return typeNames[name] }

// matchPattern gives the parameter type that an argument of type a is cast to.
func matchPattern(pattern string, a types.Type) (types.Type, bool) {
	switch pattern {
	case "any":
		return a.Settled(), true
	case "astext":
		return types.Of(types.Text), a.Kind != types.Vector && a.Kind != types.Sparse
	case "decimal":
		return a.AsDecimal(), a.Kind == types.Decimal || a.Integer()
	case "list":
		return a, a.Kind == types.List
	case "map":
		return a, a.Kind == types.Map
	case "vector":
		return a, a.Kind == types.Vector
	case "jsonbytes":
		if a.Kind == types.Binary {
			return a, true
		}
		return matchPattern("jsontext", a)
	case "jsontext":
		if a.Kind == types.Unknown {
			return types.Of(types.JSON), true
		}
		return a, a.Kind == types.JSON || a.Kind == types.Text
	}
	p := typeNamed(pattern)
	return p, types.Cast(a, p) == types.ImplicitCast
}

const noFit = 1 << 20

// castCost orders implicit casts: exact before widening, near before far.
func castCost(a, p types.Type) int {
	switch {
	case a.Equal(p), a.Kind == p.Kind && a.Kind != types.List:
		return 0
	case a.Kind == types.Unknown && p.Kind == types.Text:
		return 1
	case a.Kind == types.Unknown:
		return 2
	case a.Numeric() && p.Numeric():
		return 1 + 2*max(0, numberRank(p)-numberRank(a))
	case p.Kind == types.Text:
		return 8
	}
	return 4
}

// numberRank is the place of a number type in INT → BIGINT → DECIMAL → DOUBLE.
func numberRank(t types.Type) int {
	switch t.Kind {
	case types.Int32:
		return 0
	case types.Int64:
		return 1
	case types.Decimal:
		return 2
	}
	return 3
}

func (r *registry) unknown(name string) error {
	err := fail.New(fail.UndefinedFunction, "there is no function %s", name)
	lower := strings.ToLower(name)
	if r.windows[lower] != nil {
		return err.WithHint("%s is a window function: write %s(…) OVER (…).", name, name)
	}
	if r.scalars[lower] != nil || r.aggs[lower] != nil {
		return err.WithHint("%s is used in the wrong place: aggregates cannot be called as scalars, nor scalars as aggregates.", name)
	}
	if cure := foreign[lower]; cure != "" {
		return err.WithHint("%s", cure)
	}
	if t, ok := types.Named(name, nil); ok {
		return err.WithHint("Write CAST(… AS %s).", t)
	}
	names := make([]string, 0, len(r.help))
	for _, h := range r.help {
		names = append(names, h.Name)
	}
	if near := fail.Closest(name, names); near != "" {
		return err.WithHint("Did you mean %s?", near)
	}
	return err.WithHint("SHOW FUNCTIONS lists them all.")
}

func (e *entry) noOverload(name string, args []types.Type) error {
	list := make([]string, len(e.overloads))
	var near []string // those that take one of the arguments as it is
	arity := false
	for i, o := range e.overloads {
		list[i] = o.signature(name)
		if o.takesOne(args) {
			near = append(near, list[i])
		}
		arity = arity || o.bind != nil || len(o.params) == len(args) || o.variadic && len(args) >= len(o.params)-1
	}
	if !arity {
		return fail.New(fail.UndefinedFunction, "%s does not take %s; it has: %s", name, fail.Count(len(args), "argument"), strings.Join(list, ", "))
	}
	if len(list) > maxListed && len(near) > 0 {
		list = near
	}
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.String()
		if a.Kind == types.Unknown {
			texts[i] = "a literal"
		}
	}
	return fail.New(fail.UndefinedFunction, "%s does not take (%s); it has: %s", name, strings.Join(texts, ", "), strings.Join(list, ", ")).
		WithHint("Cast the arguments to one of these.")
}

// maxListed is how many overloads an error lists before it picks the nearest.
const maxListed = 4

// takesOne says whether a parameter is of the type of its argument.
func (o *overload) takesOne(args []types.Type) bool {
	for i, a := range args {
		if i < len(o.params) && a.Kind != types.Unknown && typeNamed(o.params[i]).Kind == a.Kind {
			return true
		}
	}
	return false
}

// Groups names the groups of functions in the order of docs/functions.md.
func Groups() []string {
	var out []string
	for _, g := range groups {
		if len(out) == 0 || out[len(out)-1] != g.name {
			out = append(out, g.name)
		}
	}
	return out
}
