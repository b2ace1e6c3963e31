"""ADBC execute-partitions: opt-in endpoints, read from a second process."""

import pathlib
import subprocess
import sys
from typing import Any

import pyarrow as pa

from . import corpus
from .env import COOKIES, HEADER, SESSION, Env, by_key, equal, same_rows, true
from .harness import check
from .scan import fragmented

CLIENT = "python-adbc"
READER = pathlib.Path(__file__).with_name("read_partition.py")
COLUMNS = ["id", "lang", "year"]


def read_elsewhere(env: Env, partition: bytes) -> pa.Table:
    """Redeems a partition in a process of its own."""
    done = subprocess.run([sys.executable, str(READER), env.uri], input=partition, capture_output=True, timeout=120, check=False)
    true(done.returncode == 0, f"second process: {done.stderr.decode()[-500:]}")
    with pa.ipc.open_stream(done.stdout) as reader:
        return reader.read_all()


def partitions(env: Env, sql: str, **db_kwargs: str) -> list[bytes]:
    """The partitions of a query."""
    with env.cursor(**db_kwargs) as cur:
        found, schema = cur.adbc_execute_partitions(sql)
        true(schema is None or len(schema) > 0, "the schema is empty")
        return list(found)


def _union_equals_select(env: Env, sql: str, found: list[bytes]) -> None:
    union = pa.concat_tables([read_elsewhere(env, p) for p in found])
    same_rows(by_key(union, COLUMNS, "id"), by_key(env.table(sql), COLUMNS, "id"), "union of the partitions")


def _sql(name: str) -> str:
    return f"SELECT id, lang, year FROM {name} WHERE lang <> 'fr'"


@check(CLIENT)
def one_partition_without_the_option(env: Env) -> None:
    name = fragmented(env, "part1").name
    found = partitions(env, _sql(name))
    equal(len(found), 1, "partitions")
    _union_equals_select(env, _sql(name), found)


@check(CLIENT)
def partitions_by_header_from_a_second_process(env: Env) -> None:
    name = fragmented(env, "parth").name
    found = partitions(env, _sql(name), **{HEADER + "loam-max-endpoints": "4"})
    true(2 <= len(found) <= 4, f"{len(found)} partitions, want 2 to 4")
    _union_equals_select(env, _sql(name), found)


@check(CLIENT)
def partitions_by_session_option(env: Env) -> None:
    name = fragmented(env, "parts").name
    with env.connect(**{COOKIES: "true"}) as conn:
        option: Any = {SESSION + "loam.max_endpoints": 4}
        conn.adbc_connection.set_options(**option)
        with conn.cursor() as cur:
            found, _ = cur.adbc_execute_partitions(_sql(name))
    true(2 <= len(found) <= 4, f"{len(found)} partitions, want 2 to 4")
    _union_equals_select(env, _sql(name), list(found))


@check(CLIENT)
def an_ordered_query_stays_in_one_partition(env: Env) -> None:
    name = fragmented(env, "parto").name
    for tail in ("ORDER BY id", "LIMIT 5"):
        found = partitions(env, f"{_sql(name)} {tail}", **{HEADER + "loam-max-endpoints": "8"})
        equal(len(found), 1, f"partitions with {tail}")


@check(CLIENT)
def the_same_connection_reads_partitions_as_one_answer(env: Env) -> None:
    name = fragmented(env, "partq").name
    got = env.table(_sql(name), **{HEADER + "loam-max-endpoints": "8"})
    same_rows(by_key(got, COLUMNS, "id"), by_key(env.table(_sql(name)), COLUMNS, "id"), "rows over many endpoints")


@check(CLIENT)
def a_partition_keeps_its_snapshot(env: Env) -> None:
    name = fragmented(env, "partk").name
    before = env.table(_sql(name))
    found = partitions(env, _sql(name), **{HEADER + "loam-max-endpoints": "4"})
    corpus.ingest(env, name, corpus.table(range(5000, 5050)))
    env.run(f"DELETE FROM {name} WHERE lang = 'de'")
    union = pa.concat_tables([read_elsewhere(env, p) for p in found])
    same_rows(by_key(union, COLUMNS, "id"), by_key(before, COLUMNS, "id"), "rows after later writes")
