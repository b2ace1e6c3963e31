package meta

import (
	"context"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
)

// tableTypes are all that is ever answered: tools filter by these names.
var tableTypes = []string{"SYSTEM TABLE", "TABLE", "VIEW"}

// typeOf is the table type of an object: collections and tables are tables.
func typeOf(o *schema.Object) string {
	for _, ns := range catalog.Reserved {
		if o.Namespace == ns {
			return "SYSTEM TABLE"
		}
	}
	if o.Kind == schema.View {
		return "VIEW"
	}
	return "TABLE"
}

// tables lists objects. An object whose name is the pattern itself comes first,
// because clients that look for one table take the first row.
func (s *Source) tables(ctx context.Context, b *array.RecordBuilder, cmd *pb.CommandGetTables) error {
	objects, err := s.matching(ctx, cmd.Catalog, func(o *schema.Object) bool {
		return like(cmd.DbSchemaFilterPattern, o.Namespace) && like(cmd.TableNameFilterPattern, o.Name) &&
			wanted(cmd.GetTableTypes(), typeOf(o))
	})
	if err != nil {
		return err
	}
	if cmd.TableNameFilterPattern != nil {
		pattern := *cmd.TableNameFilterPattern
		exact := func(o *schema.Object) bool { return o.Name == pattern || o.Name == literal(pattern) }
		objects = append(keep(objects, exact, true), keep(objects, exact, false)...)
	}
	for _, o := range objects {
		text(b, 0, catalog.RootCatalog)
		text(b, 1, o.Namespace)
		text(b, 2, o.Name)
		text(b, 3, typeOf(o))
		if cmd.GetIncludeSchema() {
			b.Field(4).(*array.BinaryBuilder).Append(flight.SerializeSchema(TableSchema(o), s.Mem))
		}
	}
	return nil
}

func keep(objects []*schema.Object, test func(*schema.Object) bool, want bool) []*schema.Object {
	var out []*schema.Object
	for _, o := range objects {
		if test(o) == want {
			out = append(out, o)
		}
	}
	return out
}

// wanted filters by table type, without case; some tools say BASE TABLE.
func wanted(filter []string, t string) bool {
	if len(filter) == 0 {
		return true
	}
	for _, f := range filter {
		if strings.EqualFold(f, t) || t == "TABLE" && strings.EqualFold(f, "BASE TABLE") {
			return true
		}
	}
	return false
}

// TableSchema is an object's schema as metadata describes it: the declared
// fields, each with Flight SQL's column metadata.
func TableSchema(o *schema.Object) *arrow.Schema {
	fields := make([]arrow.Field, len(o.Fields))
	for i, f := range o.Fields {
		fields[i] = arrow.Field{Name: f.Name, Type: f.Type.Arrow(), Nullable: true, Metadata: columnMetadata(o, f)}
	}
	return arrow.NewSchema(fields, nil)
}

func columnMetadata(o *schema.Object, f schema.Field) arrow.Metadata {
	name, _, _ := strings.Cut(f.Type.String(), "(")
	keys := []string{
		flightsql.CatalogNameKey, flightsql.SchemaNameKey, "ARROW:FLIGHT:SQL:DB_SCHEMA_NAME", flightsql.TableNameKey,
		flightsql.TypeNameKey, flightsql.IsAutoIncrementKey, flightsql.IsCaseSensitiveKey, flightsql.IsReadOnlyKey, flightsql.IsSearchableKey,
	}
	values := []string{
		catalog.RootCatalog, o.Namespace, o.Namespace, o.Name,
		name, "0", flag(f.Type.Textual()), "0", flag(f.Type.Orderable()),
	}
	if precision, scale, ok := digits(f.Type); ok {
		keys = append(keys, flightsql.PrecisionKey, flightsql.ScaleKey)
		values = append(values, strconv.Itoa(precision), strconv.Itoa(scale))
	}
	return arrow.NewMetadata(keys, values)
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// digits is the precision and scale of types that have them.
func digits(t types.Type) (precision, scale int, ok bool) {
	switch t.Kind {
	case types.Int32:
		return 10, 0, true
	case types.Int64:
		return 19, 0, true
	case types.Double:
		return 15, 0, true
	case types.Decimal:
		return int(t.Precision), int(t.Scale), true
	}
	return 0, 0, false
}
