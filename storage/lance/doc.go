// Package lance writes and reads Lance datasets in pure Go: data files, table
// manifests, deletion bitmaps and tags.
//
// In: Arrow record batches, and bytes through [Reader]. Out: data files on an
// io.Writer, manifests, deletion files and tag files as byte slices, and record
// batches again. The caller owns every name and every byte's place: this package
// builds relative paths ([DataPath], [ManifestPath], ...) but opens, lists and
// deletes nothing, reads no clock and makes no randomness of its own.
//
// Lance features that Loam does not use (indexes, transactions, overlays, stable
// row ids) are never written; a manifest or file that needs them is refused by
// name, never misread. docs/formats/lance.md describes every byte.
//
// It may import internal/fail, arrow and roaring, and is imported by the storage
// rooms.
package lance
