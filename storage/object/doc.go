// Package object keeps immutable byte arrays under names that are never reused.
//
// In: keys and bytes. Out: the same bytes, whole or by range, after any crash
// that follows a nil error. [Store] is the one interface; [OpenFile] keeps
// objects in a directory, [OpenS3] in a bucket, [NewMem] in memory, and [NewFaulty]
// wraps any store to inject failures. The file store runs on [FS], a small file-system interface:
// [OS] in the product, [CrashFS] in tests, which forgets what was not synced.
//
// A key is a path with slashes, such as "wal/20260102/01J….lwal". An object
// appears at once and whole, or not at all: there is no append and no partial
// object. Nothing here decides anything by a conditional write; the metastore does.
//
// This package, metastore and embed are the only ones that open files or
// sockets. It may import internal/fail and internal/clock.
package object
