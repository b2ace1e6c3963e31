// Package rest is the HTTP door: each route builds the SQL or the call that Flight
// makes, calls the same session, and renders JSON, NDJSON, CSV or an Arrow stream.
//
// In: HTTP requests with JSON. Out: rows, acknowledgements, problem+json; and the
// OpenAPI document, which is made of the routes. It decides nothing of its own,
// opens no sockets, and names no gRPC.
//
//	handler := rest.Handler(db, rest.Options{})
//	err := http.Serve(listener, handler)
//
// An answer that cannot be finished has no end: its connection is cut, so that no
// client takes a part for the whole.
package rest
