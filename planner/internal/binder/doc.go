// Package binder turns a syntax tree into a plan: it resolves every name against
// the catalog and the scopes of the query, gives every column an id, types every
// expression, and joins subqueries to the query around them.
//
// In: one [ast.Statement] with its text, the catalog, the functions. Out: a
// [Result] whose plan holds no subquery, no dependent join and no name that
// still has to be looked up. It is correct as it stands: the optimizer may be
// switched off. It never reads rows and never guesses: what it does not
// understand is an error with a place and, where there is one, a cure.
//
// It imports ast, parser (for filters that are given as text), rowcount, catalog,
// and the ground floor (plan, expr, schema, types, vec, fail). It never imports
// the optimizer, the executor or storage.
package binder
