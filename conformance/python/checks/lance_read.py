"""pylance opens what a scan plan names, and reads the rows that SELECT answers."""

import json
import pathlib
from typing import Any
from urllib.parse import unquote, urlparse

import lance
import pyarrow as pa
from lance.fragment import FragmentMetadata

from . import corpus
from .env import Env, by_key, equal, same_rows, true
from .harness import Skip, check
from .scan import COLUMNS, Fragmented, endpoints, fragmented, plan, select, unapplied

CLIENT = "pylance"


def dataset(p: dict[str, Any]) -> lance.LanceDataset:
    """The dataset at the version that a plan names."""
    uri = p["lance"]["uri"]
    parsed = urlparse(uri)
    if parsed.scheme not in ("", "file"):
        raise Skip(f"the server's store {parsed.scheme} is not a file store")
    if not pathlib.Path(unquote(parsed.path)).exists():
        raise Skip(f"{parsed.path} is not on this machine")
    return lance.dataset(uri, version=int(p["lance"]["version"]))


def opened(env: Env, prefix: str) -> tuple[Fragmented, lance.LanceDataset]:
    """A collection over several fragments, opened."""
    made = fragmented(env, prefix)
    return made, dataset(made.plan)


@check(CLIENT)
def a_detached_version_opens_with_every_live_row(env: Env) -> None:
    made, ds = opened(env, "count")
    equal(ds.count_rows(), made.plan["live_rows"], "rows")
    equal(env.rows(f"SELECT count(*) FROM {made.name}"), [(ds.count_rows(),)])
    equal(ds.version, int(made.plan["lance"]["version"]), "version")


@check(CLIENT)
def rows_equal_select(env: Env) -> None:
    made, ds = opened(env, "rows")
    true(len(ds.get_fragments()) >= 2, f"{len(ds.get_fragments())} fragments")
    same_rows(by_key(ds.to_table(columns=COLUMNS), COLUMNS), select(env, made.name), "rows of the dataset")


@check(CLIENT)
def nine_rounds_make_nine_fragments(env: Env) -> None:
    made, ds = opened(env, "nine")
    fragments = len(ds.get_fragments())
    equal(fragments, len(made.plan["fragments"]), "fragments")
    if fragments != 9:
        raise Skip(f"{fragments} fragments: the server merged them meanwhile")


@check(CLIENT)
def fragments_equal_their_tickets(env: Env) -> None:
    made, ds = opened(env, "tickets")
    _, tables = endpoints(env, made.name, at={"manifest_version": made.plan["manifest_version"]}, tail="none")
    fragments = made.plan["fragments"]
    equal(len(tables), len(fragments), "endpoints")
    for f, table in zip(fragments, tables, strict=True):
        mine: Any = ds.get_fragment(f["id"])
        true(mine is not None, f"no fragment {f['id']}")
        equal(mine.count_rows(), f["live_rows"], f"rows of fragment {f['id']}")
        got = mine.to_table(columns=COLUMNS)
        equal(got.column("_pk").to_pylist(), table.column("_pk").to_pylist(), f"keys of fragment {f['id']}, in order")
        same_rows(by_key(got, COLUMNS), by_key(table, COLUMNS), f"fragment {f['id']}")


@check(CLIENT)
def rows_of_later_writes_appear_with_their_version(env: Env) -> None:
    made, old = opened(env, "later")
    before = by_key(old.to_table(columns=COLUMNS), COLUMNS)
    unapplied(env, made.name)
    new = dataset(plan(env, made.name, tail="wait"))
    same_rows(by_key(new.to_table(columns=COLUMNS), COLUMNS), select(env, made.name), "the new version")
    again = dataset(made.plan)
    same_rows(by_key(again.to_table(columns=COLUMNS), COLUMNS), before, "the old version, opened again")


@check(CLIENT)
def the_schema_is_as_published(env: Env) -> None:
    _, ds = opened(env, "schema")
    fields = {f.name: f.type for f in ds.schema}
    equal(sorted(fields), ["_ingest_offset", "_ingest_partition", "_pk", "_source", "emb"], "columns")
    equal((fields["_pk"], fields["_source"]), (pa.string(), pa.large_binary()), "types")
    true(pa.types.is_fixed_size_list(fields["emb"]) and fields["emb"].list_size == corpus.DIM, f"emb is {fields['emb']}")


@check(CLIENT)
def a_filter_works(env: Env) -> None:
    made, ds = opened(env, "filter")
    key = corpus.key(100)
    got = ds.to_table(columns=["_pk"], filter=f"_pk = '{key}'")
    equal(got.column("_pk").to_pylist(), [key])
    cut = corpus.key(200)
    count = env.rows(f"SELECT count(*) FROM {made.name} WHERE id >= ?", [cut])[0][0]
    equal(ds.count_rows(filter=f"_pk >= '{cut}'"), count, "rows from a key on")


@check(CLIENT)
def deleted_rows_stay_hidden(env: Env) -> None:
    _, ds = opened(env, "hidden")
    equal(ds.count_rows(filter=f"_pk = '{corpus.key(10)}'"), 0, "a deleted row")
    equal(ds.count_rows(filter=f"_pk = '{corpus.key(2)}'"), 1, "a row that was written twice")
    source: Any = ds.to_table(columns=["_source"], filter=f"_pk = '{corpus.key(2)}'").column("_source").to_pylist()[0]
    true(b"revision1" in source, f"_source {source!r}")


@check(CLIENT)
def nearest_equals_vector_search(env: Env) -> None:
    made, ds = opened(env, "nearest")
    query = [0.3, -0.2, 0.5, 0.1, 0.4, -0.6, 0.2, 0.25]
    got = ds.to_table(
        columns=["_pk", "_distance"], nearest={"column": "emb", "q": pa.array(query, pa.float32()), "k": 10, "metric": "cosine"}
    )
    sql = f"SELECT id FROM vector_search({made.name}, vector => ?, k => 10, exact => true) ORDER BY _score DESC, _pk"
    want = [r[0] for r in env.rows(sql, [query])]
    equal(set(got.column("_pk").to_pylist()), set(want), "the ten nearest")


@check(CLIENT)
def take_and_row_ids_work(env: Env) -> None:
    _, ds = opened(env, "take")
    rows = ds.count_rows()
    table = ds.to_table(columns=["_pk"], with_row_id=True)
    equal(len(set(table.column("_rowid").to_pylist())), rows, "distinct row ids")
    taken = ds.take([0, rows // 2, rows - 1], columns=["_pk"])
    keys = table.column("_pk").to_pylist()
    equal(taken.column("_pk").to_pylist(), [keys[0], keys[rows // 2], keys[-1]])


@check(CLIENT)
def fragment_metadata_round_trips(env: Env) -> None:
    made, _ = opened(env, "json")
    for f in made.plan["fragments"]:
        text = f["lance"] if isinstance(f["lance"], str) else json.dumps(f["lance"])
        metadata = FragmentMetadata.from_json(text)
        equal((metadata.id, metadata.physical_rows), (f["id"], f["physical_rows"]), "fragment")
        equal(metadata.num_deletions, f["deleted_rows"], f"deletions of fragment {f['id']}")


@check(CLIENT)
def without_a_version_it_is_the_empty_first(env: Env) -> None:
    made, _ = opened(env, "first")
    ds = lance.dataset(made.plan["lance"]["uri"])
    equal((ds.version, ds.count_rows()), (1, 0))


@check(CLIENT)
def a_tag_opens_by_its_name_and_as_a_dataset_of_its_own(env: Env) -> None:
    made, _ = opened(env, "tag")
    # Names of one run are not those of another: tags never move.
    name = f"eval_{made.name[-8:]}.v1".replace('"', "")
    env.run(f'CREATE TAG "{name}" ON {made.name}')
    want = select(env, f"{made.name} AT (TAG => '{name}')")
    unapplied(env, made.name)
    p = plan(env, made.name, at={"tag": name})
    dataset(p)  # skips where the files are elsewhere
    uri = p["lance"]["uri"]
    tagged = lance.dataset(uri, version=name)
    equal(tagged.version, int(p["lance"]["version"]), "version of the tag")
    same_rows(by_key(tagged.to_table(columns=COLUMNS), COLUMNS), want, "rows of the Lance tag")
    export = lance.dataset(f"{uri}/_exports/{name}.lance")
    same_rows(by_key(export.to_table(columns=COLUMNS), COLUMNS), want, "rows of the pointer dataset")
    env.run(f'DROP TAG "{name}" ON {made.name}')
    true(name not in lance.dataset(uri).tags.list(), "the Lance tag is still there")
