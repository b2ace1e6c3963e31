import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.Date;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;

/** Prepared statements: parameters of every type, again and again, and changes by them. */
final class Parameters {
  private Parameters() {}

  static void checks(Suite suite, Loam loam) {
    suite.check("parameters: integers", () -> echo(loam, "BIGINT", (ps, i) -> ps.setLong(i, Long.MAX_VALUE), "9223372036854775807"));
    suite.check("parameters: int", () -> echo(loam, "INT", (ps, i) -> ps.setInt(i, -5), "-5"));
    suite.check("parameters: double", () -> echo(loam, "DOUBLE", (ps, i) -> ps.setDouble(i, 0.1), "0.1"));
    suite.check("parameters: boolean", () -> echo(loam, "BOOLEAN", (ps, i) -> ps.setBoolean(i, true), "true"));
    suite.check("parameters: text", () -> echo(loam, "TEXT", (ps, i) -> ps.setString(i, "it's \"ü\" 🦊\n"), "it's \"ü\" 🦊\n"));
    suite.check("parameters: decimal (gizmosql 1.22.0)", () -> echo(loam, "DECIMAL(18,3)", (ps, i) -> ps.setBigDecimal(i, new BigDecimal("-12345.678")), "-12345.678"));
    suite.check("parameters: bytes", () -> echo(loam, "BINARY", (ps, i) -> ps.setBytes(i, new byte[] {0, (byte) 0x84, -1}), "0084ff"));
    suite.check("parameters: date", () -> echo(loam, "DATE", (ps, i) -> ps.setDate(i, Date.valueOf("1969-12-31")), "1969-12-31"));
    suite.check("parameters: timestamp", () -> echo(loam, "TIMESTAMP", (ps, i) -> ps.setTimestamp(i, Timestamp.valueOf("2020-01-02 03:04:05.678")), "2020-01-02 03:04:05.678"));
    suite.check("parameters: time", () -> echo(loam, "TIME", (ps, i) -> ps.setTime(i, Time.valueOf("10:11:12")), "10:11:12"));
    suite.check("parameters: UUID", () -> echo(loam, "UUID", (ps, i) -> ps.setString(i, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"));
    suite.check("parameters: a list", () -> list(loam));
    suite.check("parameters: NULL of every type", () -> nulls(loam));
    suite.check("parameters: a parameter of any type is text", () -> open(loam));
    suite.check("parameters: described", () -> described(loam));
    suite.check("parameters: rebound and run again", () -> rebound(loam));
    suite.check("parameters: missing and superfluous", () -> wrongCount(loam));
    suite.check("parameters: a value that does not fit", () -> wrongValue(loam));
    suite.check("parameters: $1 twice, in any order", () -> numbered(loam));
    suite.check("parameters: ? in the order of the text", () -> ordered(loam));
    suite.check("parameters: LIMIT and OFFSET", () -> limit(loam));
    suite.check("parameters: in IN, LIKE, BETWEEN, CASE", () -> places(loam));
    suite.check("parameters: vector search by a list in text", () -> vector(loam));
    suite.check("parameters: insert, update and delete count rows", () -> changes(loam));
    suite.check("parameters: a batch of a thousand rows", () -> batch(loam));
    suite.check("parameters: a batch with NULLs", () -> batchNulls(loam));
    suite.check("parameters: insert into a collection is an upsert", () -> upsert(loam));
    suite.check("parameters: two statements at once on one connection", () -> interleaved(loam));
    suite.check("parameters: a statement survives a change of its table", () -> survives(loam));
    suite.check("parameters: a text of a mebibyte", () -> large(loam));
  }

  interface Setter {
    void set(PreparedStatement ps, int index) throws SQLException;
  }

  /** Sends a value as a parameter of a type and reads it back. */
  private static void echo(Loam loam, String type, Setter setter, String want) throws Exception {
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT CAST(? AS " + type + ") AS v")) {
      setter.set(ps, 1);
      Loam.equal("value", Loam.text(ps.executeQuery()), want);
    }
    String t = Loam.fresh("p");
    loam.run("CREATE TABLE " + t + " (v " + type + ")");
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("INSERT INTO " + t + " VALUES (?)")) {
      setter.set(ps, 1);
      Loam.equal("count", ps.executeUpdate(), 1);
      Loam.equal("stored", Loam.query(conn, "SELECT v FROM " + t), want);
      try (PreparedStatement find = conn.prepareStatement("SELECT count(*) FROM " + t + " WHERE v = ?")) {
        setter.set(find, 1);
        Loam.equal("found", Loam.text(find.executeQuery()), "1");
      }
    }
  }

  private static void list(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT CAST(? AS BIGINT[])")) {
      ps.setArray(1, conn.createArrayOf("BIGINT", new Long[] {1L, 2L}));
      Loam.equal("value", Loam.text(ps.executeQuery()), "[1,2]");
    }
  }

  private static void nulls(Loam loam) throws Exception {
    String t = Loam.fresh("p");
    loam.run("CREATE TABLE " + t + " (b BOOLEAN, i INT, l BIGINT, d DOUBLE, n DECIMAL(9,2), s TEXT, x BINARY, dt DATE, ts TIMESTAMP)");
    int[] types = {Types.BOOLEAN, Types.INTEGER, Types.BIGINT, Types.DOUBLE, Types.DECIMAL, Types.VARCHAR, Types.VARBINARY, Types.DATE, Types.TIMESTAMP};
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("INSERT INTO " + t + " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
      for (int i = 0; i < types.length; i++) {
        ps.setNull(i + 1, types[i]);
      }
      Loam.equal("count", ps.executeUpdate(), 1);
      Loam.equal("row", Loam.query(conn, "SELECT * FROM " + t), "null|null|null|null|null|null|null|null|null");
    }
  }

  private static void open(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT ? AS v")) {
      ps.setString(1, "x");
      Loam.equal("text", Loam.text(ps.executeQuery()), "x");
    }
  }

  private static void described(Loam loam) throws Exception {
    String t = Loam.fresh("p");
    loam.run("CREATE TABLE " + t + " (a INT, b TEXT, c DECIMAL(9,2))");
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT b FROM " + t + " WHERE a = ? AND b LIKE ? AND c > ?")) {
      ParameterMetaData meta = ps.getParameterMetaData();
      Loam.equal("count", meta.getParameterCount(), 3);
      Loam.equal("first", meta.getParameterType(1), Types.INTEGER);
      Loam.equal("second", meta.getParameterType(2), Types.VARCHAR);
      Loam.equal("result", Loam.labels(ps.getMetaData()), "b");
    }
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT 1")) {
      Loam.equal("none", ps.getParameterMetaData().getParameterCount(), 0);
    }
  }

  private static void rebound(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT CAST(? AS BIGINT) * 2")) {
      for (long i = 0; i < 50; i++) {
        ps.setLong(1, i);
        Loam.equal("round " + i, Loam.text(ps.executeQuery()), String.valueOf(2 * i));
      }
      Loam.equal("the same again", Loam.text(ps.executeQuery()), "98");
    }
  }

  private static void wrongCount(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT CAST(? AS INT) + CAST(? AS INT)")) {
      ps.setInt(1, 1);
      Loam.fails(() -> ps.setInt(3, 1));
      ps.setInt(2, 2);
      Loam.equal("sum", Loam.text(ps.executeQuery()), "3");
    }
    Connection conn = loam.connect();
    PreparedStatement ps = conn.prepareStatement("SELECT CAST(? AS INT) + CAST(? AS INT)");
    ps.setInt(1, 1);
    Loam.fails(ps::executeQuery);
    // The driver loses the memory of the parameters that it could not send, and says so.
    Loam.fails(conn::close, "Memory was leaked");
  }

  private static void wrongValue(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT CAST(CAST(? AS TEXT) AS INT)")) {
      ps.setString(1, "twelve");
      Loam.fails(() -> Loam.text(ps.executeQuery()), "twelve");
      ps.setString(1, "12");
      Loam.equal("then it works", Loam.text(ps.executeQuery()), "12");
    }
  }

  private static void numbered(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT $2::TEXT || $1::TEXT || $2::TEXT")) {
      ps.setString(1, "a");
      ps.setString(2, "b");
      Loam.equal("value", Loam.text(ps.executeQuery()), "bab");
    }
  }

  private static void ordered(Loam loam) throws Exception {
    String sql = "WITH c AS (SELECT CAST(? AS TEXT) AS x) SELECT CAST(? AS TEXT), x FROM c WHERE x <> CAST(? AS TEXT)";
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement(sql)) {
      ps.setString(1, "one");
      ps.setString(2, "two");
      ps.setString(3, "three");
      Loam.equal("row", Loam.text(ps.executeQuery()), "two|one");
    }
  }

  private static void limit(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT * FROM range(10) ORDER BY 1 LIMIT ? OFFSET ?")) {
      ps.setLong(1, 2);
      ps.setLong(2, 3);
      Loam.equal("rows", Loam.text(ps.executeQuery()), "3\n4");
    }
  }

  private static void places(Loam loam) throws Exception {
    String t = Loam.fresh("p");
    loam.run("CREATE TABLE " + t + " (a INT, s TEXT)", "INSERT INTO " + t + " VALUES (1, 'one'), (2, 'two'), (3, 'three')");
    String sql = "SELECT a, CASE WHEN a = ? THEN ? ELSE s END FROM " + t + " WHERE a IN (?, ?) AND s LIKE ? AND a BETWEEN ? AND ? ORDER BY a";
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement(sql)) {
      ps.setInt(1, 2);
      ps.setString(2, "TWO");
      ps.setInt(3, 2);
      ps.setInt(4, 3);
      ps.setString(5, "t%");
      ps.setInt(6, 1);
      ps.setInt(7, 9);
      Loam.equal("rows", Loam.text(ps.executeQuery()), "2|TWO\n3|three");
    }
  }

  private static void vector(Loam loam) throws Exception {
    String t = Loam.fresh("p");
    loam.run("CREATE COLLECTION " + t + " (id TEXT PRIMARY KEY, body TEXT FULLTEXT 'english', emb VECTOR(2) DISTANCE l2)", "INSERT INTO " + t + " VALUES ('a', 'fox', [1, 0]), ('b', 'dog', [0, 1])");
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT id FROM text_search(" + t + ", ?)")) {
      ps.setString(1, "dogs");
      Loam.equal("text", Loam.text(ps.executeQuery()), "b");
    }
  }

  private static void changes(Loam loam) throws Exception {
    String t = Loam.fresh("p");
    loam.run("CREATE TABLE " + t + " (a INT, b TEXT)");
    try (Connection conn = loam.connect()) {
      try (PreparedStatement ps = conn.prepareStatement("INSERT INTO " + t + " SELECT r, ? FROM range(10) x(r)")) {
        ps.setString(1, "v");
        Loam.equal("inserted", ps.executeUpdate(), 10);
        Loam.equal("getUpdateCount", ps.getUpdateCount(), 10);
      }
      try (PreparedStatement ps = conn.prepareStatement("UPDATE " + t + " SET b = ? WHERE a < ?")) {
        ps.setString(1, "w");
        ps.setInt(2, 4);
        Loam.equal("updated", ps.executeUpdate(), 4);
        ps.setInt(2, 0);
        Loam.equal("none updated", ps.executeUpdate(), 0);
      }
      try (PreparedStatement ps = conn.prepareStatement("DELETE FROM " + t + " WHERE b = ?")) {
        ps.setString(1, "w");
        Loam.equal("deleted", ps.executeUpdate(), 4);
      }
      Loam.equal("left", Loam.query(conn, "SELECT count(*), min(a) FROM " + t), "6|4");
    }
  }

  private static void batch(Loam loam) throws Exception {
    String t = Loam.fresh("p");
    loam.run("CREATE TABLE " + t + " (a BIGINT, b TEXT, c DOUBLE)");
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("INSERT INTO " + t + " VALUES (?, ?, ?)")) {
      for (int i = 0; i < 1000; i++) {
        ps.setLong(1, i);
        ps.setString(2, "row " + i);
        ps.setDouble(3, i / 2.0);
        ps.addBatch();
      }
      int total = 0;
      for (int count : ps.executeBatch()) {
        total += count;
      }
      Loam.equal("count", total, 1000);
      Loam.equal("stored", Loam.query(conn, "SELECT count(*), sum(a), max(c), count(DISTINCT b) FROM " + t), "1000|499500|499.5|1000");
    }
  }

  private static void batchNulls(Loam loam) throws Exception {
    String t = Loam.fresh("p");
    loam.run("CREATE TABLE " + t + " (a INT, b TEXT)");
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("INSERT INTO " + t + " VALUES (?, ?)")) {
      for (int i = 0; i < 4; i++) {
        if (i % 2 == 0) {
          ps.setNull(1, Types.INTEGER);
        } else {
          ps.setInt(1, i);
        }
        ps.setString(2, i == 3 ? null : "b" + i);
        ps.addBatch();
      }
      ps.executeBatch();
      Loam.equal("stored", Loam.query(conn, "SELECT a, b FROM " + t + " ORDER BY a NULLS FIRST, b"), "null|b0\nnull|b2\n1|b1\n3|null");
    }
  }

  private static void upsert(Loam loam) throws Exception {
    String t = Loam.fresh("p");
    loam.run("CREATE COLLECTION " + t + " (id TEXT PRIMARY KEY, n INT)");
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("INSERT INTO " + t + " VALUES (?, ?)")) {
      for (int i = 0; i < 6; i++) {
        ps.setString(1, "k" + i % 3);
        ps.setInt(2, i);
        Loam.equal("count", ps.executeUpdate(), 1);
      }
      Loam.equal("rows", Loam.query(conn, "SELECT id, n FROM " + t + " ORDER BY id"), "k0|3\nk1|4\nk2|5");
    }
  }

  private static void interleaved(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        PreparedStatement a = conn.prepareStatement("SELECT r FROM range(5) x(r) WHERE r >= ? ORDER BY r");
        PreparedStatement b = conn.prepareStatement("SELECT -r FROM range(5) x(r) WHERE r >= ? ORDER BY r")) {
      a.setLong(1, 2);
      b.setLong(1, 3);
      ResultSet ra = a.executeQuery();
      ResultSet rb = b.executeQuery();
      Loam.isTrue(ra.next() && rb.next(), "no rows");
      Loam.equal("first rows", ra.getLong(1) + "," + rb.getLong(1), "2,-3");
      Loam.equal("the rest of b", Loam.text(rb), "-4");
      Loam.equal("the rest of a", Loam.text(ra), "3\n4");
    }
  }

  private static void survives(Loam loam) throws Exception {
    String t = Loam.fresh("p");
    loam.run("CREATE TABLE " + t + " (a INT)");
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT count(*) FROM " + t)) {
      Loam.equal("empty", Loam.text(ps.executeQuery()), "0");
      loam.run("INSERT INTO " + t + " VALUES (1), (2)");
      Loam.equal("filled", Loam.text(ps.executeQuery()), "2");
      loam.run("DROP TABLE " + t);
      Loam.fails(ps::executeQuery, t);
    }
  }

  private static void large(Loam loam) throws Exception {
    String text = "0123456789abcdef".repeat(1 << 16);
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("SELECT length(CAST(? AS TEXT)), CAST(? AS TEXT)")) {
      ps.setString(1, text);
      ps.setString(2, text);
      Loam.equal("row", Loam.text(ps.executeQuery()), (1 << 20) + "|" + text);
    }
  }
}
