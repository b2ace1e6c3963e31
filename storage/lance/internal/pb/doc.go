// Package pb is the protobuf codec of the Lance messages that Loam writes and
// reads: file footers, page layouts and table manifests.
//
// In: bytes of a message. Out: Go structs, and bytes again. It is written by
// hand over [Decoder] and the Append functions; there is no generated code and
// no reflection. Decoding never panics and allocates no more than a small
// multiple of its input; every error carries the code Corrupt and names the
// message and the byte where it went wrong. Unknown fields of manifest messages
// are kept and written back; those of file messages are skipped.
//
// It does no I/O, and imports only internal/fail.
package pb
