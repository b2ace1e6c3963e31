// Package hashtable holds the executor's own hash tables: groups of an
// aggregate and the build side of a join.
//
// In: key columns. Out: group numbers in order of first appearance, or the
// build rows of a key. Slots are open-addressed; a match always compares the
// full key, whatever the hash says. Keys lie in pointer-free memory that is
// reserved before it grows. It never evaluates an expression and never spills.
// It imports vec, types, mem, fail.
//
// Equality is SQL's for keys: NULL equals NULL (where a table keeps NULLs), -0.0
// equals 0.0, NaN equals NaN. A table belongs to one goroutine while it grows;
// a finished join table is read by many.
package hashtable
