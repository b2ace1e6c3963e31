// Package rowcount says how a number of rows in a plan (LIMIT, OFFSET, the limit
// of a search) stands for a parameter that has no value yet.
//
// A plan counts rows with a number. Parameter i is the number Param(i), below
// plan.NoLimit. Passes take such a number for unknown and leave it alone; when
// parameters are bound the values are put in and the plan is optimized again. A
// plan that runs holds none.
package rowcount

import "github.com/loamdb/loam/internal/plan"

// Auto is a number of rows that the statement leaves open: the limit of a search
// or of one of its legs. It is settled after all passes.
const Auto = plan.NoLimit

// Param stands for the value of a parameter.
func Param(index int) int64 { return plan.NoLimit - 1 - int64(index) }

// Index is the parameter behind a number made by Param.
func Index(n int64) (index int, ok bool) { return int(plan.NoLimit - 1 - n), n < plan.NoLimit }

// Known reports whether a number of rows is a number: not a parameter, not open.
func Known(n int64) bool { return n >= 0 }
