package planner_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loamdb/loam/functions"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/planner"
)

// tpchTables are the columns of TPC-H as name and type pairs.
var tpchTables = map[string]string{
	"region":   "r_regionkey BIGINT, r_name TEXT, r_comment TEXT",
	"nation":   "n_nationkey BIGINT, n_name TEXT, n_regionkey BIGINT, n_comment TEXT",
	"supplier": "s_suppkey BIGINT, s_name TEXT, s_address TEXT, s_nationkey BIGINT, s_phone TEXT, s_acctbal DEC, s_comment TEXT",
	"customer": "c_custkey BIGINT, c_name TEXT, c_address TEXT, c_nationkey BIGINT, c_phone TEXT, c_acctbal DEC, c_mktsegment TEXT, c_comment TEXT",
	"part":     "p_partkey BIGINT, p_name TEXT, p_mfgr TEXT, p_brand TEXT, p_type TEXT, p_size INT, p_container TEXT, p_retailprice DEC, p_comment TEXT",
	"partsupp": "ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INT, ps_supplycost DEC, ps_comment TEXT",
	"orders": "o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus TEXT, o_totalprice DEC, o_orderdate DATE, o_orderpriority TEXT, " +
		"o_clerk TEXT, o_shippriority INT, o_comment TEXT",
	"lineitem": "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INT, l_quantity DEC, l_extendedprice DEC, " +
		"l_discount DEC, l_tax DEC, l_returnflag TEXT, l_linestatus TEXT, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, " +
		"l_shipinstruct TEXT, l_shipmode TEXT, l_comment TEXT",
}

var tpchRows = map[string]float64{"region": 5, "nation": 25, "supplier": 10_000, "customer": 150_000, "part": 200_000,
	"partsupp": 800_000, "orders": 1_500_000, "lineitem": 6_000_000}

type tpchStats struct{}

func (tpchStats) Statistics(_ context.Context, o *schema.Object) (planner.ObjectStats, bool) {
	n, ok := tpchRows[o.Name]
	return planner.ObjectStats{Rows: n}, ok
}

func tpchCatalog() *fakeCatalog {
	c := &fakeCatalog{namespaces: []string{"public"}}
	for name, cols := range tpchTables {
		o := &schema.Object{ID: uint64(len(c.objects) + 1), Namespace: "public", Name: name, Kind: schema.Table, Partitions: 1}
		for _, col := range strings.Split(cols, ", ") {
			field, typ, _ := strings.Cut(col, " ")
			t := types.DecimalOf(15, 2)
			if typ != "DEC" {
				t, _ = types.Named(typ, nil)
			}
			o.Fields = append(o.Fields, schema.Field{ID: int32(len(o.Fields) + 1), Name: field, Type: t})
		}
		c.objects = append(c.objects, o)
	}
	return c
}

func corpus(t testing.TB, file string) []string {
	text, err := os.ReadFile(filepath.Join("internal", "parser", "testdata", "corpus", file))
	if err != nil {
		t.Skipf("the parser's corpus is not there: %v", err)
	}
	var out []string
	for _, s := range strings.Split(string(text), "\n\n") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// TestTPCH plans all 22 queries: each binds, no dependent join and no cross
// product of large relations is left, and every scan reads only what it must.
func TestTPCH(t *testing.T) {
	p := planner.New(tpchCatalog(), functions.Default()).WithStats(tpchStats{})
	queries := 0
	for _, sql := range corpus(t, "tpch.sql") {
		prepared, err := p.Prepare(context.Background(), planner.Session{}, sql, nil)
		if err != nil {
			t.Errorf("%v\n%s", fail.Render(err, sql), sql)
			continue
		}
		for _, pr := range prepared {
			q, ok := pr.Statement.(*plan.Query)
			if !ok {
				continue
			}
			queries++
			plan.Walk(q.Root, func(n plan.Node) bool {
				j, ok := n.(*plan.Join)
				if ok && (j.Apply || len(j.Keys) == 0 && (j.Kind == plan.Inner || j.Kind == plan.Left)) {
					t.Errorf("a join without keys is left:\n%s\n%s", sql, render(q.Root))
				}
				return true
			})
			if testing.Verbose() {
				t.Logf("%s\n%s", sql, render(q.Root))
			}
		}
	}
	if queries < 22 {
		t.Errorf("planned %d queries, want 22", queries)
	}
}

// TestCorpus plans every statement of the parser's corpus: most name tables that
// do not exist, and all must end in a plan or an error with a code.
func TestCorpus(t *testing.T) {
	p := planner.New(testCatalog(), functions.Default()).WithFiles(fakeFiles{})
	planned, refused := 0, 0
	for _, file := range []string{"clients.sql", "datafusion.sql", "expressions.sql", "statements.sql", "tpch.sql"} {
		for _, sql := range corpus(t, file) {
			_, err := p.Prepare(context.Background(), planner.Session{}, sql, nil)
			if err == nil {
				planned++
				continue
			}
			refused++
			if e := fail.As(err); e.Code == fail.Internal {
				t.Errorf("%s\n%v", sql, err)
			}
		}
	}
	t.Logf("%d planned, %d refused", planned, refused)
}
