// Package exec runs query plans.
//
// In: a plan of internal/plan whose expressions are bound and whose parameters
// are constants, an environment, and [Sources] that open its leaves at the
// statement's snapshot. Out: chunks of rows in the plan's order, through
// [Result.Next], and a [Profile]. It never parses or plans, never opens a file or
// a socket, and never names storage. It imports plan, expr, kernel, vec, types,
// mem, clock, fail.
//
//	res, err := exec.Run(ctx, root, env, sources, exec.Options{Memory: tracker})
//	if err != nil { … }
//	defer res.Close()
//	for {
//		c, err := res.Next(ctx)
//		if err != nil || c == nil { … }
//	}
//
// Plans are cut into pipelines: workers take chunks (morsels) of a source and
// push them through transforms into a sink; a sink that needs all its input
// (aggregate, join build, sort, window) ends a pipeline and is the source of the next.
// The order of rows is the plan's: a Sort's order; else the order of the leaves'
// chunk numbers, whatever the number of workers. Groups come in the order in
// which they first appear. Memory is reserved before it is allocated; a query
// that may have no more ends with fail.Exhausted. A panic in an operator ends
// its query with fail.Internal.
package exec
