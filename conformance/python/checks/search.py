"""ADBC: the three search functions with bound parameters, against answers computed here."""

from . import corpus
from .corpus import key, nearest, vector_parameters
from .env import Env, equal, true
from .harness import check

CLIENT = "python-adbc"
QUERY = [0.3, -0.2, 0.5, 0.1, 0.4, -0.6, 0.2, 0.25]
COUNT = 300


def keys(env: Env, sql: str, parameters: object = None) -> list[str]:
    """The first column of the answer."""
    return [str(row[0]) for row in env.rows(sql, parameters)]


def _vectors(env: Env, distance: str) -> None:
    name = corpus.filled(env, "vec", COUNT, distance)
    sql = f"SELECT id, _score FROM vector_search({name}, vector => ?, k => ?, exact => true) ORDER BY _score DESC, _pk"
    rows = env.rows(sql, vector_parameters(QUERY, 10))
    equal([r[0] for r in rows], nearest(QUERY, list(range(COUNT)), 10, distance), distance)
    scores = [r[1] for r in rows]
    true(scores == sorted(scores, reverse=True), f"scores {scores}")


@check(CLIENT)
def vector_search_cosine(env: Env) -> None:
    _vectors(env, "cosine")


@check(CLIENT)
def vector_search_l2(env: Env) -> None:
    _vectors(env, "l2")


@check(CLIENT)
def vector_search_dot(env: Env) -> None:
    _vectors(env, "dot")


@check(CLIENT)
def vector_search_takes_a_python_list(env: Env) -> None:
    name = corpus.filled(env, "list", COUNT)
    got = keys(env, f"SELECT id FROM vector_search({name}, vector => ?, k => 5) ORDER BY _score DESC, _pk", [QUERY])
    equal(got, nearest(QUERY, list(range(COUNT)), 5))


@check(CLIENT)
def vector_search_filters_before_it_ranks(env: Env) -> None:
    name = corpus.filled(env, "pre", COUNT)
    sql = f"SELECT id FROM vector_search({name}, vector => ?, k => ?) WHERE lang = ? ORDER BY _score DESC, _pk"
    german = [i for i in range(COUNT) if i % 3 == 1]
    equal(keys(env, sql, vector_parameters(QUERY, 10, "de")), nearest(QUERY, german, 10))


@check(CLIENT)
def a_search_returns_min_k_matches(env: Env) -> None:
    name = corpus.filled(env, "mink", 20)
    sql = f"SELECT count(*) FROM vector_search({name}, vector => ?, k => ?) WHERE year = 1990"
    equal(env.rows(sql, vector_parameters(QUERY, 10)), [(1,)])
    equal(env.rows(f"SELECT count(*) FROM vector_search({name}, vector => ?, k => ?)", vector_parameters(QUERY, 50)), [(20,)])


@check(CLIENT)
def limit_never_changes_the_best(env: Env) -> None:
    name = corpus.filled(env, "limit", COUNT)
    sql = f"SELECT id FROM vector_search({name}, vector => ?, k => 100) ORDER BY _score DESC, _pk LIMIT 4"
    equal(keys(env, sql, vector_parameters(QUERY)), nearest(QUERY, list(range(COUNT)), 4))


@check(CLIENT)
def text_search_finds_exactly_the_matches(env: Env) -> None:
    name = corpus.filled(env, "text", COUNT)
    sql = f"SELECT id, _score FROM text_search({name}, ?, columns => ['title'], k => ?) ORDER BY _score DESC, _pk"
    rows = env.rows(sql, ["merge", 1000])
    equal({r[0] for r in rows}, {key(i) for i in range(COUNT) if "merge" in corpus.title(i).split()})
    ranking = [(-r[1], r[0]) for r in rows]
    true(ranking == sorted(ranking) and all(r[1] > 0 for r in rows), f"ranking {ranking[:5]}")
    equal(keys(env, sql, ["merge", 3]), [r[0] for r in rows[:3]], "the three best")


@check(CLIENT)
def text_search_knows_and_not_phrase_prefix(env: Env) -> None:
    name = corpus.filled(env, "lucene", COUNT)
    titles = {key(i): corpus.title(i).split() for i in range(COUNT)}
    sql = f"SELECT id FROM text_search({name}, ?, columns => ['title'], k => 1000)"
    cases = {
        "merge AND engine": {k for k, t in titles.items() if "merge" in t and "engine" in t},
        "merge AND NOT engine": {k for k, t in titles.items() if "merge" in t and "engine" not in t},
        '"endpoint merge"': {k for k, t in titles.items() if "endpoint merge" in " ".join(t)},
        "snap*": {k for k, t in titles.items() if any(w.startswith("snap") for w in t)},
        "merge OR engine": {k for k, t in titles.items() if "merge" in t or "engine" in t},
    }
    for query, want in cases.items():
        true(want, f"the case {query!r} expects nothing")
        equal(set(keys(env, sql, [query])), want, query)


@check(CLIENT)
def text_search_sees_upserts_and_deletes_at_once(env: Env) -> None:
    name = corpus.filled(env, "fresh", 30)
    corpus.ingest(env, name, corpus.table([3], revision=7))
    sql = f"SELECT id FROM text_search({name}, ?, k => 10)"
    equal(keys(env, sql, ["revision7"]), [key(3)])
    env.run(f"DELETE FROM {name} WHERE id = '{key(3)}'")
    equal(keys(env, sql, ["revision7"]), [])


@check(CLIENT)
def rrf_adds_reciprocal_ranks(env: Env) -> None:
    name = corpus.filled(env, "rrf", COUNT)
    text = keys(env, f"SELECT id FROM text_search({name}, ?, k => 50) ORDER BY _score DESC, _pk", ["merge engine"])
    near = keys(env, f"SELECT id FROM vector_search({name}, vector => ?, k => 50) ORDER BY _score DESC, _pk", vector_parameters(QUERY))
    fused: dict[str, float] = {}
    for leg in (text, near):
        for rank, k in enumerate(leg, 1):
            fused[k] = fused.get(k, 0.0) + 1 / (60 + rank)
    sql = (
        f"SELECT id, _fused_score FROM rrf(vector_search({name}, vector => ?, k => 50), "
        f"text_search({name}, ?, k => 50), k => 60, limit => 20) ORDER BY _fused_score DESC, _pk"
    )
    rows = env.rows(sql, vector_parameters(QUERY, "merge engine"))
    equal(len(rows), 20, "rows")
    for k, score in rows:
        true(abs(score - fused[k]) < 1e-12, f"{k}: {score}, want {fused[k]}")
    floor = sorted(fused.values(), reverse=True)[19]
    true(min(r[1] for r in rows) >= floor - 1e-12, f"lowest {rows[-1]}, the 20th is {floor}")


@check(CLIENT)
def rrf_filters_every_leg(env: Env) -> None:
    name = corpus.filled(env, "rrff", COUNT)
    sql = (
        f"SELECT id, lang FROM rrf(vector_search({name}, vector => ?, k => 50), text_search({name}, ?, k => 50), limit => 15) "
        "WHERE lang = ? AND year >= ?"
    )
    rows = env.rows(sql, vector_parameters(QUERY, "engine", "de", 2000))
    equal(len(rows), 15, "rows")
    equal({r[1] for r in rows}, {"de"}, "languages")


@check(CLIENT)
def searches_join_and_aggregate(env: Env) -> None:
    name = corpus.filled(env, "agg", COUNT)
    sql = (
        f"WITH hits AS (SELECT * FROM text_search({name}, ?, k => 1000)) "
        f"SELECT d.lang, count(*) AS n FROM hits AS h JOIN {name} AS d ON d.id = h.id GROUP BY d.lang ORDER BY d.lang"
    )
    want: dict[str, int] = {}
    for i in range(COUNT):
        if "merge" in corpus.title(i).split():
            want[corpus.LANGS[i % 3]] = want.get(corpus.LANGS[i % 3], 0) + 1
    equal(env.rows(sql, ["merge"]), sorted(want.items()))


@check(CLIENT)
def explain_names_the_search(env: Env) -> None:
    name = corpus.filled(env, "explain", 5)
    text = str(env.rows(f"EXPLAIN SELECT id FROM text_search({name}, 'merge', k => 3) WHERE lang = 'de'"))
    true("search" in text.lower(), f"plan {text[:400]}")
