package binder

import (
	"strings"

	"github.com/loamdb/loam/internal/expr"
)

// The groups of functions in FROM.
const (
	searchGroup = "Search"
	rowsGroup   = "Rows and files"
)

// tableHelp describes the functions that are called in FROM. The signatures of
// searches are made from what the binder takes; examples stand behind FROM, and run
// over the collection of docs/functions.md unless they read a file.
var tableHelp = []expr.FuncHelp{
	{Name: "vector_search", Group: searchGroup, Help: "The rows whose vectors are nearest to the query, best first, with `_score`", Example: "vector_search(docs, [1, 0], limit => 2)"},
	{Name: "text_search", Group: searchGroup, Help: "The rows whose text matches the words, best first (BM25), with `_score`", Example: "text_search(docs, 'quick fox', limit => 2)"},
	{Name: "rrf", Group: searchGroup, Help: "Several searches fused by their ranks, with `_fused_score`", Example: "rrf(vector_search(docs, [1, 0]), text_search(docs, 'dog'), limit => 2)"},
	{Name: "generate_series", Group: rowsGroup, Signature: "generate_series(start, stop[, step])", Help: "Numbers or times from start to stop, stop included", Example: "generate_series(1, 3)"},
	{Name: "range", Group: rowsGroup, Signature: "range([start, ]stop[, step])", Help: "Numbers or times from start (0) to stop, stop not included", Example: "range(2)"},
	{Name: "unnest", Group: rowsGroup, Signature: "unnest(list[, list …])", Help: "A row for each item; several lists side by side, NULL behind the end of a short one", Example: "unnest(['a', 'b'])"},
	{Name: "read_csv", Group: rowsGroup, Signature: "read_csv(path or [path, …])", Help: "The rows of CSV files, whose dialect and types are found out; globs, gzip and zstd", Example: "read_csv('teas.csv')"},
	{Name: "read_json", Group: rowsGroup, Signature: "read_json(path or [path, …])", Help: "The rows of files of JSON objects, one a line or an array", Example: "read_json('teas.jsonl')"},
	{Name: "read_parquet", Group: rowsGroup, Signature: "read_parquet(path or [path, …])", Help: "The rows of Parquet files", Example: "read_parquet('teas/*.parquet')"},
	{Name: "read_lance", Group: rowsGroup, Signature: "read_lance(path[, version => n | tag => 't'])", Help: "The rows of a Lance dataset of any writer", Example: "read_lance('teas.lance', tag => 'v1')"},
}

// TableFunctions lists the functions that are called in FROM: of kind search, or table.
func TableFunctions() []expr.FuncHelp {
	out := make([]expr.FuncHelp, 0, len(tableHelp))
	for _, h := range tableHelp {
		h.Of, h.Kind = h.Name, "table"
		if sig := searchSignatures[h.Name]; sig != nil {
			h.Kind, h.Signature = "search", sig.text()
		}
		out = append(out, h)
	}
	return out
}

// text writes a signature: what may be left out in brackets, named arguments with an arrow.
func (s *signature) text() string {
	var b strings.Builder
	b.WriteString(s.name + "(")
	if s.variadic != "" {
		b.WriteString("search, search[, …]")
	}
	for i, p := range s.positional {
		switch i {
		case 0:
			b.WriteString(p)
		case 1:
			b.WriteString(", " + p)
		default:
			b.WriteString("[, " + p + "]")
		}
	}
	for _, n := range s.named {
		b.WriteString("[, " + n + " => …]")
	}
	return b.String() + ")"
}
