"""Writes the small Lance datasets of testdata/lance with the real client.

Usage: write_tables.py directory

Every dataset shows one thing that a table reader must know; testdata/lance/README.md
lists them. Needs pylance and pyarrow.
"""

from __future__ import annotations

import datetime
import decimal
import json
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


def kinds(rows: int, version: str) -> pa.Table:
    """One column of each type that the others lack; the last one is not readable."""
    day = datetime.date(2026, 1, 1)
    columns: list[tuple[pa.Field, list[object]]] = [
        (pa.field("n", pa.int32()), list(range(rows))),
        (pa.field("flag", pa.bool_()), [i % 3 == 0 for i in range(rows)]),
        (pa.field("price", pa.decimal128(12, 2)), [decimal.Decimal(i * 101 - 500).scaleb(-2) for i in range(rows)]),
        (pa.field("wide", pa.decimal256(50, 1)), [decimal.Decimal(i * 10**40 + 5).scaleb(-1) for i in range(rows)]),
        (pa.field("day", pa.date64()), [day + datetime.timedelta(days=i) for i in range(rows)]),
        (pa.field("sec", pa.time32("s")), [i * 100 for i in range(rows)]),
        (pa.field("nano", pa.time64("ns")), [i * 1_000_000_000 for i in range(rows)]),
        (pa.field("took", pa.duration("ms")), [i * 1500 for i in range(rows)]),
        (pa.field("code", pa.binary(4)), [bytes([65 + i % 26] * 4) for i in range(rows)]),
        (pa.field("lang", pa.dictionary(pa.int8(), pa.string())), [["en", "de", "fr"][i % 3] for i in range(rows)]),
        (pa.field("nothing", pa.null()), [None] * rows),
        (pa.field("flags", pa.list_(pa.bool_())), [[k % 2 == 0 for k in range(i % 4)] for i in range(rows)]),
        (pa.field("holes", pa.list_(pa.float32(), 2)), [[i, None if i % 4 == 2 else i + 0.5] for i in range(rows)]),
        (pa.field("bits", pa.list_(pa.bool_(), 3)), [[i % 2 == 0, True, i % 3 == 0] for i in range(rows)]),
        (pa.field("packed", pa.struct([("a", pa.int32()), ("b", pa.float64())]), metadata={"lance-encoding:packed": "true"}),
         [{"a": i, "b": i / 4} for i in range(rows)]),
        (pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"}), [b"b" * (i % 5) for i in range(rows)]),
        (pa.field("zipped", pa.string(), metadata={"lance-encoding:compression": "zstd"}), [f"{i % 7} of a long enough text" for i in range(rows)]),
    ]
    if version == "2.2":
        columns.append((pa.field("attrs", pa.map_(pa.string(), pa.int32())), [[("a", i), ("b", None)][: i % 3] for i in range(rows)]))
        text = pa.struct([("t", pa.string()), ("x", pa.int64())])
        columns.append((pa.field("pair", text, metadata={"lance-encoding:packed": "true"}), [{"t": "t" * (i % 4), "x": i} for i in range(rows)]))
    columns.append((pa.field("words", pa.list_(pa.string(), 2)), [None] * rows))
    never = {"n", "packed", "pair", "blob"}
    arrays = [pa.array([None if f.name not in never and i % 5 == 4 else v for i, v in enumerate(vs)], f.type) for f, vs in columns]
    return pa.table(arrays, schema=pa.schema([f for f, _ in columns]))


def places(uri: str) -> None:
    """Blobs of version 2, of each kind, and JSON columns; the blobs of `far` lie outside."""
    field = lance.blob_field("b", inline_size_threshold=8, dedicated_size_threshold=100, pack_file_size_threshold=150)
    blobs = [None if i % 7 == 3 else bytes([97 + i % 26]) * [0, 5, 40, 60, 120][i % 5] for i in range(20)]
    docs = [None if i % 9 == 4 else json.dumps({"n": i, "t": ["x" * (i % 4), None, i / 8, i % 2 == 0], "o": {"k": -i}}) for i in range(20)]
    outside = pathlib.Path("/tmp/outside.bin")
    outside.write_bytes(b"outside")
    rows = pa.table(
        [
            pa.array(range(20), pa.int64()),
            lance.blob_array(blobs),
            pa.ExtensionArray.from_storage(pa.json_(), pa.array(docs)),
            lance.blob_array([None] * 19 + [lance.Blob.from_uri(outside.as_uri())]),
        ],
        schema=pa.schema([pa.field("n", pa.int64()), field, pa.field("j", pa.json_()), lance.blob_field("far")]),
    )
    for part in (rows.slice(0, 15), rows.slice(15)):
        mode = "create" if part.num_rows == 15 else "append"
        lance.write_dataset(part, uri, mode=mode, data_storage_version="2.2", allow_external_blob_outside_bases=True)
    outside.unlink()
    lance.dataset(uri).delete("n = 6 or n = 17")


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

    # Every type, in every file version: two fragments.
    for version in ("2.0", "2.1", "2.2"):
        uri = at(f"types-{version}.lance")
        rows = kinds(230, version)
        if version == "2.0":
            rows = rows.drop_columns(["words"])
        lance.write_dataset(rows.slice(0, 220), uri, data_storage_version=version)
        lance.write_dataset(rows.slice(220), uri, mode="append")

    places(at("places.lance"))

    for file in [*root.glob("*/_transactions/*"), *root.glob("*/_versions/*.json")]:
        file.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
