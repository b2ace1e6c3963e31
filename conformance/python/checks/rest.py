"""The HTTP door with the tools that people point at it: urllib, pyarrow, Polars, DuckDB."""

import http.client
import io
import json
import tempfile
import urllib.request
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from .env import Env, equal, true
from .harness import check

ARROW = "application/vnd.apache.arrow.stream"


def _sql(env: Env, sql: str, accept: str, **more: Any) -> urllib.request.Request:
    body = json.dumps({"sql": sql, **more}).encode()
    return urllib.request.Request(env.http + "/v1/sql", body, {"Content-Type": "application/json", "Accept": accept})


def _open(request: urllib.request.Request) -> Any:
    return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60)


# A statement that fails after many rows have left.
FAILS_LATE = "SELECT a, repeat('x', 100) AS pad, 1 / (a - 3000000) AS b FROM generate_series(1, 4000000) AS g(a)"
ENDS_WELL = "SELECT a, repeat('x', 100) AS pad, 1 / (a - 3000000) AS b FROM generate_series(1, 200000) AS g(a)"


@check("python-rest")
def arrow_over_http_is_the_flight_answer(env: Env) -> None:
    sql = "SELECT a, a * 0.5 AS half, CAST(a AS TEXT) AS t, CASE WHEN a % 3 = 0 THEN NULL ELSE a END AS n FROM generate_series(1, 20000) AS g(a) ORDER BY a"
    with _open(_sql(env, sql, ARROW)) as reply, pa.ipc.open_stream(reply) as stream:
        equal(stream.read_all(), env.table(sql), "the table")


@check("python-rest")
def cut_stream_is_an_error_for_pyarrow(env: Env) -> None:
    with _open(_sql(env, ENDS_WELL, ARROW)) as reply, pa.ipc.open_stream(reply) as stream:
        equal(stream.read_all().num_rows, 200_000, "rows of the whole stream")
    rows = 0
    try:
        with _open(_sql(env, FAILS_LATE, ARROW)) as reply, pa.ipc.open_stream(reply) as stream:
            for batch in stream:
                rows += batch.num_rows
    except (http.client.IncompleteRead, pa.ArrowInvalid, OSError):
        true(0 < rows < 4_000_000, f"{rows} rows came before the error")
        return
    raise AssertionError(f"a stream that failed reads as a table of {rows} rows")


@check("python-rest")
def cut_text_is_an_error_too(env: Env) -> None:
    for accept in ("application/json", "application/x-ndjson", "text/csv"):
        with _open(_sql(env, FAILS_LATE, accept)) as reply:
            try:
                text = reply.read()
            except http.client.IncompleteRead as cut:
                true(b"division by zero" in cut.partial[-600:], f"{accept}: the cause is not at the end")
            else:
                raise AssertionError(f"{accept}: a body that failed reads as a whole one of {len(text)} bytes")


@check("python-rest")
def forms_hold_the_same_rows(env: Env) -> None:
    sql = "SELECT a, CAST(a AS TEXT) || ',\"é' AS t, a / 4.0 AS d FROM generate_series(1, 5000) AS g(a) ORDER BY a"
    want = env.table(sql).select(["a", "t"]).to_pylist()
    with _open(_sql(env, sql, "application/json", rows="objects")) as reply:
        body = json.load(reply)
        equal([{"a": r["a"], "t": r["t"]} for r in body["rows"]], want, "JSON")
        equal(body["row_count"], 5000, "row_count")
    with _open(_sql(env, sql, "application/x-ndjson")) as reply:
        equal(pl.read_ndjson(io.BytesIO(reply.read())).select("a", "t").to_dicts(), want, "NDJSON in Polars")
    with _open(_sql(env, sql, "text/csv")) as reply:
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            file.write(reply.read())
            file.flush()
            table = duckdb.sql(f"SELECT a, t FROM read_csv('{file.name}')").fetchall()
        equal([{"a": a, "t": t} for a, t in table], want, "CSV in DuckDB")


@check("python-rest")
def bulk_then_search(env: Env) -> None:
    name = env.fresh("bulk")
    path = f"/v1/namespaces/public/collections/{name}"
    made = env.post("/v1/namespaces/public/collections", {"name": name, "fields": [
        {"name": "id", "type": "TEXT", "primary_key": True}, {"name": "title", "type": "TEXT", "fulltext": "english"},
        {"name": "emb", "type": "VECTOR(2)", "distance": "l2"}]})
    equal(made.status, 201, made.body.decode())
    lines = [json.dumps({"id": f"d{i}", "title": f"fox number {i}", "emb": [i, 0]}) for i in range(12_000)]
    lines[7000] = '{"title": "without a key"}'
    answer = env.request("POST", path + "/documents:bulk", "\n".join(lines).encode(), {"Content-Type": "application/x-ndjson"})
    report = answer.json()
    equal((answer.status, report["rows"], report["failed"], report["errors"][0]["line"]), (200, 11_999, 1, 7001), "the report")
    equal(env.rows(f"SELECT count(*) FROM {name}"), [(11_999,)], "rows over Flight")
    hits = env.post(path + "/search", {"text": "number 17", "vector": [17, 0], "limit": 3, "fields": ["id"]}).json()
    want = env.rows(f"SELECT _pk, _fused_score FROM rrf(text_search({name}, 'number 17'), vector_search({name}, [17, 0]), limit => 3)")
    equal([(h["_pk"], h["_score"]) for h in hits["hits"]], want, "hits as over Flight")
    equal(hits["hits"][0]["_pk"], "d17", "the best hit")


@check("python-rest")
def writes_are_read_by_their_token(env: Env) -> None:
    name = env.fresh("tok")
    env.run(f"CREATE COLLECTION {name} (id TEXT PRIMARY KEY, n INT)")
    path = f"/v1/namespaces/public/collections/{name}/documents"
    for n in range(5):
        answer = env.request("PUT", path + "/a", json.dumps({"n": n}).encode(), {"Content-Type": "application/json"})
        token = answer.headers["loam-consistency-token"]
        body = json.dumps({"sql": f"SELECT n FROM {name}"}).encode()
        seen = env.request("POST", "/v1/sql", body, {"Content-Type": "application/json", "Loam-Consistency": "token", "Loam-Consistency-Token": token})
        equal(seen.json()["rows"], [[n]], "the row")
    equal(env.request("DELETE", path + "/a", None).json()["rows"], 1, "deleted")
    equal(env.request("GET", path + "/a", None).status, 404, "after the delete")


@check("python-rest")
def arrow_is_uploaded(env: Env) -> None:
    name = env.fresh("up")
    env.run(f"CREATE COLLECTION {name} (id BIGINT PRIMARY KEY, t TEXT, emb VECTOR(2))", f"CREATE TABLE {name}_t (id BIGINT, t TEXT)")
    frame = pl.DataFrame({"id": range(5000), "t": [f"row {i}" for i in range(5000)]})
    full = frame.to_arrow().append_column("emb", pa.array([[i, 0.5] for i in range(5000)], pa.list_(pa.float32(), 2)))
    for path, table in ((f"collections/{name}", full), (f"tables/{name}_t", frame.to_arrow())):
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=700)
        answer = env.request("POST", f"/v1/namespaces/public/{path}/rows", sink.getvalue(), {"Content-Type": ARROW})
        equal((answer.status, answer.json().get("rows")), (200, 5000), answer.body.decode())
    equal(env.rows(f"SELECT count(*), max(id), max(t) FROM {name}"), [(5000, 4999, "row 999")], "the collection")
    equal(env.rows(f"SELECT count(*), sum(id) FROM {name}_t"), [(5000, 12497500)], "the table")
