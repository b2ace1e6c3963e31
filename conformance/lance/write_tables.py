"""Writes the small Lance datasets of testdata/lance with the real client.

Usage: write_tables.py directory

Every dataset shows one thing that a table reader must know; testdata/lance/README.md
lists them. Needs pylance and pyarrow.
"""

from __future__ import annotations

import datetime
import pathlib
import shutil
import sys

import lance
import pyarrow as pa


def people(low: int, high: int) -> pa.Table:
    rows = range(low, high)
    names = pa.array([None if i % 10 == 9 else f"name {i}" for i in rows])
    return pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "name": names,
            "at": pa.array([datetime.datetime(2026, 1, 1 + i % 28) for i in rows], pa.timestamp("us")),
            "tags": pa.array([None if i % 7 == 3 else [f"t{k}" for k in range(i % 3)] for i in rows], pa.list_(pa.string())),
            "pair": pa.array([{"a": i, "b": None if i % 4 == 1 else f"b{i % 5}"} for i in rows], pa.struct([("a", pa.int32()), ("b", pa.string())])),
            "v": pa.array([[i, i + 0.5, -i, 0] for i in rows], pa.list_(pa.float32(), 4)),
        }
    )


def main(directory: str) -> int:
    root = pathlib.Path(directory)

    def at(name: str) -> str:
        shutil.rmtree(root / name, ignore_errors=True)
        return str(root / name)

    # Versions: 1 rows 0-49, 2 rows 50-79 too, 3 without ids below 5 (an array file).
    uri = at("people.lance")
    lance.write_dataset(people(0, 50), uri)
    lance.write_dataset(people(50, 80), uri, mode="append")
    data = lance.dataset(uri)
    data.delete("id < 5")
    data.tags.create("all", 2)

    # More than 5,000 deleted rows are a bitmap.
    uri = at("bitmap.lance")
    serial = pa.array(range(9000), pa.int32())
    lance.write_dataset(pa.table({"n": serial}), uri, data_storage_version="2.1")
    lance.dataset(uri).delete("n >= 1000 and n < 8500")

    # Stable row ids, an update, a column added and one renamed and one dropped.
    uri = at("evolved.lance")
    lance.write_dataset(people(0, 20).select(["id", "name", "at"]), uri, enable_stable_row_ids=True)
    data = lance.dataset(uri)
    data.add_columns({"double": "id * 2"})
    data.alter_columns({"path": "name", "name": "title"})
    data.drop_columns(["at"])
    data.update({"title": "'new'"}, where="id = 7")
    lance.write_dataset(people(20, 23).select(["id"]), uri, mode="append")

    # Names of manifests that count up.
    uri = at("old-names.lance")
    lance.write_dataset(people(0, 3).select(["id"]), uri, enable_v2_manifest_paths=False)
    lance.write_dataset(people(3, 6).select(["id"]), uri, mode="append")

    for file in [*root.glob("*/_transactions/*"), *root.glob("*/_versions/*.json")]:
        file.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
