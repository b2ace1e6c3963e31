"""ADBC: DDL, DML, bulk ingest and reading one's own writes."""

import warnings
from typing import Any

import adbc_driver_manager
import pyarrow as pa
from adbc_driver_flightsql import dbapi

from . import corpus
from .env import Env, by_key, equal, same_rows, true
from .harness import check

CLIENT = "python-adbc"
Status = adbc_driver_manager.AdbcStatusCode


def refused(action: Any, status: Status) -> str:
    """Runs an action that must fail with the status; the result is the message."""
    try:
        action()
    except adbc_driver_manager.Error as error:
        equal(error.status_code, status, f"status of {str(error)[:200]!r}")
        return str(error)
    raise AssertionError(f"no error, want {status.name}")


@check(CLIENT)
def ddl_runs_once_though_unread(env: Env) -> None:
    name = env.fresh("unread")
    with env.cursor() as cur:
        cur.execute(f"CREATE TABLE {name} (a INT)")
    with env.cursor() as cur:
        cur.execute(f"INSERT INTO {name} VALUES (1), (2)")
    equal(env.rows(f"SELECT a FROM {name} ORDER BY a"), [(1,), (2,)])


@check(CLIENT)
def dml_runs_once_when_read(env: Env) -> None:
    name = env.fresh("read")
    env.run(f"CREATE TABLE {name} (a INT)")
    with env.cursor() as cur:
        cur.execute(f"INSERT INTO {name} VALUES (1), (2), (3)")
        cur.fetchall()
        equal(cur.rowcount, 3, "rowcount")
    equal(env.rows(f"SELECT count(*) FROM {name}"), [(3,)])


@check(CLIENT)
def executemany_inserts_every_row(env: Env) -> None:
    name = env.fresh("many")
    env.run(f"CREATE TABLE {name} (a INT, b TEXT)")
    with env.cursor() as cur:
        cur.executemany(f"INSERT INTO {name} VALUES (?, ?)", [(i, f"row {i}") for i in range(20)])
        equal(cur.rowcount, 20, "rowcount")
    equal(env.rows(f"SELECT count(*), min(b), max(a) FROM {name}"), [(20, "row 0", 19)])


@check(CLIENT)
def create_collection_with_a_vector(env: Env) -> None:
    name = env.fresh("fsl")
    corpus.create(env, name)
    equal(env.rows(f"SELECT count(*) FROM {name}"), [(0,)])
    refused(lambda: corpus.create(env, name), Status.ALREADY_EXISTS)


@check(CLIENT)
def ingest_a_fixed_size_list_into_a_collection(env: Env) -> None:
    name = env.fresh("ingest")
    corpus.create(env, name)
    data = corpus.table(range(500))
    equal(corpus.ingest(env, name, data), 500, "rows that the driver counted")
    got = env.table(f"SELECT id, title, lang, year, emb FROM {name}")
    equal([f.type for f in got.schema], [f.type for f in data.schema], "types")
    names = data.column_names
    same_rows(by_key(got, names, "id"), by_key(data, names, "id"), "rows read back")


@check(CLIENT)
def ingest_again_is_an_upsert(env: Env) -> None:
    name = corpus.filled(env, "upsert", 50)
    corpus.ingest(env, name, corpus.table(range(40, 60), revision=1))
    equal(env.rows(f"SELECT count(*) FROM {name}"), [(60,)])
    equal(env.rows(f"SELECT title FROM {name} WHERE id = ?", [corpus.key(45)]), [(corpus.title(45) + " revision1",)])


@check(CLIENT)
def ingest_modes_of_a_table(env: Env) -> None:
    name, data = env.fresh("modes"), pa.table({"a": pa.array([1, 2, 3], pa.int64()), "b": ["x", "y", None]})

    def ingest(mode: str, table: pa.Table = data) -> None:
        with env.cursor() as cur:
            cur.adbc_ingest(name, table, mode=mode)

    refused(lambda: ingest("append"), Status.NOT_FOUND)
    ingest("create")
    refused(lambda: ingest("create"), Status.ALREADY_EXISTS)
    ingest("append")
    ingest("create_append")
    equal(env.rows(f"SELECT count(*), count(b), sum(a) FROM {name}"), [(9, 6, 18)])
    refused(lambda: ingest("append", pa.table({"zz": [1]})), Status.INVALID_ARGUMENT)
    ingest("replace")
    equal(env.rows(f"SELECT a, b FROM {name} ORDER BY a"), [(1, "x"), (2, "y"), (3, None)])


@check(CLIENT)
def ingest_takes_a_reader_of_many_batches(env: Env) -> None:
    name = env.fresh("reader")
    corpus.create(env, name)
    batches = [corpus.table(range(i * 100, i * 100 + 100)).to_batches()[0] for i in range(10)]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches))
    with env.cursor() as cur:
        equal(cur.adbc_ingest(name, reader, mode="append"), 1000, "rows")
    equal(env.rows(f"SELECT count(*), count(DISTINCT id) FROM {name}"), [(1000, 1000)])


@check(CLIENT)
def a_wrong_vector_writes_nothing(env: Env) -> None:
    name = corpus.filled(env, "whole", 10)
    bad = corpus.table(range(100, 103))
    rows = [corpus.vector(100), [float("nan")] * corpus.DIM, corpus.vector(102)]
    bad = bad.set_column(4, "emb", corpus.vectors(rows))
    refused(lambda: corpus.ingest(env, name, bad), Status.INVALID_ARGUMENT)
    short = corpus.table(range(100, 101)).set_column(4, "emb", corpus.vectors([[1.0, 2.0]]))
    refused(lambda: corpus.ingest(env, name, short), Status.INVALID_ARGUMENT)
    zero = corpus.table(range(100, 101)).set_column(4, "emb", corpus.vectors([[0.0] * corpus.DIM]))
    refused(lambda: corpus.ingest(env, name, zero), Status.INVALID_ARGUMENT)
    equal(env.rows(f"SELECT count(*) FROM {name}"), [(10,)])


@check(CLIENT)
def insert_update_delete_by_key_and_predicate(env: Env) -> None:
    name = corpus.filled(env, "dml", 30)
    with env.cursor() as cur:
        cur.execute(f"UPDATE {name} SET lang = 'it' WHERE id = ?", [corpus.key(4)])
        equal(cur.rowcount, 1, "rows updated by key")
        cur.execute(f"UPDATE {name} SET year = year + 100 WHERE lang = 'de'")
        cur.execute(f"DELETE FROM {name} WHERE id = ?", [corpus.key(0)])
        equal(cur.rowcount, 1, "rows deleted by key")
        cur.execute(f"DELETE FROM {name} WHERE lang = 'fr'")
        equal(cur.rowcount, 10, "rows deleted by predicate")
    equal(env.rows(f"SELECT lang, count(*) FROM {name} GROUP BY lang ORDER BY lang"), [("de", 9), ("en", 9), ("it", 1)])
    equal(env.rows(f"SELECT min(year) > 2080 FROM {name} WHERE lang = 'de'"), [(True,)])


@check(CLIENT)
def source_keeps_the_document(env: Env) -> None:
    name = corpus.filled(env, "source", 3)
    table = env.table(f"SELECT _pk, _source FROM {name} ORDER BY _pk")
    true(pa.types.is_binary(table.schema.field("_source").type), f"_source is {table.schema.field('_source').type}")
    want = f'{{"id":"{corpus.key(1)}","title":"{corpus.title(1)}","lang":"de","year":1991}}'
    equal(table.column("_source").to_pylist()[1], want.encode(), "_source")
    equal(table.column("_pk").to_pylist(), [corpus.key(i) for i in range(3)], "_pk")


@check(CLIENT)
def create_table_as_and_join(env: Env) -> None:
    name = corpus.filled(env, "joined", 90)
    other = env.fresh("langs")
    env.run(f"CREATE TABLE {other} AS SELECT lang, count(*) AS n FROM {name} GROUP BY lang")
    sql = f"SELECT d.id, l.n FROM {name} AS d JOIN {other} AS l ON d.lang = l.lang WHERE d.year < 1992 ORDER BY d.id"
    equal(env.rows(sql), [(corpus.key(i), 30) for i in range(90) if 1990 + i % 30 < 1992])


@check(CLIENT)
def dropped_objects_are_gone(env: Env) -> None:
    name = corpus.filled(env, "drop", 5)
    env.run(f"DROP COLLECTION {name}")
    refused(lambda: env.rows(f"SELECT * FROM {name}"), Status.NOT_FOUND)
    env.run(f"DROP COLLECTION IF EXISTS {name}")


@check(CLIENT)
def ingest_without_autocommit(env: Env) -> None:
    """gizmosql#155, #158: the driver sends no transaction; a temporary table is refused, twice alike."""
    name = env.fresh("manual")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        conn = dbapi.connect(env.uri)
    with conn, conn.cursor() as cur:
        for mode in ("create", "append"):
            equal(cur.adbc_ingest(name, pa.table({"a": [1, 2]}), mode=mode), 2)
        equal(env.rows(f"SELECT count(*) FROM {name}"), [(4,)])
        for _ in range(2):
            refused(lambda: cur.adbc_ingest(env.fresh("temp"), pa.table({"a": [1]}), mode="create_append", temporary=True), Status.NOT_IMPLEMENTED)
        cur.execute(f"SELECT count(*) FROM {name}")
        equal(cur.fetchall(), [(4,)])
