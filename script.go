package loam

import "github.com/loamdb/loam/planner"

// SplitScript cuts a script into its statements. A script that does
// not parse is an error with its place in it.
func SplitScript(sql string) ([]planner.Part, error) { return planner.Split(sql) }

// CheckPredicate says whether a text is one SQL expression and nothing more, so
// that it can stand in parentheses inside a statement. Names are not looked up.
func CheckPredicate(text string) error { return planner.CheckPredicate(text) }

// QuoteName is a name as SQL reads it back: in double quotes where it needs them.
func QuoteName(name string) string { return planner.QuoteName(name) }

// QuoteText is a text as a literal of SQL.
func QuoteText(text string) string { return planner.QuoteText(text) }
