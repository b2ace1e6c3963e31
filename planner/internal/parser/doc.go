// Package parser turns the text of Loam SQL into syntax trees.
//
// In: SQL text. Out: trees of package ast, or one *fail.Error (Syntax, TooDeep,
// TooLarge, InvalidEncoding, or Unsupported for syntax that is reserved) that
// says what was found, what was expected, where, and often the cure. It never
// resolves a name, never looks at a catalog or a setting, and never panics on
// any input. It may import ast and internal/fail.
//
// The language is PostgreSQL's with DuckDB's friendly forms, everything that
// DataFusion prints, and Loam's own statements. Expressions are parsed by
// precedence climbing over the table in ast (ast.Op.Precedence), statements by
// recursive descent over a token slice made in one pass.
//
// Limits: a text is at most [MaxText] bytes, nesting at most [MaxDepth] levels,
// a list at most [MaxList] items. All functions are safe for concurrent use.
//
// Errors are sticky: the first one is kept and the parser moves to the end of
// the text, so that every loop ends and callers need no check after each step.
package parser
