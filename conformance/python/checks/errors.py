"""Bad input: a typed error that names the object and the cure, and a server that goes on."""

import adbc_driver_manager
import pyarrow as pa
import pyarrow.flight as fl

from . import corpus
from .adbc_write import Status, refused
from .env import Env, equal, true
from .harness import check
from .scan import descriptor

CLIENT = "python-adbc"


def _fails(env: Env, sql: str, status: Status, *words: str, parameters: object = None) -> None:
    message = refused(lambda: env.table(sql, parameters), status)
    for word in words:
        true(word.lower() in message.lower(), f"{sql[:80]!r}: the message does not say {word!r}: {message}")
    true(len(message) < 4096, f"a message of {len(message)} characters")
    equal(env.rows("SELECT 1"), [(1,)], "answer afterwards")


@check(CLIENT)
def syntax_error_has_a_place(env: Env) -> None:
    _fails(env, "SELECT 1 +\n  FROM t", Status.INVALID_ARGUMENT, "line 2", "column 3")
    _fails(env, " -- nothing", Status.INVALID_ARGUMENT)  # the driver itself refuses ""


@check(CLIENT)
def unknown_names_suggest_the_near_one(env: Env) -> None:
    name = corpus.filled(env, "unknown", 3)
    _fails(env, f"SELECT * FROM {name}x", Status.NOT_FOUND, f"{name}x")
    _fails(env, f"SELECT titel FROM {name}", Status.INVALID_ARGUMENT, "titel", "title")
    _fails(env, "SELECT uper('a')", Status.INVALID_ARGUMENT, "uper", "upper")
    _fails(env, "SELECT * FROM no_such_namespace.t", Status.NOT_FOUND, "no_such_namespace")


@check(CLIENT)
def unknown_named_argument_suggests(env: Env) -> None:
    name = corpus.filled(env, "named", 3)
    _fails(env, f"SELECT * FROM text_search({name}, 'x', lmit => 3)", Status.INVALID_ARGUMENT, "lmit", "limit")


@check(CLIENT)
def wrong_query_vectors_are_refused(env: Env) -> None:
    name = corpus.filled(env, "wrongvec", 3)
    sql = f"SELECT id FROM vector_search({name}, vector => ?, k => 3)"
    _fails(env, sql, Status.INVALID_ARGUMENT, "2", str(corpus.DIM), parameters=[[1.0, 2.0]])
    _fails(env, sql, Status.INVALID_ARGUMENT, parameters=[[float("nan")] * corpus.DIM])
    _fails(env, sql, Status.INVALID_ARGUMENT, "zero", parameters=[[0.0] * corpus.DIM])


@check(CLIENT)
def a_text_for_vector_search_says_the_cure(env: Env) -> None:
    name = corpus.filled(env, "noembed", 3)
    message = ""
    try:
        env.table(f"SELECT id FROM vector_search({name}, 'a question')")
    except adbc_driver_manager.Error as error:
        message = str(error)
    true("vector" in message and "embed" in message, f"message {message!r}")


@check(CLIENT)
def types_and_ranges_are_checked(env: Env) -> None:
    for sql in (
        "SELECT CAST('x' AS INT)",
        "SELECT 1 / 0",
        "SELECT CAST(3000000000 AS INT)",
        "SELECT CAST(9223372036854775807 AS BIGINT) + 1",
        "SELECT TIMESTAMP 'yesterday-ish'",
        "SELECT a FROM (VALUES (1)) AS v(a) GROUP BY a HAVING b > 1",
        "SELECT sum('a') FROM (VALUES (1)) AS v(a)",
    ):
        _fails(env, sql, Status.INVALID_ARGUMENT)


@check(CLIENT)
def a_wrong_number_of_parameters_is_refused(env: Env) -> None:
    batch = pa.record_batch([pa.array([1]), pa.array([2])], names=["1", "2"])
    _fails(env, "SELECT CAST(? AS BIGINT)", Status.INVALID_ARGUMENT, parameters=batch)


@check(CLIENT)
def what_is_reserved_is_not_implemented(env: Env) -> None:
    name = corpus.filled(env, "reserved", 3)
    sql = f"SELECT * FROM rerank(text_search({name}, 'merge'), document => 'title', query => 'merge')"
    _fails(env, sql, Status.NOT_IMPLEMENTED, "rerank")


def _ticket_fails(client: fl.FlightClient, ticket: bytes, what: str) -> None:
    try:
        client.do_get(fl.Ticket(ticket)).read_all()
    except (pa.ArrowInvalid, pa.ArrowKeyError, fl.FlightUnauthenticatedError):
        return
    except fl.FlightServerError as error:
        raise AssertionError(f"{what}: an untyped error {error}") from error
    raise AssertionError(f"{what}: no error")


@check("python-flight")
def bad_tickets_are_refused(env: Env) -> None:
    with env.flight() as client:
        name = corpus.filled(env, "ticket", 5)
        good = client.get_flight_info(descriptor(name, tail="wait")).endpoints[0].ticket.ticket
        _ticket_fails(client, b"", "empty")
        _ticket_fails(client, b"garbage" * 20, "garbage")
        _ticket_fails(client, good[:-1], "one byte short")
        _ticket_fails(client, good[: len(good) // 2], "half")
        flipped = bytearray(good)
        flipped[len(good) * 3 // 4] ^= 1
        _ticket_fails(client, bytes(flipped), "one bit flipped")
        true(client.do_get(fl.Ticket(good)).read_all() is not None, "the sound ticket")


@check("python-flight")
def garbage_commands_and_paths_are_refused(env: Env) -> None:
    with env.flight() as client:
        for what in (
            fl.FlightDescriptor.for_command(b"\xff\x00garbage"),
            fl.FlightDescriptor.for_command(b"{not json"),
            fl.FlightDescriptor.for_path("no", "such", "path"),
        ):
            try:
                client.get_flight_info(what)
            except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowNotImplementedError):
                continue
            raise AssertionError(f"{what}: no error")
    equal(env.rows("SELECT 1"), [(1,)], "answer afterwards")


@check(CLIENT)
def a_row_of_64_mib_is_refused_and_nothing_is_written(env: Env) -> None:
    """By bulk ingest, by SQL and over HTTP: a typed error each time, and the server goes on."""
    name = corpus.filled(env, "huge", 3)
    huge = "x" * (64 << 20)
    table = pa.table({"id": ["huge"], "title": [huge]})
    failures = 0
    with env.cursor() as cur:
        for attempt in (
            lambda: cur.adbc_ingest(name, table, mode="append"),
            lambda: cur.execute(f"INSERT INTO {name} (id, title) VALUES (?, ?)", ("huge", huge)),
        ):
            try:
                attempt()
            except adbc_driver_manager.Error as error:
                failures += 1
                true(len(str(error)) < 4096, "a short message")
    equal(failures, 2, "refusals")
    answer = env.post(f"/v1/namespaces/public/collections/{name}/documents", {"documents": [{"id": "huge", "title": huge}]})
    true(400 <= answer.status < 500, f"status {answer.status}")
    equal(env.rows(f"SELECT count(*) FROM {name}"), [(3,)], "rows afterwards")
