// Package wal makes writes durable and gives them their order.
//
// In: blocks of records ([Block]), whose payload is opaque here. Out: their
// stream offsets and ingest time, once they are durable; later the same bytes,
// checked, by reference. A node has one [Log]: what arrives while a flush runs
// goes into the next segment, one immutable object, which is made durable first
// and then sequenced by one transaction of the metastore. A segment that was
// never sequenced is never referenced, and is swept by [Log.Trim].
//
// The metastore's partition row names the newest runs; older references are kept
// in an index object. docs/formats/wal.md describes both objects byte by byte.
//
// It may import internal/fail, internal/clock, storage/object and metastore. It
// never looks into a payload, and never opens a file.
package wal
