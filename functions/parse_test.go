package functions_test

import (
	"fmt"
	"strings"

	"github.com/loamdb/loam/functions"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// This is the small expression language of this package's test files: literals,
// typed literals (date '…'), columns ($name), casts (x::type, try(x::type)), calls,
// and infix operators with the usual precedence. Names resolve through the registry.

var registry = functions.Default()

type parser struct {
	toks []string
	pos  int
	cols map[string]*expr.Column
}

func lex(s string) []string {
	var out []string
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ':
			i++
		case c == '\'':
			j := i + 1
			for j < len(s) && (s[j] != '\'' || j+1 < len(s) && s[j+1] == '\'') {
				if s[j] == '\'' {
					j++
				}
				j++
			}
			out, i = append(out, s[i:min(j+1, len(s))]), j+1
		case isWord(c):
			j := i
			for j < len(s) && (isWord(s[j]) || s[j] == '.' || (s[j] == '-' || s[j] == '+') && (s[j-1] == 'e') && s[i] <= '9') {
				j++
			}
			out, i = append(out, s[i:j]), j
		case strings.ContainsRune("(),[]", rune(c)):
			out, i = append(out, s[i:i+1]), i+1
		default:
			n := 1
			for _, op := range longOps {
				if strings.HasPrefix(s[i:], op) {
					n = len(op)
					break
				}
			}
			out, i = append(out, s[i:i+n]), i+n
		}
	}
	return out
}

var longOps = []string{"#>>", "#>", "<<", ">>", "@>", "<@", "&&", "->>", "<->", "<=>", "<#>", "->", "::", "||", "<=", ">=", "<>", "!~", "~*"}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func parse(s string, cols map[string]*expr.Column) (e expr.Expr, err error) {
	defer func() {
		if r := recover(); r != nil {
			pe, ok := r.(error)
			if !ok {
				panic(r)
			}
			err = pe
		}
	}()
	p := &parser{toks: lex(s), cols: cols}
	e = p.binary(0)
	if p.pos < len(p.toks) {
		return nil, fmt.Errorf("unexpected %q", p.toks[p.pos])
	}
	return e, nil
}

func (p *parser) peek() string {
	if p.pos < len(p.toks) {
		return p.toks[p.pos]
	}
	return ""
}

func (p *parser) next() string {
	t := p.peek()
	p.pos++
	return t
}

func (p *parser) want(t string) {
	if got := p.next(); got != t {
		panic(fmt.Errorf("%q instead of %q", got, t))
	}
}

var precedence = map[string]int{
	"or": 1, "and": 2, "is": 3, "=": 4, "<>": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "in": 4,
	"like": 5, "ilike": 5, "~": 5, "~*": 5, "!~": 5, "||": 6, "&": 6, "|": 6, "<<": 6, ">>": 6, "@>": 6, "#>": 6, "#>>": 6, "->": 6, "->>": 6, "<->": 6, "<=>": 6, "<#>": 6,
	"+": 7, "-": 7, "*": 8, "/": 8, "%": 8, "^": 9, "::": 11,
}

func (p *parser) binary(least int) expr.Expr {
	left := p.unary()
	for {
		op := strings.ToLower(p.peek())
		prec, ok := precedence[op]
		if !ok || prec <= least {
			return left
		}
		p.next()
		switch op {
		case "::":
			left = &expr.Cast{Arg: left, To: p.typ(), Offset: -1}
			continue
		case "is":
			negate := false
			if strings.EqualFold(p.peek(), "not") {
				p.next()
				negate = true
			}
			p.want("null")
			left = &expr.IsNull{Arg: left, Negate: negate}
			continue
		case "in":
			p.want("(")
			left = in(left, p.args())
			continue
		}
		left = apply(op, left, p.binary(prec))
	}
}

func in(arg expr.Expr, list []expr.Expr) expr.Expr {
	t := arg.Type()
	for _, e := range list {
		t, _ = types.Common(t, e.Type())
	}
	for i, e := range list {
		list[i] = must(expr.Fold(nil, cast(e, t)))
	}
	return &expr.In{Arg: cast(arg, t), List: list}
}

func must(e expr.Expr, err error) expr.Expr {
	if err != nil {
		panic(err)
	}
	return e
}

func cast(e expr.Expr, t types.Type) expr.Expr {
	if e.Type().Equal(t) {
		return e
	}
	return &expr.Cast{Arg: e, To: t, Offset: -1}
}

var comparisons = map[string]expr.CompareOp{"=": expr.Eq, "<>": expr.Ne, "<": expr.Lt, "<=": expr.Le, ">": expr.Gt, ">=": expr.Ge}

func apply(op string, l, r expr.Expr) expr.Expr {
	if op == "and" || op == "or" {
		b := types.Of(types.Boolean)
		return &expr.Logic{Or: op == "or", Args: []expr.Expr{cast(l, b), cast(r, b)}}
	}
	if c, ok := comparisons[op]; ok {
		t, ok := types.Common(l.Type(), r.Type())
		if !ok {
			panic(fmt.Errorf("no common type of %s and %s", l.Type(), r.Type()))
		}
		return &expr.Compare{Op: c, Left: cast(l, t), Right: cast(r, t)}
	}
	return call(op, []expr.Expr{l, r})
}

func call(name string, args []expr.Expr) expr.Expr {
	ts := make([]types.Type, len(args))
	for i, a := range args {
		ts[i] = a.Type()
	}
	res, err := registry.Scalar(name, ts)
	if err != nil {
		panic(err)
	}
	out := make([]expr.Expr, len(args))
	for i, a := range args {
		out[i] = cast(a, res.Params[i])
		if k, ok := a.(*expr.Const); ok && k.Value.Type.Kind == types.Unknown && k.Value.Null {
			out[i] = &expr.Const{Value: vec.Null(res.Params[i])}
		}
	}
	return &expr.Call{Fn: res.Scalar, Args: out, T: res.Ret, Offset: -1}
}

func (p *parser) unary() expr.Expr {
	switch t := p.peek(); {
	case t == "-":
		p.next()
		return call("-", []expr.Expr{p.binary(10)})
	case strings.EqualFold(t, "not"):
		p.next()
		return &expr.Not{Arg: p.binary(3)}
	}
	return p.postfix(p.primary())
}

func (p *parser) postfix(e expr.Expr) expr.Expr {
	for p.peek() == "[" {
		p.next()
		at := p.binary(0)
		p.want("]")
		e = call("[]", []expr.Expr{e, at})
	}
	return e
}

func (p *parser) args() []expr.Expr {
	var out []expr.Expr
	for p.peek() != ")" {
		out = append(out, p.binary(0))
		if p.peek() == "," {
			p.next()
		}
	}
	p.next()
	return out
}

func (p *parser) typ() types.Type {
	name := p.next()
	var args []int64
	if p.peek() == "(" {
		p.next()
		for p.peek() != ")" {
			if t := p.next(); t != "," {
				x, err := kernel.ParseInt(t, types.Of(types.Int64))
				if err != nil {
					panic(err)
				}
				args = append(args, x)
			}
		}
		p.next()
	}
	if name == "sparse" {
		name = "SPARSE VECTOR"
	}
	t, ok := types.Named(name, args)
	if !ok {
		panic(fmt.Errorf("no type %s", name))
	}
	for p.peek() == "[" {
		p.next()
		p.want("]")
		t = types.ListOf(t)
	}
	return t
}

func (p *parser) primary() expr.Expr {
	t := p.next()
	lower := strings.ToLower(t)
	switch {
	case t == "(":
		e := p.binary(0)
		p.want(")")
		return e
	case t == "[":
		var list []expr.Expr
		for p.peek() != "]" {
			list = append(list, p.binary(0))
			if p.peek() == "," {
				p.next()
			}
		}
		p.next()
		return call("make_array", list)
	case t != "" && t[0] == '\'':
		return text(t)
	case lower == "null":
		return &expr.Const{Value: vec.Null(types.Of(types.Unknown))}
	case lower == "true", lower == "false":
		return &expr.Const{Value: vec.Bool(lower == "true")}
	case t != "" && t[0] >= '0' && t[0] <= '9':
		return number(t)
	case t != "" && t[0] == '$':
		c := p.cols[t[1:]]
		if c == nil {
			panic(fmt.Errorf("no column %s", t))
		}
		return c
	case lower == "case":
		return p.cases()
	case p.peek() != "" && p.peek()[0] == '\'':
		to, ok := types.Named(t, nil)
		if !ok {
			panic(fmt.Errorf("no type %s", t))
		}
		return &expr.Cast{Arg: text(p.next()), To: to, Offset: -1}
	}
	p.want("(")
	switch lower {
	case "try":
		c := p.args()[0].(*expr.Cast)
		return &expr.Cast{Arg: c.Arg, To: c.To, Try: true, Offset: -1}
	case "coalesce_":
		return coalesce(p.args())
	}
	return call(t, p.args())
}

func coalesce(args []expr.Expr) expr.Expr {
	t := types.Of(types.Unknown)
	for _, a := range args {
		t, _ = types.Common(t, a.Type())
	}
	for i := range args {
		args[i] = cast(args[i], t)
	}
	return &expr.Coalesce{Args: args, T: t}
}

func (p *parser) cases() expr.Expr {
	c := &expr.Case{T: types.Of(types.Unknown)}
	for strings.EqualFold(p.peek(), "when") {
		p.next()
		w := expr.When{Cond: cast(p.binary(0), types.Of(types.Boolean))}
		p.want("then")
		w.Result = p.binary(0)
		c.Whens = append(c.Whens, w)
		c.T, _ = types.Common(c.T, w.Result.Type())
	}
	if strings.EqualFold(p.peek(), "else") {
		p.next()
		c.Else = p.binary(0)
		c.T, _ = types.Common(c.T, c.Else.Type())
		c.Else = cast(c.Else, c.T)
	}
	p.want("end")
	for i, w := range c.Whens {
		c.Whens[i].Result = cast(w.Result, c.T)
	}
	return c
}

func text(t string) expr.Expr {
	s := strings.ReplaceAll(strings.TrimSuffix(t[1:], "'"), "''", "'")
	return &expr.Const{Value: vec.Value{Type: types.Of(types.Unknown), Str: s}}
}

// number types a literal as the binder does: INT, BIGINT, DECIMAL, DOUBLE with an exponent.
func number(t string) expr.Expr {
	if strings.ContainsAny(t, "eE") {
		f, err := kernel.ParseDouble(t)
		if err != nil {
			panic(err)
		}
		return &expr.Const{Value: vec.Double(f)}
	}
	if x, err := kernel.ParseInt(t, types.Of(types.Int32)); err == nil {
		return &expr.Const{Value: vec.Int32(int32(x))}
	}
	if x, err := kernel.ParseInt(t, types.Of(types.Int64)); err == nil {
		return &expr.Const{Value: vec.Int64(x)}
	}
	whole, frac, _ := strings.Cut(t, ".")
	dt := types.DecimalOf(uint8(max(1, len(strings.TrimLeft(whole, "0"))+len(frac))), uint8(len(frac)))
	d, err := kernel.ParseDecimal(t, dt)
	if err != nil {
		panic(err)
	}
	return &expr.Const{Value: vec.Value{Type: dt, Dec: d}}
}
