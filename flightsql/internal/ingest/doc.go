// Package ingest reads record batches off a Flight or IPC stream that anybody may have
// written: no descriptor, no schema, cut or lying IPC messages all give an
// error of the caller's.
//
// In: FlightData messages, or bytes. Out: the descriptor, the schema, and record batches
// whose buffers have been checked against their lengths. It writes nothing. It
// imports fail.
package ingest
