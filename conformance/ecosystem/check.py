"""Opens one Loam collection with each outside reader of Lance and compares the rows.

Usage: check.py http://127.0.0.1:8816 [reader ...]

Fills a collection over REST (several fragments, deletions, updates, NULLs, sparse
vectors, columns that were added when most rows were there, fragments that merges
left and such as they wrote), takes the answer of SQL as the truth, and reads the same state from the
files: pinned by version, by tag, and through the tag's pointer dataset. Prints a
line a reader, and the sum. Exits with 1 if a reader differs.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
import urllib.error
import urllib.request
from typing import Any, Callable, Iterable

import pyarrow as pa
import pyarrow.compute as pc

COLUMNS = ["_pk", "_source", "_ingest_partition", "_ingest_offset", "emb", "sp", "emb2", "sp2"]
TAG = "eco-1.0"

SETUP = [
    "DROP COLLECTION IF EXISTS eco",
    """CREATE COLLECTION eco (id TEXT PRIMARY KEY, title TEXT FULLTEXT 'english', n INT,
       emb VECTOR(96) DISTANCE cosine, sp SPARSE VECTOR) WITH (partitions = 2, min_fragment = '1KiB')""",
]


class Skip(Exception):
    """The reader cannot be tried here; the text says why."""


def post(http: str, path: str, body: Any, accept: str = "application/json") -> bytes:
    data = json.dumps(body).encode()
    req = urllib.request.Request(http + path, data, {"Content-Type": "application/json", "Accept": accept})
    with urllib.request.urlopen(req, timeout=120) as r:
        return r.read()


def sql(http: str, text: str) -> pa.Table:
    body = post(http, "/v1/sql", {"sql": text}, "application/vnd.apache.arrow.stream")
    return pa.ipc.open_stream(io.BytesIO(body)).read_all()


def document(i: int, round_: int) -> dict[str, Any]:
    doc: dict[str, Any] = {"id": f"d{i:05d}", "title": f"été no {i} 中文 {round_}", "n": i * round_}
    if i % 7:
        doc["emb"] = [float((i * k + round_) % 97) / 97 + 0.01 for k in range(96)]
    if i % 3 == 0:
        doc["sp"] = {"indices": [i % 50, 60 + i % 50, 200], "values": [0.5, 1.5, float(round_)]}
    if round_ > 3 and i % 2:
        doc["emb2"] = [float(i), 0.5, -1.0, float(round_)]
        doc["sp2"] = {"indices": [i], "values": [0.25]}
    return doc


def write(http: str, docs: Iterable[dict[str, Any]]) -> None:
    body = "\n".join(json.dumps(d) for d in docs).encode()
    url = http + "/v1/namespaces/public/collections/eco/documents:bulk"
    urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/x-ndjson"}), timeout=120).read()


def plan(http: str, at: dict[str, Any]) -> dict[str, Any]:
    path = "/v1/namespaces/public/collections/eco/scan-plans"
    return json.loads(post(http, path, at))


def fill(http: str) -> None:
    for s in SETUP:
        sql(http, s)
    for round_, span in enumerate([range(0, 3000), range(2500, 6000), range(100, 200)], 1):
        write(http, (document(i, round_) for i in span))
        plan(http, {"tail": "wait"})  # a fragment for each round
    sql(http, "DELETE FROM eco WHERE n % 10 = 3")
    plan(http, {"tail": "wait"})
    sql(http, "ALTER COLLECTION eco ADD COLUMN emb2 VECTOR(4) DISTANCE l2, ADD COLUMN sp2 SPARSE VECTOR")
    write(http, (document(i, 4) for i in range(5900, 6400)))
    plan(http, {"tail": "wait"})
    # Enough of each fragment's vectors that its rows stay and a file is added.
    sql(http, "UPDATE eco SET emb2 = [n, 0.5, -1, 5] WHERE n % 3 = 0")
    plan(http, {"tail": "wait"})
    sql(http, "UPDATE eco SET emb = NULL WHERE n % 4 = 1")
    plan(http, {"tail": "wait"})
    merge(http)


def merge(http: str) -> None:
    """Writes small fragments until a merge has made one split of some of them."""
    for i in range(6400, 9000, 50):
        write(http, (document(k, 5) for k in range(i, i + 50)))
        plan(http, {"tail": "wait"})
        found = sql(http, "SELECT max(fragments) FROM system.segments WHERE name = 'eco' AND kind = 'split'").column(0)[0].as_py()
        if found > 1:
            return
        time.sleep(0.1)
    raise AssertionError("no split has several fragments")


def normal(t: pa.Table) -> list[dict[str, Any]]:
    """The rows in the order of the keys, as plain Python values."""
    t = t.select(COLUMNS)
    t = t.take(pc.sort_indices(t, [("_pk", "ascending")]))
    rows = t.to_pylist()
    for r in rows:
        for dense in ("emb", "emb2"):
            if r[dense] is not None:
                r[dense] = [float(x) for x in r[dense]]
        for sparse in ("sp", "sp2"):
            if (sp := r[sparse]) is not None:
                sp = {"indices": sp[0], "values": sp[1]} if isinstance(sp, tuple) else sp
                r[sparse] = {k: [float(x) for x in v] for k, v in sp.items()}
    return rows


def equal(got: list[dict[str, Any]], want: list[dict[str, Any]]) -> None:
    assert len(got) == len(want), f"{len(got)} rows, want {len(want)}"
    for g, w in zip(got, want):
        assert g == w, f"row {str(g)[:300]}\nwant {str(w)[:300]}"


class Source:
    """One pinned state, as the plan and the tag name it."""

    def __init__(self, http: str) -> None:
        self.plan = plan(http, {"tail": "none"})
        lance = self.plan["lance"]
        self.uri: str = lance["uri"]
        self.version = int(lance["version_text"])
        self.fragments = self.plan["fragments"]
        self.tag: str | None = None
        try:
            sql(http, f'CREATE TAG "{TAG}" ON eco')
            self.tag = TAG
        except urllib.error.HTTPError as e:
            self.refused = json.loads(e.read())["detail"]

    def pointer(self) -> str:
        if self.tag is None:
            raise Skip(f"the server makes no tags: {self.refused}")
        root = self.uri.removeprefix("file://")
        for path in (f"{root}/_exports/{TAG}.lance", f"{os.path.dirname(root)}/_exports/{TAG}.lance"):
            if os.path.isdir(path):
                return path
        raise AssertionError(f"there is no pointer dataset of tag {TAG} beside {root}")

    def tagged(self) -> str:
        if self.tag is None:
            raise Skip(f"the server makes no tags: {self.refused}")
        return self.tag


def pylance_version(s: Source) -> pa.Table:
    import lance

    ds = lance.dataset(s.uri, version=s.version)
    ds.validate()
    assert ds.count_rows() == s.plan["live_rows"]
    return ds.to_table()


def pylance_take(s: Source) -> pa.Table:
    """Random access: every row by position, in pieces, in a mixed order."""
    import lance

    ds = lance.dataset(s.uri, version=s.version)
    n = ds.count_rows()
    order = sorted(range(n), key=lambda i: (i * 7919) % n)
    return pa.concat_tables([ds.take(order[i : i + 500]) for i in range(0, n, 500)])


def pylance_fragments(s: Source) -> pa.Table:
    """Fragments built from the plan's JSON alone, as Ray's workers do."""
    import lance
    from lance.fragment import FragmentMetadata, LanceFragment

    ds = lance.dataset(s.uri, version=s.version)
    tables = []
    for f in s.fragments:
        meta = FragmentMetadata.from_json(json.dumps(f["lance"]))
        t = LanceFragment(ds, meta.id).to_table()
        assert t.num_rows == f["live_rows"], f["id"]
        tables.append(t)
    return pa.concat_tables(tables)


def pylance_columns(s: Source) -> pa.Table:
    """Every column read alone; and a filter gives the rows that have the added ones."""
    import lance

    ds = lance.dataset(s.uri, version=s.version)
    has = ds.to_table(columns=["_pk", "emb2", "sp2"], filter="emb2 IS NOT NULL")
    assert has.num_rows == ds.count_rows(filter="emb2 IS NOT NULL") == ds.count_rows() - ds.count_rows(filter="emb2 IS NULL") > 0
    assert has["emb2"].null_count == 0
    return pa.table({c: ds.to_table(columns=[c])[c] for c in COLUMNS})


def pylance_tag(s: Source) -> pa.Table:
    import lance

    return lance.dataset(s.uri, version=s.tagged()).to_table()


def pylance_pointer(s: Source) -> pa.Table:
    import lance

    ds = lance.dataset(s.pointer())
    ds.validate()
    return ds.to_table()


def start_ray() -> None:
    import ray

    if not ray.is_initialized():
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000, logging_level="ERROR")


def from_ray(ds: Any) -> pa.Table:
    import ray

    return pa.concat_tables(ray.get(ds.to_arrow_refs()), promote_options="default")


def lance_ray_version(s: Source) -> pa.Table:
    import lance_ray

    start_ray()
    return from_ray(lance_ray.read_lance(s.uri, dataset_options={"version": s.version}))


def lance_ray_tag(s: Source) -> pa.Table:
    import lance_ray

    tag = s.tagged()
    start_ray()
    return from_ray(lance_ray.read_lance(s.uri, dataset_options={"version": tag}))


def ray_data(s: Source) -> pa.Table:
    import ray

    start_ray()
    return from_ray(ray.data.read_lance(s.uri, version=s.version))


def daft_version(s: Source) -> pa.Table:
    import daft

    return daft.read_lance(s.uri, version=s.version).to_arrow()


def daft_tag(s: Source) -> pa.Table:
    import daft

    return daft.read_lance(s.uri, version=s.tagged()).to_arrow()


def daft_pointer(s: Source) -> pa.Table:
    import daft

    return daft.read_lance(s.pointer()).to_arrow()


def duckdb_pointer(s: Source) -> pa.Table:
    """DuckDB's extension knows no versions: the pointer dataset is the way."""
    import duckdb
    from duckdb_extensions import import_extension

    pointer = s.pointer()
    import_extension("lance")
    con = duckdb.connect()
    con.execute("LOAD lance")
    return con.execute(f"SELECT * FROM '{pointer}'").to_arrow_table()


def polars_pylance(s: Source) -> pa.Table:
    import lance
    import polars as pl

    return pl.scan_pyarrow_dataset(lance.dataset(s.uri, version=s.version)).collect().to_arrow()


def datasets_generator(s: Source) -> pa.Table:
    """Hugging Face datasets, over pylance: the way that holds for any store."""
    import datasets
    import lance

    ds = lance.dataset(s.uri, version=s.version)
    got = datasets.Dataset.from_generator(
        lambda: (row for batch in ds.to_batches() for row in batch.to_pylist()),
        features=datasets.Features.from_arrow_schema(ds.schema),
        cache_dir=os.environ["HF_HOME"],
        fingerprint=f"loam-{s.version}",
    )
    return got.data.table


def datasets_pointer(s: Source) -> pa.Table:
    """Hugging Face datasets' own builder, which opens the newest version of a local dataset."""
    import datasets

    manifests = os.path.join(s.pointer(), "_versions", "*.manifest")
    got = datasets.load_dataset("lance", data_files=manifests, split="train", cache_dir=os.environ["HF_HOME"])
    return got.data.table


READERS: dict[str, Callable[[Source], pa.Table]] = {
    "pylance version": pylance_version,
    "pylance take": pylance_take,
    "pylance fragment-json": pylance_fragments,
    "pylance columns": pylance_columns,
    "pylance tag": pylance_tag,
    "pylance pointer": pylance_pointer,
    "polars pylance": polars_pylance,
    "daft version": daft_version,
    "daft tag": daft_tag,
    "daft pointer": daft_pointer,
    "duckdb pointer": duckdb_pointer,
    "datasets generator": datasets_generator,
    "datasets pointer": datasets_pointer,
    "lance-ray version": lance_ray_version,
    "lance-ray tag": lance_ray_tag,
    "ray.data version": ray_data,
}


def versions(names: Iterable[str]) -> str:
    from importlib.metadata import PackageNotFoundError, version

    out = []
    for name in names:
        try:
            out.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            pass
    return ", ".join(out)


def main() -> int:
    http, only = sys.argv[1], sys.argv[2:]
    print("# " + versions(["pylance", "lance-ray", "ray", "daft", "daft-lance", "duckdb", "duckdb-extension-lance", "datasets", "polars", "pyarrow"]))
    fill(http)
    want = normal(sql(http, f"SELECT {', '.join(COLUMNS)} FROM eco"))
    assert len(want) > 5000 and any(r["emb"] is None for r in want) and any(r["sp"] for r in want)
    assert any(r["emb2"] is None for r in want) and any(r["emb2"] for r in want) and any(r["sp2"] for r in want)
    source = Source(http)
    assert len(source.fragments) >= 3 and any(f["deleted_rows"] for f in source.fragments)
    assert any(len(f["files"]) == 3 for f in source.fragments)
    passed = failed = skipped = 0
    for name, read in READERS.items():
        if only and name.split()[0] not in only:
            continue
        try:
            equal(normal(read(source)), want)
        except Skip as e:
            skipped += 1
            print(f"{name}: skipped, {e}")
        except Exception as e:  # whatever a reader does, the others are tried
            failed += 1
            print(f"{name}: FAILED, {type(e).__name__}: {str(e)[:500]}")
        else:
            passed += 1
            print(f"{name}: {len(want)} rows, equal")
    print(f"ecosystem-lance: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
