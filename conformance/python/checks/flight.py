"""pyarrow.flight: DoPut by path with operations, acknowledgements, actions."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.flight as fl

from . import corpus
from .env import HEADER, Env, equal, true
from .harness import check

CLIENT = "python-flight"
TOKEN = re.compile(rb"v1:[A-Za-z0-9._:,;=+/-]+")


def put(env: Env, name: str, *batches: pa.RecordBatch, headers: dict[str, str] | None = None) -> list[bytes]:
    """Writes batches to a collection by path; the result is the metadata of each acknowledgement."""
    options = fl.FlightCallOptions(headers=list((headers or {}).items()))
    acks: list[bytes] = []
    with env.flight() as client:
        descriptor = fl.FlightDescriptor.for_path("collections", name)
        writer, reader = client.do_put(descriptor, batches[0].schema, options)
        acknowledgements: Any = reader
        with writer:
            for batch in batches:
                writer.write_batch(batch)
            writer.done_writing()
            while (ack := acknowledgements.read()) is not None:
                acks.append(ack.to_pybytes())
    return acks


def batch(data: pa.Table) -> pa.RecordBatch:
    """A table as one record batch."""
    return data.combine_chunks().to_batches()[0]


def with_op(data: pa.Table, op: str | list[str]) -> pa.RecordBatch:
    """The rows with an operation each."""
    ops = [op] * data.num_rows if isinstance(op, str) else op
    return batch(data.append_column("_op", pa.array(ops, pa.string())))


@check(CLIENT)
def put_by_path_is_acknowledged_with_a_token(env: Env) -> None:
    name = env.fresh("put")
    corpus.create(env, name)
    acks = put(env, name, batch(corpus.table(range(20))), batch(corpus.table(range(20, 30))))
    true(acks, "no acknowledgement")
    true(TOKEN.search(acks[-1]), f"no consistency token in {acks[-1][:200]!r}")
    equal(env.rows(f"SELECT count(*) FROM {name}"), [(30,)])


@check(CLIENT)
def a_token_makes_the_write_readable(env: Env) -> None:
    name = env.fresh("token")
    corpus.create(env, name)
    found = TOKEN.search(put(env, name, batch(corpus.table(range(10))))[-1])
    true(found, "no token")
    token = found.group().decode() if found else ""
    table = env.table(f"SELECT count(*) AS n FROM {name}", **{HEADER + "loam-consistency-token": token})
    equal(table.to_pylist(), [{"n": 10}])


@check(CLIENT)
def put_upsert_delete_and_patch(env: Env) -> None:
    name = corpus.filled(env, "ops", 10)
    put(env, name, with_op(corpus.table([2], revision=1), "upsert"))
    put(env, name, batch(pa.table({"id": [corpus.key(3)], "_op": ["delete"]})))
    put(env, name, batch(pa.table({"id": [corpus.key(4)], "lang": ["it"], "_op": ["patch"]})))
    equal(env.rows(f"SELECT count(*) FROM {name}"), [(9,)])
    equal(env.rows(f"SELECT title FROM {name} WHERE id = ?", [corpus.key(2)]), [(corpus.title(2) + " revision1",)])
    equal(env.rows(f"SELECT lang, title FROM {name} WHERE id = ?", [corpus.key(4)]), [("it", corpus.title(4))])
    near = env.rows(f"SELECT id FROM vector_search({name}, vector => ?, k => 1)", [corpus.vector(4)])
    equal(near, [(corpus.key(4),)], "the patched row's vector")


@check(CLIENT)
def operations_of_one_batch_apply_in_order(env: Env) -> None:
    name = corpus.filled(env, "order", 3)
    rows = pa.concat_tables([corpus.table([7]), corpus.table([7]), corpus.table([7], revision=2), corpus.table([1])])
    put(env, name, with_op(rows, ["upsert", "delete", "upsert", "delete"]))
    equal(env.rows(f"SELECT id, title FROM {name} WHERE id >= ? ORDER BY id", [corpus.key(1)]),
          [(corpus.key(2), corpus.title(2)), (corpus.key(7), corpus.title(7) + " revision2")])  # fmt: skip


@check(CLIENT)
def a_missing_column_is_null_for_upsert(env: Env) -> None:
    name = corpus.filled(env, "nulls", 3)
    put(env, name, batch(pa.table({"id": [corpus.key(1)], "lang": ["xx"]})))
    equal(env.rows(f"SELECT lang, title, year, emb IS NULL FROM {name} WHERE id = ?", [corpus.key(1)]), [("xx", None, None, True)])


def _put_fails(env: Env, name: str, data: pa.RecordBatch, *words: str) -> None:
    try:
        put(env, name, data)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        for word in words:
            true(word in str(error), f"the message does not say {word!r}: {error}")
        return
    raise AssertionError("no error")


@check(CLIENT)
def bad_puts_are_refused_and_write_nothing(env: Env) -> None:
    name = corpus.filled(env, "badput", 4)
    _put_fails(env, env.fresh("missing"), batch(corpus.table([1])))
    _put_fails(env, name, with_op(corpus.table([50]), "replace"), "_op")
    _put_fails(env, name, batch(corpus.table([50]).drop_columns(["id"])), "id")
    wrong = corpus.table([50, 51]).set_column(4, "emb", corpus.vectors([corpus.vector(50), [float("inf")] * corpus.DIM]))
    _put_fails(env, name, batch(wrong), "emb")
    null_key = corpus.table([50, 51]).set_column(0, "id", pa.array([corpus.key(50), None]))
    _put_fails(env, name, batch(null_key), "id")
    equal(env.rows(f"SELECT count(*) FROM {name}"), [(4,)])


@check(CLIENT)
def a_put_without_rows_is_harmless(env: Env) -> None:
    name = corpus.filled(env, "norows", 4)
    put(env, name, batch(corpus.table([1])).slice(0, 0))
    equal(env.rows(f"SELECT count(*) FROM {name}"), [(4,)])


@check(CLIENT)
def actions_are_listed(env: Env) -> None:
    with env.flight() as client:
        names = {action.type for action in client.list_actions()}
    want = {
        "CreatePreparedStatement",
        "ClosePreparedStatement",
        "SetSessionOptions",
        "GetSessionOptions",
        "CloseSession",
        "CancelFlightInfo",
    }
    true(want <= names, f"missing {sorted(want - names)}")


@check(CLIENT)
def an_unknown_action_is_not_implemented(env: Env) -> None:
    with env.flight() as client:
        try:
            list(client.do_action(fl.Action("NoSuchAction", b"")))
        except pa.ArrowNotImplementedError:
            return
    raise AssertionError("no error, or one of another kind")
