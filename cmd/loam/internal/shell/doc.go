// Package shell prints the answers of statements: the work behind `loam sql -c`
// and `loam sql -f`.
//
// In: a script and something that runs statements (a server, or an engine in
// this process). Out: the last result as a table, CSV or JSON; errors with the
// place in the statement. It never parses SQL itself and opens nothing.
package shell
