"""What Schemathesis cannot know of Loam: names that exist, and how lines are written."""

import json
import os
from typing import Any

import schemathesis

# Half of the requests go to what setup() made, so that they reach more than "not found".
KNOWN = {"ns": "public", "c": {"collections": "fuzz_docs", "tables": "fuzz_rows", "views": "fuzz_view"}, "key": "a"}


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Puts a known name in the place of a random one, except where it would be dropped."""
    if not path_parameters or context.operation.method.lower() == "delete" and "key" not in path_parameters:
        return path_parameters
    for name, value in path_parameters.items():
        known = KNOWN.get(name)
        if isinstance(known, dict):
            known = next((v for kind, v in known.items() if f"/{kind}/" in context.operation.path), None)
        if known is not None and isinstance(value, str) and sum(value.encode("utf-8", "replace")) % 2 == 0:
            path_parameters[name] = known
    return path_parameters


@schemathesis.serializer("application/vnd.apache.arrow.stream")
def bytes_that_are_not_arrow(context: Any, value: Any) -> bytes:
    """Anything: that a stream is malformed must be found, not believed."""
    return repr(value).encode("utf-8", "surrogatepass")


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def lines(context: Any, value: Any) -> bytes:
    """A value a line; of a list, its elements."""
    items = value if isinstance(value, list) else [value]
    return "\n".join(json.dumps(item) for item in items).encode("utf-8", "surrogatepass")


def setup(http: str) -> None:
    """Makes the collection, table and view that requests go to."""
    import requests

    session = requests.Session()
    session.trust_env = False
    for sql in (
        "CREATE COLLECTION IF NOT EXISTS fuzz_docs (id TEXT PRIMARY KEY, title TEXT FULLTEXT 'english', year INT, emb VECTOR(2) DISTANCE l2) WITH (dynamic = true)",
        "INSERT INTO fuzz_docs VALUES ('a', 'The fox', 1990, [1, 0])",
        "CREATE TABLE IF NOT EXISTS fuzz_rows (a INT, b TEXT)",
        "INSERT INTO fuzz_rows VALUES (1, 'x')",
        "CREATE OR REPLACE VIEW fuzz_view AS SELECT a FROM fuzz_rows",
    ):
        session.post(f"{http}/v1/sql", json={"sql": sql}, timeout=30).raise_for_status()


if __name__ == "__main__":
    setup(os.environ["LOAM_HTTP"])
