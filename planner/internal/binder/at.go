package binder

import (
	"fmt"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner/internal/ast"
)

// atKinds are the states, with the type of the value and an example.
var atKinds = map[ast.AtKind]struct {
	kind    plan.AtKind
	value   types.Kind
	example string
}{
	ast.AtVersion:   {plan.AtVersion, types.Int64, "AT (VERSION => 3)"},
	ast.AtTag:       {plan.AtTag, types.Text, "AT (TAG => 'v1')"},
	ast.AtToken:     {plan.AtToken, types.Text, "AT (TOKEN => 'v1:…')"},
	ast.AtTimestamp: {plan.AtTimestamp, types.Timestamp, "AT (TIMESTAMP => now() - interval '1 hour')"},
}

// state binds the state that a leaf reads: its own, or else the one that the query
// asks the view around it for.
func (b *Binder) state(x *ast.At) (*plan.At, error) {
	if x == nil {
		if b.view != nil {
			return b.view.at, nil
		}
		return nil, nil
	}
	k := atKinds[x.Kind]
	pos := x.Value.Pos()
	e, err := b.standalone(x.Value, types.Of(k.value), "AT")
	if err != nil {
		if u := fail.As(err); u.Hint == "" {
			return nil, u.WithHint("Write %s.", k.example)
		}
		return nil, err
	}
	if v, ok := e.(*expr.Const); ok && v.Value.Null {
		return nil, b.fail(fail.InvalidParameter, pos, "AT (%s => NULL) names no state", x.Kind).WithHint("Write %s.", k.example)
	}
	if b.view != nil {
		pos = b.view.pos
	}
	return &plan.At{Kind: k.kind, Value: e, Offset: pos}, nil
}

// noPast refuses AT on what has no versions.
func (b *Binder) noPast(x *ast.TableName, what string) error {
	if x.At == nil {
		return nil
	}
	return b.fail(fail.WrongObjectType, x.At.Pos(), "%q is %s and has no past", x.Name.Last().Text, what).
		WithHint("AT follows a collection, a table, a stream or a view of them.")
}

// scanAt makes the scan of an object in FROM.
func (b *Binder) scanAt(obj *schema.Object, x *ast.TableName, alias string) (plan.Node, *scope, error) {
	scan, sc := b.scanObject(obj, alias)
	var err error
	scan.At, err = b.state(x.At)
	return scan, sc, err
}

// sameState refuses a fusion of searches over several states.
func (s *searchCall) sameState(args *callArgs) error {
	at, err := s.b.state(args.at)
	if err != nil || at.String() == s.scan.At.String() {
		return err
	}
	pos := args.pos
	if args.at != nil {
		pos = args.at.Pos()
	}
	return s.b.fail(fail.Unsupported, pos, "the searches of rrf read %s and %s of %q: they must read the same state", stateName(s.scan.At), stateName(at), s.scan.Object.Name).
		WithHint("Write the same AT (…) in each of them.")
}

func stateName(at *plan.At) string {
	if at == nil {
		return "the current state"
	}
	return at.String()
}

// viewAt checks that a state of a view means something for what it reads.
func (b *Binder) viewAt(obj *schema.Object, node plan.Node, at *plan.At) error {
	names := map[uint64]string{}
	plan.Walk(node, func(n plan.Node) bool {
		switch x := n.(type) {
		case *plan.Scan:
			if x.At.String() == at.String() {
				names[x.Object.ID] = x.Object.Name
			}
		case *plan.SearchScan:
			if x.At.String() == at.String() {
				names[x.Object.ID] = x.Object.Name
			}
		}
		return true
	})
	switch {
	case len(names) == 0:
		return b.fail(fail.WrongObjectType, at.Offset, "view %s reads nothing that has a past, or says itself which state it reads", obj.QualifiedName())
	case len(names) > 1 && at.Kind != plan.AtTag && at.Kind != plan.AtTimestamp:
		return b.fail(fail.InvalidParameter, at.Offset, "view %s reads %s: a %s is of one of them", obj.QualifiedName(), fmt.Sprint(len(names), " objects"), at.Kind).
			WithHint("Use TIMESTAMP, or a TAG that each of them has.")
	}
	return nil
}
