"""The registry of checks, and the runner that counts them by client."""

import importlib
import time
import traceback
from collections.abc import Callable

from .env import Env

CLIENTS = ["python-adbc", "python-flight", "python-polars", "python-duckdb", "python-rest", "pylance"]
MODULES = ["adbc_basic", "adbc_meta", "adbc_write", "search", "errors", "partitions", "frames", "flight", "scan", "rest", "lance_read", "secure"]

Check = Callable[[Env], None]
_registry: list[tuple[str, str, Check]] = []


class Skip(Exception):
    """Raised by a check that cannot run here; the text is the cause."""


def check(client: str) -> Callable[[Check], Check]:
    """Registers a function as a check of a client. Its name is the check's name."""
    if client not in CLIENTS:
        raise ValueError(f"no client {client}")

    def register(function: Check) -> Check:
        _registry.append((client, function.__name__, function))
        return function

    return register


def load() -> None:
    """Imports every module of checks, so that they register themselves."""
    for module in MODULES:
        importlib.import_module(f"checks.{module}")


def _one(env: Env, function: Check) -> tuple[str, str, str]:
    """Runs a check; the result is passed, failed or skipped, a cause and a trace."""
    try:
        function(env)
    except Skip as skip:
        return "skipped", str(skip), ""
    except Exception as error:  # a check may fail in any way
        # pylance reports a panic of its native code as an exception too.
        cause = f"{type(error).__name__}: {error}".strip()
        return "failed", cause[:600], traceback.format_exc()
    return "passed", "", ""


def run(env: Env, name: str, verbose: bool) -> int:
    """Runs the checks whose name contains name; 1 if one failed or none ran."""
    counts = {client: {"passed": 0, "failed": 0, "skipped": 0} for client in CLIENTS}
    for client, title, function in _registry:
        if name not in title and name != client:
            continue
        start = time.monotonic()
        result, cause, trace = _one(env, function)
        counts[client][result] += 1
        if result != "passed" or verbose:
            took = f"{time.monotonic() - start:.2f} s"
            print(f"{result:8} {client} {title} ({took}){': ' + cause if cause else ''}", flush=True)
        if verbose and trace:
            print(trace, flush=True)
    total = {"passed": 0, "failed": 0, "skipped": 0}
    for client in CLIENTS:
        if any(counts[client].values()):
            print(line(client, counts[client]))
        for key, value in counts[client].items():
            total[key] += value
    if not total["passed"] and not total["failed"]:
        print("no check ran")
        return 1
    return 1 if total["failed"] else 0


def line(client: str, count: dict[str, int]) -> str:
    """The line that a caller of the suite reads."""
    return f"{client}: {count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped"
