"""ADBC: connecting, queries, types, parameters, prepared statements."""

import datetime
import decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute

from .env import Env, equal, true
from .harness import check

CLIENT = "python-adbc"


@check(CLIENT)
def connects_and_answers(env: Env) -> None:
    equal(env.rows("SELECT 1 AS one, 'a' AS a"), [(1, "a")])


@check(CLIENT)
def trailing_semicolon_and_comment(env: Env) -> None:
    equal(env.rows("  SELECT 1;  "), [(1,)])
    equal(env.rows("-- before\nSELECT /* inside */ 2 -- after\n"), [(2,)])


@check(CLIENT)
def duplicate_column_names_are_kept(env: Env) -> None:
    table = env.table("SELECT 1 AS a, 2 AS a")
    equal(table.column_names, ["a", "a"])
    equal([c.to_pylist() for c in table.columns], [[1], [2]])


@check(CLIENT)
def zero_rows_keep_the_schema(env: Env) -> None:
    table = env.table("SELECT 1 AS a, 'x' AS b WHERE false")
    equal(table.num_rows, 0, "rows")
    equal(table.column_names, ["a", "b"])


@check(CLIENT)
def types_arrive_as_arrow(env: Env) -> None:
    table = env.table(
        "SELECT CAST(7 AS INT) AS i, CAST(7 AS BIGINT) AS b, CAST(1.5 AS DOUBLE) AS d, true AS t, 'grüße' AS s, "
        "DATE '2026-09-25' AS day, TIMESTAMP '2026-09-25 10:00:00' AS ts, CAST('12.345' AS DECIMAL(10, 3)) AS dec, "
        "CAST(NULL AS TEXT) AS n"
    )
    types = [table.schema.field(n).type for n in ("i", "b", "d", "t", "s", "day")]
    equal(types, [pa.int32(), pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.date32()], "types")
    true(pa.types.is_timestamp(table.schema.field("ts").type), f"ts is {table.schema.field('ts').type}")
    true(pa.types.is_decimal128(table.schema.field("dec").type), f"dec is {table.schema.field('dec').type}")
    row = table.to_pylist()[0]
    equal((row["i"], row["b"], row["d"], row["t"], row["s"], row["n"]), (7, 7, 1.5, True, "grüße", None))
    equal(row["day"], datetime.date(2026, 9, 25))
    equal(row["ts"].replace(tzinfo=None), datetime.datetime(2026, 9, 25, 10))
    equal(row["dec"], decimal.Decimal("12.345"))


@check(CLIENT)
def no_views_dictionaries_or_half_floats(env: Env) -> None:
    table = env.table("SELECT upper('a') AS u, lang FROM (VALUES ('en'), ('en'), ('de')) AS v(lang)")
    for field in table.schema:
        equal(field.type, pa.string(), f"type of {field.name}")


@check(CLIENT)
def python_parameters_bind_by_position(env: Env) -> None:
    sql = "SELECT CAST(? AS BIGINT) + 1 AS a, CAST(? AS TEXT) AS b, CAST(? AS DOUBLE) AS c, CAST(? AS TEXT) IS NULL AS d"
    equal(env.rows(sql, [41, "it's", 2.5, None]), [(42, "it's", 2.5, True)])


@check(CLIENT)
def numbered_parameters_may_repeat(env: Env) -> None:
    sql = "SELECT CAST($2 AS BIGINT) - CAST($1 AS BIGINT) AS a, CAST($1 AS BIGINT) AS b"
    equal(env.rows(sql, [3, 10]), [(7, 3)])


@check(CLIENT)
def a_bind_of_several_rows_answers_each(env: Env) -> None:
    batch = pa.record_batch([pa.array([1, 2, 3], pa.int64())], names=["1"])
    equal(sorted(env.rows("SELECT CAST(? AS BIGINT) * 10 AS x", batch)), [(10,), (20,), (30,)])


@check(CLIENT)
def dictionary_and_large_text_bind(env: Env) -> None:
    for array in (
        pa.array(["de"], pa.large_string()),
        pa.array(["de"]).dictionary_encode(),
        pa.array(["de"], pa.string_view()),
    ):
        batch = pa.record_batch([array], names=["1"])
        equal(env.rows("SELECT count(*) FROM (VALUES ('en'), ('de')) AS v(lang) WHERE lang = ?", batch), [(1,)], str(array.type))


@check(CLIENT)
def a_prepared_statement_runs_many_times(env: Env) -> None:
    with env.cursor() as cur:
        schema = cur.adbc_prepare("SELECT CAST(? AS BIGINT) AS x")
        true(schema is None or len(schema) == 1, f"parameter schema {schema}")
        for i in range(5):
            cur.execute("SELECT CAST(? AS BIGINT) AS x", [i])
            equal(cur.fetchall(), [(i,)])


@check(CLIENT)
def execute_schema_does_not_execute(env: Env) -> None:
    name = env.fresh("lazy")
    env.run(f"CREATE TABLE {name} (a INT)")
    with env.cursor() as cur:
        equal(cur.adbc_execute_schema(f"SELECT a, a + 1 AS b FROM {name}").names, ["a", "b"])
    equal(env.rows(f"SELECT count(*) FROM {name}"), [(0,)])


@check(CLIENT)
def the_schema_is_one_for_plan_and_batches(env: Env) -> None:
    sql = "SELECT a, a * 1.5 AS b, CAST(a AS TEXT) AS c FROM generate_series(1, 5000) AS g(a)"
    with env.cursor() as cur:
        planned = cur.adbc_execute_schema(sql)
        cur.execute(sql)
        with cur.fetch_record_batch() as reader:
            true(reader.schema.equals(planned), f"planned {planned}, answered {reader.schema}")
            equal(sum(batch.num_rows for batch in reader), 5000)


@check(CLIENT)
def an_answer_larger_than_a_message_arrives_whole(env: Env) -> None:
    table = env.table("SELECT a FROM generate_series(1, 3000000) AS g(a)")
    equal(table.num_rows, 3_000_000, "rows")
    column: Any = table.column("a")
    equal(pa.compute.sum(column).as_py(), 3_000_000 * 3_000_001 // 2, "sum")


@check(CLIENT)
def a_reader_left_early_does_not_disturb(env: Env) -> None:
    with env.connect() as conn:
        with conn.cursor() as cur:
            cur.execute("SELECT a FROM generate_series(1, 3000000) AS g(a)")
            cur.fetchone()
        with conn.cursor() as cur:
            cur.execute("SELECT 5 AS five")
            equal(cur.fetchall(), [(5,)])


@check(CLIENT)
def cursors_of_one_connection_are_independent(env: Env) -> None:
    with env.connect() as conn:
        cursors = [conn.cursor() for _ in range(8)]
        for i, cur in enumerate(cursors):
            cur.execute("SELECT CAST(? AS BIGINT) AS x", [i])
        equal([cur.fetchone()[0] for cur in cursors], list(range(8)))
        for cur in cursors:
            cur.close()


@check(CLIENT)
def text_of_any_kind_survives_the_ticket(env: Env) -> None:
    for text in ("a&b:c", "line\nbreak", "🜁 grüße", "x" * 200_000):
        quoted = text.replace("'", "''")
        equal(env.rows(f"SELECT '{quoted}' AS t"), [(text,)], f"text of {len(text)}")
