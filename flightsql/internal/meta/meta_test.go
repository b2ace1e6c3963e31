package meta

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
)

// objects is a catalog of a list.
type objects []*schema.Object

func (o objects) Lookup(context.Context, catalog.Name, catalog.Name) (*schema.Object, error) {
	return nil, nil
}
func (o objects) ByID(context.Context, uint64) (*schema.Object, error) { return nil, nil }
func (o objects) Namespaces(context.Context) ([]catalog.Namespace, error) {
	return []catalog.Namespace{{Name: "public"}, {Name: "ml"}, {Name: "system"}}, nil
}
func (o objects) Objects(context.Context, string) ([]*schema.Object, error) { return o, nil }

func object(ns, name string, fields ...schema.Field) *schema.Object {
	return &schema.Object{Namespace: ns, Name: name, Kind: schema.Collection, Key: []int{0}, Fields: append([]schema.Field{{Name: "id", Type: types.Of(types.Text)}}, fields...)}
}

func source(mem memory.Allocator) *Source {
	return &Source{Version: "1.2.3", Mem: mem, Functions: []string{"abs", "upper", "now"}, Catalog: objects{
		object("public", "webxdocs"),
		object("public", "web_docs", schema.Field{Name: "price", Type: types.DecimalOf(18, 3)}, schema.Field{Name: "emb", Type: types.VectorOf(4)}),
		object("public", "Docs"), object("ml", "web_docs"), object("system", "queries"),
	}}
}

// ask answers a command as rows of text, columns separated by |, nested ones left out.
func ask(t *testing.T, cmd proto.Message) []string {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	rec, err := source(mem).Batch(context.Background(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	if !rec.Schema().Equal(Schema(cmd)) {
		t.Errorf("schema %v, promised %v", rec.Schema(), Schema(cmd))
	}
	var out []string
	for i := range int(rec.NumRows()) {
		var row []string
		for _, col := range rec.Columns() {
			if col.DataType().ID() != arrow.BINARY {
				row = append(row, col.ValueStr(i))
			}
		}
		out = append(out, strings.Join(row, "|"))
	}
	return out
}

func TestTables(t *testing.T) {
	all := []string{"loam|ml|web_docs|TABLE", "loam|public|Docs|TABLE", "loam|public|web_docs|TABLE", "loam|public|webxdocs|TABLE", "loam|system|queries|SYSTEM TABLE"}
	for _, c := range []struct {
		name string
		cmd  *pb.CommandGetTables
		want []string
	}{
		{"all", &pb.CommandGetTables{}, all},
		{"our catalog", &pb.CommandGetTables{Catalog: proto.String("loam")}, all},
		{"no catalog", &pb.CommandGetTables{Catalog: proto.String("")}, nil},
		{"another catalog", &pb.CommandGetTables{Catalog: proto.String("x")}, nil},
		{"exact first, then what the wildcard finds", &pb.CommandGetTables{DbSchemaFilterPattern: proto.String("public"), TableNameFilterPattern: proto.String("web_docs")}, []string{all[2], all[3]}},
		{"escaped", &pb.CommandGetTables{TableNameFilterPattern: proto.String(`web\_docs`)}, []string{all[0], all[2]}},
		{"prefix", &pb.CommandGetTables{TableNameFilterPattern: proto.String("web%")}, []string{all[0], all[2], all[3]}},
		{"case counts", &pb.CommandGetTables{TableNameFilterPattern: proto.String("docs")}, nil},
		{"empty pattern", &pb.CommandGetTables{TableNameFilterPattern: proto.String("")}, nil},
		{"an odd one", &pb.CommandGetTables{TableNameFilterPattern: proto.String("a'b\nc")}, nil},
		{"schema pattern", &pb.CommandGetTables{DbSchemaFilterPattern: proto.String("m_")}, all[:1]},
		{"base table is table", &pb.CommandGetTables{TableTypes: []string{"base table"}}, all[:4]},
		{"as Spice asks", &pb.CommandGetTables{TableTypes: []string{"TABLE", "BASE TABLE", "VIEW", "LOCAL TEMPORARY", "SYSTEM TABLE"}}, all},
		{"views", &pb.CommandGetTables{TableTypes: []string{"VIEW"}}, nil},
	} {
		for _, with := range []bool{false, true} {
			c.cmd.IncludeSchema = with
			if got := ask(t, c.cmd); !slices.Equal(got, c.want) {
				t.Errorf("%s (schema %v):\ngot  %q\nwant %q", c.name, with, got, c.want)
			}
		}
	}
}

func TestTableSchemaIsReadable(t *testing.T) {
	rec, err := source(memory.DefaultAllocator).Batch(context.Background(), &pb.CommandGetTables{IncludeSchema: true, TableNameFilterPattern: proto.String("web_docs")})
	if err != nil {
		t.Fatal(err)
	}
	got, err := flight.DeserializeSchema(rec.Column(4).(*array.Binary).Value(1), memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	price := got.Field(1)
	md := flightsql.ColumnMetadata{Data: &price.Metadata}
	name, _ := md.TypeName()
	precision, _ := md.Precision()
	scale, _ := md.Scale()
	table, _ := md.TableName()
	if name != "DECIMAL" || precision != 18 || scale != 3 || table != "web_docs" || !price.Nullable {
		t.Errorf("%v: %s(%d,%d) of %s", price, name, precision, scale, table)
	}
}

func TestOtherCommands(t *testing.T) {
	for _, c := range []struct {
		cmd  proto.Message
		want string
	}{
		{&pb.CommandGetCatalogs{}, "loam"},
		{&pb.CommandGetDbSchemas{}, "loam|ml loam|public loam|system"},
		{&pb.CommandGetDbSchemas{DbSchemaFilterPattern: proto.String("p%")}, "loam|public"},
		{&pb.CommandGetDbSchemas{Catalog: proto.String("")}, ""},
		{&pb.CommandGetTableTypes{}, "SYSTEM TABLE TABLE VIEW"},
		{&pb.CommandGetPrimaryKeys{Table: "web_docs", DbSchema: proto.String("ml")}, "loam|ml|web_docs|id|1|web_docs_pkey"},
		{&pb.CommandGetPrimaryKeys{Table: "nope"}, ""},
		{&pb.CommandGetExportedKeys{Table: "web_docs"}, ""},
		{&pb.CommandGetImportedKeys{Table: "web_docs"}, ""},
		{&pb.CommandGetCrossReference{PkTable: "a", FkTable: "b"}, ""},
	} {
		if got := strings.Join(ask(t, c.cmd), " "); got != c.want {
			t.Errorf("%T %v: got %q, want %q", c.cmd, c.cmd, got, c.want)
		}
	}
	if Schema(&pb.CommandStatementQuery{}) != nil {
		t.Error("a query has a metadata schema")
	}
}

func TestTypeInfo(t *testing.T) {
	rows := ask(t, &pb.CommandGetXdbcTypeInfo{})
	if len(rows) != len(typeRows) || !slices.IsSortedFunc(typeRows, func(a, b typeRow) int { return int(a.code - b.code) }) {
		t.Errorf("%d rows, sorted by code: %q", len(rows), rows)
	}
	if got := ask(t, &pb.CommandGetXdbcTypeInfo{DataType: proto.Int32(3)}); len(got) != 1 || !strings.HasPrefix(got[0], "DECIMAL|3|38|") {
		t.Errorf("got %q", got)
	}
	if got := ask(t, &pb.CommandGetXdbcTypeInfo{DataType: proto.Int32(4711)}); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

// arms is which arm of the union drivers read each id from.
var arms = map[arrow.UnionTypeCode][]uint32{
	armText:    {0, 1, 2, 6, 7, 504, 513, 514, 529, 530, 531},
	armBool:    {3, 4, 5, 9, 10, 11, 500, 501, 502, 506, 515, 516, 518, 519, 520, 521, 523, 524, 527, 532, 536, 537, 539, 556, 563, 565, 566, 572, 573, 574, 575, 576},
	armBitmask: {8, 100, 101, 522, 525, 526, 528, 533, 534, 535, 538, 540, 564, 567, 568, 569, 570, 571},
	armBigint:  {503, 505, 507, 541, 542, 543, 544, 545, 546, 547, 548, 549, 550, 551, 552, 553, 554, 555, 557, 558, 559, 560, 561, 562},
	armList:    {508, 509, 510, 511, 512},
	armMap:     {517},
}

func TestSqlInfoArms(t *testing.T) {
	rec, err := source(memory.DefaultAllocator).Batch(context.Background(), &pb.CommandGetSqlInfo{})
	if err != nil {
		t.Fatal(err)
	}
	ids, values := rec.Column(0).(*array.Uint32), rec.Column(1).(*array.DenseUnion)
	got, want := map[uint32]arrow.UnionTypeCode{}, map[uint32]arrow.UnionTypeCode{}
	for i := range int(rec.NumRows()) {
		got[ids.Value(i)] = values.TypeCode(i)
	}
	for arm, list := range arms {
		for _, id := range list {
			want[id] = arm
		}
	}
	for id, arm := range want {
		if g, ok := got[id]; !ok || g != arm {
			t.Errorf("id %d: arm %d (there: %v), drivers read %d", id, g, ok, arm)
		}
	}
	for id := range got {
		if _, ok := want[id]; !ok {
			t.Errorf("id %d is not one that every driver knows", id)
		}
	}
	if !slices.IsSorted(ids.Values()) {
		t.Error("ids are not sorted")
	}
}

// TestSqlInfoBits says by the specification's names what each set and each
// choice holds: a bit is the number of its name, and a choice is the number.
func TestSqlInfoBits(t *testing.T) {
	info := source(memory.DefaultAllocator).info()
	bits := func(numbers ...int32) bitmask {
		var sum bitmask
		for _, n := range numbers {
			sum |= 1 << n
		}
		return sum
	}
	for id, want := range map[pb.SqlInfo]any{
		pb.SqlInfo_FLIGHT_SQL_SERVER_TRANSACTION:                           bitmask(pb.SqlSupportedTransaction_SQL_SUPPORTED_TRANSACTION_NONE),
		pb.SqlInfo_SQL_IDENTIFIER_CASE:                                     bigint(pb.SqlSupportedCaseSensitivity_SQL_CASE_SENSITIVITY_CASE_INSENSITIVE),
		pb.SqlInfo_SQL_NULL_ORDERING:                                       bigint(pb.SqlNullOrdering_SQL_NULLS_SORTED_HIGH),
		pb.SqlInfo_SQL_SUPPORTED_GROUP_BY:                                  bits(int32(pb.SqlSupportedGroupBy_SQL_GROUP_BY_UNRELATED), int32(pb.SqlSupportedGroupBy_SQL_GROUP_BY_BEYOND_SELECT)),
		pb.SqlInfo_SQL_SUPPORTED_GRAMMAR:                                   bits(int32(pb.SupportedSqlGrammar_SQL_MINIMUM_GRAMMAR), int32(pb.SupportedSqlGrammar_SQL_CORE_GRAMMAR)),
		pb.SqlInfo_SQL_ANSI92_SUPPORTED_LEVEL:                              bits(int32(pb.SupportedAnsi92SqlGrammarLevel_ANSI92_ENTRY_SQL)),
		pb.SqlInfo_SQL_OUTER_JOINS_SUPPORT_LEVEL:                           bits(int32(pb.SqlOuterJoinsSupportLevel_SQL_LIMITED_OUTER_JOINS), int32(pb.SqlOuterJoinsSupportLevel_SQL_FULL_OUTER_JOINS)),
		pb.SqlInfo_SQL_SUPPORTED_SUBQUERIES:                                bits(0, 1, 2, 3),
		pb.SqlInfo_SQL_SUPPORTED_UNIONS:                                    bits(int32(pb.SqlSupportedUnions_SQL_UNION), int32(pb.SqlSupportedUnions_SQL_UNION_ALL)),
		pb.SqlInfo_SQL_DEFAULT_TRANSACTION_ISOLATION:                       bigint(pb.SqlTransactionIsolationLevel_SQL_TRANSACTION_NONE),
		pb.SqlInfo_SQL_SUPPORTED_TRANSACTIONS_ISOLATION_LEVELS:             bits(int32(pb.SqlTransactionIsolationLevel_SQL_TRANSACTION_NONE)),
		pb.SqlInfo_SQL_SUPPORTED_RESULT_SET_TYPES:                          bits(int32(pb.SqlSupportedResultSetType_SQL_RESULT_SET_TYPE_FORWARD_ONLY)),
		pb.SqlInfo_SQL_SUPPORTED_CONCURRENCIES_FOR_RESULT_SET_FORWARD_ONLY: bits(int32(pb.SqlSupportedResultSetConcurrency_SQL_RESULT_SET_CONCURRENCY_READ_ONLY)),
		pb.SqlInfo_FLIGHT_SQL_SERVER_VERSION:                               "1.2.3",
	} {
		if got := info[uint32(id)]; got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

func TestSqlInfoFilters(t *testing.T) {
	if got := ask(t, &pb.CommandGetSqlInfo{Info: []uint32{8, 99999, 0, 0}}); len(got) != 2 || !strings.HasPrefix(got[0], "0|") || !strings.HasPrefix(got[1], "8|") {
		t.Errorf("got %q", got)
	}
	if got := ask(t, &pb.CommandGetSqlInfo{Info: []uint32{99999}}); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

// TestLikeIsARegexp compares the matcher with a regular expression.
func TestLikeIsARegexp(t *testing.T) {
	letters := rapid.StringOfN(rapid.RuneFrom([]rune(`ab_%\ü`)), 0, 8, -1)
	rapid.Check(t, func(rt *rapid.T) {
		pattern, name := letters.Draw(rt, "pattern"), letters.Draw(rt, "name")
		var re strings.Builder
		re.WriteString("(?s)^")
		runes := []rune(pattern)
		for i := 0; i < len(runes); i++ {
			switch {
			case runes[i] == '%':
				re.WriteString(".*")
			case runes[i] == '_':
				re.WriteString(".")
			case runes[i] == Escape && i+1 < len(runes):
				i++
				re.WriteString(regexp.QuoteMeta(string(runes[i])))
			default:
				re.WriteString(regexp.QuoteMeta(string(runes[i])))
			}
		}
		re.WriteString("$")
		if want := regexp.MustCompile(re.String()).MatchString(name); matches(pattern, name) != want {
			rt.Errorf("matches(%q, %q) is not %v", pattern, name, want)
		}
	})
	if matches(strings.Repeat("%a", 30), strings.Repeat("a", 2000)+"b") {
		t.Error("matched")
	}
}

// TestViewsAreViews: a view is listed as VIEW with its columns, and has no key.
func TestViewsAreViews(t *testing.T) {
	view := &schema.Object{Namespace: "public", Name: "recent", Kind: schema.View, Query: &schema.ViewQuery{Text: "SELECT 1 AS one"},
		Fields: []schema.Field{{ID: 1, Name: "one", Type: types.Of(types.Int32)}}}
	s := &Source{Mem: memory.DefaultAllocator, Catalog: objects{object("public", "docs"), view}}
	for filter, want := range map[string]string{"VIEW": "recent", "TABLE": "docs", "base table": "docs", "SYSTEM TABLE": ""} {
		rec, err := s.Batch(context.Background(), &pb.CommandGetTables{TableTypes: []string{filter}, IncludeSchema: true})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range int(rec.NumRows()) {
			names = append(names, rec.Column(2).ValueStr(i))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %q, want %q", filter, got, want)
		}
	}
	keys, err := s.Batch(context.Background(), &pb.CommandGetPrimaryKeys{Table: "recent"})
	if err != nil || keys.NumRows() != 0 {
		t.Errorf("%v, %v", keys, err)
	}
}
