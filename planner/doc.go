// Package planner turns SQL into plans.
//
// In: statements as text, the catalog, the functions, what the session says.
// Out: [plan.Prepared] statements, bound and optimized, ready for the executor
// once [BindParams] has given their parameters values. It never reads rows,
// never changes the catalog, never runs anything.
//
// It imports catalog and the ground floor (plan, expr, schema, types, vec, fail);
// its inner rooms are ast, parser, deparse, binder and optimizer. It never
// imports exec, storage or functions: functions come as a registry.
package planner
