package binder

import (
	"math"
	"strings"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner/internal/ast"
)

// sampleSteps is the fineness of a sample with a seed: its draws are the whole
// numbers below.
const sampleSteps = 1_000_000_000

// sampled keeps a sample of rows: each with a chance of so many percent, or a
// number of them. nil keeps all. The draw is random() for each row; with a seed it
// is a hash of the seed and the row's id, so that it stays while the rows do.
func (b *Binder) sampled(node plan.Node, s *ast.Sample) (plan.Node, error) {
	if s == nil {
		return node, nil
	}
	if err := b.sampleMethod(s); err != nil {
		return nil, err
	}
	draw, err := b.draw(node, s)
	if err != nil {
		return nil, err
	}
	if s.Rows {
		return b.sampleRows(node, draw, s)
	}
	share, err := b.sampleShare(s)
	if err != nil {
		return nil, err
	}
	below := expr.Expr(&expr.Const{Value: vec.Double(share)})
	if s.Seed != nil {
		below = bigintConst(int64(math.Round(share * sampleSteps)))
	}
	pred, err := b.compare(expr.Lt, draw, below, s.Pos())
	return &plan.Filter{Input: node, Pred: pred}, err
}

// sampleMethod checks the method. All draw row by row.
func (b *Binder) sampleMethod(s *ast.Sample) error {
	switch name := strings.ToLower(s.Method.Text); name {
	case "":
	case "bernoulli", "system":
		if s.Rows {
			return b.fail(fail.InvalidParameter, s.Method.Pos(), "%s samples a percentage, not a number of rows", strings.ToUpper(name)).
				WithHint("Write RESERVOIR (n ROWS).")
		}
	case "reservoir":
		if !s.Rows {
			return b.fail(fail.InvalidParameter, s.Method.Pos(), "RESERVOIR samples a number of rows, not a percentage").
				WithHint("Write BERNOULLI (p).")
		}
	default:
		return b.fail(fail.InvalidParameter, s.Method.Pos(), "there is no sampling method %q", s.Method.Text).
			WithHint("The methods are BERNOULLI, SYSTEM and RESERVOIR.")
	}
	return nil
}

// draw is the number that decides about a row: random, or by seed and row id from
// 0 to sampleSteps.
func (b *Binder) draw(node plan.Node, s *ast.Sample) (expr.Expr, error) {
	if s.Seed == nil {
		return b.scalar("random", nil, s.Pos())
	}
	seed, err := (&clause{b: b, scope: &scope{}, name: "REPEATABLE"}).expr(s.Seed)
	if err != nil {
		return nil, err
	}
	if seed, err = b.castTo(seed, types.Of(types.Double), false, s.Seed.Pos()); err != nil {
		return nil, err
	}
	v, err := b.constant(seed, "the seed of REPEATABLE", s.Seed.Pos())
	if err != nil {
		return nil, err
	}
	if v.Null {
		return nil, b.fail(fail.InvalidParameter, s.Seed.Pos(), "the seed of REPEATABLE is NULL")
	}
	scan, ok := node.(*plan.Scan)
	if !ok {
		return nil, b.fail(fail.Unsupported, s.Seed.Pos(), "REPEATABLE is for tables and collections: other rows have no identity").
			WithHint("Sample the table, or store the rows with CREATE TABLE AS.")
	}
	for _, c := range scan.Cols {
		if c.Field == string(schema.ColRowID) {
			h, err := b.scalar("hash", []expr.Expr{&expr.Const{Value: v}, c.Ref()}, s.Pos())
			if err != nil {
				return nil, err
			}
			if h, err = b.scalar("%", []expr.Expr{h, bigintConst(sampleSteps)}, s.Pos()); err != nil {
				return nil, err
			}
			return b.scalar("abs", []expr.Expr{h}, s.Pos())
		}
	}
	return nil, b.unsupported(s.Seed.Pos(), "REPEATABLE over rows without an id")
}

// sampleShare is the chance of a row, from 0 to 1.
func (b *Binder) sampleShare(s *ast.Sample) (float64, error) {
	size, err := (&clause{b: b, scope: &scope{}, name: "a sample"}).expr(s.Size)
	if err != nil {
		return 0, err
	}
	if size, err = b.castTo(size, types.Of(types.Double), false, s.Size.Pos()); err != nil {
		return 0, err
	}
	v, err := b.constant(size, "the size of a sample", s.Size.Pos())
	if err != nil {
		return 0, err
	}
	if v.Null || !(v.Float >= 0 && v.Float <= 100) {
		return 0, b.fail(fail.InvalidParameter, s.Size.Pos(), "the size of a sample is from 0 to 100 percent")
	}
	return v.Float / 100, nil
}

// sampleRows keeps the rows of the smallest draws.
func (b *Binder) sampleRows(node plan.Node, draw expr.Expr, s *ast.Sample) (plan.Node, error) {
	n, err := b.rowCount(s.Size, "a sample", plan.NoLimit)
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, b.fail(fail.InvalidParameter, s.Size.Pos(), "the size of a sample must be a constant number of rows")
	}
	cols := node.Columns()
	drawn := passColumns(node, cols)
	by := b.newColumn("draw", draw.Type())
	drawn.Exprs = append(drawn.Exprs, plan.NamedExpr{Column: by, Expr: draw})
	top := &plan.Sort{Input: drawn, Keys: []plan.SortKey{{Expr: by.Ref()}}, Limit: n}
	return passColumns(top, cols), nil
}
