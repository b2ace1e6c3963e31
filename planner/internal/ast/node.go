package ast

import "strings"

// Node is any part of a syntax tree. The set of node types is closed: only this
// package can add one.
type Node interface {
	// Pos is the byte offset of the first character of the node.
	Pos() int
	// End is the byte offset just after the last character of the node.
	End() int
	// children calls f for each direct child, in the order of the text where
	// the grammar fixes one. It never passes nil.
	children(f func(Node))
}

// Expr is an expression.
type Expr interface {
	Node
	expr()
}

// TableRef is an item of a FROM clause.
type TableRef interface {
	Node
	tableRef()
}

// QueryBody is what a [Query] orders and limits: a *[Select], a *[SetOp], a
// *[Values], or a *[Query] in parentheses that has a WITH, ORDER BY or LIMIT of
// its own.
type QueryBody interface {
	Node
	queryBody()
}

// Statement is one SQL statement.
type Statement interface {
	Node
	statement()
}

// Span is the place of a node: the half-open byte range [Start, Stop). Every
// node embeds it. Comparisons of trees ignore it.
type Span struct {
	Start, Stop int
}

// Pos is the first byte of the range.
func (s Span) Pos() int { return s.Start }

// End is the byte after the range.
func (s Span) End() int { return s.Stop }

// Ident is a name as it was written: Text without its quotes and with doubled
// quotes undone. The zero Ident means that there is no name.
type Ident struct {
	Span
	Text string
	// Quoted names match exactly; unquoted ones without regard to case.
	Quoted bool
}

// IsZero reports whether there is no name.
func (i Ident) IsZero() bool { return i.Text == "" && !i.Quoted }

// Is reports whether the name is the unquoted word, in any case.
func (i Ident) Is(word string) bool { return !i.Quoted && strings.EqualFold(i.Text, word) }

// Name is a possibly qualified name of an object: one to four parts, the last
// being the object itself. An absent name has no parts.
type Name struct {
	Span
	Parts []Ident
}

// IsZero reports whether there is no name.
func (n Name) IsZero() bool { return len(n.Parts) == 0 }

// Last is the last part, or the zero Ident.
func (n Name) Last() Ident {
	if len(n.Parts) == 0 {
		return Ident{}
	}
	return n.Parts[len(n.Parts)-1]
}

// String joins the parts with dots, unquoted: for messages, not for SQL.
func (n Name) String() string { return joinIdents(n.Parts, ".") }

func joinIdents(ids []Ident, sep string) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.Text
	}
	return strings.Join(words, sep)
}

// Inspect calls f for n and, where f returns true, for everything below it,
// parents before children. A nil n is ignored.
func Inspect(n Node, f func(Node) bool) {
	if n == nil || !f(n) {
		return
	}
	n.children(func(c Node) { Inspect(c, f) })
}

// Children calls f for each direct child of n.
func Children(n Node, f func(Node)) { n.children(f) }

// Depth is the number of nodes on the longest path from n down, n included.
func Depth(n Node) int {
	deepest := 0
	n.children(func(c Node) { deepest = max(deepest, Depth(c)) })
	return deepest + 1
}

// each passes the nodes of a list on.
func each[T Node](f func(Node), list []T) {
	for _, n := range list {
		f(n)
	}
}

// opt passes an optional interface-typed child on.
func opt[T interface {
	comparable
	Node
}](f func(Node), n T) {
	var none T
	if n != none {
		f(n)
	}
}
