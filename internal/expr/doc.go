// Package expr holds bound expressions and their one evaluator, which storage
// (filters over a part's columns) and the executor share.
//
// In: trees whose columns are ids and whose functions are resolved. Out:
// vectors of one chunk. It never parses, never plans, never does I/O. It
// imports vec, types, fail; functions are registered into it as data by the
// package functions.
package expr
