package ast

import "testing"

func TestCopyWith(t *testing.T) {
	call := &FuncCall{Name: Name{Parts: []Ident{{Text: "columns"}}}}
	query := &Query{}
	e := &Logic{Op: OpAnd, Args: []Expr{
		&Binary{Op: OpGt, L: call, R: &NumberLit{Text: "1"}},
		&Case{Whens: []*When{{Cond: call, Result: &Subquery{Query: query}}}},
	}}
	other := &FuncCall{Name: Name{Parts: []Ident{{Text: "other"}}}}
	same, ok := CopyWith(e, nil).(*Logic)
	if !ok || same == e || !Equal(same, e) {
		t.Fatalf("a copy without replacements differs: %v", same)
	}
	got := CopyWith(e, map[*FuncCall]*FuncCall{call: other}).(*Logic)
	if l := got.Args[0].(*Binary).L; l != Expr(other) {
		t.Errorf("the operand is %v", l)
	}
	w := got.Args[1].(*Case).Whens[0]
	if w.Cond != Expr(other) || w.Result.(*Subquery).Query != query {
		t.Errorf("the branch is %v, %v", w.Cond, w.Result)
	}
	if e.Args[0].(*Binary).L != Expr(call) || e.Args[1].(*Case).Whens[0].Cond != Expr(call) {
		t.Error("the original changed")
	}
}
