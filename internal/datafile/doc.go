// Package datafile reads the rows of data files: CSV and its kin, JSON, Parquet
// and Arrow IPC, plain or compressed with gzip or zstd.
//
// In: the bytes of one file and what its reader knows about them. Out: the
// file's columns with the types that a sample suggests, and batches of rows in
// the file's own types: TEXT for CSV, JSON for JSON, typed ones for Parquet and
// Arrow. [Convert] casts them. A row that cannot be read is a [RowError] of its
// batch and does not end the file; a file that cannot be read on is an error.
//
// It opens no files and knows no target. It imports the ground floor (types,
// vec, kernel, fail), arrow, gjson and compress.
package datafile
