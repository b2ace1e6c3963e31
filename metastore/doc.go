// Package metastore keeps the few rows that decide: names, partition heads,
// manifest pointers, leases.
//
// In: domain operations ([Store]), each one transaction. Out: their results, or
// an error that says whether anything happened. The rows live in an etcd server
// that runs inside the process and opens no socket ([OpenEmbedded]), or in
// memory ([NewMem]); both run the same transactions over a small key-value
// interface. Nothing large is kept here: documents, manifests and log segments
// are objects (package storage/object), and a row holds their names.
//
// An error with code CommitUnknown means that the operation may have taken
// effect. Everything else that fails has had no effect. Operations resolve an
// unknown outcome themselves where the rows still show it.
//
// It may import internal/fail, internal/clock, etcd and zap.
package metastore
