import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;

/** A server with TLS and users. */
final class Secure {
  private final Loam loam;
  private final String ca = System.getenv("LOAM_TLS_CA");
  private final String other = System.getenv("LOAM_TLS_OTHER");
  private final String password = System.getenv("LOAM_TLS_PASSWORD");
  private final String token = System.getenv("LOAM_TLS_TOKEN");

  private Secure(Loam loam) {
    this.loam = loam;
  }

  static void checks(Suite suite) {
    String uri = System.getenv("LOAM_TLS_URI");
    if (uri == null) {
      suite.skip("secure: all", "there is no server with TLS: openssl is missing");
      return;
    }
    var s = new Secure(new Loam(uri.replaceFirst("^grpc\\+tls://", "")));
    suite.check("secure: user and password", () -> s.isUser("ann", "user=ann", "password=" + s.password));
    suite.check("secure: a user with a namespace", () -> s.isUser("ann", "user=public/ann", "password=" + s.password));
    suite.check("secure: a wrong password is a clean error", () -> s.refused("wrong user or password", "user=ann", "password=no"));
    suite.check("secure: an unknown user is the same error", () -> s.refused("wrong user or password", "user=eve", "password=no"));
    suite.check("secure: no credentials", () -> s.refused("needs a user and a password, or a token"));
    suite.check("secure: a token (homer#978, arrow-adbc#1380)", () -> s.isUser("bot", "token=" + s.token));
    suite.check("secure: a wrong token", () -> s.refused("unknown token", "token=nothing"));
    suite.check("secure: a token as a password", () -> s.isUser("bot", "user=tableau", "password=" + s.token));
    suite.check("secure: a certificate that nobody trusts", s::strangers);
    suite.check("secure: plaintext against TLS", s::plaintext);
    suite.check("secure: verification switched off", s::unverified);
    suite.check("secure: a session with catalog=", s::session);
    suite.check("secure: a hundred thousand rows over TLS", s::rows);
    suite.check("secure: the server lives on", () -> s.isUser("ann", "user=ann", "password=" + s.password));
  }

  /** An URL over TLS that trusts an authority. */
  private String url(String authority, String... parameters) {
    var all = new StringBuilder("jdbc:arrow-flight-sql://" + loam.address() + "/?useEncryption=true&useSystemTrustStore=false&tlsRootCerts=" + encoded(authority));
    for (String parameter : parameters) {
      String[] pair = parameter.split("=", 2);
      all.append('&').append(pair[0]).append('=').append(encoded(pair[1]));
    }
    return all.toString();
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private void isUser(String want, String... parameters) throws Exception {
    try (Connection conn = DriverManager.getConnection(url(ca, parameters))) {
      Loam.equal("user", Loam.query(conn, "SELECT current_user"), want);
    }
  }

  private void refused(String why, String... parameters) throws Exception {
    long start = System.nanoTime();
    Loam.fails(() -> isUser("", parameters), why);
    Loam.isTrue(System.nanoTime() - start < 10_000_000_000L, "slow to refuse");
  }

  private void strangers() throws Exception {
    Loam.fails(() -> Loam.query(DriverManager.getConnection(url(other, "user=ann", "password=" + password)), "SELECT 1"));
  }

  private void plaintext() throws Exception {
    Loam.fails(() -> Loam.query(loam.connect("user=ann", "password=x"), "SELECT 1"));
  }

  private void unverified() throws Exception {
    String url = loam.plainUrl("useEncryption=true", "disableCertificateVerification=true", "user=ann", "password=" + encoded(password));
    try (Connection conn = DriverManager.getConnection(url)) {
      Loam.equal("user", Loam.query(conn, "SELECT current_user"), "ann");
    }
  }

  private void session() throws Exception {
    Connection conn = DriverManager.getConnection(url(ca, "user=ann", "password=" + password, "catalog=loam"));
    Loam.equal("user", Loam.query(conn, "SELECT current_user"), "ann");
    Loam.fails(conn::close, "Channel shutdown invoked"); // see Connecting
  }

  private void rows() throws Exception {
    try (Connection conn = DriverManager.getConnection(url(ca, "token=" + token))) {
      Loam.equal("rows", Loam.query(conn, "SELECT r FROM range(100000) x(r)").split("\n").length, 100_000);
    }
  }
}
