"""Writes Lance files with the real client, for Loam to read back.

Usage: write_lance.py directory [fixture]

For each column type, row count, null ratio and file version it writes
NAME.lance and the same rows as NAME.arrow (Arrow IPC file). Needs pylance 12 and
pyarrow. TestForeignFiles in storage/lance runs it. With "fixture" it writes the
two files of storage/lance/internal/file/testdata instead: many columns in one
file, small enough to be kept.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pyarrow as pa
from lance.file import LanceFileWriter

WORDS = ["alpha", "beta", "gamma", "delta", "retrieval", "vector", "document", "search engine", "filter", "SELECT * FROM"]
SPARSE = pa.struct([("indices", pa.list_(pa.uint32())), ("values", pa.list_(pa.float32()))])


class Source:
    """Random columns of a given length and null ratio."""

    def __init__(self, seed: int, rows: int, nulls: float) -> None:
        self.np = np.random.default_rng(seed)
        self.random = random.Random(seed)
        self.rows = rows
        self.nulls = nulls

    def array(self, values: Any, kind: pa.DataType) -> pa.Array:
        values = list(values)
        return pa.array([None if self.np.random() < self.nulls else v for v in values], kind)

    def ints(self, low: int, high: int, kind: pa.DataType) -> pa.Array:
        return self.array(self.np.integers(low, high, self.rows).tolist(), kind)

    def texts(self, low: int, high: int, kind: pa.DataType = pa.string()) -> pa.Array:
        r = self.random
        return self.array((" ".join(r.choices(WORDS, k=r.randint(low, high))) for _ in range(self.rows)), kind)

    def bytes(self, high: int, kind: pa.DataType) -> pa.Array:
        r = self.random
        return self.array((r.randbytes(r.randint(0, high)) for _ in range(self.rows)), kind)

    def vectors(self, dim: int) -> pa.Array:
        return self.array(self.np.random((self.rows, dim)).astype(np.float32).tolist(), pa.list_(pa.float32(), dim))

    def sparse(self) -> pa.Array:
        out = []
        for _ in range(self.rows):
            n = int(self.np.integers(0, 40)) if self.np.random() > 0.2 else 0
            out.append({
                "indices": sorted(self.np.integers(0, 30000, n).tolist()),
                "values": self.np.random(n).astype(np.float32).tolist(),
            })
        return self.array(out, SPARSE)

    def columns(self) -> dict[str, pa.Array]:
        n, r = self.rows, self.random
        pair = pa.struct([("a", pa.int64()), ("b", pa.string())])
        return {
            "pk": pa.array([f"doc-{i:06d}" for i in range(n)]),
            "uuid": pa.array([r.randbytes(16).hex() for _ in range(n)]),
            "text": self.texts(20, 20),
            "lang": self.array((r.choice(["en", "de", "fr"]) for _ in range(n)), pa.string()),
            "body": self.texts(30, 300),
            "huge": self.texts(5000, 6000, pa.large_string()) if n <= 50 else self.texts(1, 2, pa.large_string()),
            "source": self.bytes(900, pa.large_binary()),
            "bin": self.bytes(20, pa.binary()),
            "zero": pa.array([0] * n, pa.int32()),
            "serial": self.array(range(n), pa.int64()),
            "random64": self.ints(-(2**62), 2**62, pa.int64()),
            "i8": self.ints(-100, 100, pa.int8()),
            "u16": self.ints(0, 900, pa.uint16()),
            "runs": self.array((i // 1000 for i in range(n)), pa.int32()),
            "f32": self.array(self.np.random(n).astype(np.float32).tolist(), pa.float32()),
            "f64": self.array(self.np.random(n).tolist(), pa.float64()),
            "date": self.ints(0, 20000, pa.int32()).cast(pa.date32()),
            "ts": self.ints(0, 2**50, pa.int64()).cast(pa.timestamp("us", "UTC")),
            "v4": self.vectors(4),
            "v96": self.vectors(96),
            "sparse": self.sparse(),
            "tags": self.array((r.choices(WORDS, k=r.randint(0, 5)) for _ in range(n)), pa.list_(pa.string())),
            "pair": self.array(({"a": i, "b": r.choice(WORDS)} for i in range(n)), pair),
            "none": pa.array([None] * n, pa.int64()),
        }


def fixture(directory: str) -> int:
    columns = Source(7, 330, 0.1).columns()
    for name in ("huge", "v96", "source", "f64", "random64", "uuid", "date", "body"):
        del columns[name]
    batch = pa.record_batch(columns)
    for version in ("2.1", "2.2"):
        with LanceFileWriter(f"{directory}/client-{version}.lance", batch.schema, version=version) as writer:
            writer.write_batch(batch)
    with pa.OSFile(f"{directory}/client.arrow", "wb") as f:
        with pa.ipc.new_file(f, batch.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as ipc:
            ipc.write_batch(batch)
    return 0


def main(directory: str) -> int:
    written = 0
    for rows in (1, 50, 700, 5000):
        for nulls in (0.0, 0.1, 1.0):
            for name, array in Source(rows, rows, nulls).columns().items():
                batch = pa.record_batch({name: array})
                for version in ("2.1", "2.2"):
                    path = f"{directory}/{name}-{rows}-{nulls}-{version}"
                    with LanceFileWriter(path + ".lance", batch.schema, version=version) as writer:
                        writer.write_batch(batch)
                    with pa.OSFile(path + ".arrow", "wb") as f, pa.ipc.new_file(f, batch.schema) as ipc:
                        ipc.write_batch(batch)
                    written += 1
    print(f"{written} files")
    return 0


if __name__ == "__main__":
    sys.exit(fixture(sys.argv[1]) if sys.argv[2:] == ["fixture"] else main(sys.argv[1]))
