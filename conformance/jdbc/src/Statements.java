import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

/** Plain statements: queries of every form, DDL and DML that really happen, limits. */
final class Statements {
  private Statements() {}

  static void checks(Suite suite, Loam loam) {
    suite.check("statements: SELECT without a table (arrow#37633)", () -> Loam.equal("rows", loam.query("SELECT 1, 'x'"), "1|x"));
    suite.check("statements: WITH (arrow#37633)", () -> Loam.equal("rows", loam.query("WITH c AS (SELECT 1 AS a UNION ALL SELECT 2) SELECT sum(a) FROM c"), "3"));
    suite.check("statements: VALUES (arrow#37633)", () -> Loam.equal("rows", loam.query("VALUES (1, 'a'), (2, 'b')"), "1|a\n2|b"));
    suite.check("statements: EXPLAIN (arrow#37633)", () -> says(loam.query("EXPLAIN SELECT 1"), "Project"));
    suite.check("statements: EXPLAIN ANALYZE (arrow#37633)", () -> says(loam.query("EXPLAIN ANALYZE SELECT 1"), "Project"));
    suite.check("statements: SHOW (arrow#37633)", () -> show(loam));
    suite.check("statements: DESCRIBE (arrow#37633)", () -> describe(loam));
    suite.check("statements: TABLE and FROM first", () -> Loam.equal("rows", loam.query("FROM (VALUES (1)) t"), "1"));
    suite.check("statements: comments and semicolons", () -> Loam.equal("rows", loam.query("-- Metabase:: userID: 1\n/* hint */ SELECT 1 ; "), "1"));
    suite.check("statements: & : ? in text (doris#58830)", () -> Loam.equal("rows", loam.query("SELECT 'a&b:c?d=%20🦊' AS \"x&y?\""), "a&b:c?d=%20🦊"));
    suite.check("statements: a text of a million characters (doris#58830)", () -> Loam.equal("rows", loam.query("SELECT length('" + "x&".repeat(500_000) + "')"), "1000000"));
    suite.check("statements: answers without rows (doris#67368)", () -> empty(loam));
    suite.check("statements: LIMIT 0 and WHERE FALSE have columns (doris#67368)", () -> columnsOnly(loam));
    suite.check("statements: point look-up (doris#67368)", () -> point(loam));
    suite.check("statements: DDL through executeUpdate happens (datafusion-flight-sql-server)", () -> ddl(loam));
    suite.check("statements: DDL through execute and executeQuery happens once (gizmosql#134)", () -> ddlAnyWay(loam));
    suite.check("statements: DML counts rows", () -> dml(loam));
    suite.check("statements: execute tells query from change", () -> execute(loam));
    suite.check("statements: a query is no update", () -> queryAsUpdate(loam));
    suite.check("statements: getUpdateCount and getMoreResults", () -> moreResults(loam));
    suite.check("statements: setMaxRows", () -> maxRows(loam));
    suite.check("statements: setFetchSize", () -> fetchSize(loam));
    suite.check("statements: a statement runs many queries", () -> reuse(loam));
    suite.check("statements: closing a result early", () -> closeEarly(loam));
    suite.check("statements: closeOnCompletion, isClosed", () -> closing(loam));
    suite.check("statements: result set walks and places", () -> walk(loam));
    suite.check("statements: CREATE TABLE AS, INSERT SELECT", () -> createAs(loam));
    suite.check("statements: SET, RESET", () -> set(loam));
    suite.check("statements: DROP IF EXISTS twice", () -> drop(loam));
    suite.check("statements: several statements in one text", () -> several(loam));
  }

  private static void says(String text, String word) {
    Loam.isTrue(text.contains(word), "no <" + word + "> in <" + text + ">");
  }

  private static void show(Loam loam) throws Exception {
    says(loam.query("SHOW SCHEMAS"), "public");
    says(loam.query("SHOW FUNCTIONS"), "date_trunc");
    loam.query("SHOW TABLES");
    says(loam.query("SHOW ALL"), "schema");
  }

  private static void describe(Loam loam) throws Exception {
    String t = Loam.fresh("s");
    loam.run("CREATE TABLE " + t + " (a INT, b TEXT)");
    says(loam.query("DESCRIBE " + t), "a|INT");
  }

  private static void empty(Loam loam) throws Exception {
    String t = Loam.fresh("s");
    loam.run("CREATE TABLE " + t + " (a INT, b TEXT)");
    Loam.equal("table", loam.query("SELECT * FROM " + t), "");
    Loam.equal("false", loam.query("SELECT 1 WHERE FALSE"), "");
    Loam.equal("aggregate", loam.query("SELECT count(*), max(a) FROM " + t), "0|null");
    Loam.equal("grouped", loam.query("SELECT a, count(*) FROM " + t + " GROUP BY a"), "");
    Loam.equal("limit", loam.query("SELECT * FROM range(10) LIMIT 0"), "");
  }

  private static void columnsOnly(Loam loam) throws Exception {
    String t = Loam.fresh("s");
    loam.run("CREATE TABLE " + t + " (a INT, b TEXT, c DECIMAL(9,2))", "INSERT INTO " + t + " VALUES (1, 'x', 1.5)");
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      for (String tail : new String[] {"LIMIT 0", "WHERE 1 = 0", "WHERE FALSE", "LIMIT 1"}) {
        String sql = "SELECT * FROM " + t + " " + tail;
        try (ResultSet rs = st.executeQuery(sql)) {
          // Without rows this driver lists the columns twice: those of prepare, and again.
          String labels = Loam.labels(rs.getMetaData());
          Loam.isTrue(labels.equals("a|b|c") || !tail.equals("LIMIT 1") && labels.equals("a|b|c|a|b|c"), labels);
          Loam.equal(tail, rs.getMetaData().getColumnType(3), java.sql.Types.DECIMAL);
          Loam.equal(tail, rs.next(), tail.equals("LIMIT 1"));
        }
        try (PreparedStatement ps = conn.prepareStatement(sql);
            ResultSet rs = ps.executeQuery()) {
          Loam.equal(tail, Loam.labels(rs.getMetaData()), "a|b|c");
        }
      }
    }
  }

  private static void point(Loam loam) throws Exception {
    String t = Loam.fresh("s");
    loam.run("CREATE COLLECTION " + t + " (id TEXT PRIMARY KEY, n INT)", "INSERT INTO " + t + " VALUES ('a', 1), ('b', 2)");
    Loam.equal("key", loam.query("SELECT n FROM " + t + " WHERE id = 'b'"), "2");
    Loam.equal("_pk", loam.query("SELECT n FROM " + t + " WHERE _pk = 'b'"), "2");
    Loam.equal("no such key", loam.query("SELECT n FROM " + t + " WHERE _pk = 'zz'"), "");
  }

  private static void ddl(Loam loam) throws Exception {
    String t = Loam.fresh("s");
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      Loam.equal("create", st.executeUpdate("CREATE TABLE " + t + " (a INT)"), 0);
      Loam.equal("insert", st.executeUpdate("INSERT INTO " + t + " VALUES (1), (2), (3)"), 3);
    }
    Loam.equal("read back", loam.query("SELECT count(*) FROM " + t), "3");
    loam.run("DROP TABLE " + t);
    Loam.fails(() -> loam.query("SELECT 1 FROM " + t), t);
  }

  private static void ddlAnyWay(Loam loam) throws Exception {
    String t = Loam.fresh("s");
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      Loam.equal("execute", st.execute("CREATE TABLE " + t + " (a INT)"), false);
      Loam.equal("execute", st.execute("INSERT INTO " + t + " VALUES (1)"), false);
    }
    Loam.equal("once", loam.query("SELECT count(*) FROM " + t), "1");
  }

  private static void dml(Loam loam) throws Exception {
    String t = Loam.fresh("s");
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      st.executeUpdate("CREATE TABLE " + t + " (a BIGINT)");
      Loam.equal("insert", st.executeUpdate("INSERT INTO " + t + " SELECT * FROM range(5000)"), 5000);
      Loam.equal("update", st.executeUpdate("UPDATE " + t + " SET a = a + 1 WHERE a < 100"), 100);
      Loam.equal("delete", st.executeLargeUpdate("DELETE FROM " + t + " WHERE a >= 4000"), 1000L);
      Loam.equal("nothing", st.executeUpdate("DELETE FROM " + t + " WHERE FALSE"), 0);
    }
  }

  private static void execute(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      Loam.equal("query", st.execute("SELECT 1"), true);
      Loam.equal("rows", Loam.text(st.getResultSet()), "1");
      Loam.equal("change", st.execute("CREATE TABLE " + Loam.fresh("s") + " (a INT)"), false);
      Loam.equal("no rows", st.getResultSet(), null);
    }
  }

  private static void queryAsUpdate(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      try {
        Loam.isTrue(st.executeUpdate("SELECT 1") <= 0, "a query changed rows");
      } catch (java.sql.SQLException refused) {
        Loam.isTrue(refused.getMessage() != null, "an error without a text");
      }
      Loam.equal("after", Loam.query(conn, "SELECT 2"), "2");
    }
  }

  private static void moreResults(Loam loam) throws Exception {
    String t = Loam.fresh("s");
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      st.execute("CREATE TABLE " + t + " (a INT)");
      st.execute("INSERT INTO " + t + " VALUES (1), (2)");
      Loam.equal("count", st.getUpdateCount(), 2);
      Loam.equal("more", st.getMoreResults(), false);
      Loam.equal("then none", st.getUpdateCount(), -1);
    }
  }

  private static void maxRows(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      st.setMaxRows(7);
      Loam.equal("getMaxRows", st.getMaxRows(), 7);
      Loam.equal("rows", Loam.text(st.executeQuery("SELECT * FROM range(100)")).split("\n").length, 7);
    }
  }

  private static void fetchSize(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      st.setFetchSize(10);
      Loam.equal("rows", Loam.text(st.executeQuery("SELECT * FROM range(5000)")).split("\n").length, 5000);
    }
  }

  private static void reuse(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      for (int i = 0; i < 200; i++) {
        Loam.equal("round", Loam.text(st.executeQuery("SELECT " + i)), String.valueOf(i));
      }
    }
  }

  private static void closeEarly(Loam loam) throws Exception {
    try (Connection conn = loam.connect()) {
      for (int i = 0; i < 20; i++) {
        try (Statement st = conn.createStatement();
            ResultSet rs = st.executeQuery("SELECT * FROM range(1000000)")) {
          Loam.isTrue(rs.next(), "no row");
        }
      }
      Loam.equal("after", Loam.query(conn, "SELECT 1"), "1");
    }
  }

  private static void closing(Loam loam) throws Exception {
    try (Connection conn = loam.connect()) {
      Statement st = conn.createStatement();
      ResultSet rs = st.executeQuery("SELECT 1");
      rs.close();
      Loam.isTrue(rs.isClosed(), "the result is open");
      st.close();
      Loam.isTrue(st.isClosed(), "the statement is open");
      st.close();
      Loam.fails(() -> st.executeQuery("SELECT 1"));
    }
  }

  private static void walk(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement();
        ResultSet rs = st.executeQuery("SELECT * FROM range(3)")) {
      Loam.equal("type", rs.getType(), ResultSet.TYPE_FORWARD_ONLY);
      int rows = 0;
      while (rs.next()) {
        rows++;
      }
      Loam.equal("rows", rows, 3);
      Loam.isTrue(!rs.next(), "a row after the last");
    }
  }

  private static void createAs(Loam loam) throws Exception {
    String t = Loam.fresh("s");
    loam.run("CREATE TABLE " + t + " AS SELECT r AS a, r * 2 AS b FROM range(10) x(r)", "INSERT INTO " + t + " SELECT a + 10, b FROM " + t);
    Loam.equal("rows", loam.query("SELECT count(*), max(a), sum(b) FROM " + t), "20|19|180");
  }

  private static void set(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      st.execute("SET schema = 'public'");
      st.execute("RESET schema");
      Loam.fails(() -> st.execute("SET no_such_setting = 1"), "no_such_setting");
    }
  }

  private static void drop(Loam loam) throws Exception {
    String t = Loam.fresh("s");
    loam.run("CREATE TABLE IF NOT EXISTS " + t + " (a INT)", "CREATE TABLE IF NOT EXISTS " + t + " (a INT)", "DROP TABLE IF EXISTS " + t, "DROP TABLE IF EXISTS " + t);
    Loam.fails(() -> loam.run("DROP TABLE " + t), t);
  }

  private static void several(Loam loam) throws Exception {
    Loam.fails(() -> loam.query("SELECT 1; SELECT 2"));
  }
}
