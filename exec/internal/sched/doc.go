// Package sched runs one pipeline of a query: workers take morsels (chunks) of
// a source, push them through stages and into a sink.
//
// In: branches (source and transforms), a sink, a number of workers. Out: a
// filled sink, or the first error. It never looks into a chunk and never knows
// an operator. It imports vec, expr (the environment) and fail.
//
// Rows have a position: the morsel's sequence number, then the count of chunks
// that the morsel has produced. Positions are the same for any number of
// workers; sinks that need an order (limit, sort ties, results) restore it from
// them. A panic in a worker fails the run, never the process, and no worker
// outlives [Run].
package sched
