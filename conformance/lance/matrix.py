"""The matrix of Lance files: every type, size, null ratio and file version.

Usage: matrix.py write directory [quick]   writes NAME.lance and the same rows as NAME.arrow
       matrix.py read directory            reads every NAME.lance back and compares it with NAME.arrow
       matrix.py fixture directory         writes the frozen files of storage/lance/internal/file/testdata
       matrix.py tables directory          writes datasets X.lance and their live rows as X.arrow

"write" leaves NAME.refused, with the reason, where the client itself cannot write a
file or read it back. "read" prints one line a file: "ok NAME" or "bad NAME: reason".
Needs pylance and pyarrow. TestLanceMatrix in storage/lance runs it (make lance-matrix).
"""

from __future__ import annotations

import datetime
import decimal
import json
import pathlib
import random
import sys
from collections.abc import Callable
from typing import Any

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

WORDS = ["alpha", "beta", "gamma", "delta", "retrieval", "vector", "document", "search engine", "filter", "SELECT * FROM"]
VERSIONS = ("2.0", "2.1", "2.2")
ROWS = (0, 1, 511, 512, 513, 1024, 4096, 4097, 100_000)
NULLS = (0.0, 0.01, 0.5, 1.0)
DAY = datetime.date(2020, 1, 1)
# So many different values are made; longer columns repeat them in another order.
DISTINCT = 5003

Value = Callable[[random.Random, int], Any]


def words(low: int, high: int) -> Value:
    return lambda r, _: " ".join(r.choices(WORDS, k=r.randint(low, high)))


def number(low: int, high: int) -> Value:
    return lambda r, _: r.randint(low, high)


def real(r: random.Random, _: int) -> float:
    return r.randint(-1000, 1000) / 8


def truth(r: random.Random, _: int) -> bool:
    return r.random() < 0.5


def several(of: Value, high: int) -> Value:
    return lambda r, i: [None if r.random() < 0.1 else of(r, i) for _ in range(r.randint(0, high))]


def exactly(of: Value, n: int) -> Value:
    return lambda r, i: [of(r, i) for _ in range(n)]


def record(holes: float = 0.1, **members: Value) -> Value:
    return lambda r, i: {k: None if r.random() < holes else v(r, i) for k, v in members.items()}


def days(r: random.Random, _: int) -> datetime.date:
    return DAY + datetime.timedelta(days=r.randint(0, 3000))


def money(r: random.Random, _: int) -> decimal.Decimal:
    return decimal.Decimal(r.randint(-(10**9), 10**9)).scaleb(-2)


def meta(**entries: str) -> dict[str, str]:
    return {"lance-encoding:" + k.replace("_", "-"): v for k, v in entries.items()}


SMALL = 4097  # the most rows of types whose values are long
SPARSE = pa.struct([("indices", pa.list_(pa.uint32())), ("values", pa.list_(pa.float32()))])


def sparse(r: random.Random, _: int) -> dict[str, Any]:
    n = r.choice([0, 1, 5, 20])
    return {"indices": sorted(r.sample(range(30000), n)), "values": [r.random() for _ in range(n)]}


# name: type, value, most rows, metadata of the field
TYPES: dict[str, tuple[pa.DataType, Value, int, dict[str, str]]] = {
    "bool": (pa.bool_(), truth, 10**6, {}),
    "int8": (pa.int8(), number(-100, 100), 10**6, {}),
    "uint8": (pa.uint8(), number(0, 255), 10**6, {}),
    "int16": (pa.int16(), number(-900, 900), 10**6, {}),
    "uint16": (pa.uint16(), number(0, 900), 10**6, {}),
    "int32": (pa.int32(), number(-(2**31), 2**31 - 1), 10**6, {}),
    "uint32": (pa.uint32(), number(0, 5000), 10**6, {}),
    "int64": (pa.int64(), lambda _, i: i, 10**6, {}),
    "uint64": (pa.uint64(), number(0, 2**64 - 1), 10**6, {}),
    "constant": (pa.int64(), lambda _, i: 42, 10**6, {}),
    "runs": (pa.int32(), lambda _, i: i // 500, 10**6, {}),
    "float16": (pa.float16(), real, 10**6, {}),
    "float32": (pa.float32(), real, 10**6, {}),
    "float64": (pa.float64(), real, 10**6, {}),
    "decimal128": (pa.decimal128(12, 2), money, 10**6, {}),
    "decimal256": (pa.decimal256(50, 2), money, 10**6, {}),
    "date32": (pa.date32(), days, 10**6, {}),
    "date64": (pa.date64(), days, 10**6, {}),
    "time32s": (pa.time32("s"), number(0, 86399), 10**6, {}),
    "time32ms": (pa.time32("ms"), number(0, 86399_000), 10**6, {}),
    "time64us": (pa.time64("us"), number(0, 86399_000000), 10**6, {}),
    "time64ns": (pa.time64("ns"), number(0, 86399_000000000), 10**6, {}),
    "timestamp": (pa.timestamp("us", "UTC"), number(0, 2**50), 10**6, {}),
    "timestamp_s": (pa.timestamp("s"), number(0, 2**31), 10**6, {}),
    "timestamp_ns": (pa.timestamp("ns", "Europe/Berlin"), number(0, 2**60), 10**6, {}),
    "duration": (pa.duration("ms"), number(0, 2**40), 10**6, {}),
    "duration_ns": (pa.duration("ns"), number(-(2**40), 2**40), 10**6, {}),
    "string": (pa.string(), words(1, 6), 10**6, {}),
    "empty": (pa.string(), lambda *_: "", 10**6, {}),
    "lang": (pa.string(), lambda r, _: r.choice(["en", "de", "fr"]), 10**6, {}),
    "long": (pa.string(), words(60, 300), SMALL, {}),
    "very_long": (pa.large_string(), words(400, 1500), 513, {}),
    "very_long_binary": (pa.binary(), lambda r, i: r.randbytes(500) * 20, 513, {}),
    "large_string": (pa.large_string(), words(1, 6), 10**6, {}),
    "binary": (pa.binary(), lambda r, _: r.randbytes(r.randint(0, 40)), 10**6, {}),
    "large_binary": (pa.large_binary(), lambda r, _: r.randbytes(r.randint(0, 900)), SMALL, {}),
    "fixed16": (pa.binary(16), lambda r, _: r.randbytes(16), 10**6, {}),
    "fixed3": (pa.binary(3), lambda r, _: r.randbytes(3), 10**6, {}),
    "vector1": (pa.list_(pa.float32(), 1), exactly(real, 1), SMALL, {}),
    "vector4": (pa.list_(pa.float32(), 4), exactly(real, 4), 10**6, {}),
    "vector63": (pa.list_(pa.float32(), 63), exactly(real, 63), SMALL, {}),
    "vector96": (pa.list_(pa.float32(), 96), exactly(real, 96), SMALL, {}),
    "vector768": (pa.list_(pa.float32(), 768), exactly(real, 768), 513, {}),
    "vector_f16": (pa.list_(pa.float16(), 8), exactly(real, 8), SMALL, {}),
    "vector_f64": (pa.list_(pa.float64(), 8), exactly(real, 8), SMALL, {}),
    "vector_u8": (pa.list_(pa.uint8(), 8), exactly(number(0, 255), 8), SMALL, {}),
    "vector_bool": (pa.list_(pa.bool_(), 12), exactly(truth, 12), SMALL, {}),
    "vector_dec": (pa.list_(pa.decimal128(12, 2), 2), exactly(money, 2), SMALL, {}),
    "vector_holes": (pa.list_(pa.float32(), 4), lambda r, i: [None if r.random() < 0.2 else real(r, i) for _ in range(4)], SMALL, {}),
    "vector_holes_wide": (pa.list_(pa.float32(), 100), lambda r, i: [None if r.random() < 0.2 else real(r, i) for _ in range(100)], 513, {}),
    "list_int": (pa.list_(pa.int32()), several(number(0, 99), 5), 10**6, {}),
    "list_string": (pa.list_(pa.string()), several(words(1, 3), 5), 10**6, {}),
    "list_long": (pa.list_(pa.string()), several(words(40, 90), 3), 1024, {}),
    "list_empty": (pa.list_(pa.int32()), lambda r, _: [], 10**6, {}),
    "list_nulls": (pa.list_(pa.int64()), lambda r, _: [None] * r.randint(0, 3), SMALL, {}),
    "list_huge": (pa.list_(pa.int16()), lambda r, i: [i % 1000] * (10_000 if i % 300 == 7 else 1), 1024, {}),
    "large_list": (pa.large_list(pa.int64()), several(number(0, 99), 5), SMALL, {}),
    "list_list": (pa.list_(pa.list_(pa.int32())), several(several(number(0, 99), 4), 3), SMALL, {}),
    "list_list_string": (pa.list_(pa.list_(pa.string())), several(several(words(1, 2), 3), 3), SMALL, {}),
    "list_struct": (pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())])), several(record(a=number(0, 99), b=words(1, 2)), 3), SMALL, {}),
    "list_struct_whole": (pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())])),
                          lambda r, i: [{"a": i, "b": "x" * (i % 9)} for _ in range(r.randint(0, 3))], SMALL, {}),
    "list_struct_null_child": (pa.list_(pa.struct([("a", pa.int32()), ("b", pa.float64())])), several(record(0.0, a=number(0, 9), b=lambda *_: None), 3), SMALL, {}),
    "list_vector": (pa.list_(pa.list_(pa.float32(), 4)), lambda r, i: [[real(r, i)] * 4 for _ in range(r.randint(0, 3))], SMALL, {}),
    "list_bool": (pa.list_(pa.bool_()), several(truth, 5), SMALL, {}),
    "list_decimal": (pa.list_(pa.decimal128(12, 2)), several(money, 3), SMALL, {}),
    "struct": (pa.struct([("a", pa.int64()), ("b", pa.string())]), record(a=number(0, 2**40), b=words(1, 3)), 10**6, {}),
    "struct_deep": (
        pa.struct([("a", pa.struct([("x", pa.bool_()), ("l", pa.list_(pa.string()))])), ("d", pa.date32())]),
        record(a=record(x=truth, l=several(words(1, 2), 3)), d=number(0, 9000)), SMALL, {}),
    "struct_long": (pa.struct([("a", pa.int64()), ("b", pa.string())]), record(a=number(0, 9), b=words(30, 60)), 1024, {}),
    "struct_vector": (pa.struct([("v", pa.list_(pa.float32(), 64)), ("x", pa.bool_())]), record(0.0, v=exactly(real, 64), x=truth), 1024, {}),
    "struct_list_long": (pa.struct([("l", pa.list_(pa.string()))]), record(l=several(words(40, 90), 3)), 1024, {}),
    "struct_list_wide": (pa.struct([("l", pa.list_(pa.binary(1500)))]), record(l=several(lambda r, _: r.randbytes(1500), 3)), 513, {}),
    "struct_list_20k": (pa.struct([("l", pa.list_(pa.string()))]), record(l=several(lambda r, _: "y" * r.choice([3, 9000, 20000]), 3)), 513, {}),
    "list_struct_list": (pa.list_(pa.struct([("k", pa.int16()), ("l", pa.list_(pa.string()))])),
                         lambda r, i: [{"k": i % 99, "l": ["x" * (i % 5)] * r.randint(0, 3)} for _ in range(r.randint(0, 3))], SMALL, {}),
    "list_fixed": (pa.list_(pa.binary(16)), several(lambda r, _: r.randbytes(16), 3), SMALL, {}),
    "list_vector768": (pa.list_(pa.list_(pa.float32(), 768)), lambda r, i: [[i / 2] * 768] * r.randint(0, 2), 513, {}),
    "fixed2000": (pa.binary(2000), lambda r, _: r.randbytes(2000), 513, {}),
    "uint8_small": (pa.uint8(), number(0, 3), SMALL, {}),
    "int64_small": (pa.int64(), number(0, 300), 10**6, {}),
    "sparse": (SPARSE, sparse, SMALL, {}),
    "map": (pa.map_(pa.string(), pa.int32()), lambda r, _: [(w, r.randint(0, 9)) for w in WORDS[: r.randint(0, 4)]], SMALL, {}),
    "dictionary": (pa.dictionary(pa.int16(), pa.string()), lambda r, _: r.choice(WORDS), SMALL, {}),
    "dictionary_int": (pa.dictionary(pa.int8(), pa.int64()), lambda r, _: r.choice([5, 7, 2**40]), SMALL, {}),
    "dictionary_full": (pa.dictionary(pa.int8(), pa.string()), lambda _, i: f"word {i % 127}", SMALL, {}),
    "dictionary_large": (pa.dictionary(pa.int32(), pa.large_string()), words(1, 2), SMALL, {}),
    "dictionary_bytes": (pa.dictionary(pa.uint8(), pa.binary()), lambda r, _: bytes([r.randint(0, 99)]), SMALL, {}),
    "dictionary_real": (pa.dictionary(pa.int32(), pa.float64()), real, SMALL, {}),
    "dictionary_in_list": (pa.list_(pa.dictionary(pa.int16(), pa.string())), several(lambda r, _: r.choice(WORDS), 3), SMALL, {}),
    "dictionary_in_struct": (pa.struct([("d", pa.dictionary(pa.int16(), pa.string())), ("x", pa.int32())]), record(0.0, d=lambda r, _: r.choice(WORDS), x=number(0, 9)), SMALL, {}),
    "hollow": (pa.struct([]), lambda *_: {}, SMALL, {}),
    "null": (pa.null(), lambda *_: None, SMALL, {}),
    "zstd_int": (pa.int64(), number(0, 2**40), SMALL, meta(compression="zstd")),
    "zstd_string": (pa.string(), words(1, 6), SMALL, meta(compression="zstd")),
    "lz4_string": (pa.string(), words(1, 6), SMALL, meta(compression="lz4")),
    "fsst_string": (pa.string(), words(3, 9), SMALL, meta(compression="fsst")),
    "zstd_long": (pa.large_string(), words(60, 300), 1024, meta(compression="zstd")),
    "bss_float": (pa.float32(), real, SMALL, meta(bss="on", compression="lz4")),
    "bss_double": (pa.float64(), real, SMALL, meta(bss="on", compression="zstd")),
    "rle_int": (pa.int32(), lambda _, i: i // 50, SMALL, meta(rle_threshold="1.0")),
    "rle_zstd": (pa.int64(), lambda _, i: i // 7, SMALL, meta(rle_threshold="1.0", compression="zstd")),
    "dict_zstd": (pa.string(), lambda r, _: r.choice(WORDS) * 3, SMALL, meta(compression="zstd", dict_divisor="1")),
    "plain_int": (pa.int32(), number(0, 50), SMALL, meta(compression="none")),
    "packed": (pa.struct([("a", pa.int32()), ("b", pa.float64())]), record(0.0, a=number(0, 99), b=real), SMALL, meta(packed="true")),
    "packed_text": (pa.struct([("a", pa.int32()), ("v", pa.list_(pa.float32(), 2)), ("s", pa.string()), ("t", pa.large_binary())]),
                    record(0.0, a=number(0, 99), v=exactly(real, 2), s=words(1, 3), t=lambda r, _: r.randbytes(r.randint(0, 9))), SMALL, meta(packed="true")),
    "blob": (pa.large_binary(), lambda r, _: r.randbytes(r.randint(0, 900)), 1024, meta(blob="true")),
}


# pylance 12 fails over its own files of these types (a nullable struct around a list
# of long values), or ends its process: only their rows are written, for Loam to store.
FATAL = {"struct_list_long", "struct_list_wide", "struct_list_20k"}


def column(name: str, rows: int, nulls: float) -> pa.Array:
    kind, value, _, _ = TYPES[name]
    r = random.Random(f"{name} {rows} {nulls}")
    values = [None if r.random() < nulls else value(r, i) for i in range(min(rows, DISTINCT))]
    array = pa.array(values, kind)
    if rows > DISTINCT:
        array = array.take(pa.array([i if i < DISTINCT else r.randrange(DISTINCT) for i in range(rows)], pa.int64()))
    return array


def save(path: str, table: pa.Table) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(path, "wb") as f, pa.ipc.new_file(f, table.schema, options=options) as ipc:
        for part in table.combine_chunks().to_batches():
            ipc.write_batch(part)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type with dictionaries as their values."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(f.name, plain_type(f.type)) for f in kind])
    return kind


def plain(array: pa.ChunkedArray) -> pa.Array:
    """One array; dictionaries as their values, which is how Loam reads them."""
    if "dictionary" in str(array.type):
        return pa.array(array.to_pylist(), plain_type(array.type))
    parts = array.combine_chunks()
    return pa.concat_arrays(parts.chunks) if isinstance(parts, pa.ChunkedArray) else parts


def write_one(path: str, name: str, array: pa.Array, version: str) -> None:
    schema = pa.schema([pa.field("c", array.type, metadata=TYPES[name][3] or None)])
    with LanceFileWriter(path + ".lance", schema, version=version) as writer:
        half = len(array) // 2 if name != "fsst_string" else 0
        for part in (array.slice(0, half), array.slice(half)):
            writer.write_batch(pa.record_batch([part], schema=schema))
    # What the client itself reads back is the truth: 2.0 loses the nulls of structs.
    got = plain(LanceFileReader(path + ".lance").read_all().to_table()["c"])
    save(path + ".arrow", pa.table({"c": got}))
    if version != "2.0" and not got.equals(plain(pa.chunked_array([array]))):
        raise RuntimeError("the client reads other values than it wrote")


def attempt(path: str, work: Callable[[], None]) -> bool:
    try:
        work()
    except BaseException as e:  # the client panics over some of its own files
        if isinstance(e, KeyboardInterrupt):
            raise
        with open(path + ".refused", "w", encoding="utf-8") as f:
            f.write(f"{type(e).__name__}: {str(e)[:300]}")
        return False
    return True


def write(directory: str, quick: bool) -> int:
    written = refused = 0
    rows_of = (0, 1, 513, 4097) if quick else ROWS
    for name, (_, _, most, _) in TYPES.items():
        for rows in rows_of:
            for nulls in NULLS if rows else NULLS[:1]:
                if rows > most:
                    continue
                array = column(name, rows, nulls)
                if name in FATAL:
                    save(f"{directory}/{name}-{rows}-{nulls}-2.2.arrow", pa.table({"c": array}))
                    continue
                for version in VERSIONS:
                    path = f"{directory}/{name}-{rows}-{nulls}-{version}"
                    if attempt(path, lambda p=path, n=name, a=array, v=version: write_one(p, n, a, v)):
                        written += 1
                    else:
                        refused += 1
    print(f"pylance {lance.__version__}: {written} files, {refused} refused by the client itself")
    return 0


def same(have: pa.Array, expect: pa.Array) -> bool:
    return bool((have if have.type == expect.type else have.cast(expect.type)).equals(expect))


def check_file(path: str) -> None:
    want = pa.ipc.open_file(path[: -len(".lance")] + ".arrow").read_all()
    reader = LanceFileReader(path)
    got = reader.read_all().to_table()
    for name in want.column_names:
        expect, have = plain(want[name]), plain(got[name])
        if same(have, expect):
            continue
        for i in range(min(len(expect), len(have))):
            if expect[i] != have[i].cast(expect.type):
                raise RuntimeError(f"column {name}, row {i}: {str(have[i])[:80]} where {str(expect[i])[:80]} is due")
        raise RuntimeError(f"column {name}: {len(have)} rows, {have.null_count} null, where {len(expect)}, {expect.null_count} are due")
    n = want.num_rows
    if n == 0:
        return
    r = random.Random(n)
    rows = sorted(r.sample(range(n), min(n, 25)))
    taken = reader.take_rows(rows).to_table()
    low = r.randrange(n)
    part = reader.read_range(low, min(n - low, 700)).to_table()
    for name in want.column_names:
        if not same(plain(taken[name]), plain(want[name].take(pa.array(rows)))):
            raise RuntimeError(f"column {name}: rows {rows} are others")
        if not same(plain(part[name]), plain(want[name].slice(low, part.num_rows))):
            raise RuntimeError(f"column {name}: rows {low}+{part.num_rows} are others")


def read(directory: str) -> int:
    for path in sorted(pathlib.Path(directory).glob("*.lance")):
        try:
            check_file(str(path))
            print("ok", path.name[: -len(".lance")])
        except BaseException as e:  # a panic of the client is no Exception
            print("bad", path.name[: -len(".lance")] + ":", type(e).__name__, " ".join(str(e).split())[:300])
    return 0


# Types that the frozen files leave out: they add bytes but no encoding.
UNFROZEN = {
    "long", "very_long", "very_long_binary", "list_huge", "vector768", "vector63", "large_binary", "vector_holes_wide", "list_long", "zstd_long", "blob", "int8", "uint16",
    "uint32", "float16", "time32ms", "time64ns", "timestamp_s", "timestamp_ns", "duration_ns", "decimal256", "vector1", "vector_f16",
    "vector_f64", "vector_dec", "struct_long", "struct_vector", "struct_list_long", "struct_list_wide", "list_vector768", "fixed2000", "large_string", "fixed16", "list_nulls", "list_decimal", "list_struct_whole",
}


# Types of the small frozen files, whose every byte is damaged in turn.
SMALLEST = [
    "bool", "int32", "string", "lang", "large_binary", "decimal128", "vector_holes", "list_string", "list_list", "struct", "map", "dictionary",
    "null", "packed", "packed_text", "blob", "runs", "constant",
]


def smallest(directory: str, version: str) -> None:
    fields, arrays = [], []
    for name in SMALLEST:
        kind, _, _, metadata = TYPES[name]
        nulls = 0.0 if version == "2.0" and name in ("struct", "packed") else 0.2
        array = column(name, 40, nulls)
        if name == "large_binary":
            array = pa.array([b"ab" * 130 if i % 3 else None for i in range(40)], kind)
        if attempt("/tmp/frozen", lambda n=name, a=array: write_one("/tmp/frozen", n, a, version)):
            fields.append(pa.field(name, kind, metadata=metadata or None))
            arrays.append(array)
    schema = pa.schema(fields)
    with LanceFileWriter(f"{directory}/small-{version}.lance", schema, version=version) as writer:
        writer.write_batch(pa.record_batch(arrays, schema=schema))


def hollow(directory: str, version: str) -> None:
    """Structs without fields, which have no values at all."""
    kinds = {"n": pa.int32(), "e": pa.struct([]), "s": pa.struct([("x", pa.int32()), ("e", pa.struct([]))])}
    rows: list[dict[str, Any]] = [{"n": i, "e": {}, "s": {"x": i, "e": {}}, "l": [{}] * (i % 3)} for i in range(7)]
    if version == "2.0":
        kinds["l"] = pa.list_(pa.struct([]))
    else:
        kinds.pop("s")  # the client itself reads nulls in it
    schema = pa.schema(kinds.items())
    with LanceFileWriter(f"{directory}/hollow-{version}.lance", schema, version=version) as writer:
        writer.write_batch(pa.record_batch([[r[k] for r in rows] for k in kinds], schema=schema))


def fixture(directory: str) -> int:
    for version in VERSIONS:
        hollow(directory, version)
        smallest(directory, version)
        fields, arrays = [], []
        for name, (kind, _, _, metadata) in TYPES.items():
            array = column(name, 520, 0.1)
            if name in UNFROZEN or not attempt("/tmp/frozen", lambda n=name, a=array, v=version: write_one("/tmp/frozen", n, a, v)):
                continue
            fields.append(pa.field(name, kind, metadata=metadata or None))
            arrays.append(array)
        schema = pa.schema(fields)
        path = f"{directory}/client-{version}"
        with LanceFileWriter(path + ".lance", schema, version=version) as writer:
            writer.write_batch(pa.record_batch(arrays, schema=schema))
        got = LanceFileReader(path + ".lance").read_all().to_table()
        save(path + ".arrow", pa.table({n: plain(got[n]) for n in got.column_names}))
    return 0


def oddities(root: pathlib.Path) -> None:
    """Datasets after public reports of wrong reads: each once went wrong in some reader."""

    def done(name: str) -> None:
        save(str(root / f"{name}.arrow"), lance.dataset(str(root / f"{name}.lance")).to_table())

    # Some fragments under a base path of their own.
    base = root / "bases-place"
    base.mkdir()
    uri = str(root / "bases.lance")
    ids = pa.table({"id": pa.array(range(150), pa.int64())})
    place = lance.DatasetBasePath(str(base), name="place", is_dataset_root=False)
    lance.write_dataset(ids.slice(0, 100), uri, initial_bases=[place], target_bases=["place"])
    lance.write_dataset(ids.slice(100), uri, mode="append")
    done("bases")
    # An upsert of some columns, whose first values are all null.
    uri = str(root / "upsert.lance")
    rows = range(3000)
    lance.write_dataset(pa.table({
        "id": pa.array(rows, pa.int64()),
        "b": pa.array([None if i < 1000 or i % 2 else b"x" * (i % 40) for i in rows], pa.large_binary()),
        "s": pa.array([f"s{i}" for i in rows]),
    }), uri, data_storage_version="2.2", max_rows_per_file=1000)
    fresh = pa.table({"id": pa.array(range(500, 1500), pa.int64()), "b": pa.array([b"new" if i % 3 else None for i in range(1000)], pa.large_binary())})
    lance.dataset(uri).merge_insert("id").when_matched_update_all().execute(fresh)
    done("upsert")
    # Lists with nulls in some fragments only, and a fragment without any value.
    uri = str(root / "uneven.lance")
    for k, hole in enumerate((0, 3, 1)):
        part = pa.table({"l": pa.array([None if hole and i % hole == 0 else [float(i)] * (i % 4) for i in range(700)], pa.list_(pa.float32()))})
        lance.write_dataset(part, uri, mode="append" if k else "create", data_storage_version="2.2")
    done("uneven")
    # JSON, nested too, and blobs of version 2 of each kind.
    for version in VERSIONS:
        uri = str(root / f"json-{version}.lance")
        docs = [None if i % 13 == 5 else json.dumps({"n": i, "x": [i / 7, -i, "\u00e9\"" * (i % 3), None], "o": {"k": [[]] * (i % 4), "t": True}}) for i in range(5000)]
        text = pa.ExtensionArray.from_storage(pa.json_(), pa.array(docs))
        lance.write_dataset(pa.table({"j": text}), uri, data_storage_version=version, max_rows_per_file=3000)
        done(f"json-{version}")
    uri = str(root / "blobs.lance")
    blobs = [None if i % 11 == 7 else bytes([i % 256]) * [0, 3, 900, 4000][i % 4] for i in range(1200)]
    field = lance.blob_field("b", inline_size_threshold=8, dedicated_size_threshold=2000, pack_file_size_threshold=5000)
    part = pa.table([pa.array(range(1200), pa.int64()), lance.blob_array(blobs)], schema=pa.schema([pa.field("n", pa.int64()), field]))
    lance.write_dataset(part, uri, data_storage_version="2.2", max_rows_per_file=500)
    lance.dataset(uri).delete("n % 10 = 3")
    live = [i for i in range(1200) if i % 10 != 3]
    save(str(root / "blobs.arrow"), pa.table({"n": pa.array(live, pa.int64()), "b": pa.array([blobs[i] for i in live], pa.large_binary())}))
    # A dictionary that fills its int8 indices, with nulls.
    for version in VERSIONS:
        uri = str(root / f"full-{version}.lance")
        words = pa.array([None if i % 11 == 5 else f"word {i % 127}" for i in range(2000)]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
        lance.write_dataset(pa.table({"w": words}), uri, data_storage_version=version)
        table = lance.dataset(uri).to_table()
        save(str(root / f"full-{version}.arrow"), pa.table({"w": plain(table["w"])}))


def tables(directory: str) -> int:
    root = pathlib.Path(directory)
    oddities(root)
    for version in VERSIONS:
        for stable in (False, True):
            rows = pa.table({
                "id": pa.array(range(12_000), pa.int64()),
                "name": pa.array([None if i % 10 == 9 else f"name {i}" for i in range(12_000)]),
                "tags": pa.array([None if i % 7 == 3 else [f"t{k}" for k in range(i % 3)] for i in range(12_000)], pa.list_(pa.string())),
                "v": pa.array([[i, i + 0.5, -i, 0] for i in range(12_000)], pa.list_(pa.float32(), 4)),
            })
            name = f"rows-{version}{'-stable' if stable else ''}"
            uri = str(root / f"{name}.lance")
            lance.write_dataset(rows.slice(0, 10_000), uri, data_storage_version=version, max_rows_per_file=4000, enable_stable_row_ids=stable)
            lance.write_dataset(rows.slice(10_000), uri, mode="append")
            ds = lance.dataset(uri)
            ds.delete("id % 1000 = 7")  # a few: an array file
            ds.delete("id >= 4000 and id < 11999 and id % 10 < 9")  # most of some fragments: bitmaps
            ds.tags.create("deleted", ds.version)
            ds.add_columns({"twice": "id * 2"})
            ds.update({"name": "'new'"}, where="id = 3")
            save(str(root / f"{name}.arrow"), ds.to_table())
            save(str(root / f"{name}@deleted.arrow"), lance.dataset(uri, version="deleted").to_table())
    return 0


def main(args: list[str]) -> int:
    what, directory = args[0], args[1]
    if what == "write":
        return write(directory, "quick" in args)
    return {"read": read, "fixture": fixture, "tables": tables}[what](directory)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
