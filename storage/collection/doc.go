// Package collection keeps the rows of one collection or table: the tail, read
// at once after a write is acknowledged, and the splits that apply makes of it.
//
// In: batches of rows to append; scans and searches at a snapshot. Out: tokens;
// chunks of vectors; scan plans over Lance fragments. It never parses SQL, never
// plans and never runs operators. It imports lance, wal, object, metastore, the
// rooms under storage/internal, and the ground floor.
//
// A snapshot is a manifest (the splits) and an upper offset per partition (how
// much of the tail counts). Both kinds of part answer the same questions (part),
// so nothing above knows which one it reads.
package collection
