// Package load brings files into a collection or a table: loam load.
//
// In: a target, the names of files and directories, and options. It finds out
// what each file is, matches columns by name, casts values, and sends record
// batches over a few streams at once; each acknowledged batch moves the
// positions that a state file keeps. Out: the rows in the target, a summary, and
// the rows that could not be taken, with file, line, column, value and cure.
//
// One goroutine reads and converts, one a stream sends. Rows of one key go through
// one stream, in the order of the files, so that the last one wins. Memory is
// bounded: a few batches a stream. It imports internal/datafile for the formats,
// cmd/loam/internal/passages for text, and flightsql/client or the engine for
// the target.
package load
