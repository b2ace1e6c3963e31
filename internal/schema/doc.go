// Package schema describes stored things: collections and tables with their
// fields, keys and options, and the system columns that every object has.
//
// Catalog, planner and storage all speak of the same descriptions, so they lie
// on the ground floor. It imports types and fail.
package schema
