package binder

import (
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
)

// SystemTable is a table whose rows the engine makes.
type SystemTable struct {
	// Schema is the reserved namespace that it lies in.
	Schema string
	Name   string
	Fields []schema.Field
}

// Key is what a plan calls the table: its name, with the schema before it unless
// that is system.
func (t SystemTable) Key() string {
	if t.Schema == "system" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// fieldTypes are the letters behind the names of system columns; none is TEXT.
var fieldTypes = map[string]types.Type{
	"": types.Of(types.Text), "b": types.Of(types.Int64), "i": types.Of(types.Int32), "o": types.Of(types.Boolean),
	"d": types.Of(types.Double), "ts": types.Of(types.Timestamp), "li": types.ListOf(types.Of(types.Int32)),
	"lt": types.ListOf(types.Of(types.Text)),
}

// systemTable reads a description: the name, then columns as name or name:type.
func systemTable(in, text string) SystemTable {
	words := strings.Fields(text)
	t := SystemTable{Schema: in, Name: words[0]}
	for i, w := range words[1:] {
		name, letter, _ := strings.Cut(w, ":")
		t.Fields = append(t.Fields, schema.Field{ID: int32(i + 1), Name: name, Type: fieldTypes[letter]})
	}
	return t
}

// SystemTables are the system tables: Loam's own, the standard's, and the part of
// PostgreSQL's catalog that tools ask for.
var SystemTables = func() []SystemTable {
	var out []SystemTable
	for _, group := range []struct{ in, text string }{{"system", ownTables}, {"information_schema", standardTables}, {"pg_catalog", pgTables}} {
		for line := range strings.SplitSeq(strings.TrimSpace(group.text), "\n") {
			out = append(out, systemTable(group.in, line))
		}
	}
	return out
}()

// tables lists collections, streams and views too: kind says which.
const ownTables = `
namespaces namespace objects:b options used_bytes:b tag_exclusive_bytes:b storage_quota:b
collections namespace collection id:b primary_key partitions:i dynamic:o schema_version:b options
streams namespace stream id:b partitions:i key retention retention_bytes:b schema_version:b options
tables namespace name kind id:b partitions:i schema_version:b options table_type
views namespace name id:b definition error
links namespace name id:b state error_code error error_partition:i error_offset:b source target dead_letters on_error definition partitions:i offsets lag_records:b lag_seconds:d read:b written:b skipped:b dead:b batches:b last_commit:ts retries:b next_retry:ts
columns namespace table column position:i type nullable:o key_position:i fulltext distance modifier max_chars:i
column_statistics namespace name object_id:b column rows:b null_fraction:d distinct_values:b min max
functions name kind signature description example
settings name value default help
tags namespace name tag version:b created:ts expires:ts protected:o comment lance_version exclusive_bytes:b
partitions namespace name object_id:b kind partition:i oldest_offset:b applied_offset:b next_offset:b waiting_records:b waiting_bytes:b last_ingest:ts
segments namespace name object_id:b kind partition:i segment:b fragments:i rows:b deleted:b bytes:b first_offset:b next_offset:b
gc namespace name object_id:b passes:b last_pass:ts files:b bytes:b orphans:b orphan_bytes:b deleted:b deleted_bytes:b error
queries id:b user namespace sql state started:ts rows:b plan_ms:d execute_ms:d fetch_ms:d total_ms:d error parameters plan_hash snapshot
nodes node endpoint version started:ts seen:ts live:o this:o
version version go os_arch cluster_id catalog_revision:b`

const standardTables = `
schemata catalog_name schema_name schema_owner default_character_set_catalog default_character_set_schema default_character_set_name sql_path
tables table_catalog table_schema table_name table_type self_referencing_column_name reference_generation user_defined_type_catalog user_defined_type_schema user_defined_type_name is_insertable_into is_typed commit_action
columns table_catalog table_schema table_name column_name ordinal_position:i column_default is_nullable data_type character_maximum_length:i character_octet_length:i numeric_precision:i numeric_precision_radix:i numeric_scale:i datetime_precision:i interval_type interval_precision:i character_set_name collation_name domain_name udt_catalog udt_schema udt_name dtd_identifier is_identity is_generated generation_expression is_updatable
views table_catalog table_schema table_name view_definition check_option is_updatable is_insertable_into
routines specific_catalog specific_schema specific_name routine_catalog routine_schema routine_name routine_type data_type routine_body routine_definition external_language is_deterministic
parameters specific_catalog specific_schema specific_name ordinal_position:i parameter_mode is_result parameter_name data_type
key_column_usage constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name column_name ordinal_position:i position_in_unique_constraint:i
table_constraints constraint_catalog constraint_schema constraint_name table_catalog table_schema table_name constraint_type is_deferrable initially_deferred enforced
referential_constraints constraint_catalog constraint_schema constraint_name unique_constraint_catalog unique_constraint_schema unique_constraint_name match_option update_rule delete_rule`

const pgTables = `
pg_namespace oid:b nspname nspowner:b nspacl
pg_class oid:b relname relnamespace:b reltype:b relowner:b relam:b relfilenode:b reltablespace:b relpages:i reltuples:d relhasindex:o relisshared:o relpersistence relkind relnatts:i relchecks:i relhasrules:o relhastriggers:o relrowsecurity:o relforcerowsecurity:o relispopulated:o relreplident relispartition:o reloptions relacl relpartbound
pg_attribute attrelid:b attname atttypid:b attlen:i attnum:i attndims:i atttypmod:i attnotnull:o atthasdef:o attidentity attgenerated attisdropped:o attislocal:o attinhcount:i attcollation:b attstattarget:i attstorage attacl attoptions
pg_type oid:b typname typnamespace:b typowner:b typlen:i typbyval:o typtype typcategory typisdefined:o typdelim typrelid:b typelem:b typarray:b typnotnull:o typbasetype:b typtypmod:i typcollation:b typdefault
pg_tables schemaname tablename tableowner tablespace hasindexes:o hasrules:o hastriggers:o rowsecurity:o
pg_views schemaname viewname viewowner definition
pg_settings name setting unit category short_desc extra_desc context vartype source min_val max_val enumvals:lt boot_val reset_val
pg_database oid:b datname datdba:b encoding:i datcollate datctype datistemplate:o datallowconn:o datconnlimit:i datacl
pg_roles oid:b rolname rolsuper:o rolinherit:o rolcreaterole:o rolcreatedb:o rolcanlogin:o rolreplication:o rolconnlimit:i rolvaliduntil:ts
pg_user usename usesysid:b usecreatedb:o usesuper:o
pg_description objoid:b classoid:b objsubid:i description
pg_index indexrelid:b indrelid:b indnatts:i indnkeyatts:i indisunique:o indisprimary:o indisclustered:o indisvalid:o indisready:o indislive:o indkey:li indoption:li indexprs indpred
pg_constraint oid:b conname connamespace:b contype condeferrable:o condeferred:o convalidated:o conrelid:b contypid:b conindid:b confrelid:b confupdtype confdeltype confmatchtype conkey:li confkey:li conbin
pg_attrdef oid:b adrelid:b adnum:i adbin
pg_proc oid:b proname pronamespace:b proowner:b prolang:b prokind proretset:o pronargs:i prorettype:b proargnames:lt prosrc
pg_enum oid:b enumtypid:b enumsortorder:d enumlabel
pg_inherits inhrelid:b inhparent:b inhseqno:i
pg_extension oid:b extname extversion extnamespace:b
pg_am oid:b amname amtype
pg_matviews schemaname matviewname matviewowner definition
pg_indexes schemaname tablename indexname tablespace indexdef`

// findSystemTable finds a table of a reserved namespace as the plan calls it.
func findSystemTable(key string) (SystemTable, bool) {
	for _, t := range SystemTables {
		if t.Key() == key {
			return t, true
		}
	}
	return SystemTable{}, false
}

// implicit reports whether a name of one part means a table of pg_catalog.
func implicit(name string) (SystemTable, bool) {
	return findSystemTable(catalog.Reserved[2] + "." + strings.ToLower(name))
}
