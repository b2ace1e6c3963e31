package flightsql

import (
	"context"
	"net"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/loamdb/loam"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	db, err := loam.Open(ctx, loam.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	srv, err := NewServer(db, Options{OnPanic: func(m string, v any, s []byte) { t.Logf("%s %v %s", m, v, s) }})
	if err != nil {
		t.Fatal(err)
	}
	lis, _ := net.Listen("tcp", "127.0.0.1:0")
	go srv.Serve(lis)
	cl, err := flightsql.NewClient(lis.Addr().String(), nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	run := func(q string) {
		info, err := cl.Execute(ctx, q)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			return
		}
		rd, err := cl.DoGet(ctx, info.Endpoint[0].Ticket)
		if err != nil {
			t.Errorf("%s: %v", q, err)
			return
		}
		n := 0
		for rd.Next() {
			n++
			if n < 3 {
				t.Log(q, info.TotalRecords, rd.RecordBatch())
			}
		}
		if rd.Err() != nil {
			t.Error(q, rd.Err())
		}
		rd.Release()
	}
	run("SELECT 1 AS one, 'x' AS b")
	run("CREATE COLLECTION docs (id TEXT PRIMARY KEY, title TEXT FULLTEXT 'english', year INT, emb VECTOR(3) DISTANCE cosine)")
	run("INSERT INTO docs (id, title, year) VALUES ('a','hello',1),('b','world',2)")
	run("SELECT * FROM docs")
	run("SELECT _pk,_source FROM docs")
	run("SELECT a FROM generate_series(1, 300000) AS g(a)")
	run("SHOW TABLES")
	info, err := cl.GetTables(ctx, &flightsql.GetTablesOpts{IncludeSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	rd, err := cl.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	for rd.Next() {
		t.Log(rd.RecordBatch())
	}
	info, err = cl.GetSqlInfo(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	rd, err = cl.DoGet(ctx, info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	for rd.Next() {
		t.Log(rd.RecordBatch().NumRows())
	}
	cl.Close()
	srv.Shutdown(ctx)
}
