// Package worker runs the background tasks of a node: apply, merge, trimming of
// the log, garbage collection. It decides when, and under which lease; what a task does lies behind
// [Runner].
//
// In: the tasks that the runner proposes. Out: calls to it, one lease each,
// fenced by the lease's epoch. It never touches data and never imports the root
// package, which implements Runner. It imports metastore, clock, fail.
package worker
