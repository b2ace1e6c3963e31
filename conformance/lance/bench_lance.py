"""pylance's side of make bench-lance: does what each line asks for, and says how long.

Reads JSON lines {"op", "uri", "version", "columns", "rows", "reps", "files"} and
answers each with {"ns": the fastest repetition, "answer": what the Go side compares}.
Cold: the files leave the page cache and the dataset is opened anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from typing import Any, Callable

import lance
import pyarrow as pa

open_datasets: dict[str, lance.LanceDataset] = {}


def dataset(c: dict[str, Any]) -> lance.LanceDataset:
    if c["uri"] not in open_datasets:
        open_datasets[c["uri"]] = lance.dataset(c["uri"], version=int(c["version"]))
    return open_datasets[c["uri"]]


def forget(c: dict[str, Any]) -> None:
    """Drops the files from the page cache."""
    for path in c["files"]:
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def flat(a: pa.Array) -> bytes:
    """The values of a column, without offsets and padding: what both sides hash."""
    if pa.types.is_fixed_size_list(a.type):
        a = a.flatten()
    if pa.types.is_string(a.type) or pa.types.is_large_binary(a.type) or pa.types.is_binary(a.type):
        return b"".join(v.as_buffer().to_pybytes() if v.is_valid else b"" for v in a)
    return a.to_numpy(zero_copy_only=False).tobytes()


def digest(batches: list[pa.RecordBatch]) -> str:
    h = hashlib.sha256()
    for i in range(batches[0].num_columns):
        for b in batches:
            h.update(flat(b.column(i)))
    return h.hexdigest()


def run(c: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """What is timed, and what makes its result comparable afterwards."""
    op = c["op"]
    if op == "open":
        return lambda: lance.dataset(c["uri"], version=int(c["version"])), lambda d: d.count_rows()
    if op == "scan":
        ds = dataset(c)
        return lambda: list(ds.to_batches(columns=c["columns"], batch_size=8192)), digest
    if op == "take":
        ds = dataset(c)
        return lambda: ds.take(c["rows"], columns=c["columns"]), lambda t: digest(t.combine_chunks().to_batches())
    if op == "cold-take":
        return (
            lambda: lance.dataset(c["uri"], version=int(c["version"])).take(c["rows"], columns=c["columns"]),
            lambda t: digest(t.combine_chunks().to_batches()),
        )
    if op == "write":
        table = dataset(c).to_table(columns=c["columns"])
        out = c["uri"] + ".copy"

        def write() -> int:
            lance.write_dataset(table, out, mode="overwrite", data_storage_version="2.1")
            return table.num_rows

        return write, lambda n: n
    raise ValueError(op)


def main() -> None:
    print(json.dumps({"version": lance.__version__}), flush=True)
    for line in sys.stdin:
        c = json.loads(line)
        timed, comparable = run(c)
        best = None
        result = None
        for _ in range(c["reps"]):
            if c["op"].startswith("cold"):
                forget(c)
            if c["op"] == "write":
                shutil.rmtree(c["uri"] + ".copy", ignore_errors=True)
            result = None
            start = time.perf_counter_ns()
            result = timed()
            ns = time.perf_counter_ns() - start
            best = ns if best is None else min(best, ns)
        print(json.dumps({"ns": best, "answer": comparable(result)}), flush=True)


if __name__ == "__main__":
    main()
