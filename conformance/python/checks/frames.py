"""Polars and DuckDB take what Loam answers, and Polars writes back."""

from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from . import corpus
from .env import Env, by_key, equal, same_rows, true
from .harness import check


@check("python-polars")
def from_arrow_keeps_types_and_values(env: Env) -> None:
    name = corpus.filled(env, "pl", 60)
    table = env.table(f"SELECT id, title, lang, year, emb FROM {name} ORDER BY id")
    frame: Any = pl.from_arrow(table)
    true(isinstance(frame, pl.DataFrame), f"a {type(frame)}")
    equal(frame.schema["emb"], pl.Array(pl.Float32, corpus.DIM), "type of the vector")
    equal(frame.schema["year"], pl.Int32, "type of the year")
    equal(frame["id"].to_list(), [corpus.key(i) for i in range(60)])
    equal(frame.filter(pl.col("lang") == "de").height, 20, "rows in German")


@check("python-polars")
def fetch_polars_of_a_search(env: Env) -> None:
    name = corpus.filled(env, "plsearch", 60)
    with env.cursor() as cur:
        cur.execute(f"SELECT id, _score FROM text_search({name}, ?, k => 5)", ["merge"])
        frame = cur.fetch_polars()
    equal((frame.height, frame.schema["_score"]), (5, pl.Float64))


@check("python-polars")
def read_database_over_a_connection(env: Env) -> None:
    name = corpus.filled(env, "plread", 60)
    with env.connect() as conn:
        frame = pl.read_database(f"SELECT lang, count(*) AS n FROM {name} GROUP BY lang ORDER BY lang", conn)
    equal(frame.rows(), [("de", 20), ("en", 20), ("fr", 20)])


@check("python-polars")
def read_database_with_parameters(env: Env) -> None:
    name = corpus.filled(env, "plparam", 30)
    with env.connect() as conn:
        frame = pl.read_database(f"SELECT id FROM {name} WHERE lang = ? ORDER BY id", conn, execute_options={"parameters": ["fr"]})
    equal(frame["id"].to_list(), [corpus.key(i) for i in range(30) if i % 3 == 2])


@check("python-polars")
def no_rows_keep_the_schema(env: Env) -> None:
    name = corpus.filled(env, "plempty", 3)
    with env.connect() as conn:
        frame = pl.read_database(f"SELECT id, year, emb FROM {name} WHERE year = 0", conn)
    equal((frame.height, frame.schema["year"], frame.schema["emb"]), (0, pl.Int32, pl.Array(pl.Float32, corpus.DIM)))


@check("python-polars")
def write_database_appends_to_a_collection(env: Env) -> None:
    name = corpus.filled(env, "plwrite", 10)
    frame: Any = pl.from_arrow(corpus.table(range(10, 25)))
    true(isinstance(frame, pl.DataFrame), "a frame")
    with env.connect() as conn:
        equal(frame.write_database(name, conn, engine="adbc", if_table_exists="append"), 15, "rows written")
    got = env.table(f"SELECT id, title, emb FROM {name}")
    want = corpus.table(range(25))
    same_rows(by_key(got, ["title", "emb"], "id"), by_key(want, ["title", "emb"], "id"), "rows after the write")


@check("python-duckdb")
def sql_over_an_arrow_answer(env: Env) -> None:
    name = corpus.filled(env, "duck", 90)
    answer = env.table(f"SELECT id, lang, year FROM {name}")
    with duckdb.connect() as db:
        db.register("answer", answer)
        rows = db.sql("SELECT lang, count(*), max(year) FROM answer GROUP BY lang ORDER BY lang").fetchall()
    equal(rows, [("de", 30, 2018), ("en", 30, 2017), ("fr", 30, 2019)])


@check("python-duckdb")
def a_local_variable_is_a_table(env: Env) -> None:
    name = corpus.filled(env, "duckvar", 12)
    answer = env.table(f"SELECT id, year FROM {name}")
    equal(answer.num_rows, 12, "rows")
    equal(duckdb.sql("SELECT count(*), sum(year) FROM answer").fetchall(), [(12, sum(1990 + i for i in range(12)))])


@check("python-duckdb")
def a_stream_of_batches_is_read_once(env: Env) -> None:
    with env.cursor() as cur, duckdb.connect() as db:
        cur.execute("SELECT a, a % 7 AS b FROM generate_series(1, 200000) AS g(a)")
        with cur.fetch_record_batch() as reader:
            db.register("stream", reader)
            rows = db.sql("SELECT b, count(*) FROM stream GROUP BY b ORDER BY b").fetchall()
    equal(sum(r[1] for r in rows), 200_000, "rows")
    equal([r[0] for r in rows], list(range(7)), "groups")


@check("python-duckdb")
def vectors_are_arrays(env: Env) -> None:
    name = corpus.filled(env, "duckvec", 40)
    answer = env.table(f"SELECT id, emb FROM {name}")
    query = corpus.vector(7)
    with duckdb.connect() as db:
        db.register("answer", answer)
        text = ", ".join(repr(x) for x in query)
        sql = f"SELECT id FROM answer ORDER BY array_cosine_distance(emb, [{text}]::FLOAT[{corpus.DIM}]), id LIMIT 3"
        rows = [r[0] for r in db.sql(sql).fetchall()]
    equal(rows[0], corpus.key(7), "the nearest to itself")
    loam = env.rows(f"SELECT id FROM vector_search({name}, vector => ?, k => 3) ORDER BY _score DESC, _pk", [query])
    equal(rows, [r[0] for r in loam], "DuckDB and Loam")


@check("python-duckdb")
def types_cross_to_duckdb(env: Env) -> None:
    answer = env.table(
        "SELECT CAST('12.345' AS DECIMAL(10, 3)) AS d, DATE '2026-09-25' AS day, TIMESTAMP '2026-09-25 10:00:00' AS ts, true AS b"
    )
    with duckdb.connect() as db:
        db.register("answer", answer)
        rows = db.sql("SELECT d::VARCHAR, day::VARCHAR, b FROM answer").fetchall()
    equal(rows, [("12.345", "2026-09-25", True)])


@check("python-duckdb")
def what_duckdb_answers_loam_ingests(env: Env) -> None:
    name = env.fresh("fromduck")
    with duckdb.connect() as db:
        made = db.sql("SELECT i AS a, 'row ' || i AS b, i * 0.5::DOUBLE AS c FROM range(1000) AS r(i)").to_arrow_table()
    true(isinstance(made, pa.Table), f"a {type(made)}")
    with env.cursor() as cur:
        equal(cur.adbc_ingest(name, made, mode="create"), 1000, "rows")
    equal(env.rows(f"SELECT count(*), max(b), sum(c) FROM {name}"), [(1000, "row 999", 249750.0)])
