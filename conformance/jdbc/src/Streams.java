import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Long and large answers, many at once, and their end before the end. */
final class Streams {
  /** Runs for minutes unless it is stopped: a join of all with all. */
  private static final String ENDLESS = "SELECT count(*) FROM range(3000000) a(x), range(3000000) b(y) WHERE x * y % 7 = 3";

  private Streams() {}

  static void checks(Suite suite, Loam loam) {
    suite.check("streams: a million rows", () -> million(loam));
    suite.check("streams: a million rows of text in 512 MiB of heap", () -> millionTexts(loam));
    suite.check("streams: rows of three MiB (arrow-adbc#2078)", () -> wideRows(loam));
    suite.check("streams: forty MiB in one value's column (duckgres#190)", () -> largeBatch(loam));
    suite.check("streams: vectors of 4,096 dimensions (arrow-adbc#2078)", () -> vectors(loam));
    suite.check("streams: 500 columns", () -> columns(loam));
    suite.check("streams: eight statements at once on one connection (StarRocks#65889)", () -> concurrent(loam));
    suite.check("streams: eight connections at once", () -> connections(loam));
    suite.check("streams: prepared and plain statements mixed in threads (StarRocks#65889)", () -> mixed(loam));
    suite.check("streams: a result left half read stops the query (arrow-go#435)", () -> abandoned(loam));
    suite.check("streams: cancel from another thread stops the query (arrow-go#615)", () -> cancel(loam));
    suite.check("streams: setQueryTimeout", () -> timeout(loam));
    suite.check("streams: an error after the first rows", () -> lateError(loam));
  }

  private static void million(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement();
        ResultSet rs = st.executeQuery("SELECT r, r * 0.5e0 AS h, r % 2 = 0 AS even FROM range(1000000) x(r)")) {
      long rows = 0;
      long sum = 0;
      while (rs.next()) {
        long r = rs.getLong(1);
        Loam.isTrue(rs.getDouble(2) == r / 2.0 && rs.getBoolean(3) == (r % 2 == 0), "row " + r);
        rows++;
        sum += r;
      }
      Loam.equal("rows", rows, 1_000_000L);
      Loam.equal("sum", sum, 499_999_500_000L);
    }
  }

  private static void millionTexts(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement();
        ResultSet rs = st.executeQuery("SELECT repeat('x', 600) || CAST(r AS TEXT) FROM range(1000000) x(r)")) {
      long bytes = 0;
      while (rs.next()) {
        bytes += rs.getString(1).length();
      }
      Loam.equal("characters", bytes, 605_888_890L);
    }
  }

  private static void wideRows(Loam loam) throws Exception {
    Loam.equal("lengths", loam.query("SELECT length(v) FROM (SELECT repeat('ab', 1572864) AS v FROM range(5)) t"), "3145728\n3145728\n3145728\n3145728\n3145728");
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement();
        ResultSet rs = st.executeQuery("SELECT repeat('ab', 1572864) FROM range(5)")) {
      int rows = 0;
      while (rs.next()) {
        Loam.equal("length", rs.getString(1).length(), 3 << 20);
        rows++;
      }
      Loam.equal("rows", rows, 5);
    }
  }

  private static void largeBatch(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement();
        ResultSet rs = st.executeQuery("SELECT repeat('0123456789abcdef', 1280) FROM range(2048)")) {
      long bytes = 0;
      while (rs.next()) {
        bytes += rs.getString(1).length();
      }
      Loam.equal("bytes", bytes, 2048L * 16 * 1280);
    }
  }

  private static void vectors(Loam loam) throws Exception {
    String t = Loam.fresh("v");
    loam.run("CREATE COLLECTION " + t + " (id INT PRIMARY KEY, emb VECTOR(4096))");
    var vector = new StringBuilder("[");
    for (int i = 0; i < 4096; i++) {
      vector.append(i == 0 ? "" : ",").append(i % 10);
    }
    vector.append(']');
    loam.run("INSERT INTO " + t + " SELECT CAST(r AS INT), " + vector + " FROM range(1000) x(r)");
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement();
        ResultSet rs = st.executeQuery("SELECT emb FROM " + t)) {
      int rows = 0;
      while (rs.next()) {
        if (rows % 100 == 0) {
          Loam.equal("dimensions", ((Object[]) rs.getArray(1).getArray()).length, 4096);
        }
        rows++;
      }
      Loam.equal("rows", rows, 1000);
    }
  }

  private static void columns(Loam loam) throws Exception {
    var sql = new StringBuilder("SELECT r");
    for (int i = 1; i < 500; i++) {
      sql.append(", r + ").append(i);
    }
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement();
        ResultSet rs = st.executeQuery(sql + " FROM range(1000) x(r)")) {
      int rows = 0;
      while (rs.next()) {
        Loam.equal("last", rs.getLong(500), rs.getLong(1) + 499);
        rows++;
      }
      Loam.equal("rows", rows, 1000);
    }
  }

  /** Runs eight of the same thing at once and fails with the first failure. */
  private static void eight(Callable<Void> body) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(8);
    try {
      List<Future<Void>> all = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        all.add(pool.submit(body));
      }
      for (Future<Void> one : all) {
        one.get(60, TimeUnit.SECONDS);
      }
    } finally {
      pool.shutdownNow();
    }
  }

  private static void concurrent(Loam loam) throws Exception {
    try (Connection conn = loam.connect("threadPoolSize=8")) {
      eight(
          () -> {
            long start = Thread.currentThread().getId() * 1000;
            for (int i = 0; i < 20; i++) {
              Loam.equal("sum", Loam.query(conn, "SELECT min(r), count(*) FROM range(" + start + ", " + (start + 500 + i) + ") x(r)"), start + "|" + (500 + i));
            }
            return null;
          });
    }
  }

  private static void connections(Loam loam) throws Exception {
    eight(
        () -> {
          for (int i = 0; i < 10; i++) {
            Loam.equal("answer", loam.query("SELECT count(*) FROM range(10000)"), "10000");
          }
          return null;
        });
  }

  private static void mixed(Loam loam) throws Exception {
    try (Connection conn = loam.connect("threadPoolSize=8")) {
      eight(
          () -> {
            long id = Thread.currentThread().getId();
            try (PreparedStatement ps = conn.prepareStatement("SELECT CAST(? AS BIGINT) + r FROM range(3) x(r) ORDER BY 1")) {
              for (int i = 0; i < 15; i++) {
                ps.setLong(1, id * 100 + i);
                long first = id * 100 + i;
                ResultSet prepared = ps.executeQuery();
                Loam.equal("plain", Loam.query(conn, "SELECT " + id), String.valueOf(id));
                Loam.equal("prepared", Loam.text(prepared), first + "\n" + (first + 1) + "\n" + (first + 2));
              }
            }
            return null;
          });
    }
  }

  /** What leaves a query that would run on. */
  interface Leaving {
    void run() throws Exception;
  }

  /** Leaves a query, and waits until the server says that its call has ended. */
  private static void stops(Loam loam, Leaving body) throws Exception {
    long before = reads();
    body.run();
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
    while (reads() <= before) {
      Loam.isTrue(System.nanoTime() < until, "the server still runs the query after 5 s");
      Thread.sleep(50);
    }
    Loam.equal("and answers", loam.query("SELECT 1"), "1");
  }

  /** How many calls of DoGet have ended on the server. */
  private static long reads() throws Exception {
    var request = HttpRequest.newBuilder(URI.create(System.getenv("LOAM_HTTP") + "/metrics")).build();
    String text = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
    long sum = 0;
    for (String line : text.split("\n")) {
      if (line.startsWith("loam_flight_calls_total{") && line.contains("method=\"DoGet\"")) {
        sum += (long) Double.parseDouble(line.substring(line.lastIndexOf(' ')));
      }
    }
    return sum;
  }

  private static void abandoned(Loam loam) throws Exception {
    stops(loam, () -> leaveUnread(loam));
  }

  private static void leaveUnread(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement();
        ResultSet rs = st.executeQuery("SELECT a.r + b.r FROM range(1000000) a(r), range(1000000) b(r)")) {
      for (int i = 0; i < 10_000; i++) {
        Loam.isTrue(rs.next(), "too few rows");
      }
    }
  }

  private static void cancel(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      stops(loam, () -> cancelSoon(st));
      Loam.equal("the connection lives", Loam.query(conn, "SELECT 1"), "1");
    }
  }

  private static void cancelSoon(Statement st) throws Exception {
    var canceller = Executors.newSingleThreadScheduledExecutor();
    canceller.schedule(
        () -> {
          st.cancel();
          return null;
        },
        700,
        TimeUnit.MILLISECONDS);
    long start = System.nanoTime();
    Loam.fails(() -> Loam.text(st.executeQuery(ENDLESS)));
    canceller.shutdown();
    Loam.isTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(10), "the client waited on");
  }

  private static void timeout(Loam loam) throws Exception {
    stops(loam, () -> waitASecond(loam));
  }

  private static void waitASecond(Loam loam) throws Exception {
    try (Connection conn = loam.connect();
        Statement st = conn.createStatement()) {
      st.setQueryTimeout(1);
      long start = System.nanoTime();
      Loam.fails(() -> Loam.text(st.executeQuery(ENDLESS)));
      Loam.isTrue(System.nanoTime() - start < TimeUnit.SECONDS.toNanos(15), "the client waited on");
    }
  }

  private static void lateError(Loam loam) throws Exception {
    try (Connection conn = loam.connect()) {
      Loam.fails(() -> Loam.query(conn, "SELECT 1 / (r - 900000) FROM range(1000000) x(r)"), "zero");
      Loam.equal("after", Loam.query(conn, "SELECT 1"), "1");
    }
  }
}
