package functions

// examples are calls that show what each scalar function does, by its first
// name, where its definition holds none. A test runs them, and docs/functions.md
// shows their results. They give the same on every run.
var examples = map[string]string{
	// operators
	"+": "DATE '2024-02-28' + 2", "-": "TIMESTAMP '2024-03-01' - TIMESTAMP '2024-02-28 12:00'", "*": "2.5 * 4", "/": "7 / 2", "div": "7.5e0 // 2",
	"%": "-7 % 3", "||": "'fox' || '-' || 7", "&": "6 & 3", "|": "6 | 3", "#": "6 # 3", "<<": "1 << 4", ">>": "-16 >> 2", "bit_not": "bit_not(5)", "^": "2 ^ 10",
	"like": "'fox' LIKE 'f%'", "ilike": "'FOX' ILIKE 'f_x'", "!~~": "'fox' !~~ 'f%'", "!~~*": "'FOX' !~~* 'f%'",
	"~": "'fox 7' ~ '[0-9]'", "~*": "'FOX' ~* 'fox'", "!~": "'fox' !~ '[0-9]'", "!~*": "'FOX' !~* 'x'",
	"->": `'{"a": [1, 2]}'::JSON -> 'a'`, "->>": `'{"a": "x"}'::JSON ->> 'a'`, "#>": `'{"a": {"b": 1}}'::JSON #> ['a', 'b']`, "#>>": `'{"a": {"b": "x"}}'::JSON #>> ['a', 'b']`,
	"<@": "[1] <@ [1, 2]", "<#>": "'[1, 2]'::VECTOR(2) <#> '[3, 4]'",
	// NULL and choice
	"coalesce": "coalesce(NULL, 2, 3)", "nullif": "nullif(1, 1)", "greatest": "greatest(1, 3, NULL, 2)", "least": "least('b', 'a')",
	"if": "if(2 > 1, 'yes', 'no')", "nvl2": "nvl2(NULL, 'set', 'not set')", "arrow_cast": "arrow_cast('5', 'Int64')", "nullifzero": "nullifzero(0)", "zeroifnull": "zeroifnull(NULL)",
	"num_nulls": "num_nulls(1, NULL, 'x')", "num_nonnulls": "num_nonnulls(1, NULL, 'x')",
	// numbers
	"abs": "abs(-5)", "sign": "sign(-2.5)", "ceil": "ceil(1.2)", "floor": "floor(-1.2)", "round": "round(2.567, 2)", "trunc": "trunc(-2.567, 1)", "sqrt": "sqrt(2)", "cbrt": "cbrt(27)",
	"power": "power(2, 10)", "exp": "exp(1)", "ln": "ln(10)", "log": "log(2, 8)", "log10": "log10(1000)", "log2": "log2(8)", "sin": "sin(0)", "cos": "cos(0)", "tan": "tan(0)",
	"asin": "asin(0)", "acos": "acos(1)", "atan": "atan(0)", "atan2": "atan2(0, 1)", "degrees": "degrees(pi())", "radians": "radians(180)", "pi": "pi()", "random": "random() < 1",
	"gcd": "gcd(12, 18)", "lcm": "lcm(4, 6)", "factorial": "factorial(5)", "width_bucket": "width_bucket(5.35, 0.024, 10.06, 5)", "bit_count": "bit_count(255)", "get_bit": "get_bit(5, 2)",
	"cot": "round(cot(1), 6)", "sinh": "sinh(0)", "cosh": "cosh(0)", "tanh": "tanh(0)", "asinh": "asinh(0)", "acosh": "acosh(1)", "atanh": "atanh(0)", "hypot": "hypot(3, 4)",
	"gamma": "gamma(5)", "lgamma": "lgamma(1)", "isnan": "isnan('NaN'::DOUBLE)", "isinf": "isinf('Infinity'::DOUBLE)", "isfinite": "isfinite(DATE '2024-02-29')", "signbit": "signbit(-0.0::DOUBLE)",
	"even": "even(2.1)", "nanvl": "nanvl('NaN'::DOUBLE, 0)", "format_bytes": "format_bytes(123456789)",
	// text
	"lower": "lower('FOX')", "upper": "upper('fox')", "initcap": "initcap('brown fox')", "trim": "trim('  fox ')", "ltrim": "ltrim('xxfox', 'x')", "rtrim": "rtrim('fox  ')",
	"length": "length('Füchse')", "octet_length": "octet_length('Füchse')", "bit_length": "bit_length('fox')", "substr": "substr('brown fox', 7)", "left": "left('brown fox', 5)", "right": "right('brown fox', 3)",
	"lpad": "lpad('7', 3, '0')", "rpad": "rpad('fox', 5, '.')", "replace": "replace('brown fox', 'brown', 'red')", "reverse": "reverse('fox')", "repeat": "repeat('ab', 3)",
	"split_part": "split_part('a-b-c', '-', 2)", "strpos": "strpos('brown fox', 'fox')", "starts_with": "starts_with('fox', 'f')", "ends_with": "ends_with('fox', 'x')", "contains": "contains('brown fox', 'own')",
	"concat": "concat('fox', NULL, 7)", "concat_ws": "concat_ws(', ', 'a', NULL, 'b')", "ascii": "ascii('A')", "chr": "chr(65)", "translate": "translate('12345', '143', 'ax')",
	"md5": "md5('fox')", "sha256": "sha256('fox')", "encode": "encode('fox', 'base64')", "decode": "decode('666f78', 'hex')", "to_hex": "to_hex(255)", "levenshtein": "levenshtein('kitten', 'sitting')",
	"regexp_like": "regexp_like('fox 7', '[0-9]')", "regexp_match": "regexp_match('fox 7', '([a-z]+) ([0-9])')", "regexp_count": "regexp_count('banana', 'an')", "regexp_replace": "regexp_replace('fox 7', '[0-9]', 'x')",
	"sha1": "sha1('fox')", "sha384": "length(sha384('fox'))", "sha512": "left(sha512('fox'), 16)", "crc32": "crc32('fox')", "xxh3": "xxh3('fox')", "hash": "hash(1, 'x') = hash(1, 'x')",
	"base64": "base64('fox')", "from_base64": "from_base64('Zm94')", "hex": "hex('fox')", "unhex": "unhex('666f78')", "to_oct": "to_oct(8)", "bin": "bin(5)", "to_base": "to_base(255, 36)",
	"convert_from": "convert_from(X'666f78', 'UTF8')", "convert_to": "convert_to('fox', 'UTF8')", "url_encode": "url_encode('a b/c')", "url_decode": "url_decode('a%20b')",
	"damerau_levenshtein": "damerau_levenshtein('ca', 'ac')", "hamming": "hamming('fox', 'box')", "jaccard": "jaccard('duck', 'luck')", "jaro_similarity": "round(jaro_similarity('MARTHA', 'MARHTA'), 4)",
	"jaro_winkler_similarity": "round(jaro_winkler('MARTHA', 'MARHTA'), 4)", "soundex": "soundex('Robert')",
	"string_to_array": "string_to_array('a,b,,c', ',')", "string_split": "string_split('a b', ' ')", "regexp_split_to_array": "regexp_split_to_array('a1b22c', '[0-9]+')",
	"regexp_extract": "regexp_extract('fox 7', '([a-z]+) ([0-9])', 2)", "regexp_extract_all": "regexp_extract_all('a1b2', '[0-9]')", "regexp_substr": "regexp_substr('fox 7', '[0-9]')", "regexp_instr": "regexp_instr('fox 7', '[0-9]')",
	"regexp_full_match": "regexp_full_match('fox', '[a-z]')", "regexp_escape": "regexp_escape('a.b')", "quote_literal": "quote_literal('it''s')", "quote_nullable": "quote_nullable(NULL)", "quote_ident": "quote_ident('two words')",
	"strip_accents": "strip_accents('Füchse')", "normalize": "length(normalize('é', 'NFD'))", "overlay": "overlay('Txxxxas', 'hom', 2, 4)", "substring_index": "substring_index('a.b.c', '.', 2)",
	"find_in_set": "find_in_set('b', 'a,b,c')", "space": "'[' || space(2) || ']'", "format": "format('%s: %L', 'a', 'it''s')", "printf": "printf('%05.1f|%x', 3.14159, 255)", "error": "if(true, 'fine', error('broken')::TEXT)",
	// times
	"now": "now() > TIMESTAMP '2024-01-01'", "current_date": "current_date = now()::DATE", "date_trunc": "date_trunc('month', TIMESTAMP '2024-02-29 13:14:15')", "date_part": "date_part('week', DATE '2024-02-29')",
	"epoch": "epoch(TIMESTAMP '1970-01-01 00:01:00')", "year": "year(DATE '2024-02-29')", "month": "month(DATE '2024-02-29')", "day": "day(DATE '2024-02-29')", "hour": "hour(TIME '13:14:15')", "minute": "minute(TIME '13:14:15')",
	"second": "second(TIME '13:14:15')", "quarter": "quarter(DATE '2024-02-29')", "week": "week(DATE '2024-02-29')", "date_bin": "date_bin(INTERVAL '15 minutes', TIMESTAMP '2024-02-29 13:14:15')",
	"to_timestamp": "to_timestamp('29.02.2024 13:14', 'DD.MM.YYYY HH24:MI')", "to_timestamp_seconds": "to_timestamp_seconds(1709212455)", "to_timestamp_millis": "to_timestamp_millis(1709212455678)",
	"to_timestamp_micros": "to_timestamp_micros(1709212455678901)", "to_timestamp_nanos": "to_timestamp_nanos(1709212455678901234)", "to_date": "to_date('Feb 29 2024', 'Mon DD YYYY')",
	"timezone": "TIMESTAMP '2024-07-01 12:00' AT TIME ZONE 'Europe/Berlin'", "make_date": "make_date(2024, 2, 29)", "age": "age(TIMESTAMP '2024-02-29', TIMESTAMP '2023-12-25')",
	"to_char": "to_char(TIMESTAMP '2024-02-29 13:14:15', 'Dy DD Mon YYYY HH24:MI')", "strftime": "strftime(TIMESTAMP '2024-02-29 13:14:15', '%d/%m/%Y %H:%M')", "strptime": "strptime('29/02/2024 13:14', '%d/%m/%Y %H:%M')",
	"try_strptime": "try_strptime('soon', '%Y')", "date_diff": "date_diff('month', DATE '2024-01-31', DATE '2024-02-01')", "date_sub": "date_sub('month', DATE '2024-01-31', DATE '2024-02-01')",
	"date_add": "date_add('month', 1, DATE '2024-01-31')", "add_months": "add_months(DATE '2024-01-31', 1)", "months_between": "months_between(DATE '2024-03-31', DATE '2024-01-31')", "last_day": "last_day(DATE '2024-02-03')",
	"dayname": "dayname(DATE '2024-02-29')", "monthname": "monthname(DATE '2024-02-29')", "yearweek": "yearweek(DATE '2024-02-29')", "epoch_ms": "epoch_ms(TIMESTAMP '1970-01-01 00:00:01.5')", "epoch_us": "epoch_us(TIMESTAMP '1970-01-01 00:00:01')",
	"epoch_ns": "epoch_ns(TIMESTAMP '1970-01-01 00:00:01')", "unix_timestamp": "unix_timestamp(TIMESTAMP '1970-01-02')", "date": "date(TIMESTAMP '2024-02-29 13:14:15')", "time_bucket": "time_bucket(INTERVAL '3 months', DATE '2024-05-17')",
	"to_utc_timestamp": "to_utc_timestamp(TIMESTAMP '2024-07-01 12:00', 'Europe/Berlin')", "from_utc_timestamp": "from_utc_timestamp(TIMESTAMP '2024-07-01 10:00', 'Europe/Berlin')",
	"dayofmonth": "dayofmonth(DATE '2024-02-29')", "dayofweek": "dayofweek(DATE '2024-02-29')", "isodow": "isodow(DATE '2024-02-25')", "dayofyear": "dayofyear(DATE '2024-02-29')", "weekofyear": "weekofyear(DATE '2024-02-29')",
	"isoyear": "isoyear(DATE '2021-01-03')", "century": "century(DATE '2024-02-29')", "decade": "decade(DATE '2024-02-29')", "millennium": "millennium(DATE '2024-02-29')", "julian": "julian(DATE '2000-01-01')",
	"millisecond": "millisecond(TIMESTAMP '2024-02-29 13:14:15.5')", "microsecond": "microsecond(TIMESTAMP '2024-02-29 13:14:15.5')",
	// JSON
	"json_get": `json_get('{"a": [1, 2]}', 'a', 1)`, "json_get_str": `json_get_str('{"a": "x"}', 'a')`, "json_get_int": `json_get_int('{"a": 7}', 'a')`, "json_get_float": `json_get_float('{"a": 1.5}', 'a')`,
	"json_get_bool": `json_get_bool('{"a": true}', 'a')`, "json_length": `json_length('[1, 2, 3]')`, "json_contains": `json_contains('{"a": 1}', 'b')`, "json_typeof": `json_typeof('{"a": 1}', 'a')`, "json_valid": `json_valid('{"a":')`,
	"json_object": "json_object('a', 1, 'b', [1, 2])", "json_array": "json_array(1, 'x', NULL)", "to_json": "to_json({'a': DATE '2024-02-29'})", "json": `json('{ "a" : 1 }')`, "json_pretty": `json_pretty('{"a":1}')`,
	"json_keys": `json_keys('{"a": 1, "b": 2}')`, "json_strip_nulls": `json_strip_nulls('{"a": null, "b": 1}')`, "json_merge_patch": `json_merge_patch('{"a": 1, "b": 2}', '{"b": null, "c": 3}')`,
	// lists
	"make_array": "make_array(1, 2, 3)", "array_length": "array_length([1, 2, 3])", "cardinality": "cardinality([1, 2, 3])", "array_has": "array_has([1, 2], 2)", "array_position": "array_position(['a', 'b'], 'b')",
	"list_element": "(['a', 'b'])[2]", "array_append": "array_append([1, 2], 3)", "array_prepend": "array_prepend(0, [1, 2])", "array_concat": "array_concat([1], [2, 3])", "array_has_all": "array_has_all([1, 2, 3], [3, 1])",
	"array_has_any": "array_has_any([1, 2], [2, 5])", "array_slice": "array_slice([1, 2, 3, 4], 2, 3)", "array_sort": "array_sort([3, 1, 2])", "array_distinct": "array_distinct([1, 2, 1])", "array_reverse": "array_reverse([1, 2, 3])",
	"array_to_string": "array_to_string(['a', NULL, 'b'], '-')", "array_max": "array_max([1, 5, NULL])", "array_min": "array_min([3, 1, 2])", "list_first": "list_first([7, 8])", "list_last": "list_last([7, 8])",
	"list_any_value": "list_any_value([NULL, 2, 3])", "list_sum": "list_sum([1, 2, NULL])", "list_avg": "list_avg([1, 2])", "list_product": "list_product([2, 3, 4])", "array_remove": "array_remove([1, 2, 1], 1)",
	"array_replace": "array_replace([1, 2, 1], 1, 9)", "array_positions": "array_positions([1, 2, 1], 1)", "array_union": "array_union([1, 2], [2, 3])", "array_intersect": "array_intersect([1, 2], [2, 3])",
	"array_except": "array_except([1, 2], [2, 3])", "array_reverse_sort": "array_reverse_sort([1, 3, 2])", "list_unique": "list_unique([1, 2, 1, NULL])", "flatten": "flatten([[1], [2, 3]])", "array_repeat": "array_repeat('x', 3)",
	"array_resize": "array_resize([1], 3, 0)", "array_pop_back": "array_pop_back([1, 2, 3])", "array_pop_front": "array_pop_front([1, 2, 3])", "trim_array": "trim_array([1, 2, 3], 2)", "empty": "empty([1])",
	"array_ndims": "array_ndims([[1], [2]])", "list_zip": "list_zip([1, 2], ['a', 'b'])", "range": "range(0, 10, 3)",
	// vectors
	"cosine_distance": "cosine_distance('[1, 0]'::VECTOR(2), '[0, 1]')", "l2_distance": "l2_distance('[0, 0]'::VECTOR(2), '[3, 4]')", "inner_product": "inner_product('[1, 2]'::VECTOR(2), '[3, 4]')",
	"vector_dims": "vector_dims('[1, 2, 3]'::VECTOR(3))", "vector_norm": "vector_norm('[3, 4]'::VECTOR(2))",
	// the session
	"version": "starts_with(version(), 'Loam')", "current_schema": "current_schema()", "current_database": "current_database()", "current_user": "current_user IS NOT NULL", "typeof": "typeof([1.5])", "arrow_typeof": "arrow_typeof(1)",
}

// SampleRows is the table that the examples of aggregates and window functions
// read, as SQL: g, x, y, s.
const SampleRows = "(VALUES ('a', 1, 2.5, 'fox'), ('a', 2, 3.5, 'hound'), ('b', 4, 7.5, NULL)) AS t(g, x, y, s)"

// aggregateExamples are calls over [SampleRows].
var aggregateExamples = map[string]string{
	"count": "count(s)", "sum": "sum(x)", "avg": "avg(x)", "min": "min(y)", "max": "max(s)", "stddev": "round(stddev(x), 4)", "stddev_pop": "round(stddev_pop(x), 4)", "variance": "round(variance(x), 4)", "var_pop": "round(var_pop(x), 4)",
	"median": "median(x)", "bool_and": "bool_and(x > 1)", "bool_or": "bool_or(x > 1)", "bit_and": "bit_and(x)", "bit_or": "bit_or(x)", "bit_xor": "bit_xor(x)", "count_if": "count_if(x > 1)",
	"array_agg": "array_agg(s ORDER BY x)", "string_agg": "string_agg(s, ', ' ORDER BY s)", "approx_distinct": "approx_distinct(g)", "first_value": "first_value(s ORDER BY x)", "last_value": "last_value(x ORDER BY x)", "any_value": "any_value(g) IN ('a', 'b')",
	"percentile_cont": "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)", "percentile_disc": "percentile_disc(0.5) WITHIN GROUP (ORDER BY x)", "mode": "mode() WITHIN GROUP (ORDER BY g)", "nth_value": "nth_value(s, 2 ORDER BY x)",
	"arg_max": "arg_max(g, x)", "arg_min": "arg_min(s, y)", "corr": "round(corr(y, x), 4)", "covar_samp": "round(covar_samp(y, x), 4)", "covar_pop": "round(covar_pop(y, x), 4)", "regr_count": "regr_count(y, x)", "regr_avgx": "round(regr_avgx(y, x), 4)",
	"regr_avgy": "regr_avgy(y, x)", "regr_sxx": "round(regr_sxx(y, x), 4)", "regr_syy": "round(regr_syy(y, x), 4)", "regr_sxy": "round(regr_sxy(y, x), 4)", "regr_slope": "round(regr_slope(y, x), 4)", "regr_intercept": "round(regr_intercept(y, x), 4)", "regr_r2": "round(regr_r2(y, x), 4)",
}

// windowExamples are calls over [SampleRows].
var windowExamples = map[string]string{
	"row_number": "row_number() OVER (ORDER BY x)", "rank": "rank() OVER (ORDER BY g)", "dense_rank": "dense_rank() OVER (ORDER BY g)", "percent_rank": "percent_rank() OVER (ORDER BY x)", "cume_dist": "round(cume_dist() OVER (ORDER BY g), 4)",
	"ntile": "ntile(2) OVER (ORDER BY x)", "lag": "lag(x, 1, 0) OVER (ORDER BY x)", "lead": "lead(x) OVER (ORDER BY x)", "first_value": "first_value(x) OVER (PARTITION BY g ORDER BY x)", "last_value": "last_value(x) OVER (PARTITION BY g)",
	"nth_value": "nth_value(x, 2) OVER (PARTITION BY g)",
}
