import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.StringJoiner;

/** The server under test, and what every check shares: connections, rows as text, comparison. */
final class Loam {
  private static int names;

  private final String address;

  /** Address is host:port of Flight SQL. */
  Loam(String address) {
    this.address = address;
  }

  String address() {
    return address;
  }

  String url(String... parameters) {
    var all = new ArrayList<>(List.of("useEncryption=false"));
    all.addAll(Arrays.asList(parameters));
    return plainUrl(all.toArray(new String[0]));
  }

  /** An URL with these parameters only. */
  String plainUrl(String... parameters) {
    return "jdbc:arrow-flight-sql://" + address + "/?" + String.join("&", parameters);
  }

  Connection connect(String... parameters) throws SQLException {
    return DriverManager.getConnection(url(parameters));
  }

  /** A name that no other check and no earlier run used. */
  static synchronized String fresh(String prefix) {
    return prefix + "_" + Long.toString(System.nanoTime(), 36) + "_" + names++;
  }

  /** Runs statements without rows, one after the other. */
  void run(String... statements) throws SQLException {
    try (Connection conn = connect();
        Statement st = conn.createStatement()) {
      for (String sql : statements) {
        st.executeUpdate(sql);
      }
    }
  }

  /** The rows of a query over a connection of its own. */
  String query(String sql) throws SQLException {
    try (Connection conn = connect()) {
      return query(conn, sql);
    }
  }

  static String query(Connection conn, String sql) throws SQLException {
    try (Statement st = conn.createStatement();
        ResultSet rows = st.executeQuery(sql)) {
      return text(rows);
    }
  }

  /** Rows as lines, cells parted by a bar; it closes them. */
  static String text(ResultSet rows) throws SQLException {
    int width = rows.getMetaData().getColumnCount();
    int[] all = new int[width];
    Arrays.setAll(all, i -> i + 1);
    return text(rows, all);
  }

  /** The given columns of rows, by number; it closes them. */
  static String text(ResultSet rows, int... columns) throws SQLException {
    var lines = new StringJoiner("\n");
    try (rows) {
      while (rows.next()) {
        var cells = new StringJoiner("|");
        for (int column : columns) {
          cells.add(cell(rows.getObject(column)));
        }
        lines.add(cells.toString());
      }
    }
    return lines.toString();
  }

  /** A value as text: bytes in hexadecimal, arrays in brackets. */
  static String cell(Object value) throws SQLException {
    if (value instanceof byte[] bytes) {
      return HexFormat.of().formatHex(bytes);
    }
    if (value instanceof Array array) {
      value = array.getArray();
    }
    if (value instanceof Object[] items) {
      var joined = new StringJoiner(",", "[", "]");
      for (Object item : items) {
        joined.add(cell(item));
      }
      return joined.toString();
    }
    return String.valueOf(value);
  }

  /** Column labels of a result, parted by a bar. */
  static String labels(ResultSetMetaData meta) throws SQLException {
    var out = new StringJoiner("|");
    for (int i = 1; i <= meta.getColumnCount(); i++) {
      out.add(meta.getColumnLabel(i));
    }
    return out.toString();
  }

  static void equal(String what, Object got, Object want) {
    if (!Objects.equals(got, want)) {
      throw new AssertionError(what + ": got <" + got + ">, want <" + want + ">");
    }
  }

  static void isTrue(boolean condition, String otherwise) {
    if (!condition) {
      throw new AssertionError(otherwise);
    }
  }

  /** The whole message of an error, causes included. */
  static String message(Throwable error) {
    var text = new StringBuilder();
    for (Throwable at = error; at != null; at = at.getCause()) {
      text.append(at.getMessage()).append('\n');
    }
    return text.toString();
  }

  /**
   * The body must fail, and the error must say every one of the words. The driver lets some errors
   * of the server through as unchecked exceptions.
   */
  static Exception fails(Suite.Check body, String... words) {
    try {
      body.run();
    } catch (Exception error) {
      for (String word : words) {
        isTrue(message(error).contains(word), "the error does not say <" + word + ">: " + message(error));
      }
      return error;
    }
    throw new AssertionError("no error");
  }
}
