// Package rows turns query results into record batches for the wire: one schema
// for a statement, batches that grow from one chunk to about a mebibyte, none
// larger than a message should be.
//
// In: chunks of vectors. Out: Arrow record batches that the caller releases. It
// never sees a socket. It imports vec, plan and clock.
package rows
