package binder

import (
	"strconv"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/deparse"
)

// showCreate answers SHOW CREATE with a statement that makes the object again.
func (b *Binder) showCreate(s *ast.Show) (plan.Statement, error) {
	if s.Object == ast.ObjectNamespace {
		ns, text, err := b.createNamespaceText(s.Name)
		return b.createAnswer(ns, text), err
	}
	want, ok := objectKinds[s.Object]
	if !ok {
		return nil, b.unsupported(s.Pos(), "SHOW CREATE "+s.Object.String())
	}
	obj, err := b.object(s.Name)
	if want == schema.Link && fail.Is(err, fail.UndefinedTable) {
		err = b.noLink(s.Name)
	}
	if err != nil {
		return nil, err
	}
	if obj.Kind != want {
		return nil, b.fail(fail.WrongObjectType, s.Name.Pos(), "%q is a %s", obj.Name, obj.Kind).
			WithHint("Write SHOW CREATE %s %s.", strings.ToUpper(string(obj.Kind)), s.Name.String())
	}
	text, err := b.createText(obj)
	if err != nil {
		return nil, b.at(err, s.Name.Pos())
	}
	return b.createAnswer(obj.Name, text), nil
}

func (b *Binder) createAnswer(name, text string) plan.Statement {
	t := types.Of(types.Text)
	out := &plan.Values{Cols: []plan.Column{b.newColumn("name", t), b.newColumn("statement", t)},
		Rows: [][]expr.Expr{{textConst(name), textConst(text)}}}
	return &plan.Query{Root: out, Cols: out.Cols}
}

// createText is the statement that makes an object.
func (b *Binder) createText(obj *schema.Object) (string, error) {
	if obj.Kind == schema.Link {
		return b.createLinkText(obj)
	}
	if obj.Kind == schema.View {
		text, err := b.viewText(obj)
		return "CREATE VIEW " + objectText(obj) + " (" + columnList(obj) + ") AS " + text, err
	}
	return createTableText(obj), nil
}

func objectText(obj *schema.Object) string {
	return deparse.Ident(quoted(obj.Namespace)) + "." + deparse.Ident(quoted(obj.Name))
}

func columnList(obj *schema.Object) string {
	names := make([]string, len(obj.Fields))
	for i, f := range obj.Fields {
		names[i] = deparse.Ident(quoted(f.Name))
	}
	return strings.Join(names, ", ")
}

// createTableText is the CREATE statement of a collection, a table or a stream.
func createTableText(obj *schema.Object) string {
	var lines []string
	for i, f := range obj.Fields {
		line := deparse.Ident(quoted(f.Name)) + " " + f.Type.String()
		if f.MaxChars > 0 {
			line = deparse.Ident(quoted(f.Name)) + " VARCHAR(" + strconv.Itoa(int(f.MaxChars)) + ")"
		}
		if len(obj.Key) == 1 && obj.IsKey(i) {
			line += " PRIMARY KEY"
		} else if f.NotNull && !obj.IsKey(i) {
			line += " NOT NULL"
		}
		if f.FullText != "" {
			line += " FULLTEXT " + deparse.Literal(f.FullText)
		}
		if f.Metric != "" {
			line += " DISTANCE " + string(f.Metric)
		}
		if f.Modifier != "" {
			line += " MODIFIER " + f.Modifier
		}
		if f.Default != "" {
			line += " DEFAULT " + f.Default
		}
		lines = append(lines, line)
	}
	if len(obj.Key) > 1 {
		var keys []string
		for _, k := range obj.Key {
			keys = append(keys, deparse.Ident(quoted(obj.Fields[k].Name)))
		}
		lines = append(lines, "PRIMARY KEY ("+strings.Join(keys, ", ")+")")
	}
	text := "CREATE " + strings.ToUpper(string(obj.Kind)) + " " + objectText(obj) + " (" + strings.Join(lines, ", ") + ")"
	options := []string{"partitions = " + strconv.Itoa(obj.Partitions)}
	if at := obj.Route(); at >= 0 {
		options = append(options, "key = "+deparse.Literal(obj.Fields[at].Name))
	} else if f, _ := obj.FieldByName(routeName, false); f != nil && obj.Kind == schema.Stream {
		options = append(options, "key = ''")
	}
	if obj.Kind == schema.Collection {
		options = append(options, "dynamic = "+strconv.FormatBool(obj.Dynamic))
	}
	return text + " WITH (" + strings.Join(append(options, optionTexts(obj.Options)...), ", ") + ")"
}
