// Package column is the split's section of typed columns: chunks of 2,048
// rows, each flat, bit-packed or dictionary-coded, with a zone map, under one
// directory at the end. docs/formats/column.md draws it byte by byte.
//
// In: flat vectors of one split in row order. Out: vectors of one chunk, and
// zone maps for pruning. It never evaluates a filter and never does I/O: it
// works on bytes that its caller read and verified. It imports vec, types, fail.
package column
