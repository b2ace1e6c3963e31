// Package plan holds the nodes of a query plan as pure data. The planner builds
// and rewrites them, the executor runs them, EXPLAIN prints them; neither knows
// the other.
//
// A plan is immutable once built; passes copy what they change. Every column of
// a statement has one [expr.ColumnID], given out by the binder. It imports expr,
// schema, types, vec, fail.
package plan
