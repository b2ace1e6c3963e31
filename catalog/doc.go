// Package catalog holds names and descriptions: namespaces, collections and
// tables with their fields, and how a name resolves to one of them.
//
// In: rows of the metastore, names from the binder. Out: immutable
// descriptions. It never plans, runs or stores data. It imports metastore,
// types, fail.
package catalog
