// Package file writes single Lance data files (format 2.1) and reads them (2.0, 2.1
// and 2.2; other versions are refused by name).
//
// In: Arrow record batches, or a [Source] of bytes. Out: the bytes of a file on
// an io.Writer, or Arrow record batches again. [Writer] writes the layouts that
// docs/formats/lance.md lists; [File] reads whole row ranges or picked rows with
// coalesced range reads, and caches page layouts, chunk tables and repetition
// indexes. Pages of 2.0 are arrays (array.go), those of later versions are layouts
// (page.go) of levels and values.
//
// It never opens files, starts goroutines or panics on bytes. It imports
// internal/fail, the pb codec, arrow and arrow memory.
package file
