package catalog

import (
	"context"

	"github.com/loamdb/loam/internal/schema"
)

// Reader is what the binder needs of the catalog. Reads are linearizable.
type Reader interface {
	// Lookup finds an object. Quoted parts match exactly. Errors:
	// fail.UndefinedNamespace, fail.UndefinedTable with the nearest name, fail.AmbiguousName.
	Lookup(ctx context.Context, namespace Name, object Name) (*schema.Object, error)
	// ByID finds an object by its id. Errors: fail.UndefinedTable.
	ByID(ctx context.Context, id uint64) (*schema.Object, error)
	// Namespaces lists the namespaces by name.
	Namespaces(ctx context.Context) ([]Namespace, error)
	// Objects lists the objects of a namespace by name; "" lists all.
	Objects(ctx context.Context, namespace string) ([]*schema.Object, error)
}

// Name is an identifier as written.
type Name struct {
	Text   string
	Quoted bool
}

// DefaultNamespace is where names without a namespace are looked up unless the
// session says otherwise.
const DefaultNamespace = "public"

// RootCatalog is the one catalog of a server, the first part of a three-part name.
const RootCatalog = "loam"

// Reserved namespaces cannot be created or dropped and hold no user objects.
var Reserved = []string{"system", "information_schema", "pg_catalog"}
