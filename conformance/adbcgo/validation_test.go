// Package adbcgo runs ADBC's own Go validation suite, and Loam's checks through
// the Go Flight SQL driver, against an engine in this process. It is a module of
// its own, so that the driver never links into the product.
package adbcgo

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/apache/arrow-adbc/go/adbc"
	driver "github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-adbc/go/adbc/validation"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/suite"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql"
)

// quirks tells the suite what Loam does.
type quirks struct {
	t      *testing.T
	mem    *memory.CheckedAllocator
	engine *loam.Engine
	server *flightsql.Server
	uri    string
}

// start opens an engine in memory and serves it.
func (q *quirks) start(t *testing.T) {
	e, err := loam.Open(context.Background(), loam.Config{})
	if err != nil {
		t.Fatal(err)
	}
	q.mem = memory.NewCheckedAllocator(memory.DefaultAllocator)
	s, err := flightsql.NewServer(e, flightsql.Options{Mem: q.mem})
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(lis) }()
	q.t, q.engine, q.server, q.uri = t, e, s, "grpc+tcp://"+lis.Addr().String()
}

func (q *quirks) stop(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := q.server.Shutdown(ctx); err != nil {
		t.Error("shutdown:", err)
	}
	if err := q.engine.Close(); err != nil {
		t.Error("close:", err)
	}
	q.mem.AssertSize(t, 0)
}

func (q *quirks) SetupDriver(t *testing.T) adbc.Driver {
	q.start(t)
	return driver.NewDriver(memory.DefaultAllocator)
}
func (q *quirks) TearDownDriver(t *testing.T, _ adbc.Driver) { q.stop(t) }
func (q *quirks) DatabaseOptions() map[string]string {
	return map[string]string{adbc.OptionKeyURI: q.uri}
}
func (q *quirks) BindParameter(i int) string                  { return fmt.Sprintf("$%d", i+1) }
func (q *quirks) SupportsBulkIngest(string) bool              { return true }
func (q *quirks) SupportsConcurrentStatements() bool          { return true }
func (q *quirks) SupportsCurrentCatalogSchema() bool          { return true }
func (q *quirks) SupportsGetSetOptions() bool                 { return true }
func (q *quirks) SupportsExecuteSchema() bool                 { return true }
func (q *quirks) SupportsPartitionedData() bool               { return true }
func (q *quirks) SupportsStatistics() bool                    { return false }
func (q *quirks) SupportsTransactions() bool                  { return false }
func (q *quirks) SupportsGetParameterSchema() bool            { return true }
func (q *quirks) SupportsDynamicParameterBinding() bool       { return true }
func (q *quirks) SupportsErrorIngestIncompatibleSchema() bool { return true }
func (q *quirks) Catalog() string                             { return "loam" }
func (q *quirks) DBSchema() string                            { return "public" }
func (q *quirks) Alloc() memory.Allocator                     { return memory.DefaultAllocator }

func (q *quirks) GetMetadata(code adbc.InfoCode) interface{} {
	switch code {
	case adbc.InfoDriverName:
		return "ADBC Flight SQL Driver - Go"
	case adbc.InfoDriverVersion:
		return "(unknown or development build)"
	case adbc.InfoDriverArrowVersion:
		return "(unknown or development build)"
	case adbc.InfoVendorVersion:
		return loam.Version
	case adbc.InfoVendorArrowVersion:
		return "18.8.0"
	case adbc.InfoVendorName:
		return "loam"
	case adbc.InfoDriverADBCVersion:
		return adbc.AdbcVersion1_1_0
	case adbc.InfoVendorSql:
		return true
	case adbc.InfoVendorSubstrait:
		return false
	}
	return nil
}

func (q *quirks) CreateSampleTable(name string, r arrow.RecordBatch) error {
	s := q.engine.NewSession(loam.SessionConfig{})
	ctx := context.Background()
	if _, err := s.PrepareIngest(ctx, loam.Target{Name: name}, r.Schema(), loam.IngestMode{Create: true, IfExists: "fail"}); err != nil {
		return err
	}
	_, err := s.AppendRecords(ctx, loam.Target{Name: name}, r)
	return err
}

// SampleTableSchemaMetadata is what GetTables says of each column, for JDBC,
// ODBC and Power BI.
func (q *quirks) SampleTableSchemaMetadata(name string, dt arrow.DataType) arrow.Metadata {
	m := map[string]string{"CATALOG_NAME": "loam", "SCHEMA_NAME": "public", "DB_SCHEMA_NAME": "public", "TABLE_NAME": name,
		"IS_AUTO_INCREMENT": "0", "IS_CASE_SENSITIVE": "0", "IS_READ_ONLY": "0", "IS_SEARCHABLE": "1"}
	switch dt.ID() {
	case arrow.INT64:
		m["TYPE_NAME"], m["PRECISION"], m["SCALE"] = "BIGINT", "19", "0"
	case arrow.STRING:
		m["TYPE_NAME"], m["IS_CASE_SENSITIVE"] = "TEXT", "1"
	}
	out := map[string]string{}
	for k, v := range m {
		out["ARROW:FLIGHT:SQL:"+k] = v
	}
	return arrow.MetadataFrom(out)
}

func (q *quirks) DropTable(cnxn adbc.Connection, name string) error {
	st, err := cnxn.NewStatement()
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	if err := st.SetSqlQuery("DROP TABLE IF EXISTS " + name); err != nil {
		return err
	}
	_, err = st.ExecuteUpdate(context.Background())
	return err
}

func TestDatabase(t *testing.T) {
	suite.Run(t, &validation.DatabaseTests{Quirks: &quirks{}})
}

func TestConnection(t *testing.T) {
	suite.Run(t, &validation.ConnectionTests{Quirks: &quirks{}})
}

func TestStatement(t *testing.T) {
	suite.Run(t, &statementTests{validation.StatementTests{Quirks: &quirks{}}})
}

// statementTests is the suite's, but for one method.
type statementTests struct{ validation.StatementTests }

// TestSqlIngestErrors replaces the suite's: that one asks for Snowflake's
// SQLSTATEs, which the Flight SQL driver never sets, and for INTERNAL where a
// table exists. The same three mistakes are checked by their ADBC status.
func (s *statementTests) TestSqlIngestErrors() {
	ctx := context.Background()
	ingest := func(mode string, fields ...string) error {
		stmt, err := s.Cnxn.NewStatement()
		s.Require().NoError(err)
		defer func() { _ = stmt.Close() }()
		s.Require().NoError(stmt.SetOption(adbc.OptionKeyIngestTargetTable, "bulk_ingest"))
		s.Require().NoError(stmt.SetOption(adbc.OptionKeyIngestMode, mode))
		s.Require().NoError(stmt.Bind(ctx, int64Batch(fields...)))
		_, err = stmt.ExecuteUpdate(ctx)
		return err
	}
	status := func(err error) adbc.Status {
		var e adbc.Error
		s.Require().ErrorAs(err, &e)
		return e.Code
	}
	s.Equal(adbc.StatusNotFound, status(ingest(adbc.OptionValueIngestModeAppend, "a")))
	s.NoError(ingest(adbc.OptionValueIngestModeCreate, "a"))
	s.Equal(adbc.StatusAlreadyExists, status(ingest(adbc.OptionValueIngestModeCreate, "a")))
	s.Equal(adbc.StatusInvalidArgument, status(ingest(adbc.OptionValueIngestModeAppend, "a", "b")))
}

// int64Batch is three rows of BIGINT columns.
func int64Batch(fields ...string) arrow.RecordBatch {
	var list []arrow.Field
	for _, f := range fields {
		list = append(list, arrow.Field{Name: f, Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(list, nil))
	defer b.Release()
	for i := range fields {
		b.Field(i).(*array.Int64Builder).AppendValues([]int64{42, -42, 0}, []bool{true, true, false})
	}
	return b.NewRecordBatch()
}
