package plan

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/schema"
)

// Transform is what a link does with the rows of its source: those for which Where
// holds become rows of the target.
type Transform struct {
	Source, Target *schema.Object
	// Cols are the columns of the source that the expressions read.
	Cols []ScanColumn
	// Where is nil without a filter.
	Where expr.Expr
	// Exprs[i] is the value of the target's field with the id Fields[i], cast to its
	// type; all other fields are NULL.
	Exprs  []expr.Expr
	Fields []int32
}
