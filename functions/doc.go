// Package functions is what SQL can call: operators, scalar functions, aggregates
// and window functions, registered as data.
//
// In: a name and argument types. Out: an implementation, the types to cast the
// arguments to, and the type of the result ([Default] gives the registry). It
// never sees a plan, a catalog or a store; functions read nothing but their
// arguments and the statement's [expr.Env]. It imports expr, kernel, vec, types,
// fail.
package functions
