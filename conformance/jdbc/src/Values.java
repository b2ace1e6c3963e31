import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.Date;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Values of every type through every getter that fits. */
final class Values {
  private Values() {}

  static void checks(Suite suite, Loam loam) {
    suite.check("values: boolean", () -> one(loam, "SELECT TRUE, FALSE, NULL::BOOLEAN", Values::bool));
    suite.check("values: integers to their limits", () -> one(loam, "SELECT 2147483647, -2147483648, 9223372036854775807, -9223372036854775807 - 1", Values::integers));
    suite.check("values: doubles", () -> one(loam, "SELECT 1.5e0, -0.1::DOUBLE, 1e308, 5e-324, 'NaN'::DOUBLE, 'Infinity'::DOUBLE", Values::doubles));
    suite.check("values: decimal(38,10) to the last digit", () -> one(loam, "SELECT 1234567890123456789012345678.0123456789::DECIMAL(38,10), -0.0000000001::DECIMAL(38,10), 12.50::DECIMAL(12,2)", Values::decimals));
    suite.check("values: text in every script", () -> one(loam, "SELECT 'plain', '', 'größe', '日本語', '🦊 & <b>', 'it''s', 'a\nb'", Values::texts));
    suite.check("values: bytes (doris#67371)", () -> one(loam, "SELECT X'0084ff', X'', NULL::BINARY", Values::bytes));
    suite.check("values: dates before 1970 and far", () -> one(loam, "SELECT DATE '1969-12-31', DATE '1600-02-29', DATE '2024-02-29', DATE '9999-12-31'", Values::dates));
    suite.check("values: timestamps before 1970, to the microsecond", () -> one(loam, "SELECT TIMESTAMP '1969-12-31 23:59:59.999999', TIMESTAMP '2024-02-29 12:34:56.123456', TIMESTAMP '0001-01-01 00:00:00'", Values::timestamps));
    suite.check("values: a timestamp with an offset is its instant", () -> one(loam, "SELECT CAST('1970-01-01 10:46:41 +08:00' AS TIMESTAMP)", rs -> Loam.equal("instant", rs.getTimestamp(1).toInstant().toString(), "1970-01-01T02:46:41Z")));
    suite.check("values: intervals, also negative", () -> one(loam, "SELECT INTERVAL '1 year 2 months', INTERVAL '-3 days', INTERVAL '-1 month -4 hours', INTERVAL '1.5 seconds'", Values::intervals));
    suite.check("values: lists", () -> one(loam, "SELECT ['a', NULL, 'c'], [1, 2, 3], [1.5::DOUBLE]", Values::lists));
    suite.check("values: lists of a table, empty and NULL", () -> listsOfATable(loam));
    suite.check("values: JSON", () -> one(loam, "SELECT '{\"a\": [1, 2]}'::JSON", rs -> Loam.equal("text", rs.getString(1), "{\"a\": [1, 2]}")));
    suite.check("values: vectors", () -> vectors(loam));
    suite.check("values: NULL of every type", () -> nulls(loam));
    suite.check("values: conversions between getters", () -> one(loam, "SELECT 42, '17', 1.75::DECIMAL(5,2), DATE '2020-05-06'", Values::conversions));
    suite.check("values: UUID", () -> one(loam, "SELECT CAST('A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11' AS UUID)", rs -> Loam.equal("text", rs.getString(1), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")));
    suite.check("values: TIME", () -> one(loam, "SELECT CAST('10:11:12.5' AS TIME), TIME '00:00:00'", Values::times));
    suite.check("values: STRUCT, MAP, lists of them", () -> one(loam, "SELECT {a: 1, b: 'x'}, MAP {'k': 1}, [{a: 1}, NULL], [[1, 2], [3]]", Values::nested));
    suite.check("values: getObject with a class", () -> one(loam, "SELECT 7, 'x', 1.25::DECIMAL(4,2)", Values::classes));
    suite.check("values: types of a result's columns", () -> types(loam));
    suite.check("values: labels with spaces and colons", () -> labels(loam));
    suite.check("values: duplicate column names", () -> one(loam, "SELECT 1 AS a, 2 AS a", Values::duplicates));
    suite.check("values: columns found by label", () -> byLabel(loam));
    suite.check("values: strings from functions and documents (spiceai#9253)", () -> functions(loam));
  }

  interface Row {
    void read(ResultSet rs) throws Exception;
  }

  /** Runs a query of one row. */
  private static void one(Loam loam, String sql, Row body) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement();
        ResultSet rs = st.executeQuery(sql)) {
      Loam.isTrue(rs.next(), "no row");
      body.read(rs);
      Loam.isTrue(!rs.next(), "a second row");
    }
  }

  private static void bool(ResultSet rs) throws SQLException {
    Loam.equal("true", rs.getBoolean(1), true);
    Loam.equal("false", rs.getObject(2), false);
    Loam.equal("text", rs.getString(1), "true");
    Loam.equal("null", rs.getBoolean(3), false);
    Loam.isTrue(rs.wasNull(), "wasNull");
  }

  private static void integers(ResultSet rs) throws SQLException {
    Loam.equal("int", rs.getInt(1), Integer.MAX_VALUE);
    Loam.equal("smallest int", rs.getInt(2), Integer.MIN_VALUE);
    Loam.equal("bigint", rs.getLong(3), Long.MAX_VALUE);
    Loam.equal("smallest bigint", rs.getLong(4), Long.MIN_VALUE);
    Loam.equal("as decimal", rs.getBigDecimal(3), BigDecimal.valueOf(Long.MAX_VALUE));
    Loam.equal("as text", rs.getString(4), "-9223372036854775808");
  }

  private static void doubles(ResultSet rs) throws SQLException {
    Loam.equal("1.5", rs.getDouble(1), 1.5);
    Loam.equal("-0.1", rs.getObject(2), -0.1);
    Loam.equal("large", rs.getDouble(3), 1e308);
    Loam.equal("small", rs.getDouble(4), Double.MIN_VALUE);
    Loam.equal("NaN", rs.getDouble(5), Double.NaN);
    Loam.equal("infinity", rs.getDouble(6), Double.POSITIVE_INFINITY);
    Loam.equal("float", rs.getFloat(1), 1.5f);
  }

  private static void decimals(ResultSet rs) throws SQLException {
    Loam.equal("long", rs.getBigDecimal(1), new BigDecimal("1234567890123456789012345678.0123456789"));
    Loam.equal("small", rs.getBigDecimal(2), new BigDecimal("-0.0000000001"));
    Loam.equal("scale", rs.getObject(3), new BigDecimal("12.50"));
    Loam.equal("text", rs.getString(3), "12.50");
    Loam.equal("precision", rs.getMetaData().getPrecision(1), 38);
    Loam.equal("scale", rs.getMetaData().getScale(1), 10);
  }

  private static void texts(ResultSet rs) throws SQLException {
    String[] want = {"plain", "", "größe", "日本語", "🦊 & <b>", "it's", "a\nb"};
    for (int i = 0; i < want.length; i++) {
      Loam.equal("text", rs.getString(i + 1), want[i]);
      Loam.equal("object", rs.getObject(i + 1), want[i]);
    }
    Loam.equal("bytes", new String(rs.getBytes(4), StandardCharsets.UTF_8), "日本語");
  }

  private static void bytes(ResultSet rs) throws SQLException {
    Loam.equal("bytes", Loam.cell(rs.getBytes(1)), "0084ff");
    Loam.equal("object", Loam.cell(rs.getObject(1)), "0084ff");
    Loam.equal("empty", rs.getBytes(2).length, 0);
    Loam.equal("null", rs.getBytes(3), null);
  }

  private static void dates(ResultSet rs) throws SQLException {
    String[] want = {"1969-12-31", "1600-02-29", "2024-02-29", "9999-12-31"};
    for (int i = 0; i < want.length; i++) {
      Loam.equal("text", rs.getString(i + 1), want[i]);
    }
    Loam.equal("date", rs.getDate(1), Date.valueOf("1969-12-31"));
    Loam.equal("object", rs.getObject(3), Date.valueOf("2024-02-29"));
    Loam.equal("local date", rs.getDate(3).toLocalDate(), LocalDate.of(2024, 2, 29));
  }

  private static void timestamps(ResultSet rs) throws SQLException {
    Loam.equal("before 1970", rs.getTimestamp(1), Timestamp.valueOf("1969-12-31 23:59:59.999999"));
    Loam.equal("object", rs.getObject(2), Timestamp.valueOf("2024-02-29 12:34:56.123456"));
    Loam.equal("local", rs.getTimestamp(2).toLocalDateTime(), LocalDateTime.of(2024, 2, 29, 12, 34, 56, 123_456_000));
    Loam.isTrue(rs.getString(1).startsWith("1969-12-31 23:59:59.999"), rs.getString(1));
    Loam.isTrue(rs.getString(3).startsWith("0001-01-01"), rs.getString(3));
  }

  private static void intervals(ResultSet rs) throws SQLException {
    Loam.equal("months", String.valueOf(rs.getObject(1)), "P14M PT0S");
    Loam.equal("days", String.valueOf(rs.getObject(2)), "P-3D PT0S");
    Loam.isTrue(rs.getString(3) != null && rs.getString(4) != null, "text");
  }

  private static void lists(ResultSet rs) throws SQLException {
    Loam.equal("texts", Loam.cell(rs.getArray(1)), "[a,null,c]");
    Loam.equal("integers", Loam.cell(rs.getObject(2)), "[1,2,3]");
    Loam.equal("doubles", Loam.cell(rs.getArray(3)), "[1.5]");
    Loam.equal("length", ((Object[]) rs.getArray(2).getArray()).length, 3);
  }

  private static void listsOfATable(Loam loam) throws Exception {
    String t = Loam.fresh("lists");
    loam.run("CREATE TABLE " + t + " (n INT, tags TEXT[])", "INSERT INTO " + t + " VALUES (1, ['x', 'y']), (2, []), (3, NULL), (4, ['z'])");
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement();
        ResultSet rs = st.executeQuery("SELECT tags FROM " + t + " ORDER BY n")) {
      List<String> got = new ArrayList<>();
      while (rs.next()) {
        got.add(Loam.cell(rs.getArray(1)));
      }
      Loam.equal("lists", got, List.of("[x,y]", "[]", "null", "[z]"));
    }
  }

  private static void vectors(Loam loam) throws Exception {
    String t = Loam.fresh("vec");
    loam.run("CREATE COLLECTION " + t + " (id TEXT PRIMARY KEY, emb VECTOR(3) DISTANCE l2)", "INSERT INTO " + t + " VALUES ('a', [1, 2, 3]), ('b', NULL)");
    Loam.equal("rows", loam.query("SELECT id, emb FROM " + t + " ORDER BY id"), "a|[1.0,2.0,3.0]\nb|null");
    Loam.equal("search", loam.query("SELECT id FROM vector_search(" + t + ", [1, 2, 2], k => 1)"), "a");
  }

  private static void nulls(Loam loam) throws Exception {
    one(
        loam,
        "SELECT NULL, NULL::INT, NULL::BIGINT, NULL::DOUBLE, NULL::DECIMAL(5,2), NULL::TEXT, NULL::BINARY, NULL::DATE, NULL::TIMESTAMP, NULL::INTERVAL, NULL::JSON, NULL::TEXT[]",
        rs -> {
          for (int i = 1; i <= rs.getMetaData().getColumnCount(); i++) {
            Loam.equal("column " + i, rs.getObject(i), null);
            Loam.isTrue(rs.wasNull(), "wasNull of column " + i);
          }
          Loam.equal("int", rs.getInt(2), 0);
          Loam.equal("text", rs.getString(6), null);
          Loam.equal("timestamp", rs.getTimestamp(9), null);
        });
  }

  private static void conversions(ResultSet rs) throws SQLException {
    Loam.equal("int as text", rs.getString(1), "42");
    Loam.equal("int as long", rs.getLong(1), 42L);
    Loam.equal("int as double", rs.getDouble(1), 42.0);
    Loam.equal("int as short", rs.getShort(1), (short) 42);
    Loam.equal("text as int", rs.getInt(2), 17);
    Loam.equal("decimal as double", rs.getDouble(3), 1.75);
    Loam.equal("date as timestamp", rs.getTimestamp(4), Timestamp.valueOf("2020-05-06 00:00:00"));
  }

  private static void times(ResultSet rs) throws SQLException {
    Loam.equal("text", rs.getString(1), "10:11:12.500");
    Loam.equal("local", rs.getTime(1).toLocalTime().withNano(0), LocalTime.of(10, 11, 12));
    Loam.equal("midnight", rs.getTime(2).getTime(), 0L);
  }

  private static void nested(ResultSet rs) throws SQLException {
    Loam.equal("struct", rs.getString(1), "{\"a\":1,\"b\":\"x\"}");
    Loam.equal("map", String.valueOf(rs.getObject(2)), "{\"k\":1}");
    Loam.equal("list of structs", rs.getString(3), "[{\"a\":1},null]");
    Loam.equal("list of lists", rs.getString(4), "[[1,2],[3]]");
  }

  private static void classes(ResultSet rs) throws SQLException {
    Loam.equal("integer", rs.getObject(1, Integer.class), 7);
    Loam.equal("string", rs.getObject(2, String.class), "x");
    Loam.equal("decimal", rs.getObject(3, BigDecimal.class), new BigDecimal("1.25"));
  }

  private static void types(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement();
        ResultSet rs = st.executeQuery("SELECT 1 AS i, 2::BIGINT AS l, 1e0 AS d, 1.5 AS n, 'x' AS s, TRUE AS b, DATE '2020-01-01' AS dt, TIMESTAMP '2020-01-01 00:00:00' AS ts, X'00' AS x, [1] AS a")) {
      ResultSetMetaData meta = rs.getMetaData();
      int[] want = {
        java.sql.Types.INTEGER, java.sql.Types.BIGINT, java.sql.Types.DOUBLE, java.sql.Types.DECIMAL, java.sql.Types.VARCHAR,
        java.sql.Types.BOOLEAN, java.sql.Types.DATE, java.sql.Types.TIMESTAMP, java.sql.Types.VARBINARY, java.sql.Types.ARRAY
      };
      Loam.equal("columns", meta.getColumnCount(), want.length);
      for (int i = 0; i < want.length; i++) {
        Loam.equal("type of " + meta.getColumnLabel(i + 1), meta.getColumnType(i + 1), want[i]);
        meta.getColumnTypeName(i + 1);
        meta.getColumnClassName(i + 1);
        meta.getColumnDisplaySize(i + 1);
        meta.isNullable(i + 1);
      }
    }
  }

  private static void labels(Loam loam) throws Exception {
    one(
        loam,
        "SELECT 1 AS \"a b\", 2 AS \"sum:Number of Records:ok\", 3 AS \"UPPER\", 4 AS \"quo\"\"te\", 5 AS \"ß\", count(*), 1 + 1",
        rs -> {
          Loam.equal("labels", Loam.labels(rs.getMetaData()), "a b|sum:Number of Records:ok|UPPER|quo\"te|ß|count(*)|1 + 1");
          Loam.equal("by label", rs.getInt("sum:Number of Records:ok"), 2);
        });
  }

  private static void duplicates(ResultSet rs) throws SQLException {
    Loam.equal("labels", Loam.labels(rs.getMetaData()), "a|a");
    Loam.equal("values", rs.getInt(1) + "," + rs.getInt(2), "1,2");
    Loam.equal("the first by label", rs.getInt("a"), 1);
  }

  private static void byLabel(Loam loam) throws Exception {
    one(
        loam,
        "SELECT 1 AS first, 'x' AS \"Second\"",
        rs -> {
          Loam.equal("find", rs.findColumn("Second"), 2);
          Loam.equal("value", rs.getString("Second"), "x");
          Loam.fails(() -> rs.getString("third"));
        });
  }

  private static void functions(Loam loam) throws Exception {
    String t = Loam.fresh("doc");
    loam.run("CREATE COLLECTION " + t + " (id TEXT PRIMARY KEY, body TEXT)", "INSERT INTO " + t + " VALUES ('a', 'Grüße')");
    String sql = "SELECT upper(body), body || '!', 5::TEXT, substring(body FROM 2 FOR 2), _pk, length(_source) > 0 FROM " + t;
    Loam.equal("rows", loam.query(sql), "GRÜSSE|Grüße!|5|rü|a|true".replace("GRÜSSE", loam.query("SELECT upper('Grüße')")));
    Loam.isTrue(!Collections.disjoint(List.of(loam.query("SELECT _source FROM " + t)), List.of(loam.query("SELECT _source FROM " + t))), "source");
  }
}
