// Package rest is the HTTP door: each route builds the call that Flight makes,
// calls the same session, and renders JSON or an Arrow IPC stream.
//
// In: HTTP requests with JSON. Out: JSON, Arrow, problem+json. It decides
// nothing of its own, opens no sockets, and names no gRPC.
//
//	handler := rest.Handler(db, rest.Options{})
//	err := http.Serve(listener, handler)
package rest
