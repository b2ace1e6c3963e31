"""Checks datasets that Loam wrote against the real Lance client.

Usage: check_lance.py cases.json

The file lists datasets with the rows they must have; TestPylance in
storage/lance writes it. Needs pylance 12 and pyarrow. Prints one line a case and
exits with 1 if any check failed.
"""

from __future__ import annotations

import datetime
import json
import os
import shutil
import sys
import tempfile
import traceback
from typing import Any, Callable

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from lance.fragment import FragmentMetadata

Case = dict[str, Any]


def read_expected(case: Case) -> pa.Table:
    with pa.OSFile(case["expected"]) as f:
        return pa.ipc.open_file(f).read_all()


def same(got: pa.Table, want: pa.Table, what: str) -> None:
    """Fails unless both tables have the same names, rows and values."""
    assert got.column_names == want.column_names, f"{what}: columns {got.column_names}"
    assert got.num_rows == want.num_rows, f"{what}: {got.num_rows} rows, want {want.num_rows}"
    for name in want.column_names:
        g = got[name].combine_chunks()
        w = want[name].combine_chunks()
        if g.equals(w):
            continue
        for i, (a, b) in enumerate(zip(g.to_pylist(), w.to_pylist())):
            assert a == b, f"{what}: {name}[{i}] is {str(a)[:300]}, want {str(b)[:300]}"
        assert g.type == w.type, f"{what}: {name} is {g.type}, want {w.type}"


def check_first_version(case: Case, want: pa.Table) -> None:
    ds = lance.dataset(case["uri"])
    assert ds.version == 1, ds.version
    assert ds.count_rows() == 0
    assert ds.to_table().num_rows == 0
    assert ds.schema.names == want.schema.names
    assert [v["version"] for v in ds.versions()] == [1]


def pinned(case: Case) -> lance.LanceDataset:
    return lance.dataset(case["uri"], version=int(case["version"]))


def check_rows(case: Case, want: pa.Table) -> None:
    ds = pinned(case)
    assert ds.version == int(case["version"]), ds.version
    ds.validate()
    assert ds.count_rows() == want.num_rows
    assert ds.schema.equals(want.schema), f"{ds.schema}\nwant {want.schema}"
    same(ds.to_table(), want, "to_table")
    batches = list(ds.to_batches(batch_size=777))
    same(pa.Table.from_batches(batches, ds.schema), want, "to_batches")
    for name in want.column_names:
        same(ds.to_table(columns=[name]), want.select([name]), f"column {name}")


def check_row_addresses(case: Case, want: pa.Table) -> None:
    got = pinned(case).to_table(columns=[], with_row_id=True, with_row_address=True)
    ids = got["_rowid"].to_numpy()
    assert (ids == got["_rowaddr"].to_numpy()).all()
    per_fragment = dict(zip(*np.unique(ids >> np.uint64(32), return_counts=True)))
    for f in case["fragments"]:
        assert per_fragment.get(np.uint64(f["id"]), 0) == f["live"], f["id"]


def check_fragments(case: Case, want: pa.Table) -> None:
    ds = pinned(case)
    assert [f.fragment_id for f in ds.get_fragments()] == [f["id"] for f in case["fragments"]]
    at = 0
    for f in case["fragments"]:
        fragment = ds.get_fragment(f["id"])
        assert fragment.count_rows() == f["live"], (f["id"], fragment.count_rows())
        same(fragment.to_table(), want.slice(at, f["live"]), f"fragment {f['id']}")
        at += f["live"]
        meta = FragmentMetadata.from_json(json.dumps(f["json"]))
        assert meta == fragment.metadata, f"{meta}\nwant {fragment.metadata}"
        assert meta.num_rows == f["live"]
        back = meta.to_json()
        back = json.loads(back) if isinstance(back, str) else back
        for key, value in f["json"].items():
            assert strip(back[key]) == strip(value), (key, back[key], value)


def strip(value: Any) -> Any:
    """The value without absent keys."""
    if isinstance(value, dict):
        return {k: strip(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [strip(v) for v in value]
    return value


def check_filters(case: Case, want: pa.Table) -> None:
    ds = pinned(case)
    if "_ingest_offset" in want.column_names:
        offsets = want["_ingest_offset"]
        top = pc.max(offsets).as_py()
        for sql, mask in [
            ("_ingest_offset IS NULL", pc.is_null(offsets)),
            ("_ingest_offset IS NOT NULL", pc.is_valid(offsets)),
            ("_ingest_partition < 0", pc.less(want["_ingest_partition"], 0)),
            ("sp IS NULL", pc.is_null(want["sp"])),
            ("img IS NULL", pc.is_null(want["img"])),
        ] + ([(f"_ingest_offset > {top // 2}", pc.greater(offsets, top // 2))] if top is not None else []):
            same(ds.to_table(filter=sql), want.filter(mask), sql)
            assert ds.count_rows(filter=sql) == pc.sum(mask).as_py() or 0, sql
    if "_pk" in want.column_names:
        for i in {0, want.num_rows // 2, want.num_rows - 1}:
            key = want["_pk"][i].as_py()
            same(ds.to_table(filter=f"_pk = '{key}'"), want.filter(pc.equal(want["_pk"], key)), f"_pk = {key}")


def check_take(case: Case, want: pa.Table) -> None:
    ds = pinned(case)
    rng = np.random.default_rng(3)
    for n in (1, 10, 300):
        rows = np.unique(rng.integers(0, want.num_rows, n))
        same(ds.take(rows.tolist()), want.take(pa.array(rows)), f"take {n}")
    rows = rng.permutation(want.num_rows)[:50]
    same(ds.take(rows.tolist()), want.take(pa.array(rows)), "take, unordered")


def check_nearest(case: Case, want: pa.Table) -> None:
    column = case.get("vector")
    if not column:
        return
    ds = pinned(case)
    vectors = np.stack(want[column].combine_chunks().to_numpy(zero_copy_only=False))
    k = min(10, want.num_rows)
    for seed in range(3):
        query = np.random.default_rng(seed).standard_normal(vectors.shape[1]).astype(np.float32)
        got = ds.to_table(columns=["_pk", "_distance"], nearest={"column": column, "q": query, "k": k})
        distances = ((vectors.astype(np.float64) - query) ** 2).sum(axis=1)
        best = np.sort(distances)[:k]
        assert got.num_rows == k
        assert np.allclose(got["_distance"].to_numpy(), best, rtol=1e-3, atol=1e-5), (got["_distance"], best)
        order = np.argsort(distances, kind="stable")[:k]
        if len(np.unique(best.round(4))) == k:
            assert got["_pk"].to_pylist() == want["_pk"].take(pa.array(order)).to_pylist()


def check_tag(case: Case, want: pa.Table) -> None:
    ds = lance.dataset(case["uri"])
    tags = ds.tags.list()
    assert list(tags) == [case["tag"]], tags
    assert tags[case["tag"]]["version"] == int(case["version"]), tags
    same(lance.dataset(case["uri"], version=case["tag"]).to_table(), want, "tag")


def check_export(case: Case, want: pa.Table) -> None:
    for uri in (case["export"], "file://" + case["export"]):
        ds = lance.dataset(uri)
        assert ds.version == 1
        same(ds.to_table(), want, f"export {uri}")


def check_missing_deletion_file(case: Case, want: pa.Table) -> None:
    """A reader must fail, not return the deleted rows."""
    if not case.get("deletions"):
        return
    with tempfile.TemporaryDirectory() as tmp:
        copy = os.path.join(tmp, "copy")
        shutil.copytree(case["uri"], copy)
        os.remove(os.path.join(copy, os.path.relpath(case["deletions"][0], case["uri"])))
        try:
            lance.dataset(copy, version=int(case["version"])).to_table(columns=[want.column_names[0]])
        except Exception:
            return
        raise AssertionError("rows came back although a deletion file is gone")


def check_read_only(case: Case, want: pa.Table) -> None:
    """Clients read Loam's datasets but cannot write them, nor clean them up."""
    with tempfile.TemporaryDirectory() as tmp:
        copy = os.path.join(tmp, "copy")
        shutil.copytree(case["uri"], copy)
        schema = lance.dataset(copy).schema
        for mode in ("append", "overwrite"):
            try:
                lance.write_dataset(schema.empty_table(), copy, mode=mode)
            except OSError:
                continue
            raise AssertionError(f"{mode} is not refused")
        try:
            lance.dataset(copy).cleanup_old_versions(older_than=datetime.timedelta(0), delete_unverified=True)
        except OSError:
            pass  # pylance 14 refuses; 12 finds nothing to remove
        assert len(os.listdir(os.path.join(copy, "_versions"))) == 2
        same(lance.dataset(copy, version=int(case["version"])).to_table(), want, "after a cleanup")


CHECKS: list[Callable[[Case, pa.Table], None]] = [
    check_first_version, check_rows, check_row_addresses, check_fragments, check_filters,
    check_take, check_nearest, check_tag, check_export, check_missing_deletion_file, check_read_only,
]


def main(path: str) -> int:
    with open(path, encoding="utf-8") as f:
        cases = json.load(f)
    print(f"pylance {lance.__version__}, pyarrow {pa.__version__}")
    failed = 0
    for case in cases:
        want = read_expected(case)
        bad = []
        for check in CHECKS:
            try:
                check(case, want)
            except BaseException:  # a panic of the client is no Exception
                bad.append(check.__name__)
                print(f"--- {case['name']}: {check.__name__}")
                traceback.print_exc(file=sys.stdout, limit=4)
        failed += len(bad)
        verdict = "ok" if not bad else "FAILED " + ", ".join(bad)
        print(f"{case['name']}: {want.num_rows} rows, {len(case['fragments'])} fragments: {verdict}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
