package loam

import (
	"context"
	"strconv"

	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
)

// pgTables make the rows of pg_catalog: enough of PostgreSQL's catalog for the
// probes of common tools. Ids are stable while an object lives.
var pgTables = map[string]func(ctx context.Context, s *Session) ([]record, error){
	"pg_catalog.pg_namespace":   pgNamespaceRecords,
	"pg_catalog.pg_class":       pgClassRecords,
	"pg_catalog.pg_attribute":   pgAttributeRecords,
	"pg_catalog.pg_type":        pgTypeRecords,
	"pg_catalog.pg_tables":      pgTableRecords,
	"pg_catalog.pg_views":       pgViewRecords,
	"pg_catalog.pg_settings":    pgSettingRecords,
	"pg_catalog.pg_database":    pgDatabaseRecords,
	"pg_catalog.pg_roles":       pgRoleRecords,
	"pg_catalog.pg_user":        pgUserRecords,
	"pg_catalog.pg_index":       pgIndexRecords,
	"pg_catalog.pg_indexes":     pgIndexesRecords,
	"pg_catalog.pg_constraint":  pgConstraintRecords,
	"pg_catalog.pg_proc":        pgProcRecords,
	"pg_catalog.pg_description": noRecords,
	"pg_catalog.pg_attrdef":     pgAttrdefRecords,
	"pg_catalog.pg_enum":        noRecords,
	"pg_catalog.pg_inherits":    noRecords,
	"pg_catalog.pg_extension":   noRecords,
	"pg_catalog.pg_am":          noRecords,
	"pg_catalog.pg_matviews":    noRecords,
}

// ownerOID is the id of the one role that tools see.
const ownerOID = 10

func itoa(n int) string { return strconv.Itoa(n) }

func oid(n int64) vec.Value { return vec.Int64(n) }

func indexOID(o *schema.Object) int64 { return planner.IndexOID(o) }

func pgNamespaceRecords(ctx context.Context, s *Session) ([]record, error) {
	names, err := schemas(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, n := range names {
		out = append(out, record{"oid": oid(planner.NamespaceOID(n)), "nspname": vec.Text(n), "nspowner": oid(ownerOID)})
	}
	return out, nil
}

// relationOID is the id of a relation of any kind.
func relationOID(o *schema.Object) int64 {
	if o.Kind == systemKind {
		return planner.SystemOID(int(o.ID))
	}
	return planner.ObjectOID(o)
}

func pgClassRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := relations(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		kind := "r"
		if o.Kind == schema.View {
			kind = "v"
		}
		tuples := -1.0
		if n, ok := s.engine.openRows(o.ID); ok && o.Kind != systemKind {
			tuples = n
		}
		out = append(out, pgClass(s, o, relationOID(o), o.Name, kind, len(o.Fields), tuples))
		if len(o.Key) > 0 {
			out = append(out, pgClass(s, o, indexOID(o), keyName(o), "i", len(o.Key), tuples))
		}
	}
	return out, nil
}

func pgClass(_ *Session, o *schema.Object, id int64, name, kind string, fields int, tuples float64) record {
	f := vec.Bool(false)
	return record{"oid": oid(id), "relname": vec.Text(name), "relnamespace": oid(planner.NamespaceOID(o.Namespace)), "reltype": oid(0), "relowner": oid(ownerOID),
		"relam": oid(0), "relfilenode": oid(id), "reltablespace": oid(0), "relpages": vec.Int32(0), "reltuples": vec.Double(tuples),
		"relhasindex": vec.Bool(kind == "r" && len(o.Key) > 0), "relisshared": f, "relpersistence": vec.Text("p"), "relkind": vec.Text(kind),
		"relnatts": vec.Int32(int32(fields)), "relchecks": vec.Int32(0), "relhasrules": vec.Bool(kind == "v"), "relhastriggers": f, "relrowsecurity": f,
		"relforcerowsecurity": f, "relispopulated": vec.Bool(true), "relreplident": vec.Text("d"), "relispartition": f}
}

func pgAttributeRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := relations(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		for i, f := range o.Fields {
			t := pgTypeOf(f)
			no := vec.Bool(false)
			out = append(out, record{"attrelid": oid(relationOID(o)), "attname": vec.Text(f.Name), "atttypid": oid(t.oid), "attlen": vec.Int32(t.size),
				"attnum": vec.Int32(int32(i + 1)), "attndims": vec.Int32(t.dims), "atttypmod": vec.Int32(t.mod), "attnotnull": vec.Bool(f.NotNull || o.IsKey(i)),
				"atthasdef": vec.Bool(f.Default != ""), "attidentity": vec.Text(""), "attgenerated": vec.Text(""), "attisdropped": no, "attislocal": vec.Bool(true),
				"attinhcount": vec.Int32(0), "attcollation": oid(0), "attstattarget": vec.Int32(-1), "attstorage": vec.Text("p")})
		}
	}
	return out, nil
}

// pgAttrdefRecords lists the DEFAULTs of columns.
func pgAttrdefRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := relations(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		for i, f := range o.Fields {
			if f.Default != "" {
				id := relationOID(o)
				out = append(out, record{"oid": oid(id<<12 | int64(i+1)), "adrelid": oid(id), "adnum": vec.Int32(int32(i + 1)), "adbin": vec.Text(f.Default)})
			}
		}
	}
	return out, nil
}

// pgType is a type as PostgreSQL's catalog would describe it.
type pgType struct {
	oid      int64
	name     string // of pg_type
	standard string // of information_schema
	size     int32
	category string
	array    int64
	dims     int32
	mod      int32
}

var pgTypes = map[types.Kind]pgType{
	types.Boolean:   {oid: 16, name: "bool", standard: "boolean", size: 1, category: "B", array: 1000},
	types.Int32:     {oid: 23, name: "int4", standard: "integer", size: 4, category: "N", array: 1007},
	types.Int64:     {oid: 20, name: "int8", standard: "bigint", size: 8, category: "N", array: 1016},
	types.Double:    {oid: 701, name: "float8", standard: "double precision", size: 8, category: "N", array: 1022},
	types.Decimal:   {oid: 1700, name: "numeric", standard: "numeric", size: -1, category: "N", array: 1231},
	types.Text:      {oid: 25, name: "text", standard: "text", size: -1, category: "S", array: 1009},
	types.Binary:    {oid: 17, name: "bytea", standard: "bytea", size: -1, category: "U", array: 1001},
	types.Date:      {oid: 1082, name: "date", standard: "date", size: 4, category: "D", array: 1182},
	types.Timestamp: {oid: 1114, name: "timestamp", standard: "timestamp without time zone", size: 8, category: "D", array: 1115},
	types.Time:      {oid: 1083, name: "time", standard: "time without time zone", size: 8, category: "D", array: 1183},
	types.Interval:  {oid: 1186, name: "interval", standard: "interval", size: 16, category: "T", array: 1187},
	types.JSON:      {oid: 114, name: "json", standard: "json", size: -1, category: "U", array: 199},
	types.UUID:      {oid: 2950, name: "uuid", standard: "uuid", size: 16, category: "U", array: 2951},
	types.Vector:    {oid: planner.FirstOwnType, name: "vector", standard: "vector", size: -1, category: "U"},
	types.Sparse:    {oid: planner.FirstOwnType + 1, name: "sparsevec", standard: "sparse vector", size: -1, category: "U"},
	types.Struct:    {oid: 2249, name: "record", standard: "record", size: -1, category: "P"},
	types.Map:       {oid: planner.FirstOwnType + 2, name: "map", standard: "map", size: -1, category: "U"},
}

var varchar = pgType{oid: 1043, name: "varchar", standard: "character varying", size: -1, category: "S", array: 1015}

// pgTypeOf describes the type of a field.
func pgTypeOf(f schema.Field) pgType {
	t := pgTypes[f.Type.Kind]
	t.mod = -1
	switch {
	case f.MaxChars > 0:
		t = varchar
		t.mod = f.MaxChars + 4
	case f.Type.Kind == types.Decimal:
		t.mod = int32(f.Type.Precision)<<16 | int32(f.Type.Scale) + 4
	case f.Type.Kind == types.Vector:
		t.standard, t.mod = "vector("+itoa(int(f.Type.Dim))+")", f.Type.Dim
	case f.Type.Kind == types.List:
		elem := pgTypes[f.Type.Elem.Kind]
		t = pgType{oid: elem.array, name: "_" + elem.name, standard: "ARRAY", size: -1, category: "A", dims: 1, mod: -1}
	}
	return t
}

func pgTypeRecords(context.Context, *Session) ([]record, error) {
	var out []record
	for k := types.Boolean; k <= types.Map; k++ {
		t, ok := pgTypes[k]
		if !ok {
			continue
		}
		out = append(out, pgTypeRecord(t, 0))
		if t.array != 0 {
			out = append(out, pgTypeRecord(pgType{oid: t.array, name: "_" + t.name, size: -1, category: "A"}, t.oid))
		}
	}
	return append(out, pgTypeRecord(varchar, 0), pgTypeRecord(pgType{oid: varchar.array, name: "_varchar", size: -1, category: "A"}, varchar.oid)), nil
}

func pgTypeRecord(t pgType, elem int64) record {
	kind := "b"
	if t.category == "P" {
		kind = "p"
	}
	return record{"oid": oid(t.oid), "typname": vec.Text(t.name), "typnamespace": oid(planner.NamespaceOID("pg_catalog")), "typowner": oid(ownerOID),
		"typlen": vec.Int32(t.size), "typbyval": vec.Bool(t.size > 0 && t.size <= 8), "typtype": vec.Text(kind), "typcategory": vec.Text(t.category),
		"typisdefined": vec.Bool(true), "typdelim": vec.Text(","), "typrelid": oid(0), "typelem": oid(elem), "typarray": oid(t.array),
		"typnotnull": vec.Bool(false), "typbasetype": oid(0), "typtypmod": vec.Int32(-1), "typcollation": oid(0)}
}
