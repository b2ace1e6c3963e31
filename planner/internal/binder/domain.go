package binder

import "github.com/loamdb/loam/internal/plan"

func (b *Binder) applyDomain(left plan.Node, j subJoin) (plan.Node, error) {
	return nil, b.unsupported(j.off, "this correlated subquery")
}
