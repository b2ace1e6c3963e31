package binder

import (
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/planner/internal/ast"
)

func (b *Binder) insert(s *ast.Insert) (plan.Statement, error) {
	return nil, b.unsupported(s.Pos(), "INSERT")
}
func (b *Binder) update(s *ast.Update) (plan.Statement, error) {
	return nil, b.unsupported(s.Pos(), "UPDATE")
}
func (b *Binder) delete(s *ast.Delete) (plan.Statement, error) {
	return nil, b.unsupported(s.Pos(), "DELETE")
}
func (b *Binder) createNamespace(s *ast.CreateNamespace) (plan.Statement, error) {
	return nil, b.unsupported(s.Pos(), "")
}
func (b *Binder) createTable(s *ast.CreateTable) (plan.Statement, error) {
	return nil, b.unsupported(s.Pos(), "")
}
func (b *Binder) drop(s *ast.Drop) (plan.Statement, error) { return nil, b.unsupported(s.Pos(), "") }
func (b *Binder) tableFunc(x *ast.TableFunc, outer, left *scope) (plan.Node, *scope, error) {
	return nil, nil, b.unsupported(x.Pos(), "this table function")
}
