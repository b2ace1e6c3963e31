// Package deparse turns syntax trees back into SQL: one line, canonical
// keywords, the fewest parentheses that keep the tree.
//
// In: trees of package ast, from the parser or built by code that keeps the
// contracts written there. Out: text. For every tree t of the parser,
// parsing the text of t gives a tree that is ast.Equal to t. Views and links are
// stored in this form. It never resolves a name and never fails; it may import
// ast only.
//
// Unquoted names are printed as they are; a name that is not a plain word is
// quoted whatever its flag says. Code that builds trees quotes reserved words
// itself. All functions are safe for concurrent use.
package deparse
