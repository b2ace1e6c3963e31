"""A small deterministic corpus with vectors, and what searches of it must answer."""

import math
from typing import Any

import numpy as np
import pyarrow as pa

from .env import Env

DIM = 8
LANGS = ["en", "de", "fr"]
WORDS = "storage engine fragment vector query index merge column snapshot replica lease ticket endpoint token".split()


def title(i: int) -> str:
    """Three words that depend on i; "merge" is in every document with i % 7 == 0."""
    words = [WORDS[i % 6], WORDS[7 + i % 5], WORDS[12 + i % 2]]
    if i % 7 == 0:
        words.append("merge")
    return " ".join(words)


def vector(i: int) -> list[float]:
    """A unit vector in float32 that differs for every i."""
    raw = np.array([math.sin(1 + i * (k + 1) * 0.37) for k in range(DIM)], np.float32)
    return [float(x) for x in raw / np.float32(np.linalg.norm(raw))]


def key(i: int) -> str:
    """The key of document i; ordered like i."""
    return f"doc-{i:05d}"


def table(numbers: range | list[int], revision: int = 0) -> pa.Table:
    """Documents as Arrow, the vector a FixedSizeList<float>. A revision changes title and year."""
    suffix = f" revision{revision}" if revision else ""
    return pa.table(
        {
            "id": pa.array([key(i) for i in numbers], pa.string()),
            "title": pa.array([title(i) + suffix for i in numbers], pa.string()),
            "lang": pa.array([LANGS[i % 3] for i in numbers], pa.string()),
            "year": pa.array([1990 + i % 30 + revision for i in numbers], pa.int32()),
            "emb": vectors([vector(i) for i in numbers]),
        }
    )


def vectors(rows: list[list[float]]) -> Any:
    """FixedSizeList<float>[DIM]."""
    flat = pa.array([x for row in rows for x in row], pa.float32())
    return pa.FixedSizeListArray.from_arrays(flat, len(rows[0]) if rows else DIM)


def create(env: Env, name: str, distance: str = "cosine") -> None:
    """Creates a collection for the documents."""
    env.run(
        f"CREATE COLLECTION {name} (id TEXT PRIMARY KEY, title TEXT FULLTEXT 'english', lang TEXT, year INT, "
        f"emb VECTOR({DIM}) DISTANCE {distance}) WITH (max_splits = 64)"
    )


def filled(env: Env, prefix: str, count: int, distance: str = "cosine") -> str:
    """Creates a collection of count documents by bulk ingest; the result is its name."""
    name = env.fresh(prefix)
    create(env, name, distance)
    ingest(env, name, table(range(count)))
    return name


def ingest(env: Env, name: str, data: pa.Table) -> int:
    """Bulk ingest in append mode; the result is the driver's row count."""
    with env.cursor() as cur:
        return int(cur.adbc_ingest(name, data, mode="append"))


def vector_parameters(query: list[float], *more: Any) -> pa.RecordBatch:
    """Parameters whose first is a FixedSizeList<float>, as an Arrow client binds them."""
    columns = [vectors([query]), *(pa.array([m]) for m in more)]
    return pa.record_batch(columns, names=[str(i + 1) for i in range(len(columns))])


def nearest(query: list[float], numbers: list[int], k: int, distance: str = "cosine") -> list[str]:
    """The keys of the k best documents, by the definition of the distance, ties by key."""
    q = np.array(query, np.float64)

    def score(i: int) -> float:
        v = np.array(vector(i), np.float64)
        if distance == "l2":
            return -float(np.linalg.norm(v - q))
        dot = float(v @ q)
        return dot if distance == "dot" else dot / float(np.linalg.norm(v) * np.linalg.norm(q))

    return [key(i) for i in sorted(numbers, key=lambda i: (-score(i), key(i)))[:k]]
