// Package loam is the engine: it opens a data directory, keeps sessions, and
// runs SQL, writes and scan plans over collections and tables. It is the
// embeddable Go API, and what the wire (flightsql) translates to.
//
// In: SQL text with parameters, batches of rows, scan requests. Out: chunks of
// vectors, tokens, plans. It owns the order of DDL, admission and snapshots; it
// never speaks a protocol and never opens a socket. It imports planner, exec,
// functions, catalog, storage, metastore, worker.
//
//	db, err := loam.Open(ctx, loam.Config{})          // in memory
//	rows, err := db.NewSession(loam.SessionConfig{}).Query(ctx, "SELECT $1 + 1 AS two", 1)
//	for batch, err := range rows.Records(ctx) { … }                  // Arrow
package loam
