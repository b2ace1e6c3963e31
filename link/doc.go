// Package link decides how a link goes on, exactly once, whatever fails.
//
// A link reads records of a source from the offsets that its progress row holds,
// makes rows of them, and appends these to its target in the one transaction that
// also moves the offsets (metastore.Advance). So a batch is in with its offsets or
// not at all, and whoever goes on reads where the row says.
//
// In: what a worker sees and what became of what it did. Out: what it does next.
// [Machine] has no clock, no goroutine and does no I/O: times are given to it.
// [Sift] finds the bad records of a batch without trying each by itself.
//
// It imports internal/fail, internal/schema and metastore's errors.
package link
