"""Scan plans over REST and Flight: fields, endpoints, and their union in each tail mode."""

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from . import corpus
from .env import Env, by_key, equal, same_rows, true
from .harness import check

ROUNDS = 9
COLUMNS = ["_pk", "_source", "emb"]
SQL = "SELECT _pk, _source, emb FROM {}"


@dataclass
class Fragmented:
    """A collection over several fragments, and the plan that ended its building."""

    name: str
    plan: dict[str, Any]


def plan(env: Env, name: str, **request: Any) -> dict[str, Any]:
    """A scan plan over REST."""
    answer = env.post(f"/v1/namespaces/public/collections/{name}/scan", request)
    true(answer.status == 200, f"scan answers {answer.status}: {answer.body[:300]!r}")
    body: dict[str, Any] = answer.json()
    return body


def descriptor(name: str, **request: Any) -> fl.FlightDescriptor:
    """The same request as a Flight command: the REST body with the collection's name."""
    return fl.FlightDescriptor.for_command(json.dumps({"namespace": "public", "collection": name, **request}).encode())


def fragmented(env: Env, prefix: str) -> Fragmented:
    """Builds a collection in nine rounds, each applied: inserts, upserts of earlier rows, deletes.

    Round r brings documents 40r to 40r+39, writes five of the round before
    anew and deletes three of it.
    """
    name = env.fresh(prefix)
    corpus.create(env, name)
    made: dict[str, Any] = {}
    for r in range(ROUNDS):
        corpus.ingest(env, name, corpus.table(range(40 * r, 40 * r + 40)))
        if r > 0:
            first = 40 * (r - 1)
            corpus.ingest(env, name, corpus.table(range(first, first + 5), revision=r))
            keys = ", ".join(f"'{corpus.key(i)}'" for i in range(first + 10, first + 13))
            env.run(f"DELETE FROM {name} WHERE id IN ({keys})")
        made = plan(env, name, tail="wait")
    return Fragmented(name, made)


def unapplied(env: Env, name: str) -> None:
    """Writes that a later plan may find in the tail: new rows, an upsert, a delete."""
    corpus.ingest(env, name, corpus.table(range(9000, 9020)))
    corpus.ingest(env, name, corpus.table(range(0, 4), revision=50))
    env.run(f"DELETE FROM {name} WHERE id = '{corpus.key(30)}'")


def endpoints(env: Env, name: str, **request: Any) -> tuple[list[fl.FlightEndpoint], list[pa.Table]]:
    """The endpoints of a plan over Flight, each redeemed."""
    with env.flight() as client:
        info = client.get_flight_info(descriptor(name, **request))
        return info.endpoints, [client.do_get(e.ticket).read_all() for e in info.endpoints]


def union(tables: list[pa.Table]) -> dict[Any, tuple[Any, ...]]:
    """All rows of a plan by key; a key in two endpoints fails."""
    true(tables, "the plan has no endpoint")
    return by_key(pa.concat_tables([t.select(COLUMNS) for t in tables]), COLUMNS)


def select(env: Env, name: str) -> dict[Any, tuple[Any, ...]]:
    """All rows by SELECT."""
    return by_key(env.table(SQL.format(name)), COLUMNS)


@check("python-rest")
def the_plan_has_its_fields(env: Env) -> None:
    made = fragmented(env, "fields")
    p = made.plan
    for field in (
        "namespace", "collection", "collection_id", "manifest_version", "schema_version", "lance", "fragments", "live_rows",
        "columns", "pk_encoding", "tail", "tail_records", "offsets", "durable_token", "pin", "planned_at_ms", "expires_at_ms",
    ):  # fmt: skip
        true(field in p, f"no field {field} in {sorted(p)}")
    equal((p["namespace"], p["collection"], p["pk_encoding"]), ("public", made.name, "loam_canonical_v1"))
    for field in ("uri", "version", "manifest_path", "storage_format", "stable_row_ids"):
        true(field in p["lance"], f"no field lance.{field}")
    true(int(p["lance"]["version"]) >> 63 == 1, f"lance.version {p['lance']['version']} is not detached")
    true(p["expires_at_ms"] > p["planned_at_ms"], f"planned {p['planned_at_ms']}, expires {p['expires_at_ms']}")
    equal(p["pin"]["manifest_version"], p["manifest_version"], "pin")
    true(str(p["durable_token"]).startswith("v1:"), f"durable_token {p['durable_token']}")


@check("python-rest")
def fragments_add_up(env: Env) -> None:
    made = fragmented(env, "adds")
    fragments = made.plan["fragments"]
    true(len(fragments) >= 2, f"{len(fragments)} fragments")
    for f in fragments:
        equal(f["physical_rows"] - f["deleted_rows"], f["live_rows"], f"fragment {f['id']}")
        true(f["files"] and all(p.startswith("data/") for p in f["files"]), f"files {f['files']}")
        equal(f["deletion_file"] is None, f["deleted_rows"] == 0, f"deletion file of fragment {f['id']}")
    equal(sum(f["live_rows"] for f in fragments), made.plan["live_rows"], "live rows")
    equal(env.rows(f"SELECT count(*) FROM {made.name}"), [(made.plan["live_rows"],)])


@check("python-rest")
def columns_have_roles(env: Env) -> None:
    made = fragmented(env, "roles")
    roles = {c["name"]: c["role"] for c in made.plan["columns"]}
    want = {"_pk": "pk", "_source": "source", "_ingest_partition": "ingest_partition", "_ingest_offset": "ingest_offset", "emb": "vector"}
    equal({k: roles.get(k) for k in want}, want, "roles")
    emb = next(c for c in made.plan["columns"] if c["name"] == "emb")
    equal((emb["dim"], emb["distance"]), (corpus.DIM, "cosine"))


@check("python-rest")
def a_manifest_version_is_planned_again(env: Env) -> None:
    made = fragmented(env, "again")
    unapplied(env, made.name)
    again = plan(env, made.name, at={"manifest_version": made.plan["manifest_version"]})
    for field in ("manifest_version", "lance", "fragments", "live_rows"):
        equal(again[field], made.plan[field], field)


@check("python-rest")
def the_answer_carries_a_consistency_token(env: Env) -> None:
    name = corpus.filled(env, "header", 5)
    answer = env.post(f"/v1/namespaces/public/collections/{name}/scan", {})
    true(answer.headers.get("loam-consistency-token", "").startswith("v1:"), f"headers {answer.headers}")


@check("python-rest")
def bad_scan_requests_are_refused(env: Env) -> None:
    name = corpus.filled(env, "badscan", 3)
    path = f"/v1/namespaces/public/collections/{name}/scan"
    equal(env.post(path.replace(name, env.fresh("missing")), {}).status, 404, "a missing collection")
    bodies: list[dict[str, Any]] = [
        {"tail": "sometimes"},
        {"at": "yesterday"},
        {"at": {"tag": "t"}, "tail": "merge"},
        {"columns": ["nope"]},
        {"colums": []},
    ]
    for body in bodies:
        status = env.post(path, body).status
        true(400 <= status < 500 or status == 501, f"{body} answers {status}")
    true(400 <= env.request("POST", path, b"{}", {"Content-Type": "text/plain"}).status < 500, "a body that is not declared as JSON")
    true(400 <= env.request("POST", path, b"{", {"Content-Type": "application/json"}).status < 500, "broken JSON")


@check("python-rest")
def sql_over_rest(env: Env) -> None:
    answer = env.post("/v1/sql", {"sql": "SELECT 1 + 1 AS two"})
    equal(answer.status, 200, f"status, body {answer.body[:200]!r}")
    true(b"two" in answer.body and b"2" in answer.body, f"body {answer.body[:200]!r}")
    failed = env.post("/v1/sql", {"sql": "SELEC 1"})
    equal(failed.status, 400, "status of a syntax error")
    true(b"42601" in failed.body, f"no SQLSTATE in {failed.body[:300]!r}")


@check("python-flight")
def one_endpoint_a_fragment(env: Env) -> None:
    made = fragmented(env, "ends")
    at = {"manifest_version": made.plan["manifest_version"]}
    found, tables = endpoints(env, made.name, at=at, tail="none")
    equal([t.num_rows for t in tables], [f["live_rows"] for f in made.plan["fragments"]], "rows by endpoint")
    true(all(e.app_metadata for e in found), "an endpoint without app_metadata")
    true(all(e.expiration_time is not None for e in found), "an endpoint that never expires")
    true(all(not e.locations for e in found), "an endpoint with a location")


@check("python-flight")
def tail_wait_equals_select(env: Env) -> None:
    name = fragmented(env, "wait").name
    unapplied(env, name)
    _, tables = endpoints(env, name, tail="wait")
    same_rows(union(tables), select(env, name), "union of the endpoints")


@check("python-flight")
def tail_merge_equals_select(env: Env) -> None:
    name = fragmented(env, "merge").name
    unapplied(env, name)
    _, tables = endpoints(env, name, tail="merge")
    same_rows(union(tables), select(env, name), "union of the endpoints")


@check("python-flight")
def merge_is_the_default_of_current(env: Env) -> None:
    name = fragmented(env, "default").name
    unapplied(env, name)
    _, tables = endpoints(env, name)
    same_rows(union(tables), select(env, name), "union of the endpoints")


@check("python-flight")
def tail_none_keeps_an_old_manifest(env: Env) -> None:
    made = fragmented(env, "old")
    before = select(env, made.name)
    unapplied(env, made.name)
    plan(env, made.name, tail="wait")
    _, tables = endpoints(env, made.name, at={"manifest_version": made.plan["manifest_version"]})
    same_rows(union(tables), before, "rows of the old manifest")


@check("python-flight")
def a_scan_projects_columns(env: Env) -> None:
    name = fragmented(env, "project").name
    _, tables = endpoints(env, name, tail="wait", columns=["_pk", "emb"])
    for table in tables:
        equal(table.column_names, ["_pk", "emb"], "columns")


@check("python-flight")
def a_scan_ticket_may_be_redeemed_again(env: Env) -> None:
    name = fragmented(env, "twice").name
    with env.flight() as client:
        info = client.get_flight_info(descriptor(name, tail="merge"))
        first = [client.do_get(e.ticket).read_all() for e in info.endpoints]
        unapplied(env, name)
        second = [client.do_get(e.ticket).read_all() for e in info.endpoints]
    same_rows(union(second), union(first), "the second reading")


@check("python-flight")
def an_empty_collection_has_a_plan(env: Env) -> None:
    name = env.fresh("empty")
    corpus.create(env, name)
    equal(plan(env, name)["live_rows"], 0, "live rows")
    _, tables = endpoints(env, name)
    equal(sum(t.num_rows for t in tables), 0, "rows")
