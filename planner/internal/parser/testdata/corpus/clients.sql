-- Metabase:: userID: 1 queryType: native
SELECT "source"."a" AS "a" FROM (SELECT "public"."t"."a" AS "a" FROM "public"."t") "source" LIMIT 1048575

/* Superset */ SELECT DATE_TRUNC('day', "OperationDate") AS "OperationDate", COUNT(*) AS "count" FROM "s"."t" GROUP BY DATE_TRUNC('day', "OperationDate") ORDER BY "count" DESC LIMIT 10000

SELECT DATE_TRUNC('week', c) AT TIME ZONE 'UTC' AS __timestamp FROM (SELECT * FROM t) AS expr_qry WHERE c >= '1918-04-12 00:00:00'

SELECT date_bin(interval '15 second', c, timestamp '1970-01-01T00:00:00Z') as c_binned FROM t WHERE c >= '2020-01-01T00:00:00Z' AND c <= '2020-01-02T00:00:00Z'

SELECT SUM(1) AS "sum:Number of Records:ok", "t"."x" AS "none:x:nk" FROM "t" GROUP BY 2 HAVING (COUNT(1) > 0)

SELECT {fn UCASE(name)}, {d '2020-01-01'}, {ts '2020-01-01 00:00:00'}, {t '10:00:00'} FROM t WHERE {fn MOD(a, 2)} = 0

SELECT x.* FROM loam.public.docs x WHERE x.id = ? AND x.year > ? LIMIT 200 OFFSET 400

SELECT count(*) FROM docs WHERE 1=0

SELECT current_schema(), current_schema, version(), CURRENT_DATE, now(), CURRENT_TIMESTAMP(3), current_user

SELECT "t0"."a" AS "a", SUM("t0"."b") FILTER(WHERE "t0"."c" IS DISTINCT FROM 'x') AS "s" FROM "t" AS "t0" GROUP BY 1

SELECT SUM(x) OVER (PARTITION BY k ORDER BY y ASC RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t

SELECT key, value, timestamp, offset, partition, date, text, year, name, id, type, format, filter, window, position, first, last, row, rows, range FROM t

SELECT t.order, t."group", t.select FROM t

SELECT a AS select, b AS "from", c "x y" FROM t AS time (date, year, value)

SELECT timestamp, date FROM t ORDER BY timestamp DESC, date OFFSET 5 ROWS FETCH NEXT 10 ROWS ONLY

SELECT * EXCLUDE (a, "b") REPLACE (c + 1 AS c) FROM t

SELECT t.* EXCLUDE a, count(t.*) FROM t GROUP BY ALL ORDER BY ALL DESC

SELECT a, b, FROM t WHERE a == 1 AND b <> 2

FROM t

FROM t SELECT a WHERE b > 1

FROM docs AS d JOIN u USING (id) WHERE d.a LIMIT 3

TABLE docs

TABLE docs AT (VERSION => 3) ORDER BY 1

VALUES (1, 'a'), (2, NULL), (3, DEFAULT) ORDER BY 1 LIMIT 2

SELECT * FROM (VALUES (1, 2), (3, 4)) AS v (a, b), (VALUES (1)) w

SELECT * FROM docs AT (VERSION => 7) d JOIN docs AT (TAG => 'v1') e USING (id), docs AT (TOKEN => 'v1:x'), u AT (TIMESTAMP => now() - interval '2 min')

SELECT * FROM docs FOR SYSTEM_TIME AS OF TIMESTAMP '2024-01-01 00:00:00' d, docs FOR VERSION AS OF 3

SELECT at FROM t at WHERE at.x = 1

WITH a AS (SELECT 1), b (x, y) AS NOT MATERIALIZED (SELECT 1, 2), c AS MATERIALIZED (FROM b) SELECT * FROM a, b, c

WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT * FROM n

SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 EXCEPT ALL SELECT 4 UNION DISTINCT BY NAME SELECT 5

(SELECT 1 UNION SELECT 2) INTERSECT (SELECT 3 ORDER BY 1)

(SELECT a FROM t ORDER BY a LIMIT 1) ORDER BY a LIMIT 2

((SELECT 1) UNION ALL (SELECT 2)) LIMIT ALL OFFSET 1

SELECT 1 UNION ALL (SELECT 2 EXCEPT SELECT 3)

SELECT ((SELECT 1) + 1), ((SELECT 1)), ((SELECT 1), 2), ((SELECT 1) UNION (SELECT 2))

SELECT a FROM t LIMIT 10 OFFSET 5

SELECT a FROM t OFFSET 5 LIMIT $1

SELECT a FROM t OFFSET 1 FETCH FIRST 3 ROWS WITH TIES

SELECT * FROM a NATURAL JOIN b NATURAL LEFT JOIN c CROSS JOIN d FULL OUTER JOIN e ON e.x = a.x

SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x

SELECT * FROM a JOIN (b LEFT JOIN c USING (k)) ON a.k = b.k, LATERAL (SELECT a.k) l

SELECT * FROM (a JOIN b USING (k)) AS j (k, x), ((SELECT 1) s CROSS JOIN c)

SELECT * FROM a SEMI JOIN b USING (k) ANTI JOIN c USING (k) ASOF LEFT JOIN d ON a.t >= d.t

SELECT * FROM a LEFT JOIN LATERAL (SELECT * FROM b WHERE b.k = a.k LIMIT 3) AS s ON true

SELECT * FROM unnest([1, 2, 3]) WITH ORDINALITY AS u (x, n), generate_series(1, 10) g, TABLE(f(1)) AS h

SELECT * FROM q, LATERAL vector_search('docs', q.v, limit => 10) AS s

SELECT * FROM vector_search(docs, 'a question', emb, 10, include_score = true)

SELECT id, _score FROM text_search(public.docs, 'fox', columns => ['title^2', 'body'], k := 5) WHERE lang = 'en' ORDER BY _score DESC LIMIT 3

SELECT * FROM rrf(text_search(docs,'q', limit = 5), vector_search(docs, [0.1,0.2]), k => 60)

SELECT * FROM hybrid_search(docs, query => 'x', vector => $1, filter => (lang = 'en' AND year > 2000), weights => [1, 0.5]) h

SELECT * FROM vector_search("My Docs", (a = b), filter => coalesce((c = d), true))

SELECT id FROM docs ORDER BY emb <-> [1, 2], emb <=> $1, emb <#> $2 LIMIT 5

SELECT * FROM t TABLESAMPLE BERNOULLI (10 PERCENT) REPEATABLE (42), u TABLESAMPLE (100 ROWS)

SELECT * FROM t, u WHERE a > 1 USING SAMPLE reservoir(20 ROWS) REPEATABLE (3)

SELECT a FROM t USING SAMPLE 10% UNION ALL SELECT a FROM (FROM u USING SAMPLE 5) s TABLESAMPLE (2 * 5 PERCENT) LIMIT 3

SELECT a, sum(b) OVER w, rank() OVER (w ORDER BY c), lag(d) IGNORE NULLS OVER (ORDER BY e) FROM t WINDOW w AS (PARTITION BY a), w2 AS (w ROWS CURRENT ROW)

SELECT first_value(x RESPECT NULLS) OVER (ORDER BY y GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES) FROM t QUALIFY rank() OVER (ORDER BY z) <= 3

SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x DESC), string_agg(DISTINCT a, ',' ORDER BY b DESC NULLS LAST, c) FROM t

SELECT a FROM t GROUP BY a, GROUPING SETS (ROLLUP (a, (b, c)), CUBE (d), ()), ROW(x, y) HAVING count(*) > 1
