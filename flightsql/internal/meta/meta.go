package meta

import (
	"context"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
)

// Source is what the answers are made from. Safe for concurrent use when Mem is.
type Source struct {
	Catalog catalog.Reader
	// Functions are the names of SQL's functions.
	Functions []string
	// Version is Loam's.
	Version string
	Mem     memory.Allocator
}

// Schema is the schema of the answer to a command, nil for a command that is
// not about metadata.
func Schema(command proto.Message) *arrow.Schema {
	switch cmd := command.(type) {
	case *pb.CommandGetCatalogs:
		return schema_ref.Catalogs
	case *pb.CommandGetDbSchemas:
		return schema_ref.DBSchemas
	case *pb.CommandGetTables:
		if cmd.GetIncludeSchema() {
			return schema_ref.TablesWithIncludedSchema
		}
		return schema_ref.Tables
	case *pb.CommandGetTableTypes:
		return schema_ref.TableTypes
	case *pb.CommandGetPrimaryKeys:
		return schema_ref.PrimaryKeys
	case *pb.CommandGetExportedKeys, *pb.CommandGetImportedKeys, *pb.CommandGetCrossReference:
		return schema_ref.ImportedExportedKeysAndCrossReference
	case *pb.CommandGetXdbcTypeInfo:
		return schema_ref.XdbcTypeInfo
	case *pb.CommandGetSqlInfo:
		return schema_ref.SqlInfo
	}
	return nil
}

// Batch answers a command that has a Schema. The caller releases the batch.
func (s *Source) Batch(ctx context.Context, command proto.Message) (arrow.RecordBatch, error) {
	sc := Schema(command)
	if sc == nil {
		return nil, fail.New(fail.BadRequest, "%T is no metadata command", command)
	}
	b := array.NewRecordBuilder(s.Mem, sc)
	defer b.Release()
	if err := s.fill(ctx, b, command); err != nil {
		return nil, err
	}
	return b.NewRecordBatch(), nil
}

func (s *Source) fill(ctx context.Context, b *array.RecordBuilder, command proto.Message) error {
	switch cmd := command.(type) {
	case *pb.CommandGetCatalogs:
		text(b, 0, catalog.RootCatalog)
	case *pb.CommandGetDbSchemas:
		return s.schemas(ctx, b, cmd)
	case *pb.CommandGetTables:
		return s.tables(ctx, b, cmd)
	case *pb.CommandGetTableTypes:
		for _, t := range tableTypes {
			text(b, 0, t)
		}
	case *pb.CommandGetPrimaryKeys:
		return s.primaryKeys(ctx, b, cmd)
	case *pb.CommandGetXdbcTypeInfo:
		typeInfo(b, cmd.DataType)
	case *pb.CommandGetSqlInfo:
		return s.sqlInfo(b, cmd.GetInfo())
	}
	return nil
}

func text(b *array.RecordBuilder, column int, value string) {
	b.Field(column).(*array.StringBuilder).Append(value)
}

// anywhere reports whether the catalog that a command names is ours: absent is
// any, "" is objects without a catalog, of which there are none.
func anywhere(name *string) bool { return name == nil || *name == catalog.RootCatalog }

func (s *Source) schemas(ctx context.Context, b *array.RecordBuilder, cmd *pb.CommandGetDbSchemas) error {
	if !anywhere(cmd.Catalog) {
		return nil
	}
	list, err := s.Catalog.Namespaces(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(slices.Values(catalog.Names(list))) {
		if like(cmd.DbSchemaFilterPattern, name) {
			text(b, 0, catalog.RootCatalog)
			text(b, 1, name)
		}
	}
	return nil
}

func (s *Source) primaryKeys(ctx context.Context, b *array.RecordBuilder, cmd *pb.CommandGetPrimaryKeys) error {
	objects, err := s.matching(ctx, cmd.Catalog, func(o *schema.Object) bool {
		return o.Name == cmd.GetTable() && (cmd.DbSchema == nil || *cmd.DbSchema == o.Namespace)
	})
	if err != nil {
		return err
	}
	for _, o := range objects {
		for i, k := range o.Key {
			text(b, 0, catalog.RootCatalog)
			text(b, 1, o.Namespace)
			text(b, 2, o.Name)
			text(b, 3, o.Fields[k].Name)
			b.Field(4).(*array.Int32Builder).Append(int32(i + 1))
			text(b, 5, o.Name+"_pkey")
		}
	}
	return nil
}

// matching lists the objects that a test accepts, by namespace and name.
func (s *Source) matching(ctx context.Context, cat *string, accept func(*schema.Object) bool) ([]*schema.Object, error) {
	if !anywhere(cat) {
		return nil, nil
	}
	all, err := s.Catalog.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	var found []*schema.Object
	for _, o := range all {
		if o.Kind != schema.Link && accept(o) {
			found = append(found, o)
		}
	}
	sort.SliceStable(found, func(i, j int) bool {
		if found[i].Namespace != found[j].Namespace {
			return found[i].Namespace < found[j].Namespace
		}
		return found[i].Name < found[j].Name
	})
	return found, nil
}
