package flightsql

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// pair serves two nodes of one cluster in memory.
func pair(t *testing.T) (a, b *client) {
	t.Helper()
	clk := clock.Real()
	ids := clock.RandomIDs(clk)
	meta, store := metastore.NewMem(clk, ids, metastore.Options{Shared: true}), object.NewMem()
	t.Cleanup(func() { _ = meta.Close() })
	node := func() *client {
		view, err := metastore.JoinMem(t.Context(), meta, clk, ids, metastore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		db, err := loam.Open(context.Background(), loam.Config{Cluster: true,
			WrapStore: func(object.Store) object.Store { return store }, WrapMeta: func(metastore.Store) metastore.Store { return view }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return serve(t, engine.Wrap(db), Options{Node: db.NodeID()})
	}
	return node(), node()
}

// TestTicketsOfAnotherNode: what one node seals, the other redeems: tickets of
// queries, of scan plans with a tail, and handles of prepared statements.
func TestTicketsOfAnotherNode(t *testing.T) {
	a, b := pair(t)
	a.run("CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT)", "INSERT INTO docs VALUES ('x', 1), ('y', 2)")
	info, err := a.info("SELECT sum(n) FROM docs")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := a.scanJSON(`{"collection":"docs","tail":"merge","columns":["_pk"]}`)
	if err != nil {
		t.Fatal(err)
	}
	handle, err := a.prepare("SELECT n FROM docs WHERE id = 'y'")
	if err != nil {
		t.Fatal(err)
	}
	b.run("INSERT INTO docs VALUES ('z', 100)")
	if got, err := b.all(info); err != nil || got.text() != "3" {
		t.Errorf("a query's ticket: %v, %v", got, err)
	}
	if got, err := b.all(plan); err != nil || got.sorted() != "x y" {
		t.Errorf("a scan plan's tickets: %v, %v", got, err)
	}
	if got, _, err := b.execute(handle.PreparedStatementHandle); err != nil || got.text() != "2" {
		t.Errorf("a prepared statement's handle: %v, %v", got, err)
	}
	if got, err := a.query("SELECT sum(n) FROM docs"); err != nil || got.text() != "103" {
		t.Errorf("a write of the other node: %v, %v", got, err)
	}
}

// TestASessionStaysOnItsNode: its settings are not known on another one, which says
// so instead of running under others; then the client begins anew.
func TestASessionStaysOnItsNode(t *testing.T) {
	a, b := pair(t)
	a.run("CREATE NAMESPACE ml", "CREATE TABLE ml.t (a INT)", "INSERT INTO ml.t VALUES (5)")
	_, header := a.setOptions(map[string]*pb.SessionOptionValue{"schema": textOption("ml")})
	id := cookieOf(header)
	if got, err := a.with("cookie", id).query("SELECT a FROM t"); err != nil || got.text() != "5" {
		t.Fatalf("on its node: %v, %v", got, err)
	}
	for how, c := range map[string]*client{"cookie": b.with("cookie", id), "bearer": b.with("authorization", header.Get("authorization")[0])} {
		_, err := c.query("SELECT a FROM t")
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "lives on another node") {
			t.Errorf("by %s on another node: %v", how, err)
		}
		if _, _, err := c.act("SetSessionOptions", nil); err == nil || !strings.Contains(err.Error(), "lives on another node") {
			t.Errorf("by %s, setting an option: %v", how, err)
		}
	}
	if got, err := b.with("cookie", "arrow_flight_session_id=0123").query("SELECT 1 AS one"); err != nil || got.text() != "1" {
		t.Errorf("an id of nobody: %v, %v", got, err)
	}
}
