// Package ast holds the syntax tree of Loam SQL: statements, queries, table
// references, expressions and type names, as plain structs with their places in
// the text.
//
// In: nothing; the parser (and the MySQL adapter) build nodes, the binder and
// the deparser read them. Out: [Node] values, a generic walk ([Inspect]), a
// structural comparison that ignores places ([Equal]) and a readable dump
// ([Dump]). It never resolves a name, checks a type or looks at a catalog, and
// it imports nothing of Loam.
//
// Contracts that hold for every tree of the parser:
//
//   - A tree is immutable once parsed and may be read by any number of
//     goroutines. Who needs a changed tree builds a new one.
//   - Pos and End are byte offsets into the text that was parsed; text[Pos:End]
//     is the node as it was written (comments inside included). For a node in
//     parentheses the range excludes the parentheses.
//   - Parentheses leave no node: the tree is the grouping. AND and OR are n-ary
//     and flattened: an argument of an AND is never itself an AND.
//   - Sugar is gone: x::t is a [Cast], ~~ is a [Like], TABLE t and FROM t are
//     SELECT * FROM t, SUBSTRING(x FROM a FOR b) is the call substring(x, a, b),
//     ? is numbered like $1, {d '…'} is a [TypedLit].
//   - Names are kept as written ([Ident]); folding is the binder's business.
//   - Optional parts are nil or the zero value, never an empty placeholder node.
//   - The depth of a tree is bounded, so recursion over it is safe.
package ast
