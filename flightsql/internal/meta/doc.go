// Package meta answers the metadata commands of Flight SQL: catalogs, schemas,
// tables, table types, keys, type info, server info. Every answer is one record
// batch of the specification's schema, down to nullability.
//
// In: a command and the catalog. Out: a schema, a record batch. It runs no SQL.
// It imports catalog, schema and types.
package meta
