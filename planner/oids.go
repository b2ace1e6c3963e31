package planner

import (
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/planner/internal/binder"
)

// FirstOwnType is the id in pg_type of the first type that PostgreSQL does not have.
const FirstOwnType = binder.FirstOwnType

// The ids of pg_catalog. They are made from the catalog's own, so that 'x'::regclass
// is the id that pg_class has.

// ObjectOID is the id of a collection, table or view in pg_class.
func ObjectOID(o *schema.Object) int64 { return binder.ObjectOID(o) }

// IndexOID is the id of a collection's primary key in pg_class and pg_constraint.
func IndexOID(o *schema.Object) int64 { return binder.IndexOID(o) }

// SystemOID is the id of the i-th system table in pg_class.
func SystemOID(i int) int64 { return binder.SystemOID(i) }

// NamespaceOID is the id of a namespace in pg_namespace.
func NamespaceOID(name string) int64 { return binder.NamespaceOID(name) }
