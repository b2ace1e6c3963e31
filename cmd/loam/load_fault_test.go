package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/cmd/loam/internal/load"
	"github.com/loamdb/loam/flightsql/client"
	"github.com/loamdb/loam/internal/clock"
)

// manyRows writes a CSV file of id, v.
func manyRows(t *testing.T, rows int) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("id,v\n")
	for i := range rows {
		fmt.Fprintf(&b, "%d,value %d\n", i, i)
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// loadInto runs a load beside the test and gives its output at the end.
func loadInto(t *testing.T, addr string, o load.Options) <-chan string {
	t.Helper()
	c, err := client.Dial("grpc://"+addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Chunk = 400
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	done := make(chan string, 1)
	go func() {
		defer func() { _ = c.Close() }()
		var out bytes.Buffer
		err := load.Run(context.Background(), load.Flight(c), load.IO{In: strings.NewReader(""), Out: &out, Err: io.Discard, Clock: clock.Real()}, &o)
		done <- fmt.Sprint(out.String(), err)
	}()
	return done
}

func countOf(t *testing.T, addr, sql string) string {
	t.Helper()
	c, err := client.Dial("grpc://"+addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	rows, err := load.Flight(c).Query(t.Context(), sql)
	if err != nil || len(rows) != 1 {
		return fmt.Sprint(rows, err)
	}
	return strings.Join(rows[0], " ")
}

// smallBacklog makes a server ask to wait.
const smallBacklog = " WITH (max_unapplied_records = 9000, batch_rows = 5000, batch_interval = '200ms')"

// TestLoadSurvivesARestart: the server goes away in the middle and comes back; a
// collection then has each row once.
func TestLoadSurvivesARestart(t *testing.T) {
	const rows = 60_000
	cfg := serveConfig{data: t.TempDir(), flight: "127.0.0.1:0"}
	s, err := startServer(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.flight = s.flightAddr
	if got := countOf(t, s.flightAddr, "CREATE COLLECTION t (id BIGINT PRIMARY KEY, v TEXT)"+smallBacklog); got != "[] <nil>" {
		t.Fatal(got)
	}
	done := loadInto(t, s.flightAddr, load.Options{Target: "t", Files: []string{manyRows(t, rows)}, Streams: 2, Patience: time.Minute})
	for deadline := time.Now().Add(time.Minute); ; {
		if n := countOf(t, s.flightAddr, "SELECT count(*) FROM t"); len(n) >= 4 && !strings.HasPrefix(n, "[") {
			break // a few thousand are in
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was loaded within a minute")
		}
	}
	select {
	case out := <-done:
		t.Fatalf("it was over before the restart: %s", out)
	default:
	}
	now, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.flight.Shutdown(now) // at once, with calls under way
	s.stop()
	if s, err = startServer(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	if out := <-done; !strings.HasSuffix(out, "<nil>") {
		t.Error(out)
	}
	if got := countOf(t, s.flightAddr, "SELECT count(*), count(DISTINCT id), sum(id) FROM t"); got != fmt.Sprintf("%d %d %d", rows, rows, rows*(rows-1)/2) {
		t.Error(got)
	}
}

// TestLoadObeysBackpressure: a small backlog budget refuses batches; the load
// waits as it is told, and each row of a table comes once.
func TestLoadObeysBackpressure(t *testing.T) {
	const rows = 40_000
	s := startTest(t)
	if got := countOf(t, s.flightAddr, "CREATE TABLE t (id BIGINT, v TEXT)"+smallBacklog); got != "[] <nil>" {
		t.Fatal(got)
	}
	if out := <-loadInto(t, s.flightAddr, load.Options{Target: "t", Files: []string{manyRows(t, rows)}, Streams: 4, Patience: time.Minute}); !strings.HasSuffix(out, "<nil>") {
		t.Error(out)
	}
	if got := countOf(t, s.flightAddr, "SELECT count(*), count(DISTINCT id) FROM t"); got != fmt.Sprintf("%d %d", rows, rows) {
		t.Error(got)
	}
}
