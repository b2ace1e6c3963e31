package binder

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// maxTagName keeps the files that mirror a tag within the names of file systems.
const maxTagName = 128

// tagChars are the names that Lance takes for its tags.
var tagChars = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// checkTagName refuses names under which a tag could not be mirrored as a Lance tag.
func (b *Binder) checkTagName(id ast.Ident) error {
	name := id.Text
	why := ""
	switch {
	case name == "":
		why = "is empty"
	case len(name) > maxTagName:
		why = "has more than " + strconv.Itoa(maxTagName) + " bytes"
	case !tagChars.MatchString(name):
		why = "has other characters than A-Z, a-z, 0-9, '.', '_' and '-'"
	case name[0] == '.' || name[len(name)-1] == '.':
		why = "begins or ends with a dot"
	case strings.Contains(name, ".."):
		why = "has two dots in a row"
	case strings.HasSuffix(name, ".lock"):
		why = "ends with .lock"
	default:
		return nil
	}
	return b.fail(fail.InvalidParameter, id.Pos(), "a tag cannot be called %q: the name %s", name, why).
		WithHint("The name is also that of a Lance tag. Choose one such as \"2026-01-eval\" or release_1.")
}

// versioned finds an object that has versions.
func (b *Binder) versioned(n ast.Name) (*schema.Object, error) {
	obj, err := b.object(n)
	if err == nil && obj.Kind != schema.Collection && obj.Kind != schema.Table && obj.Kind != schema.Stream {
		return nil, b.fail(fail.WrongObjectType, n.Pos(), "%q is a %s and has no versions to tag", obj.Name, obj.Kind).
			WithHint("Tag what it reads.")
	}
	return obj, err
}

func (b *Binder) createTag(s *ast.CreateTag) (plan.Statement, error) {
	if s.OrReplace {
		return nil, b.fail(fail.Unsupported, s.Pos(), "a tag never moves: there is no CREATE OR REPLACE TAG").
			WithHint("DROP TAG %s ON %s first.", s.Name.Text, s.On.String())
	}
	if err := b.checkTagName(s.Name); err != nil {
		return nil, err
	}
	obj, err := b.versioned(s.On)
	if err != nil {
		return nil, err
	}
	out := &plan.CreateTag{Object: obj, Name: s.Name.Text, IfNotExists: s.IfNotExists}
	if out.At, err = b.state(s.At); err != nil {
		return nil, err
	}
	for _, o := range s.Options {
		if err := b.tagOption(out, o); err != nil {
			return nil, err
		}
	}
	if len(b.params) > 0 {
		return nil, b.fail(fail.UndefinedParameter, s.Pos(), "CREATE TAG cannot have parameters").WithHint("Write the values into the statement.")
	}
	return out, nil
}

// tagOption reads one option of WITH.
func (b *Binder) tagOption(out *plan.CreateTag, o *ast.Option) error {
	known := []string{"protect", "expires_at", "comment"}
	switch name := strings.ToLower(o.Name.String()); name {
	case "protect":
		text, err := b.optionValue(o.Value)
		if err != nil {
			return err
		}
		if out.Protect, err = strconv.ParseBool(strings.ToLower(text)); err != nil {
			return b.fail(fail.InvalidParameter, o.Pos(), "protect must be true or false, not %q", text)
		}
	case "comment":
		text, err := b.optionValue(o.Value)
		if err != nil {
			return err
		}
		out.Comment = text
	case "expires_at":
		e, err := b.standalone(o.Value, types.Of(types.Timestamp), "expires_at")
		if err != nil {
			return fail.As(err).WithHint("Write expires_at => now() + interval '30 days'.")
		}
		if k, ok := e.(*expr.Const); !ok || !k.Value.Null {
			out.Expires = e
		}
	default:
		err := b.fail(fail.InvalidParameter, o.Pos(), "a tag has no option %q", o.Name.String())
		if near := fail.Closest(name, known); near != "" {
			return err.WithHint("Did you mean %s?", near)
		}
		return err.WithHint("Its options are %s.", strings.Join(known, ", "))
	}
	return nil
}

// standalone binds an expression of a type that reads no columns.
func (b *Binder) standalone(x ast.Expr, t types.Type, what string) (expr.Expr, error) {
	c := &clause{b: b, scope: &scope{}, name: what}
	e, err := c.expr(x)
	if fail.Is(err, fail.UndefinedColumn) || fail.Is(err, fail.UndefinedTable) {
		return nil, b.fail(fail.Unsupported, x.Pos(), "the value of %s must be a constant or a parameter, not a column", what)
	}
	if err != nil {
		return nil, err
	}
	if len(c.joins) > 0 {
		return nil, b.unsupported(x.Pos(), "a subquery in "+what)
	}
	return b.coerce(e, t, x.Pos())
}

func (b *Binder) dropTags(s *ast.Drop) (plan.Statement, error) {
	obj, err := b.versioned(s.On)
	if s.IfExists && (fail.Is(err, fail.UndefinedTable) || fail.Is(err, fail.UndefinedNamespace)) {
		return &plan.Nothing{Note: strconv.Quote(s.On.String()) + " does not exist, nor has it tags"}, nil
	}
	if err != nil {
		return nil, err
	}
	out := &plan.DropTags{Object: obj, IfExists: s.IfExists}
	for _, n := range s.Names {
		if len(n.Parts) != 1 {
			return nil, b.fail(fail.Syntax, n.Pos(), "a tag has a name of one part").
				WithHint("Write DROP TAG \"%s\" ON %s, in double quotes, if the dots belong to the name.", n.String(), s.On.String())
		}
		out.Names, out.Offsets = append(out.Names, n.Parts[0].Text), append(out.Offsets, n.Pos())
	}
	return out, nil
}
