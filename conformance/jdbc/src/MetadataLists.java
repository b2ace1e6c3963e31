import java.sql.DatabaseMetaData;
import java.sql.ResultSet;

/** Schemas, tables, columns and keys, by pattern. */
final class MetadataLists {
  private MetadataLists() {}

  static void checks(Suite suite, Loam loam) {
    suite.check("metadata: getSchemas by pattern", () -> schemas(loam));
    suite.check("metadata: getTables by pattern (xtdb#5802)", () -> tables(loam));
    suite.check("metadata: patterns with quotes and newlines (xtdb#5802)", () -> oddNames(loam));
    suite.check("metadata: getTables by type", () -> types(loam));
    suite.check("metadata: getTables of system schemas", () -> system(loam));
    suite.check("metadata: getColumns of every type", () -> columns(loam));
    suite.check("metadata: getColumns by pattern", () -> columnPattern(loam));
    suite.check("metadata: getColumns of a table made a moment ago (xtdb#5551)", () -> fresh(loam));
    suite.check("metadata: getPrimaryKeys", () -> keys(loam));
    suite.check("metadata: nothing under another catalog", () -> elsewhere(loam));
    suite.check("metadata: thousands of columns", () -> many(loam));
  }

  private static String tables(DatabaseMetaData meta, String schema, String pattern, String... types) throws Exception {
    try (ResultSet rows = meta.getTables(null, schema, pattern, types.length == 0 ? null : types)) {
      return Loam.text(rows, 3);
    }
  }

  private static void schemas(Loam loam) throws Exception {
    String ns = Loam.fresh("sch");
    String near = ns.replace('_', 'x');
    loam.run("CREATE NAMESPACE " + ns, "CREATE NAMESPACE " + near);
    Metadata.with(
        loam,
        meta -> {
          Loam.equal("exact", Loam.text(meta.getSchemas("loam", ns.replace("_", "\\_"))), ns + "|loam");
          Loam.equal("_ is any character", Loam.text(meta.getSchemas(null, ns)), ns + "|loam\n" + near + "|loam");
          Loam.equal("none", Loam.text(meta.getSchemas(null, "no such")), "");
          Loam.isTrue(Loam.text(meta.getSchemas(null, null)).contains("public|loam"), "public is missing");
          try (ResultSet rows = meta.getSchemas()) {
            Loam.equal("columns", Loam.labels(rows.getMetaData()), "TABLE_SCHEM|TABLE_CATALOG");
          }
        });
  }

  private static void tables(Loam loam) throws Exception {
    String ns = Loam.fresh("tab");
    loam.run("CREATE NAMESPACE " + ns, "CREATE TABLE " + ns + ".a_b (a INT)", "CREATE TABLE " + ns + ".axb (a INT)", "CREATE TABLE " + ns + ".c (a INT)");
    Metadata.with(
        loam,
        meta -> {
          Loam.equal("row", Loam.text(meta.getTables("loam", ns, "c", null), 1, 2, 3, 4), "loam|" + ns + "|c|TABLE");
          Loam.equal("all by %", tables(meta, ns, "%"), "a_b\naxb\nc");
          Loam.equal("all by null", tables(meta, ns, null), "a_b\naxb\nc");
          Loam.equal("_ is any character, the exact name first", tables(meta, ns, "a_b"), "a_b\naxb");
          Loam.equal("escaped", tables(meta, ns, "a\\_b"), "a_b");
          Loam.equal("prefix", tables(meta, ns, "a%"), "a_b\naxb");
          Loam.equal("none", tables(meta, ns, "nothing"), "");
          Loam.equal("empty", tables(meta, ns, ""), "");
        });
  }

  private static void oddNames(Loam loam) throws Exception {
    String ns = Loam.fresh("odd");
    loam.run(
        "CREATE NAMESPACE " + ns,
        "CREATE TABLE " + ns + ".\"a'b\" (\"c d\" INT)",
        "CREATE TABLE " + ns + ".\"x\ny\" (\"c:d\" INT)",
        "CREATE TABLE " + ns + ".\"p%q\" (a INT)",
        "CREATE TABLE " + ns + ".\"dou\"\"ble\" (a INT)");
    Metadata.with(
        loam,
        meta -> {
          for (String name : new String[] {"a'b", "x\ny", "dou\"ble"}) {
            Loam.equal("table", tables(meta, ns, name), name);
            Loam.isTrue(!Loam.text(meta.getColumns(null, ns, name, null), 4).isEmpty(), "no column of " + name);
          }
          Loam.equal("escaped %", tables(meta, ns, "p\\%q"), "p%q");
          Loam.equal("a quote that is no name", tables(meta, ns, "'; DROP TABLE x --"), "");
        });
    Loam.equal("rows", loam.query("SELECT count(*) FROM " + ns + ".\"a'b\""), "0");
  }

  private static void types(Loam loam) throws Exception {
    String ns = Loam.fresh("typ");
    loam.run("CREATE NAMESPACE " + ns, "CREATE TABLE " + ns + ".t (a INT)", "CREATE COLLECTION " + ns + ".d (id TEXT PRIMARY KEY)", "CREATE VIEW " + ns + ".v AS SELECT a FROM " + ns + ".t");
    Metadata.with(
        loam,
        meta -> {
          Loam.equal("TABLE", tables(meta, ns, "%", "TABLE"), "d\nt");
          Loam.equal("BASE TABLE", tables(meta, ns, "%", "BASE TABLE"), "d\nt");
          Loam.equal("two types", tables(meta, ns, "%", "VIEW", "TABLE"), "d\nt\nv");
          Loam.equal("VIEW", tables(meta, ns, "%", "VIEW"), "v");
        });
  }

  private static void system(Loam loam) throws Exception {
    Metadata.with(
        loam,
        meta -> {
          String found = tables(meta, "information_schema", "tables");
          Loam.isTrue(found.isEmpty() || found.equals("tables"), "information_schema.tables: " + found);
        });
    Loam.isTrue(loam.query("SELECT count(*) FROM information_schema.columns").matches("\\d+"), "information_schema.columns");
  }

  private static void columns(Loam loam) throws Exception {
    String t = Loam.fresh("cols");
    loam.run(
        "CREATE TABLE " + t + " (b BOOLEAN, i INT NOT NULL, l BIGINT, d DOUBLE, n DECIMAL(12,3), s TEXT, x BINARY, dt DATE, ts TIMESTAMP, j JSON, v VECTOR(3), tags TEXT[], u UUID, t TIME)");
    String want =
        """
        b|16|BOOLEAN|1
        i|4|INT|2
        l|-5|BIGINT|3
        d|8|DOUBLE|4
        n|3|DECIMAL|5
        s|12|TEXT|6
        x|-3|BINARY|7
        dt|91|DATE|8
        ts|93|TIMESTAMP|9
        j|12|JSON|10
        v|2003|VECTOR|11
        tags|2003|TEXT[]|12
        u|12|UUID|13
        t|92|TIME|14"""
            .strip();
    Metadata.with(
        loam,
        meta -> {
          Loam.equal("columns", Loam.text(meta.getColumns("loam", "public", t, "%"), 4, 5, 6, 17), want);
          Loam.equal("precision and scale", Loam.text(meta.getColumns("loam", "public", t, "n"), 7, 9), "12|3");
          Loam.equal("place", Loam.text(meta.getColumns("loam", "public", t, "i"), 1, 2, 3), "loam|public|" + t);
        });
  }

  private static void columnPattern(Loam loam) throws Exception {
    String t = Loam.fresh("colp");
    loam.run("CREATE TABLE " + t + " (a_b INT, axb INT, \"Mixed Case\" INT, \"it's\" INT)");
    Metadata.with(
        loam,
        meta -> {
          Loam.equal("all", Loam.text(meta.getColumns(null, null, t, null), 4), "a_b\naxb\nMixed Case\nit's");
          Loam.equal("pattern", Loam.text(meta.getColumns(null, null, t, "a%"), 4), "a_b\naxb");
          Loam.equal("quote", Loam.text(meta.getColumns(null, null, t, "it's"), 4), "it's");
          Loam.equal("none", Loam.text(meta.getColumns(null, null, t, "zz"), 4), "");
        });
  }

  private static void fresh(Loam loam) throws Exception {
    Metadata.with(
        loam,
        meta -> {
          for (int i = 0; i < 5; i++) {
            String t = Loam.fresh("new");
            Loam.query(meta.getConnection(), "SELECT 1");
            try (var st = meta.getConnection().createStatement()) {
              st.executeUpdate("CREATE TABLE " + t + " (a INT, b TEXT)");
            }
            Loam.equal("columns", Loam.text(meta.getColumns(null, null, t, null), 4), "a\nb");
          }
        });
  }

  private static void keys(Loam loam) throws Exception {
    String ns = Loam.fresh("key");
    loam.run("CREATE NAMESPACE " + ns, "CREATE COLLECTION " + ns + ".one (id TEXT PRIMARY KEY, n INT)", "CREATE COLLECTION " + ns + ".two (a TEXT, b INT, c INT, PRIMARY KEY (b, a))", "CREATE TABLE " + ns + ".none (a INT)");
    Metadata.with(
        loam,
        meta -> {
          Loam.equal("one", Loam.text(meta.getPrimaryKeys("loam", ns, "one")), "loam|" + ns + "|one|id|1|one_pkey");
          Loam.equal("two", Loam.text(meta.getPrimaryKeys(null, ns, "two"), 4, 5), "b|1\na|2");
          Loam.equal("table", Loam.text(meta.getPrimaryKeys(null, ns, "none")), "");
          Loam.equal("missing", Loam.text(meta.getPrimaryKeys(null, ns, "missing")), "");
        });
  }

  private static void elsewhere(Loam loam) throws Exception {
    Metadata.with(
        loam,
        meta -> {
          Loam.equal("schemas", Loam.text(meta.getSchemas("other", null)), "");
          Loam.equal("tables", Loam.text(meta.getTables("other", null, "%", null)), "");
          Loam.equal("tables without a catalog", Loam.text(meta.getTables("", null, "%", null)), "");
          Loam.equal("columns", Loam.text(meta.getColumns("other", null, "%", null)), "");
        });
  }

  /** More tables than fit one message still come whole. */
  private static void many(Loam loam) throws Exception {
    String ns = Loam.fresh("many");
    var script = new String[61];
    script[0] = "CREATE NAMESPACE " + ns;
    String wide = "c".repeat(60);
    for (int i = 0; i < 60; i++) {
      var columns = new StringBuilder();
      for (int c = 0; c < 120; c++) {
        columns.append(c == 0 ? "" : ", ").append(wide).append(c).append(" TEXT");
      }
      script[i + 1] = "CREATE TABLE " + ns + ".t" + i + " (" + columns + ")";
    }
    loam.run(script);
    Metadata.with(
        loam,
        meta -> {
          Loam.equal("tables", tables(meta, ns, "%").split("\n").length, 60);
          Loam.equal("columns", Loam.text(meta.getColumns(null, ns, "%", null), 4).split("\n").length, 7200);
        });
  }
}
