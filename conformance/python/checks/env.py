"""The server under test: how to connect to it, and small helpers every check shares."""

import json
import secrets
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import adbc_driver_flightsql
import pyarrow as pa
import pyarrow.flight as fl
from adbc_driver_flightsql import dbapi

HEADER = adbc_driver_flightsql.DatabaseOptions.RPC_CALL_HEADER_PREFIX.value
COOKIES = adbc_driver_flightsql.DatabaseOptions.WITH_COOKIE_MIDDLEWARE.value
SESSION = adbc_driver_flightsql.ConnectionOptions.OPTION_SESSION_OPTION_PREFIX.value


@dataclass
class Answer:
    """An HTTP answer: status, headers with lower-cased names, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Env:
    """Addresses of one running server. Checks share it and change nothing in it."""

    uri: str
    http: str

    def fresh(self, prefix: str) -> str:
        """A name that no other check and no earlier run used."""
        return f"{prefix}_{secrets.token_hex(5)}"

    @contextmanager
    def connect(self, **db_kwargs: str) -> Iterator[Any]:
        """An ADBC connection, closed at the end of the block."""
        with dbapi.connect(self.uri, db_kwargs=db_kwargs, autocommit=True) as conn:
            yield conn

    @contextmanager
    def cursor(self, **db_kwargs: str) -> Iterator[Any]:
        """A cursor on a connection of its own."""
        with self.connect(**db_kwargs) as conn, conn.cursor() as cur:
            yield cur

    def table(self, sql: str, parameters: Any = None, **db_kwargs: str) -> pa.Table:
        """The whole answer of a query over a connection of its own."""
        with self.cursor(**db_kwargs) as cur:
            cur.execute(sql, parameters)
            table: pa.Table = cur.fetch_arrow_table()
            return table

    def rows(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        """The answer of a query as Python tuples."""
        table = self.table(sql, parameters)
        return list(zip(*(c.to_pylist() for c in table.columns), strict=True)) if table.num_columns else []

    def run(self, *statements: str) -> None:
        """Runs DDL or DML, one after the other, over one connection."""
        with self.cursor() as cur:
            for sql in statements:
                cur.execute(sql)

    @contextmanager
    def flight(self) -> Iterator[fl.FlightClient]:
        """A plain Flight client."""
        client = fl.FlightClient(self.uri.replace("grpc://", "grpc+tcp://"))
        try:
            yield client
        finally:
            client.close()

    def request(self, method: str, path: str, body: bytes | None, headers: dict[str, str] | None = None) -> Answer:
        """An HTTP request; an error status is an answer, not an exception."""
        request = urllib.request.Request(self.http + path, data=body, method=method, headers=headers or {})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as reply:
                return Answer(reply.status, {k.lower(): v for k, v in reply.headers.items()}, reply.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())

    def post(self, path: str, body: Any) -> Answer:
        """A POST of a JSON body."""
        return self.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def unreachable(self) -> str:
        """Why the server cannot be used, or an empty string."""
        try:
            self.table("SELECT 1")
        except Exception as error:  # any failure is the reason
            return f"{self.uri}: {error}"
        try:
            answer = self.request("GET", "/readyz", None)
        except OSError as error:
            return f"{self.http}: {error}"
        return "" if answer.status == 200 else f"{self.http}/readyz answers {answer.status}"


def equal(got: Any, want: Any, what: str = "value") -> None:
    """Fails with both values in the message."""
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def true(condition: Any, message: str) -> None:
    """Fails with the message."""
    if not condition:
        raise AssertionError(message)


def by_key(table: pa.Table, columns: Sequence[str], key: str = "_pk") -> dict[Any, tuple[Any, ...]]:
    """Rows by key, for comparison without order. A key that appears twice fails."""
    rows: dict[Any, tuple[Any, ...]] = {}
    values = [table.column(c).to_pylist() for c in columns]
    for i, k in enumerate(table.column(key).to_pylist()):
        if k in rows:
            raise AssertionError(f"{key} {k!r} appears twice")
        rows[k] = tuple(v if not isinstance(v, list) else tuple(v) for v in (column[i] for column in values))
    return rows


def same_rows(got: dict[Any, tuple[Any, ...]], want: dict[Any, tuple[Any, ...]], what: str) -> None:
    """Compares two results of by_key; the message shows the first difference."""
    missing, extra = sorted(want.keys() - got.keys()), sorted(got.keys() - want.keys())
    true(not missing and not extra, f"{what}: {len(missing)} rows missing {missing[:3]}, {len(extra)} extra {extra[:3]}")
    for key, row in want.items():
        equal(got[key], row, f"{what}, row {key!r}")
