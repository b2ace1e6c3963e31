"""What the Lance client does with manifests that differ in one thing.

Usage: claims.py            prints one line a claim: "claim: outcome"
       claims.py one NAME   runs one claim in this process

docs/formats/lance.md keeps the outcomes in a table; run this with each new release.
Every claim runs in a process of its own, as some end it. Needs pylance and pyarrow.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

Message = list[tuple[int, int, object]]  # field number, wire type, value


def varint(buf: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = buf[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def decode(buf: bytes) -> Message:
    out: Message = []
    at = 0
    while at < len(buf):
        tag, at = varint(buf, at)
        if tag & 7 == 0:
            value, at = varint(buf, at)
            out.append((tag >> 3, 0, value))
        elif tag & 7 == 2:
            size, at = varint(buf, at)
            out.append((tag >> 3, 2, buf[at : at + size]))
            at += size
        else:
            raise ValueError(f"wire type {tag & 7}")
    return out


def number(value: int) -> bytes:
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def encode(message: Message) -> bytes:
    out = b""
    for field, wire, value in message:
        out += number(field << 3 | wire)
        if wire == 0:
            assert isinstance(value, int)
            out += number(value)
        else:
            assert isinstance(value, bytes)
            out += number(len(value)) + value
    return out


def within(field: int, edit: Callable[[Message], Message]) -> Callable[[Message], Message]:
    return lambda m: [(f, w, encode(edit(decode(v))) if f == field and isinstance(v, bytes) else v) for f, w, v in m]


def without(field: int) -> Callable[[Message], Message]:
    return lambda m: [x for x in m if x[0] != field]


def put(field: int, value: int) -> Callable[[Message], Message]:
    return lambda m: sorted([x for x in m if x[0] != field] + [(field, 0, value)], key=lambda x: x[0])


ROWS = 100
DELETED = 5


def dataset(root: str) -> str:
    uri = root + "/d.lance"
    table = pa.table({"id": pa.array(range(ROWS), pa.int64()), "s": pa.array([f"s{i}" for i in range(ROWS)])})
    lance.write_dataset(table, uri, data_storage_version="2.1")
    lance.dataset(uri).delete(f"id < {DELETED}")
    return uri


def patched(root: str, edit: Callable[[Message], Message]) -> str:
    """A dataset whose latest manifest is changed."""
    uri = dataset(root)
    change(min(pathlib.Path(uri, "_versions").glob("*.manifest")), edit)
    return uri


def change(path: pathlib.Path, edit: Callable[[Message], Message]) -> None:
    buf = path.read_bytes()
    at = struct.unpack("<q", buf[-16:-8])[0]
    head, size = buf[:at], struct.unpack("<I", buf[at : at + 4])[0]
    message = encode(edit(decode(buf[at + 4 : at + 4 + size])))
    path.write_bytes(head + struct.pack("<I", len(message)) + message + struct.pack("<qHH", at, 0, 2) + b"LANC")


def look(uri: str) -> str:
    ds = lance.dataset(uri)
    counted, rows = ds.count_rows(), ds.to_table().num_rows
    found = ds.to_table(filter="id >= 50").num_rows
    return f"count {counted}, scan {rows}, filter {found} (of {ROWS - DELETED}, {ROWS - DELETED}, 50)"


def manifest(edit: Callable[[Message], Message]) -> Callable[[str], str]:
    return lambda root: look(patched(root, edit))


def missing_deletion_file(root: str) -> str:
    uri = dataset(root)
    for path in pathlib.Path(uri, "_deletions").iterdir():
        path.unlink()
    return look(uri)


def detached(root: str) -> tuple[str, int]:
    uri = root + "/e.lance"
    table = pa.table({"id": pa.array(range(ROWS), pa.int64())})
    lance.write_dataset(table.slice(0, 0), uri)
    fragments = lance.fragment.write_fragments(table, uri)
    ds = lance.LanceDataset.commit(uri, lance.LanceOperation.Overwrite(table.schema, fragments), read_version=1, detached=True)
    return uri, int(ds.version)


def latest_beside_detached(root: str) -> str:
    uri, version = detached(root)
    listed = [v["version"] for v in lance.dataset(uri).versions()]
    return f"latest is {lance.dataset(uri).version} with {lance.dataset(uri).count_rows()} rows, versions {listed}, pinned {lance.dataset(uri, version=version).count_rows()} rows"


def tag_on_detached(root: str) -> str:
    uri, version = detached(root)
    lance.dataset(uri).tags.create("pin", version)
    return f"{lance.dataset(uri, version='pin').count_rows()} rows by name"


def cleanup(stray: bool, old: bool = False) -> Callable[[str], str]:
    def run(root: str) -> str:
        import datetime

        uri, version = detached(root)
        for path in pathlib.Path(uri, "data").iterdir():
            if old:
                os.utime(path, (1, 1))
        if stray:
            lance.write_dataset(pa.table({"id": pa.array([1], pa.int64())}), uri, mode="append")
        stats = lance.dataset(uri).cleanup_old_versions(older_than=datetime.timedelta(0), delete_unverified=True)
        try:
            left = f"{lance.dataset(uri, version=version).to_table().num_rows} rows are left"
        except BaseException as e:
            left = f"the detached version is lost: {' '.join(str(e).split())[:80]}"
        return f"{stats.bytes_removed} bytes removed, {left}"

    return run


def unknown_writer_flag(root: str) -> str:
    """Everything that a client may do to a dataset with a writer flag it does not know."""
    import datetime

    uri, version = detached(root)
    for path in pathlib.Path(uri, "_versions").glob("*.manifest"):
        change(path, put(10, 1 << 62))
    one = pa.table({"id": pa.array([1], pa.int64())})
    does: dict[str, Callable[[], object]] = {
        "read": lambda: lance.dataset(uri, version=version).to_table(),
        "append": lambda: lance.write_dataset(one, uri, mode="append"),
        "overwrite": lambda: lance.write_dataset(one, uri, mode="overwrite"),
        "delete": lambda: lance.dataset(uri).delete("id = 1"),
        "index": lambda: lance.dataset(uri).create_scalar_index("id", "BTREE"),
        "compact": lambda: lance.dataset(uri).optimize.compact_files(),
        "cleanup": lambda: lance.dataset(uri).cleanup_old_versions(older_than=datetime.timedelta(0), delete_unverified=True),
    }
    out = {}
    for name, work in does.items():
        try:
            work()
            out[name] = "done"
        except BaseException:
            out[name] = "refused"
    left = lance.dataset(uri, version=version).to_table().num_rows
    return ", ".join(f"{k} {v}" for k, v in out.items()) + f", {left} rows are left"


def numbers_file(root: str) -> pathlib.Path:
    path = pathlib.Path(root, "n.lance")
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    with LanceFileWriter(str(path), schema, version="2.1") as w:
        w.write_batch(pa.record_batch([pa.array([7, 2**40, 3] * 9, pa.int64())], schema=schema))
    return path


def read_numbers(path: pathlib.Path) -> str:
    got = LanceFileReader(str(path)).read_all().to_table()["n"].to_pylist()
    return "right rows" if got == [7, 2**40, 3] * 9 else "other rows"


def small_chunks(root: str) -> str:
    """A file whose chunks have 16-bit sizes, as 2.1 writes them, under the number 2.2."""
    path = numbers_file(root)
    path.write_bytes(path.read_bytes()[:-6] + struct.pack("<H", 2) + b"LANC")
    return read_numbers(path)


def odd_place(root: str) -> str:
    """A file whose buffers begin at multiples of 8, not of 64."""
    path = numbers_file(root)
    buf = path.read_bytes()
    columns, table, schemas, count, width, major, minor, _ = struct.unpack("<QQQIIHH4s", buf[-40:])
    at, size = struct.unpack("<QQ", buf[table : table + 16])

    def moved(offsets: bytes) -> bytes:
        return bytes(x + 8 for x in offsets)  # all are below 120, one byte each

    meta = encode(within(2, lambda page: [(f, w, moved(v) if f == 1 and isinstance(v, bytes) else v) for f, w, v in page])(decode(buf[at : at + size])))
    assert len(meta) == size
    where, length = struct.unpack("<QQ", buf[schemas : schemas + 16])
    body = bytes(8) + buf[:at] + meta + buf[at + size : table] + struct.pack("<QQ", at + 8, size) + struct.pack("<QQ", where + 8, length)
    path.write_bytes(body + struct.pack("<QQQIIHH4s", columns + 8, table + 8, schemas + 8, count, width, major, minor, b"LANC"))
    return read_numbers(path)


def old_names(root: str) -> str:
    """Version 1 named by the old scheme beside a detached manifest."""
    uri, version = detached(root)
    (first,) = pathlib.Path(uri, "_versions").glob("1*.manifest")
    first.rename(first.with_name("1.manifest"))
    return f"latest is {lance.dataset(uri).version}, pinned {lance.dataset(uri, version=version).count_rows()} rows"


def struct_around_list(root: str) -> str:
    kind = pa.struct([("l", pa.list_(pa.string()))])
    values = [None if i % 7 == 3 else {"l": None if i % 5 == 2 else [chr(97 + i % 26) * (500 + i)] * (i % 4)} for i in range(500)]
    uri = root + "/f.lance"
    lance.write_dataset(pa.table({"c": pa.array(values, kind)}), uri, data_storage_version="2.1")
    return "equal" if lance.dataset(uri).to_table()["c"].to_pylist() == values else "other rows"


def default_version(root: str) -> str:
    uri = root + "/g.lance"
    lance.write_dataset(pa.table({"id": [1]}), uri)
    return str(lance.dataset(uri).data_storage_version)


CLAIMS: dict[str, Callable[[str], str]] = {
    "default file version": default_version,
    "unchanged manifest": manifest(lambda m: m),
    "parent_id of the top level unset": manifest(within(1, without(4))),
    "physical_rows missing": manifest(within(2, without(4))),
    "physical_rows too large": manifest(within(2, put(4, 200))),
    "num_deleted_rows wrong": manifest(within(2, within(3, put(4, 7)))),
    "unknown reader flag": manifest(put(9, 1 << 40)),
    "reader flag of deletion files unset": manifest(put(9, 0)),
    "data_format missing": manifest(without(15)),
    "writer_version missing": manifest(without(13)),
    "max_fragment_id missing": manifest(without(11)),
    "column_indices missing": manifest(within(2, within(2, without(3)))),
    "file size missing": manifest(within(2, within(2, without(6)))),
    "file size wrong": manifest(within(2, within(2, put(6, 77)))),
    "a deletion file is gone": missing_deletion_file,
    "latest version beside detached ones": latest_beside_detached,
    "tag on a detached version": tag_on_detached,
    "cleanup, detached versions only": cleanup(False),
    "cleanup after a stray append": cleanup(True),
    "cleanup, data files older than version 1": cleanup(False, old=True),
    "16-bit chunks in a file of version 2.2": small_chunks,
    "buffers at multiples of 8": odd_place,
    "version 1 named by the old scheme": old_names,
    "unknown writer flag": unknown_writer_flag,
    "nullable struct around a list of long values": struct_around_list,
}


def main(args: list[str]) -> int:
    if args[:1] == ["one"]:
        root = tempfile.mkdtemp()
        try:
            print("outcome:", CLAIMS[args[1]](root))
        except BaseException as e:  # a panic of the client is no Exception
            print("outcome:", type(e).__name__ + ":", " ".join(str(e).split())[:110])
        shutil.rmtree(root, ignore_errors=True)
        return 0
    print(f"pylance {lance.__version__}")
    for name in CLAIMS:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "one", name], capture_output=True, text=True, check=False)
        lines = [x[len("outcome: ") :] for x in done.stdout.splitlines() if x.startswith("outcome: ")]
        print(f"{name}: {lines[0] if lines else f'the process ends ({done.returncode})'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
