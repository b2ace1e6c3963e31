import java.sql.Connection;
import java.sql.Statement;

/** Errors: what they say, and that a connection lives on after each. */
final class Errors {
  private Errors() {}

  static void checks(Suite suite, Loam loam) {
    suite.check("errors: syntax, with its place", () -> says(loam, "SELECT 1 +", "42601", "line 1, column 11"));
    suite.check("errors: unknown table, with a near name", () -> nearTable(loam));
    suite.check("errors: unknown column, with a near name", () -> nearColumn(loam));
    suite.check("errors: unknown function", () -> says(loam, "SELECT no_such_function(1)", "42883", "no_such_function"));
    suite.check("errors: types that do not fit", () -> says(loam, "SELECT 1 + DATE '2020-01-01' + 'x'::BINARY", "42"));
    suite.check("errors: division by zero", () -> says(loam, "SELECT 1 / (SELECT 0)", "22012", "zero"));
    suite.check("errors: a cast that fails", () -> says(loam, "SELECT CAST('abc' AS INT)", "22P02", "abc"));
    suite.check("errors: a number out of range", () -> says(loam, "SELECT 9223372036854775807 + 1", "22003"));
    suite.check("errors: what exists already", () -> exists(loam));
    suite.check("errors: NOT NULL", () -> notNull(loam));
    suite.check("errors: the cure is told", () -> says(loam, "SELECT TOP 1 * FROM range(3)", "LIMIT"));
    suite.check("errors: the line of a long text", () -> says(loam, "SELECT 1,\n  2,\n  nothing_here\nFROM range(2)", "line 3, column 3", "nothing_here"));
    suite.check("errors: a text of 100,000 characters is cut, not fatal", () -> longText(loam));
    suite.check("errors: non-ASCII text in the message", () -> says(loam, "SELECT größe_日本 FROM range(1)", "größe_日本"));
    suite.check("errors: an empty statement", () -> emptyStatement(loam));
    suite.check("errors: a connection lives on after a hundred errors", () -> lives(loam));
    suite.check("errors: prepare tells them too", () -> prepare(loam));
  }

  private static void says(Loam loam, String sql, String... words) throws Exception {
    try (Connection conn = loam.connect()) {
      Loam.fails(() -> Loam.query(conn, sql), words);
      Loam.equal("after", Loam.query(conn, "SELECT 1"), "1");
    }
  }

  private static void nearTable(Loam loam) throws Exception {
    String t = Loam.fresh("customers");
    loam.run("CREATE TABLE " + t + " (a INT)");
    says(loam, "SELECT * FROM " + t.replace("customers", "custmers"), "42P01", t);
  }

  private static void nearColumn(Loam loam) throws Exception {
    String t = Loam.fresh("t");
    loam.run("CREATE TABLE " + t + " (quantity INT)");
    says(loam, "SELECT quantty FROM " + t, "42703", "quantity");
  }

  private static void exists(Loam loam) throws Exception {
    String t = Loam.fresh("t");
    loam.run("CREATE TABLE " + t + " (a INT)");
    says(loam, "CREATE TABLE " + t + " (a INT)", "42P07", t);
  }

  private static void notNull(Loam loam) throws Exception {
    String t = Loam.fresh("t");
    loam.run("CREATE COLLECTION " + t + " (id TEXT PRIMARY KEY, n INT NOT NULL)");
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      Loam.fails(() -> st.executeUpdate("INSERT INTO " + t + " VALUES ('a', NULL)"), "23502");
      Loam.fails(() -> st.executeUpdate("INSERT INTO " + t + " VALUES (NULL, 1)"), "23502");
      Loam.equal("count", Loam.query(conn, "SELECT count(*) FROM " + t), "0");
    }
  }

  private static void longText(Loam loam) throws Exception {
    try (Connection conn = loam.connect()) {
      Exception error = Loam.fails(() -> Loam.query(conn, "SELECT \"" + "x".repeat(100_000) + "\""), "SQLSTATE 42703");
      // The driver puts the whole statement before what the server says.
      int told = error.getCause().getMessage().length();
      Loam.isTrue(told < 2000, "the server's message has " + told + " characters");
      Loam.equal("after", Loam.query(conn, "SELECT 1"), "1");
    }
  }

  private static void emptyStatement(Loam loam) throws Exception {
    for (String sql : new String[] {"", "  ", ";", "-- nothing"}) {
      try (Connection conn = loam.connect()) {
        Loam.fails(() -> Loam.query(conn, sql));
        Loam.equal("after", Loam.query(conn, "SELECT 1"), "1");
      }
    }
  }

  private static void lives(Loam loam) throws Exception {
    try (Connection conn = loam.connect()) {
      for (int i = 0; i < 100; i++) {
        int n = i;
        Loam.fails(() -> Loam.query(conn, "SELECT nothing_" + n));
      }
      Loam.equal("after", Loam.query(conn, "SELECT 1"), "1");
    }
  }

  private static void prepare(Loam loam) throws Exception {
    try (Connection conn = loam.connect()) {
      Loam.fails(() -> conn.prepareStatement("SELEC ?").close(), "42601");
      Loam.equal("after", Loam.query(conn, "SELECT 1"), "1");
    }
  }
}
