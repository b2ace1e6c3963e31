"""A server with TLS and users: how ADBC, Flight and HTTP log in, and who is turned away."""

import base64
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import adbc_driver_flightsql
import adbc_driver_manager
import pyarrow.flight as fl
from adbc_driver_flightsql import dbapi

from .env import Env, equal, true
from .harness import Skip, check

CLIENT = "python-adbc"
ROOTS = adbc_driver_flightsql.DatabaseOptions.TLS_ROOT_CERTS.value
HEADER = adbc_driver_flightsql.DatabaseOptions.AUTHORIZATION_HEADER.value


def setting(name: str) -> str:
    """A variable of the second server; without one there is none to check."""
    value = os.environ.get(name)
    if not value:
        raise Skip(f"{name} is not set: no server with TLS runs")
    return value


def text(name: str) -> str:
    """The content of the file that a variable names."""
    with open(setting(name), encoding="utf-8") as file:
        return file.read()


@contextmanager
def connect(**options: str) -> Iterator[Any]:
    with dbapi.connect(setting("LOAM_TLS_URI"), db_kwargs=options, autocommit=True) as conn:
        yield conn


def user(**options: str) -> str:
    """Who the server says the connection is."""
    with connect(**options) as conn, conn.cursor() as cur:
        cur.execute("SELECT current_user")
        return str(cur.fetchall()[0][0])


def refused(words: str, **options: str) -> None:
    try:
        user(**options)
    except adbc_driver_manager.Error as error:
        true(words in str(error), f"the error does not say {words!r}: {error}")
        return
    raise AssertionError("no error")


@check(CLIENT)
def tls_with_a_password(env: Env) -> None:
    equal(user(username="ann", password=setting("LOAM_TLS_PASSWORD"), **{ROOTS: text("LOAM_TLS_CA")}), "ann")


@check(CLIENT)
def tls_with_a_token(env: Env) -> None:
    equal(user(**{ROOTS: text("LOAM_TLS_CA"), HEADER: "Bearer " + setting("LOAM_TLS_TOKEN")}), "bot")


@check(CLIENT)
def tls_and_wrong_credentials(env: Env) -> None:
    roots = {ROOTS: text("LOAM_TLS_CA")}
    refused("wrong user or password", username="ann", password="no", **roots)
    refused("needs a user and a password", **roots)
    refused("unknown token", **{HEADER: "Bearer nothing"}, **roots)


@check(CLIENT)
def tls_with_a_stranger(env: Env) -> None:
    refused("certificate", username="ann", password=setting("LOAM_TLS_PASSWORD"), **{ROOTS: text("LOAM_TLS_OTHER")})


@check(CLIENT)
def tls_keeps_a_session(env: Env) -> None:
    namespace = env.fresh("ns")
    with connect(username="ann", password=setting("LOAM_TLS_PASSWORD"), **{ROOTS: text("LOAM_TLS_CA")}) as conn:
        with conn.cursor() as cur:
            cur.execute(f"CREATE NAMESPACE {namespace}")
        conn.adbc_current_db_schema = namespace
        equal(conn.adbc_current_db_schema, namespace)
        with conn.cursor() as cur:
            cur.execute("SELECT current_schema(), current_user")
            equal(cur.fetchall(), [(namespace, "ann")])


@check("python-flight")
def flight_over_tls(env: Env) -> None:
    with open(setting("LOAM_TLS_CA"), "rb") as file:
        client = fl.FlightClient(setting("LOAM_TLS_URI"), tls_root_certs=file.read())
    pair = client.authenticate_basic_token("ann", setting("LOAM_TLS_PASSWORD"))
    equal(pair[0], b"authorization")
    true(pair[1].startswith(b"Bearer "), "no bearer token")
    listed = list(client.list_actions(fl.FlightCallOptions(headers=[pair])))
    true(len(listed) >= 8, f"{len(listed)} actions")
    try:
        list(client.list_actions())
    except fl.FlightUnauthenticatedError:
        return
    finally:
        client.close()
    raise AssertionError("no credentials, and no error")


@check("python-rest")
def http_over_tls(env: Env) -> None:
    context = ssl.create_default_context(cafile=setting("LOAM_TLS_CA"))
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))

    def status(header: str) -> int:
        request = urllib.request.Request(setting("LOAM_TLS_HTTP") + "/v1/sql", data=b'{"sql": "SELECT 1"}')
        request.add_header("Content-Type", "application/json")
        if header:
            request.add_header("Authorization", header)
        try:
            with opener.open(request, timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    basic = base64.b64encode(("ann:" + setting("LOAM_TLS_PASSWORD")).encode()).decode()
    equal([status("Basic " + basic), status("Bearer " + setting("LOAM_TLS_TOKEN")), status("Bearer x"), status("")], [200, 200, 401, 401])
