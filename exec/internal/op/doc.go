// Package op holds the executor's operators: transforms (filter, project, join
// probe, limit), sinks that break a pipeline (aggregate, join build, sort, window,
// top-n, collect) and the sources that read a finished sink.
//
// In: chunks from a pipeline of sched, programs of expr. Out: chunks in new
// memory, which never change afterwards and may be kept. Sinks hold rows under a
// memory account that reserves first. It never plans, never opens storage, never
// starts a goroutine. It imports sched, hashtable, expr, kernel, vec, types, mem,
// plan (join kinds and window frames), fail.
package op
