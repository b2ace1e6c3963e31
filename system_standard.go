package loam

import (
	"context"
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
)

// standardTables make the rows of information_schema.
var standardTables = map[string]func(ctx context.Context, s *Session) ([]record, error){
	"information_schema.schemata":                schemataRecords,
	"information_schema.tables":                  standardTableRecords,
	"information_schema.columns":                 standardColumnRecords,
	"information_schema.views":                   standardViewRecords,
	"information_schema.routines":                routineRecords,
	"information_schema.parameters":              parameterRecords,
	"information_schema.key_column_usage":        keyUsageRecords,
	"information_schema.table_constraints":       constraintRecords,
	"information_schema.referential_constraints": noRecords,
}

// noRecords are the rows of what Loam does not have.
func noRecords(context.Context, *Session) ([]record, error) { return nil, nil }

// relations lists everything that has columns, the system tables last. Those have
// ids below the ids of all objects, counted from systemOID.
func relations(ctx context.Context, s *Session) ([]*schema.Object, error) {
	objs, err := s.engine.cat.Relations(ctx, "")
	if err != nil {
		return nil, err
	}
	for i, t := range planner.SystemTables() {
		objs = append(objs, &schema.Object{ID: uint64(i), Namespace: t.Schema, Name: t.Name, Kind: systemKind, Fields: t.Fields})
	}
	return objs, nil
}

// systemKind is the kind of the system tables in a list of relations.
const systemKind schema.Kind = "system table"

// schemas lists the namespaces, the reserved ones last.
func schemas(ctx context.Context, s *Session) ([]string, error) {
	list, err := s.engine.cat.Namespaces(ctx)
	return append(catalog.Names(list), catalog.Reserved...), err
}

func yesNo(b bool) vec.Value {
	if b {
		return vec.Text("YES")
	}
	return vec.Text("NO")
}

var root = vec.Text(catalog.RootCatalog)

func schemataRecords(ctx context.Context, s *Session) ([]record, error) {
	names, err := schemas(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, n := range names {
		out = append(out, record{"catalog_name": root, "schema_name": vec.Text(n), "schema_owner": vec.Text(s.owner())})
	}
	return out, nil
}

// owner is who owns everything as far as tools can see: the session's user.
func (s *Session) owner() string {
	if s.user == "" {
		return catalog.RootCatalog
	}
	return s.user
}

// tableType is the standard's name for the kind of a relation.
func tableType(o *schema.Object) string {
	switch o.Kind {
	case schema.View:
		return "VIEW"
	case systemKind:
		return "SYSTEM TABLE"
	}
	return "BASE TABLE"
}

func standardTableRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := relations(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		out = append(out, record{"table_catalog": root, "table_schema": vec.Text(o.Namespace), "table_name": vec.Text(o.Name),
			"table_type": vec.Text(tableType(o)), "is_insertable_into": yesNo(tableType(o) == "BASE TABLE"), "is_typed": yesNo(false)})
	}
	return out, nil
}

func standardColumnRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := relations(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		for i, f := range o.Fields {
			out = append(out, standardColumn(o, i, f))
		}
	}
	return out, nil
}

func standardColumn(o *schema.Object, i int, f schema.Field) record {
	t := pgTypeOf(f)
	r := record{"table_catalog": root, "table_schema": vec.Text(o.Namespace), "table_name": vec.Text(o.Name), "column_name": vec.Text(f.Name),
		"ordinal_position": vec.Int32(int32(i + 1)), "is_nullable": yesNo(!f.NotNull && !o.IsKey(i)), "data_type": vec.Text(t.standard),
		"udt_catalog": root, "udt_schema": vec.Text("pg_catalog"), "udt_name": vec.Text(t.name), "dtd_identifier": vec.Text(itoa(i + 1)),
		"is_identity": yesNo(false), "is_generated": vec.Text("NEVER"), "is_updatable": yesNo(tableType(o) == "BASE TABLE" && o.Kind != schema.Stream && !o.IsKey(i))}
	setText(r, "column_default", f.Default)
	number := func(name string, n int) { r[name] = vec.Int32(int32(n)) }
	if f.MaxChars > 0 {
		number("character_maximum_length", int(f.MaxChars))
	}
	switch f.Type.Kind {
	case types.Text:
		number("character_octet_length", 1<<30)
	case types.Int32:
		number("numeric_precision", 32)
		number("numeric_precision_radix", 2)
		number("numeric_scale", 0)
	case types.Int64:
		number("numeric_precision", 64)
		number("numeric_precision_radix", 2)
		number("numeric_scale", 0)
	case types.Double:
		number("numeric_precision", 53)
		number("numeric_precision_radix", 2)
	case types.Decimal:
		number("numeric_precision", int(f.Type.Precision))
		number("numeric_precision_radix", 10)
		number("numeric_scale", int(f.Type.Scale))
	case types.Timestamp, types.Time, types.Interval:
		number("datetime_precision", 6)
	case types.Date:
		number("datetime_precision", 0)
	}
	return r
}

func standardViewRecords(ctx context.Context, s *Session) ([]record, error) {
	views, err := viewRecords(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, v := range views {
		r := record{"table_catalog": root, "table_schema": v["namespace"], "table_name": v["name"], "check_option": vec.Text("NONE"),
			"is_updatable": yesNo(false), "is_insertable_into": yesNo(false)}
		if d, ok := v["definition"]; ok {
			r["view_definition"] = d
		}
		out = append(out, r)
	}
	return out, nil
}

// signature cuts the text name(a, b) → c of a function.
func signature(text string) (args []string, result string) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return nil, ""
	}
	for a := range strings.SplitSeq(text[open+1:end], ", ") {
		if a != "" {
			args = append(args, a)
		}
	}
	return args, strings.TrimLeft(text[end+1:], " →->")
}

func routineRecords(_ context.Context, s *Session) ([]record, error) {
	var out []record
	for i, f := range s.engine.fns.Names() {
		_, result := signature(f.Signature)
		r := record{"specific_catalog": root, "specific_schema": vec.Text("pg_catalog"), "specific_name": vec.Text(f.Name + "_" + itoa(i+1)),
			"routine_catalog": root, "routine_schema": vec.Text("pg_catalog"), "routine_name": vec.Text(f.Name),
			"routine_type": vec.Text("FUNCTION"), "routine_body": vec.Text("EXTERNAL"), "external_language": vec.Text("INTERNAL")}
		setText(r, "data_type", result)
		out = append(out, r)
	}
	return out, nil
}

func parameterRecords(_ context.Context, s *Session) ([]record, error) {
	var out []record
	for i, f := range s.engine.fns.Names() {
		args, _ := signature(f.Signature)
		for k, a := range args {
			out = append(out, record{"specific_catalog": root, "specific_schema": vec.Text("pg_catalog"), "specific_name": vec.Text(f.Name + "_" + itoa(i+1)),
				"ordinal_position": vec.Int32(int32(k + 1)), "parameter_mode": vec.Text("IN"), "is_result": yesNo(false), "data_type": vec.Text(a)})
		}
	}
	return out, nil
}

// keyName is the name of a collection's primary key, as Flight SQL gives it.
func keyName(o *schema.Object) string { return o.Name + "_pkey" }

func keyUsageRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Relations(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		for i, k := range o.Key {
			out = append(out, record{"constraint_catalog": root, "constraint_schema": vec.Text(o.Namespace), "constraint_name": vec.Text(keyName(o)),
				"table_catalog": root, "table_schema": vec.Text(o.Namespace), "table_name": vec.Text(o.Name),
				"column_name": vec.Text(o.Fields[k].Name), "ordinal_position": vec.Int32(int32(i + 1))})
		}
	}
	return out, nil
}

func constraintRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Relations(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		if len(o.Key) > 0 {
			out = append(out, record{"constraint_catalog": root, "constraint_schema": vec.Text(o.Namespace), "constraint_name": vec.Text(keyName(o)),
				"table_catalog": root, "table_schema": vec.Text(o.Namespace), "table_name": vec.Text(o.Name),
				"constraint_type": vec.Text("PRIMARY KEY"), "is_deferrable": yesNo(false), "initially_deferred": yesNo(false), "enforced": yesNo(true)})
		}
	}
	return out, nil
}
