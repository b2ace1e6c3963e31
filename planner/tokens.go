package planner

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/planner/internal/ast"
	"github.com/loamdb/loam/planner/internal/binder"
	"github.com/loamdb/loam/planner/internal/deparse"
	"github.com/loamdb/loam/planner/internal/parser"
)

// Token is a piece of SQL with its class, for programs that color, complete or
// cut text that may not parse yet.
type Token = parser.Token

// TokenClass is what a token is.
type TokenClass = parser.Class

// The classes of tokens.
const (
	TokenOperator   = parser.Operator
	TokenKeyword    = parser.Keyword
	TokenName       = parser.Name
	TokenQuotedName = parser.QuotedName
	TokenNumber     = parser.Number
	TokenString     = parser.String
	TokenParameter  = parser.Parameter
	TokenComment    = parser.Comment
	TokenOpen       = parser.Open
	TokenBad        = parser.Bad
)

// Tokens splits any text into tokens; it never fails. An unclosed string, name
// or comment is one token of class TokenOpen at the end.
func Tokens(sql string) []Token { return parser.Tokens(sql) }

// NextToken is the first token at or after byte from, a place between tokens;
// false when there is none.
func NextToken(sql string, from int) (Token, bool) { return parser.NextToken(sql, from) }

// Keywords lists the words of the grammar, in upper case.
func Keywords() []string { return parser.Keywords() }

// TableFunctions lists the functions that are called in FROM, of kind search or
// table; their examples stand behind FROM.
func TableFunctions() []expr.FuncHelp { return binder.TableFunctions() }

// QuoteName is a name as SQL reads it back: in double quotes where it needs them.
func QuoteName(name string) string {
	return deparse.Ident(ast.Ident{Text: name, Quoted: parser.Reserved(name)})
}

// QuoteText is a text as a literal of SQL.
func QuoteText(text string) string { return deparse.Literal(text) }
