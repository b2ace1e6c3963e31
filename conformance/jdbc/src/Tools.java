import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

/** The statements that DBeaver, Tableau, Metabase, Superset and Grafana send through this driver. */
final class Tools {
  private Tools() {}

  static void checks(Suite suite, Loam loam) {
    suite.check("tools: DBeaver opens a table", () -> dbeaver(loam));
    suite.check("tools: DBeaver edits a row", () -> dbeaverEdit(loam));
    suite.check("tools: DBeaver walks the tree", () -> dbeaverTree(loam));
    suite.check("tools: Tableau's probes answer or fail at once", () -> tableauProbes(loam));
    suite.check("tools: Tableau's queries", () -> tableau(loam));
    suite.check("tools: JDBC escapes", () -> escapes(loam));
    suite.check("tools: Metabase", () -> metabase(loam));
    suite.check("tools: Superset groups by a column that an alias shadows (superset#20349)", () -> superset(loam));
    suite.check("tools: Grafana's macros", () -> grafana(loam));
    suite.check("tools: health checks of pools", () -> pools(loam));
  }

  private static String orders(Loam loam) throws Exception {
    String t = Loam.fresh("orders");
    loam.run(
        "CREATE TABLE " + t + " (id INT, customer TEXT, amount DECIMAL(10,2), \"OperationDate\" TIMESTAMP)",
        "INSERT INTO " + t + " VALUES (1, 'ann', 10.50, TIMESTAMP '2024-01-01 10:00:00'), (2, 'bob', 4.25, TIMESTAMP '2024-01-01 11:00:00'), (3, 'ann', 7.00, TIMESTAMP '2024-01-02 09:00:00')");
    return t;
  }

  private static void dbeaver(Loam loam) throws Exception {
    String t = orders(loam);
    try (Connection conn = loam.connect("user=", "password=");
        Statement st = conn.createStatement()) {
      st.setFetchSize(200);
      st.setMaxRows(200);
      try (ResultSet rs = st.executeQuery("SELECT x.* FROM loam.public." + t + " x")) {
        Loam.equal("columns", Loam.labels(rs.getMetaData()), "id|customer|amount|OperationDate");
        for (int i = 1; i <= 4; i++) {
          rs.getMetaData().getTableName(i);
          rs.getMetaData().getSchemaName(i);
          rs.getMetaData().getCatalogName(i);
        }
      }
      Loam.equal("count", Loam.query(conn, "SELECT count(*) FROM loam.public." + t + " x"), "3");
      Loam.equal("filter", Loam.query(conn, "SELECT x.id FROM \"loam\".\"public\".\"" + t + "\" x WHERE x.customer = 'ann' ORDER BY x.id DESC LIMIT 1 OFFSET 1"), "1");
    }
  }

  private static void dbeaverEdit(Loam loam) throws Exception {
    String t = orders(loam);
    try (Connection conn = loam.connect();
        PreparedStatement ps = conn.prepareStatement("UPDATE loam.public." + t + " SET customer=? WHERE id=?")) {
      ps.setString(1, "eve");
      ps.setInt(2, 2);
      Loam.equal("count", ps.executeUpdate(), 1);
      Loam.equal("row", Loam.query(conn, "SELECT customer FROM " + t + " WHERE id = 2"), "eve");
    }
  }

  private static void dbeaverTree(Loam loam) throws Exception {
    String t = orders(loam);
    Metadata.with(
        loam,
        meta -> {
          Loam.isTrue(Loam.text(meta.getCatalogs()).contains("loam"), "catalogs");
          Loam.isTrue(Loam.text(meta.getSchemas("loam", null)).contains("public"), "schemas");
          Loam.isTrue(Loam.text(meta.getTables("loam", "public", "%", null), 3).contains(t), "tables");
          Loam.equal("columns", Loam.text(meta.getColumns("loam", "public", t, "%"), 4), "id\ncustomer\namount\nOperationDate");
          Loam.equal("keys", Loam.text(meta.getPrimaryKeys("loam", "public", t)), "");
          Loam.equal("foreign keys", Loam.text(meta.getImportedKeys("loam", "public", t)), "");
        });
  }

  private static void tableauProbes(Loam loam) throws Exception {
    String t = orders(loam);
    try (Connection conn = loam.connect()) {
      String[] probes = {
        "SELECT 1",
        "SELECT * FROM \"public\".\"" + t + "\" WHERE 1=0",
        "SELECT * FROM \"public\".\"" + t + "\" LIMIT 0",
        "SELECT TOP 0 * FROM \"public\".\"" + t + "\"",
        "CREATE LOCAL TEMPORARY TABLE \"#Tableau_1_connect\" (\"x\" INTEGER) ON COMMIT PRESERVE ROWS",
        "SELECT \"COL\" INTO \"#Tableau_2_connect\" FROM (SELECT 1 AS \"COL\") AS \"CHECKTEMP\" LIMIT 1",
        "DROP TABLE \"#Tableau_1_connect\"",
        "INSERT INTO \"#Tableau_3_connect\" SELECT 1"
      };
      for (String probe : probes) {
        long start = System.nanoTime();
        try (Statement st = conn.createStatement()) {
          st.execute(probe);
        } catch (java.sql.SQLException refused) {
          Loam.isTrue(refused.getMessage() != null, "an error without a text: " + probe);
        }
        Loam.isTrue(System.nanoTime() - start < 2_000_000_000L, "slow: " + probe);
        Loam.equal("the session lives", Loam.query(conn, "SELECT 1"), "1");
      }
    }
  }

  private static void tableau(Loam loam) throws Exception {
    String t = orders(loam);
    String from = " FROM \"public\".\"" + t + "\" \"" + t + "\"";
    Loam.equal("number of records", loam.query("SELECT SUM(1) AS \"sum:Number of Records:ok\"" + from + " HAVING (COUNT(1) > 0)"), "3");
    Loam.equal("grouped by place", loam.query("SELECT \"" + t + "\".\"customer\" AS \"customer\", SUM(\"" + t + "\".\"amount\") AS \"sum:amount:ok\"" + from + " GROUP BY 1 ORDER BY 1"), "ann|17.50\nbob|4.25");
    Loam.equal("custom SQL", loam.query("SELECT \"Custom SQL Query\".\"id\" AS \"id\" FROM (\n  SELECT id FROM " + t + "\n) \"Custom SQL Query\" WHERE (\"Custom SQL Query\".\"id\" >= 2) ORDER BY 1"), "2\n3");
    Loam.equal("truncated time", loam.query("SELECT CAST(DATE_TRUNC('DAY', CAST(\"OperationDate\" AS DATE)) AS DATE) AS \"tdy:d:ok\", COUNT(DISTINCT \"customer\")" + from + " GROUP BY 1 ORDER BY 1"), "2024-01-01|2\n2024-01-02|1");
    Loam.equal("quick filter", loam.query("SELECT \"customer\"" + from + " WHERE (\"customer\" IN ('ann', 'bob')) GROUP BY \"customer\" ORDER BY \"customer\" ASC NULLS FIRST"), "ann\nbob");
  }

  private static void escapes(Loam loam) throws Exception {
    Loam.equal("literals", loam.query("SELECT {d '2020-01-02'}, {ts '2020-01-02 03:04:05'}"), "2020-01-02|2020-01-02 03:04:05.0");
    Loam.equal("functions", loam.query("SELECT {fn UCASE('ab')}, {fn LCASE('AB')}, {fn ABS(-2)}, {fn LENGTH('abc')}"), "AB|ab|2|3");
  }

  private static void metabase(Loam loam) throws Exception {
    String t = orders(loam);
    Loam.equal(
        "question",
        loam.query("-- Metabase:: userID: 1 queryType: MBQL\nSELECT \"source\".\"customer\" AS \"customer\", COUNT(*) AS \"count\" FROM (SELECT \"public\".\"" + t + "\".\"customer\" AS \"customer\" FROM \"public\".\"" + t + "\") AS \"source\" GROUP BY \"source\".\"customer\" ORDER BY \"source\".\"customer\" ASC LIMIT 1048575"),
        "ann|2\nbob|1");
  }

  private static void superset(Loam loam) throws Exception {
    String t = orders(loam);
    Loam.equal(
        "chart",
        loam.query("SELECT DATE_TRUNC('day', \"OperationDate\") AS \"OperationDate\", COUNT(*) AS \"count\" FROM \"public\".\"" + t + "\" GROUP BY DATE_TRUNC('day', \"OperationDate\") ORDER BY \"count\" DESC LIMIT 10000"),
        "2024-01-01 00:00:00.0|2\n2024-01-02 00:00:00.0|1");
    Loam.equal("virtual table", loam.query("SELECT customer AS customer, sum(amount) AS s FROM (SELECT * FROM " + t + ") AS virtual_table WHERE \"OperationDate\" >= '2024-01-01 00:00:00' GROUP BY customer ORDER BY s DESC"), "ann|17.50\nbob|4.25");
  }

  private static void grafana(Loam loam) throws Exception {
    String t = orders(loam);
    Loam.equal(
        "bins",
        loam.query("SELECT date_bin(interval '3600 second', \"OperationDate\", timestamp '1970-01-01T00:00:00Z') as time_binned, sum(amount) FROM " + t + " WHERE \"OperationDate\" >= '2024-01-01T00:00:00Z' AND \"OperationDate\" <= '2024-01-01T23:59:59Z' GROUP BY 1 ORDER BY 1"),
        "2024-01-01 10:00:00.0|10.50\n2024-01-01 11:00:00.0|4.25");
  }

  private static void pools(Loam loam) throws Exception {
    for (String sql : new String[] {"SELECT 1", "SELECT 1;", "/* ping */ SELECT 1", "select 1 as ok", "VALUES (1)"}) {
      Loam.equal(sql, loam.query(sql), "1");
    }
    Loam.equal("schema", loam.query("SELECT current_schema()"), "public");
  }
}
