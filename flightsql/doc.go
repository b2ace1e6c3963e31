// Package flightsql is the wire: it serves an engine over Arrow Flight SQL.
//
// In: Flight calls of ADBC, JDBC, ODBC, Spice, Grafana and plain Flight clients.
// Out: FlightInfo with sealed tickets, record batches, acknowledgements. It
// translates and calls; it decides nothing about SQL or storage. It is the only
// package that names gRPC, it opens no sockets (listeners are passed in), and it
// keeps no state that a client cannot rebuild but sessions and large bound
// parameters.
//
//	srv, err := flightsql.NewServer(db, flightsql.Options{})
//	lis, err := net.Listen("tcp", "127.0.0.1:8815")
//	err = srv.Serve(lis)
package flightsql
