"""ADBC: what tools ask before they query: info, objects, schemas, sessions."""

from typing import Any

import adbc_driver_manager
import pyarrow as pa

from . import corpus
from .env import COOKIES, HEADER, SESSION, Env, equal, true
from .harness import check

CLIENT = "python-adbc"


def objects(env: Env, **arguments: Any) -> list[dict[str, Any]]:
    """adbc_get_objects as tables with their catalog and schema."""
    with env.connect() as conn:
        tree = conn.adbc_get_objects(**arguments).read_all().to_pylist()
    found = []
    for catalog in tree:
        for schema in catalog["catalog_db_schemas"] or []:
            for table in schema["db_schema_tables"] or []:
                found.append({"catalog": catalog["catalog_name"], "schema": schema["db_schema_name"], **table})
    return found


@check(CLIENT)
def get_info_names_the_vendor(env: Env) -> None:
    with env.connect() as conn:
        info = conn.adbc_get_info()
    true("loam" in str(info.get("vendor_name", "")).lower(), f"info {info}")
    true(info.get("vendor_version"), f"no vendor version in {info}")


@check(CLIENT)
def get_table_types_lists_tables(env: Env) -> None:
    with env.connect() as conn:
        types = conn.adbc_get_table_types()
    true("TABLE" in types, f"types {types}")
    true(set(types) <= {"TABLE", "VIEW", "SYSTEM TABLE"}, f"types {types}")


@check(CLIENT)
def get_objects_lists_catalogs_and_schemas(env: Env) -> None:
    with env.connect() as conn:
        tree = conn.adbc_get_objects(depth="db_schemas").read_all().to_pylist()
    names = {c["catalog_name"]: [s["db_schema_name"] for s in c["catalog_db_schemas"] or []] for c in tree}
    true("public" in names.get("loam", []), f"catalogs {names}")


@check(CLIENT)
def get_objects_finds_a_collection_with_columns(env: Env) -> None:
    name = env.fresh("objects")
    corpus.create(env, name)
    found = objects(env, depth="all", table_name_filter=name)
    equal([(t["catalog"], t["schema"], t["table_name"], t["table_type"]) for t in found], [("loam", "public", name, "TABLE")])
    equal([c["column_name"] for c in found[0]["table_columns"]], ["id", "title", "lang", "year", "emb"], "columns")
    # The driver lists no constraints in GetObjects; GetPrimaryKeys is checked by the wire tests.


@check(CLIENT)
def get_objects_filters_by_pattern(env: Env) -> None:
    first, second = env.fresh("pat_a"), env.fresh("pat_b")
    env.run(f"CREATE TABLE {first} (a INT)", f"CREATE TABLE {second} (a INT)")
    names = {t["table_name"] for t in objects(env, depth="tables", table_name_filter="pat\\_a%")}
    true(first in names and second not in names, f"found {sorted(names)}")
    equal(objects(env, depth="tables", table_name_filter="it's\nnot there"), [], "tables of an odd pattern")


@check(CLIENT)
def get_table_schema_of_a_collection(env: Env) -> None:
    name = env.fresh("schema")
    corpus.create(env, name)
    with env.connect() as conn:
        schema = conn.adbc_get_table_schema(name)
    equal(schema.names, ["id", "title", "lang", "year", "emb"], "names")
    equal(schema.field("id").type, pa.string(), "id")
    equal(schema.field("year").type, pa.int32(), "year")
    emb = schema.field("emb").type
    true(pa.types.is_fixed_size_list(emb) and emb.list_size == corpus.DIM and emb.value_type == pa.float32(), f"emb is {emb}")


@check(CLIENT)
def get_table_schema_of_a_missing_table_is_not_found(env: Env) -> None:
    with env.connect() as conn:
        try:
            conn.adbc_get_table_schema(env.fresh("missing"))
        except adbc_driver_manager.Error as error:
            equal(error.status_code, adbc_driver_manager.AdbcStatusCode.NOT_FOUND, "status")
            return
    raise AssertionError("no error")


@check(CLIENT)
def the_name_is_no_pattern_in_get_table_schema(env: Env) -> None:
    stem = env.fresh("under")
    exact, near = f"{stem}_x", f"{stem}ax"
    env.run(f"CREATE TABLE {near} (wrong INT)", f"CREATE TABLE {exact} (a_right INT)")
    with env.connect() as conn:
        equal(conn.adbc_get_table_schema(exact).names, ["a_right"], "columns of the exact name")


@check(CLIENT)
def current_catalog_and_schema(env: Env) -> None:
    with env.connect() as conn:
        equal((conn.adbc_current_catalog, conn.adbc_current_db_schema), ("loam", "public"))


def _moves(env: Env, **db_kwargs: str) -> None:
    namespace, table = env.fresh("ns"), env.fresh("t")
    env.run(f"CREATE NAMESPACE {namespace}", f"CREATE TABLE {namespace}.{table} (a INT)", f"INSERT INTO {namespace}.{table} VALUES (5)")
    with env.connect(**db_kwargs) as conn:
        conn.adbc_current_db_schema = namespace
        equal(conn.adbc_current_db_schema, namespace, "schema")
        with conn.cursor() as cur:
            cur.execute(f"SELECT a FROM {table}")
            equal(cur.fetchall(), [(5,)], "rows")


@check(CLIENT)
def a_session_keeps_its_schema_with_cookies(env: Env) -> None:
    _moves(env, **{COOKIES: "true"})


@check(CLIENT)
def a_session_keeps_its_schema_without_cookies(env: Env) -> None:
    _moves(env)


@check(CLIENT)
def the_namespace_header_moves_a_connection(env: Env) -> None:
    namespace, table = env.fresh("ns"), env.fresh("t")
    env.run(f"CREATE NAMESPACE {namespace}", f"CREATE TABLE {namespace}.{table} (a INT)", f"INSERT INTO {namespace}.{table} VALUES (6)")
    equal(env.table(f"SELECT a FROM {table}", **{HEADER + "loam-namespace": namespace}).to_pylist(), [{"a": 6}])
    equal(env.rows(f"SELECT a FROM loam.{namespace}.{table}"), [(6,)])


@check(CLIENT)
def an_unknown_session_option_is_refused(env: Env) -> None:
    with env.connect(**{COOKIES: "true"}) as conn:
        try:
            conn.adbc_connection.set_options(**{SESSION + "loam.no_such_option": "1"})
        except adbc_driver_manager.Error as error:
            true("no_such_option" in str(error) or "INVALID_NAME" in str(error).upper(), f"message {error}")
            return
    raise AssertionError("no error")
