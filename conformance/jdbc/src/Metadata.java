import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** DatabaseMetaData: every method answers, and the answers are right. */
final class Metadata {
  /** What methods without arguments answer; what is not here is the driver's own default. */
  private static final String ANSWERS =
      """
      allTablesAreSelectable = true
      dataDefinitionCausesTransactionCommit = false
      getCatalogSeparator = .
      getCatalogTerm = catalog
      getDatabaseProductName = loam
      getDefaultTransactionIsolation = 0
      getExtraNameCharacters =
      getIdentifierQuoteString = "
      getMaxColumnNameLength = 0
      getMaxConnections = 0
      getMaxRowSize = 0
      getMaxStatementLength = 0
      getMaxTablesInSelect = 0
      getSQLStateType = 2
      getSchemaTerm = schema
      getSearchStringEscape = \\
      isCatalogAtStart = true
      isReadOnly = false
      nullPlusNonNullIsNull = true
      supportsANSI92EntryLevelSQL = true
      supportsANSI92FullSQL = false
      supportsBatchUpdates = true
      supportsCatalogsInDataManipulation = true
      supportsColumnAliasing = true
      supportsConvert = true
      supportsCoreSQLGrammar = true
      supportsCorrelatedSubqueries = true
      supportsExpressionsInOrderBy = true
      supportsFullOuterJoins = true
      supportsGroupBy = true
      supportsGroupByBeyondSelect = true
      supportsGroupByUnrelated = true
      supportsIntegrityEnhancementFacility = false
      supportsLikeEscapeClause = true
      supportsLimitedOuterJoins = true
      supportsMinimumSQLGrammar = true
      supportsNonNullableColumns = true
      supportsOrderByUnrelated = true
      supportsOuterJoins = true
      supportsPositionedDelete = false
      supportsPositionedUpdate = false
      supportsSavepoints = false
      supportsSchemasInDataManipulation = true
      supportsSelectForUpdate = false
      supportsStoredProcedures = false
      supportsSubqueriesInComparisons = true
      supportsSubqueriesInExists = true
      supportsSubqueriesInIns = true
      supportsSubqueriesInQuantifieds = true
      supportsTableCorrelationNames = true
      supportsTransactions = false
      supportsUnion = true
      supportsUnionAll = true
      """;

  private Metadata() {}

  static void checks(Suite suite, Loam loam) {
    suite.check("metadata: no method without arguments throws (arrow#40249)", () -> everyMethod(loam));
    suite.check("metadata: what the server can do", () -> answers(loam));
    suite.check("metadata: keywords and functions (arrow#40249)", () -> words(loam));
    suite.check("metadata: supportsConvert follows CAST", () -> with(loam, Metadata::conversions));
    suite.check("metadata: result set types and concurrency", () -> with(loam, Metadata::resultSets));
    suite.check("metadata: isolation levels", () -> with(loam, Metadata::isolation));
    suite.check("metadata: getCatalogs", () -> with(loam, meta -> Loam.equal("rows", Loam.text(meta.getCatalogs()), "loam")));
    suite.check("metadata: getTableTypes", () -> with(loam, meta -> Loam.equal("rows", Loam.text(meta.getTableTypes()), "SYSTEM TABLE\nTABLE\nVIEW")));
    suite.check("metadata: lists that are empty here", () -> empties(loam));
    MetadataLists.checks(suite, loam);
  }

  interface Body {
    void run(DatabaseMetaData meta) throws Exception;
  }

  static void with(Loam loam, Body body) throws Exception {
    try (Connection conn = loam.connect()) {
      body.run(conn.getMetaData());
    }
  }

  private static void everyMethod(Loam loam) throws Exception {
    with(
        loam,
        meta -> {
          List<String> failures = new ArrayList<>();
          int called = 0;
          for (Method method : DatabaseMetaData.class.getMethods()) {
            if (method.getParameterCount() > 0) {
              continue;
            }
            called++;
            try {
              if (method.invoke(meta) instanceof ResultSet rows) {
                Loam.text(rows);
              }
            } catch (InvocationTargetException e) {
              failures.add(method.getName() + ": " + e.getCause());
            }
          }
          Loam.isTrue(called >= 120, "only " + called + " methods were called");
          Loam.equal("methods that throw", String.join("\n", failures), "");
        });
  }

  private static void answers(Loam loam) throws Exception {
    with(
        loam,
        meta -> {
          for (String line : ANSWERS.strip().split("\n")) {
            String[] pair = line.split(" =", 2);
            Object got = DatabaseMetaData.class.getMethod(pair[0]).invoke(meta);
            Loam.equal(pair[0], String.valueOf(got), pair[1].strip());
          }
          String version = loam.query("SELECT version()");
          Loam.equal("version", "Loam " + meta.getDatabaseProductVersion(), version);
        });
  }

  private static void words(Loam loam) throws Exception {
    with(
        loam,
        meta -> {
          contains(meta.getSQLKeywords(), "QUALIFY", "LIMIT");
          contains(meta.getNumericFunctions(), "abs", "round", "sqrt");
          contains(meta.getStringFunctions(), "lower", "substring", "trim");
          contains(meta.getSystemFunctions(), "coalesce", "nullif");
          contains(meta.getTimeDateFunctions(), "date_trunc", "extract");
        });
  }

  private static void contains(String list, String... words) {
    List<String> all = Arrays.stream(list.split(",")).map(String::strip).collect(Collectors.toList());
    for (String word : words) {
      Loam.isTrue(all.contains(word), list + " has no " + word);
    }
  }

  private static void conversions(DatabaseMetaData meta) throws Exception {
    Loam.isTrue(meta.supportsConvert(java.sql.Types.VARCHAR, java.sql.Types.INTEGER), "text to integer");
    Loam.isTrue(meta.supportsConvert(java.sql.Types.DATE, java.sql.Types.TIMESTAMP), "date to timestamp");
    Loam.isTrue(!meta.supportsConvert(java.sql.Types.DATE, java.sql.Types.INTEGER), "date to integer");
  }

  private static void resultSets(DatabaseMetaData meta) throws Exception {
    Loam.isTrue(meta.supportsResultSetType(ResultSet.TYPE_FORWARD_ONLY), "forward only");
    Loam.isTrue(!meta.supportsResultSetType(ResultSet.TYPE_SCROLL_INSENSITIVE), "scroll");
    Loam.isTrue(meta.supportsResultSetConcurrency(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY), "read only");
  }

  private static void isolation(DatabaseMetaData meta) throws Exception {
    Loam.isTrue(meta.supportsTransactionIsolationLevel(Connection.TRANSACTION_NONE), "none");
    Loam.isTrue(!meta.supportsTransactionIsolationLevel(Connection.TRANSACTION_READ_COMMITTED), "read committed");
  }

  /** DBeaver opens these for each table; an exception shows as an error there. */
  private static void empties(Loam loam) throws Exception {
    String t = Loam.fresh("t");
    loam.run("CREATE TABLE " + t + " (a INT)");
    with(
        loam,
        meta -> {
          empty("imported keys", meta.getImportedKeys("loam", "public", t));
          empty("exported keys", meta.getExportedKeys("loam", "public", t));
          empty("cross reference", meta.getCrossReference("loam", "public", t, "loam", "public", t));
          empty("index info", meta.getIndexInfo("loam", "public", t, false, true));
          empty("best row identifier", meta.getBestRowIdentifier("loam", "public", t, DatabaseMetaData.bestRowSession, true));
          empty("version columns", meta.getVersionColumns("loam", "public", t));
          empty("procedures", meta.getProcedures("loam", "public", "%"));
          empty("procedure columns", meta.getProcedureColumns("loam", "public", "%", "%"));
          empty("functions", meta.getFunctions("loam", "public", "%"));
          empty("function columns", meta.getFunctionColumns("loam", "public", "%", "%"));
          empty("types", meta.getUDTs("loam", "public", "%", null));
          empty("super types", meta.getSuperTypes("loam", "public", "%"));
          empty("super tables", meta.getSuperTables("loam", "public", "%"));
          empty("attributes", meta.getAttributes("loam", "public", "%", "%"));
          empty("pseudo columns", meta.getPseudoColumns("loam", "public", t, "%"));
          empty("table privileges", meta.getTablePrivileges("loam", "public", t));
          empty("column privileges", meta.getColumnPrivileges("loam", "public", t, "%"));
        });
  }

  private static void empty(String what, ResultSet rows) throws Exception {
    if (rows == null) {
      return; // the driver has no answer of its own, and asks none of the server
    }
    Loam.equal(what, Loam.text(rows), "");
  }
}
