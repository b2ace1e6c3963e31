import java.util.logging.LogManager;

/**
 * Drives a running Loam server through the Arrow Flight SQL JDBC driver. Environment: LOAM_URI
 * (grpc://host:port), LOAM_HTTP. Arguments: part of the names of the checks to run, -v for all names.
 */
public final class Main {
  private Main() {}

  public static void main(String[] args) throws Exception {
    LogManager.getLogManager().reset(); // the driver logs what it also throws
    String filter = "";
    boolean verbose = false;
    for (String arg : args) {
      if (arg.equals("-v")) {
        verbose = true;
      } else {
        filter = arg;
      }
    }
    var suite = new Suite(filter, verbose);
    var loam = new Loam(System.getenv("LOAM_URI").replaceFirst("^grpc://", ""));
    Connecting.checks(suite, loam);
    Metadata.checks(suite, loam);
    Values.checks(suite, loam);
    Parameters.checks(suite, loam);
    Statements.checks(suite, loam);
    Streams.checks(suite, loam);
    Errors.checks(suite, loam);
    Tools.checks(suite, loam);
    Secure.checks(suite);
    System.exit(suite.finish());
  }
}
