// Package ingest reads record batches off a Flight stream that anybody may have
// written: no descriptor, no schema, cut or lying IPC messages all give an
// error of the caller's.
//
// In: FlightData messages. Out: the descriptor, the schema, and record batches
// whose buffers have been checked against their lengths. It writes nothing. It
// imports fail.
package ingest
