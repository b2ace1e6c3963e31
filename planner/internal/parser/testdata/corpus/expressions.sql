SELECT 1 + 2 * 3 - 4 / 5 % 6 ^ 7 // 8, -1, +1, - -1, ~5, ~ ~5, -(1 + 2), -2 ^ 2, 2 ** 3

SELECT a OR b AND NOT c = d, (a OR b) AND c, a AND b AND c OR d OR e, NOT (a AND b), NOT NOT a

SELECT a = b IS NULL, (a IS NULL) = b, a IS NOT NULL IS TRUE, a = (b IN (1)), a ISNULL, b NOTNULL

SELECT a NOT BETWEEN 1 AND 2 AND b, a BETWEEN SYMMETRIC 3 AND 1 + 1, (a BETWEEN 1 AND 2) = c

SELECT a LIKE b || '%' ESCAPE '!', a ILIKE 'x', a NOT ILIKE 'x', a SIMILAR TO '(a|b)%', a NOT SIMILAR TO 'x' ESCAPE '#'

SELECT a IN (SELECT b FROM t), (a, b) NOT IN (SELECT c, d FROM t), a IN (1, (2), 3 + 4), (1, 2) IN ((1, 2), ROW(3, 4)), ROW(), ROW(1)

SELECT a = ANY (SELECT 1), a <> ALL (ARRAY[1, 2]), a < SOME ($1), (a = ANY(b)) = c

SELECT a::int, a::decimal(10, 2)::text, -1::bigint, (-1)::bigint, '2020-01-01'::timestamp with time zone, x::varchar(10)[], y::float[3]

SELECT CAST(a AS VECTOR(384)), CAST(a AS SPARSE VECTOR), CAST(a AS ARRAY<ARRAY<INT>>), CAST(a AS LIST<TEXT>), CAST(a AS INT ARRAY), CAST(a AS INT[][3])

SELECT CAST(a AS STRUCT(x INT, "y z" TEXT[])), CAST(a AS STRUCT<x: INT, y: MAP<TEXT, LIST<INT>>>), CAST(a AS MAP(TEXT, DOUBLE PRECISION)), CAST(a AS ROW(a INT))

SELECT CAST(a AS TIMESTAMP(3) WITHOUT TIME ZONE), CAST(a AS TIME(6) WITH TIME ZONE), CAST(a AS CHARACTER VARYING(20)), CAST(a AS INTERVAL DAY TO SECOND), CAST(a AS TINYINT UNSIGNED)

SELECT DATE '2020-01-01', TIME '10:00', TIMESTAMP '2020-01-01 00:00:00Z', TIMESTAMP(3) '2020-01-01', TIMESTAMP WITH TIME ZONE '2020-01-01', JSON '{"a": 1}', UUID '00000000-0000-0000-0000-000000000000'

SELECT INTERVAL '1 day', INTERVAL '1' DAY, INTERVAL 1 DAY, INTERVAL '1-2' YEAR TO MONTH, INTERVAL -3 HOURS, INTERVAL (n + 1) MINUTES, INTERVAL '2' SECOND AS day, interval FROM t

SELECT INTERVAL '1 day'::text, INTERVAL '1' DAY[1], interval '1 day' * 2, ts - INTERVAL 5 milliseconds

SELECT EXTRACT(YEAR FROM ts), extract('epoch' FROM ts - x), EXTRACT(dow from a + b)

SELECT SUBSTRING(a FROM 2 FOR 3), SUBSTRING(a FROM 2), SUBSTRING(a FOR 3), SUBSTRING(a, 2, 3), substr(a, 1)

SELECT TRIM(a), TRIM(BOTH 'x' FROM a), TRIM(LEADING FROM a), TRIM(TRAILING 'y' FROM a), TRIM('x' FROM a), TRIM(BOTH a), TRIM(a, 'x')

SELECT POSITION('a' IN b), POSITION(a || b IN c), position(a, b), OVERLAY(a PLACING b FROM 1 FOR 2), OVERLAY(a PLACING b FROM 1), overlay(a, b, 1)

SELECT LEFT(a, 1), RIGHT(a, 2), REPLACE(a, 'x', 'y'), IF(a, b, c), date('2020-01-01'), ROW(1, 'x'), any(x), exists(a)

SELECT ARRAY[1, 2], ARRAY[], [], [[1], [2]], ARRAY(SELECT a FROM t ORDER BY a), array(1, 2), a[1], a[1:2], a[:2], a[1:], a[:], a[$1:$2][b]

SELECT (a).b, (a).b.c, f(x).y, (t.a).b[1].c, {a: 1}.a, (SELECT r FROM t).x

SELECT {a: 1, 'b c': {d: [1]}, "E": NULL}, MAP {}, MAP {'k': MAP {1: 2}}, MAP(a, b)

SELECT a -> 'x' ->> 'y', a #> b, a #>> b, a -> 0 = 'x', j -> (x > 1)

SELECT list_transform(a, lambda x: x + 1), list_filter(a, x -> x + 1), reduce(a, lambda x, y: x + y, 0), lambda FROM t

SELECT CASE WHEN a THEN b WHEN c THEN d ELSE e END, CASE a WHEN 1 THEN CASE WHEN b THEN c END END, CASE NOT a WHEN true THEN 1 END

SELECT ts AT TIME ZONE 'UTC' AT TIME ZONE tz, a COLLATE "de_DE" = b, a || b COLLATE c, - a AT TIME ZONE b

SELECT X'DEADbeef', x'', E'a\n\t\\\'\x41\u00e9\101''q', N'x', $$dollar 'quoted'$$, $tag$a $$ b$tag$, 'it''s', ''

SELECT 0x1F, 0b101, 0o17, 1_000_000, 1.5e10, .5, 5., 1e-3, 12345678901234567890123456789012345678.99

SELECT $1, $2 + $1, :name, $other

SELECT ?, ? + ?, f(?), (SELECT ?)

SELECT "a""b", "Ünï", größe, a$b, _x FROM "select"

SELECT f(), f(a, b => 1, c := 2), s.f(1), a.b.c.f(x), f(DISTINCT a), f(ALL a), count(*), f(a ORDER BY b), f(x = y)

SELECT a IS NOT DISTINCT FROM b IS NULL, a IS DISTINCT FROM (b IS NULL), (a = b) IS DISTINCT FROM c

SELECT a & b | c # d << 1, a + b & c, (a & b) + c, a || b + c, a && b

SELECT count(*) FILTER (WHERE a > 1) OVER (), sum(x) filter FROM t
