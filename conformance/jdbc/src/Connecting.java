import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.Properties;

/** Opening, settings and closing of connections. */
final class Connecting {
  private Connecting() {}

  static void checks(Suite suite, Loam loam) {
    suite.check("connect: without credentials", () -> Loam.equal("answer", loam.query("SELECT 1"), "1"));
    suite.check("connect: an open server takes any user and password", () -> works(loam, "user=ann", "password=secret"));
    suite.check("connect: an open server takes any token", () -> works(loam, "token=abc"));
    suite.check("connect: user and password as properties", () -> properties(loam));
    suite.check("connect: a user may carry a namespace", () -> userNamespace(loam));
    suite.check("connect: isValid before and after close", () -> valid(loam));
    suite.check("connect: close twice, use after close", () -> closing(loam));
    suite.check("connect: statements die with their connection", () -> statementsDie(loam));
    suite.check("connect: try-with-resources a hundred times", () -> often(loam));
    suite.check("connect: catalog=loam (doris#67966)", () -> catalog(loam));
    suite.check("connect: catalog=nowhere is refused (doris#67966)", () -> wrongCatalog(loam));
    suite.check("connect: setCatalog", () -> setCatalog(loam));
    suite.check("connect: loam-namespace as a property", () -> namespaceHeader(loam));
    suite.check("connect: USE moves the session", () -> use(loam));
    suite.check("connect: SET stays with the connection", () -> settings(loam));
    suite.check("connect: a bad header is a clean error", () -> badHeader(loam));
    suite.check("connect: encryption against a plaintext server is a clean error", () -> encryption(loam));
    suite.check("connect: nobody listens", Connecting::nobody);
    suite.check("connect: unknown driver settings travel as headers", () -> works(loam, "application=dbeaver"));
    suite.check("connect: auto-commit is on", () -> autoCommit(loam));
    suite.check("connect: setAutoCommit(false) keeps what was written", () -> manualCommit(loam));
    suite.check("connect: BEGIN, COMMIT are accepted", () -> begin(loam));
    suite.check("connect: isolation, holdability, client info, warnings", () -> corners(loam));
  }

  private static void works(Loam loam, String... parameters) throws Exception {
    try (Connection conn = loam.connect(parameters)) {
      Loam.equal("answer", Loam.query(conn, "SELECT 1"), "1");
    }
  }

  private static void properties(Loam loam) throws Exception {
    var props = new Properties();
    props.setProperty("user", "ann");
    props.setProperty("password", "a:b c&d");
    props.setProperty("useEncryption", "false");
    try (Connection conn = DriverManager.getConnection(loam.plainUrl(), props)) {
      Loam.equal("user", Loam.query(conn, "SELECT current_user"), "ann");
      Loam.equal("getUserName", conn.getMetaData().getUserName(), "ann");
    }
  }

  private static void userNamespace(Loam loam) throws Exception {
    String ns = Loam.fresh("ns");
    loam.run("CREATE NAMESPACE " + ns);
    try (Connection conn = loam.connect("user=" + ns + "/ann", "password=x")) {
      Loam.equal("where", Loam.query(conn, "SELECT current_schema(), current_user"), ns + "|ann");
    }
  }

  private static void valid(Loam loam) throws Exception {
    Connection conn = loam.connect();
    Loam.isTrue(conn.isValid(5), "an open connection is not valid");
    Loam.isTrue(!conn.isClosed(), "an open connection says it is closed");
    conn.close();
    Loam.isTrue(conn.isClosed(), "a closed connection says it is open");
    Loam.isTrue(!conn.isValid(5), "a closed connection is valid");
  }

  private static void closing(Loam loam) throws Exception {
    Connection conn = loam.connect();
    conn.close();
    conn.close();
    Loam.fails(conn::createStatement);
  }

  private static void statementsDie(Loam loam) throws Exception {
    Connection conn = loam.connect();
    Statement st = conn.createStatement();
    conn.close();
    Loam.fails(() -> st.executeQuery("SELECT 1"));
  }

  private static void often(Loam loam) throws Exception {
    for (int i = 0; i < 100; i++) {
      works(loam);
    }
  }

  private static void catalog(Loam loam) throws Exception {
    Connection conn = loam.connect("catalog=loam");
    Loam.equal("answer", Loam.query(conn, "SELECT 1"), "1");
    // This driver sends CloseSession twice when a catalog is set, the second time over a
    // channel that it has closed. Anything else that it complains of is the server's.
    Loam.fails(conn::close, "Channel shutdown invoked");
  }

  private static void wrongCatalog(Loam loam) throws Exception {
    Loam.fails(() -> loam.connect("catalog=nowhere").close(), "catalog");
  }

  private static void setCatalog(Loam loam) throws Exception {
    try (Connection conn = loam.connect()) {
      conn.setCatalog("loam");
      Loam.equal("getCatalog", conn.getCatalog(), "loam");
      Loam.equal("answer", Loam.query(conn, "SELECT 1"), "1");
    }
  }

  private static void namespaceHeader(Loam loam) throws Exception {
    String ns = Loam.fresh("ns");
    loam.run("CREATE NAMESPACE " + ns, "CREATE TABLE " + ns + ".t (a INT)", "INSERT INTO " + ns + ".t VALUES (7)");
    try (Connection conn = loam.connect("loam-namespace=" + ns)) {
      Loam.equal("rows", Loam.query(conn, "SELECT a, current_schema() FROM t"), "7|" + ns);
    }
  }

  private static void use(Loam loam) throws Exception {
    String ns = Loam.fresh("ns");
    loam.run("CREATE NAMESPACE " + ns, "CREATE TABLE " + ns + ".t (a INT)", "INSERT INTO " + ns + ".t VALUES (8)");
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      st.executeUpdate("USE " + ns);
      Loam.equal("rows", Loam.query(conn, "SELECT a, current_schema() FROM t"), "8|" + ns);
    }
    Loam.equal("another connection", loam.query("SELECT current_schema()"), "public");
  }

  private static void settings(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      st.execute("SET \"loam.max_endpoints\" = '3'");
      Loam.equal("setting", Loam.query(conn, "SHOW \"loam.max_endpoints\"").endsWith("3"), true);
    }
  }

  private static void badHeader(Loam loam) throws Exception {
    try (Connection conn = loam.connect("loam-max-endpoints=many")) {
      Loam.fails(() -> Loam.query(conn, "SELECT 1"), "loam-max-endpoints", "number");
    }
  }

  private static void encryption(Loam loam) throws Exception {
    Loam.fails(() -> Loam.query(DriverManager.getConnection(loam.plainUrl("useEncryption=true", "user=a", "password=b")), "SELECT 1"));
  }

  private static void nobody() throws Exception {
    Loam.fails(() -> Loam.query(new Loam("127.0.0.1:1").connect(), "SELECT 1"));
  }

  private static void autoCommit(Loam loam) throws Exception {
    try (Connection conn = loam.connect()) {
      Loam.isTrue(conn.getAutoCommit(), "auto-commit is off");
      Loam.isTrue(!conn.getMetaData().supportsTransactions(), "transactions are advertised");
      Loam.equal("isolation", conn.getMetaData().getDefaultTransactionIsolation(), Connection.TRANSACTION_NONE);
    }
  }

  /** Transactions are not advertised: each statement is atomic by itself, whatever the mode is. */
  private static void manualCommit(Loam loam) throws Exception {
    String t = Loam.fresh("t");
    loam.run("CREATE TABLE " + t + " (a INT)");
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      conn.setAutoCommit(false);
      st.executeUpdate("INSERT INTO " + t + " VALUES (1)");
      conn.commit();
      st.executeUpdate("INSERT INTO " + t + " VALUES (2)");
      conn.setAutoCommit(true);
    }
    Loam.equal("rows", loam.query("SELECT a FROM " + t + " ORDER BY a"), "1\n2");
  }

  private static void begin(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      st.executeUpdate("BEGIN");
      Loam.equal("answer", Loam.query(conn, "SELECT 1"), "1");
      st.executeUpdate("COMMIT");
    }
  }

  private static void corners(Loam loam) throws Exception {
    try (Connection conn = loam.connect()) {
      Loam.equal("warnings", conn.getWarnings(), null);
      conn.clearWarnings();
      conn.getHoldability();
      conn.getClientInfo();
      conn.getTransactionIsolation();
      conn.setReadOnly(false);
      Loam.equal("read-only", conn.isReadOnly(), false);
    }
  }
}
