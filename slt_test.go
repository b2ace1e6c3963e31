package loam_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql"
	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/flightsql/client"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
)

// The SQL tests in testdata/slt are sqllogictest files:
//
//	statement ok            the SQL that follows runs
//	statement count N       it runs and changes N rows
//	statement error REGEX   it fails, with "SQLSTATE message hint" matching
//	query [rowsort]         it answers the rows behind ----, columns by one tab or
//	                        two spaces; rowsort compares them sorted
//	query error REGEX       it fails
//	restart                 closes and opens the engine (a file's last rows must survive)
//	apply                   waits until all tails are applied
//	links                   waits until the running links have read all, or have failed
//
// Each file runs on an engine of its own, once with rows left in the tail and
// once with an apply before each query, and once more through a Flight SQL server
// and client: answers must be the same.

type record struct {
	line int
	head []string
	sql  string
	want []string
}

func parseSLT(t *testing.T, path string) []record {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []record
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); {
		line := strings.TrimSpace(lines[i])
		if line == "" || strings.HasPrefix(line, "#") {
			i++
			continue
		}
		r := record{line: i + 1, head: strings.Fields(line)}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "" && lines[i] != "----"; i++ {
			r.sql += lines[i] + "\n"
		}
		if i < len(lines) && lines[i] == "----" {
			for i++; i < len(lines) && lines[i] != ""; i++ {
				r.want = append(r.want, lines[i])
			}
		}
		out = append(out, r)
	}
	return out
}

// node is one engine under test.
type node struct {
	t       *testing.T
	dir     string
	wire    bool // ask over Flight SQL
	engine  *loam.Engine
	session *loam.Session
	server  *flightsql.Server
	client  *client.Client
}

func (n *node) open() {
	n.t.Helper()
	e, err := loam.Open(context.Background(), loam.Config{Dir: n.dir, Files: []string{"testdata"}})
	if err != nil {
		n.t.Fatal(err)
	}
	n.engine, n.session = e, e.NewSession(loam.SessionConfig{User: "tester"})
	if n.wire {
		n.serve()
	}
}

// serve puts a Flight SQL server before the engine, and connects to it.
func (n *node) serve() {
	n.t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.t.Fatal(err)
	}
	n.server, err = flightsql.NewServer(n.engine, flightsql.Options{Users: access.Plain(map[string]string{"tester": "tester"}, nil, clock.Real(), clock.RandomIDs(clock.Real()))})
	if err != nil {
		n.t.Fatal(err)
	}
	go func() { _ = n.server.Serve(lis) }()
	n.client, err = client.Dial("grpc://"+lis.Addr().String(), client.Options{User: "tester", Password: "tester"})
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) close() {
	n.t.Helper()
	if n.wire {
		_ = n.client.Close()
		if err := n.server.Shutdown(context.Background()); err != nil {
			n.t.Error(err)
		}
	}
	if err := n.engine.Close(); err != nil {
		n.t.Fatal(err)
	}
}

// apply folds every tail into fragments.
func (n *node) apply() {
	n.t.Helper()
	objs, err := n.engine.Catalog().Objects(context.Background(), "")
	if err != nil {
		n.t.Fatal(err)
	}
	for _, o := range objs {
		if o.Kind == schema.View || o.Kind == schema.Link {
			continue
		}
		_, err := n.session.ScanPlan(context.Background(), loam.ScanRequest{Target: loam.Target{Namespace: o.Namespace, Name: o.Name}, Tail: loam.TailWait})
		if err != nil {
			n.t.Fatal(err)
		}
	}
}

// links waits until no link that runs has anything left to read.
func (n *node) links() string {
	var rows []string
	for range 1000 {
		var err error
		rows, _, err = n.query("SELECT name, lag_records, error FROM system.links WHERE state = 'running' AND (lag_records > 0 OR retries > 0)")
		if err != nil {
			return err.Error()
		}
		if len(rows) == 0 {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return "links do not get on: " + strings.Join(rows, "; ")
}

// answer is rows, from the engine or from the wire.
type answer interface {
	Next(ctx context.Context) (*vec.Chunk, error)
	Close() error
}

// run runs a statement the node's way.
func (n *node) run(ctx context.Context, sql string) (answer, int64, error) {
	if n.wire {
		r, err := n.client.Query(ctx, sql)
		if err != nil {
			return nil, 0, err
		}
		return r, r.Affected, nil
	}
	r, err := n.session.Query(ctx, sql)
	if err != nil {
		return nil, 0, err
	}
	return r, r.Affected, nil
}

// query runs a statement and renders its rows.
func (n *node) query(sql string) (rows []string, affected int64, err error) {
	ctx := context.Background()
	r, affected, err := n.run(ctx, sql)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = r.Close() }()
	for {
		c, err := r.Next(ctx)
		if err != nil {
			return nil, 0, err
		}
		if c == nil {
			return rows, affected, nil
		}
		for i := range c.Rows() {
			var cells []string
			for _, col := range c.Cols {
				cell := col.Value(c.RowAt(i)).String()
				if cell == "" {
					cell = "(empty)"
				}
				cells = append(cells, strings.ReplaceAll(cell, "\n", "\\n"))
			}
			rows = append(rows, strings.Join(cells, "\t"))
		}
	}
}

var gap = regexp.MustCompile(`\t+|  +`)

func normal(rows []string, sorted bool) string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = gap.ReplaceAllString(strings.TrimSpace(r), "\t")
	}
	if sorted {
		sort.Strings(out)
	}
	return strings.Join(out, "\n")
}

func (r record) check(n *node) string {
	switch r.head[0] {
	case "restart":
		n.close()
		n.open()
		return ""
	case "apply":
		n.apply()
		return ""
	case "links":
		return n.links()
	}
	rows, affected, err := n.query(r.sql)
	rest := strings.Join(r.head[min(2, len(r.head)):], " ")
	switch kind := r.head[1:]; {
	case len(kind) > 0 && kind[0] == "error":
		if err == nil {
			return "it succeeded, an error is expected"
		}
		e := fail.As(err)
		text := e.Code.SQLState() + " " + e.Message + " " + e.Hint
		if ok, rerr := regexp.MatchString("(?i)"+rest, text); rerr != nil || !ok {
			return fmt.Sprintf("error %q does not match %q", text, rest)
		}
		return ""
	case err != nil:
		return fail.Render(err, r.sql)
	case r.head[0] == "statement" && kind[0] == "count" && fmt.Sprint(affected) != rest:
		return fmt.Sprintf("%d rows changed, want %s", affected, rest)
	case r.head[0] == "query":
		sorted := len(kind) > 0 && kind[0] == "rowsort"
		if got, want := normal(rows, sorted), normal(r.want, sorted); got != want {
			return fmt.Sprintf("got\n%s\nwant\n%s", got, want)
		}
	}
	return ""
}

func TestSLT(t *testing.T) {
	files, err := filepath.Glob("testdata/slt/*.slt")
	if err != nil || len(files) == 0 {
		t.Fatal("no .slt files", err)
	}
	records, negative := 0, 0
	var failed atomic.Int64
	// The records run side by side inside a group, so that the count comes last.
	t.Run("files", func(t *testing.T) {
		for _, path := range files {
			recs := parseSLT(t, path)
			for _, r := range recs {
				if r.head[0] == "query" || r.head[0] == "statement" {
					records++
				}
				if len(r.head) > 1 && r.head[1] == "error" {
					negative++
				}
			}
			for _, mode := range sltModes {
				t.Run(filepath.Base(path)+"/"+mode, func(t *testing.T) {
					t.Parallel()
					failed.Add(runSLT(t, path, recs, mode))
				})
			}
		}
	})
	if 100*negative < 15*records {
		t.Errorf("%d of %d records expect an error; at least 15 %% should", negative, records)
	}
	t.Logf("%d records, of which %d expect an error, run %d ways", records, negative, len(sltModes))
	t.Logf("slt: %d passed, %d failed, 0 skipped", records*len(sltModes)-int(failed.Load()), failed.Load())
}

// The ways to run a file.
const (
	onTail   = "tail"
	onSplits = "splits"
	onWire   = "flight"
)

var sltModes = []string{onTail, onSplits, onWire}

// runSLT runs a file's records and counts the failures.
func runSLT(t *testing.T, path string, recs []record, mode string) (failed int64) {
	n := &node{t: t, dir: t.TempDir(), wire: mode == onWire}
	n.open()
	defer n.close()
	for _, r := range recs {
		if mode == onSplits && r.head[0] == "query" {
			n.apply()
		}
		if why := r.check(n); why != "" {
			failed++
			t.Errorf("%s:%d: %s\n%s", path, r.line, strings.TrimSpace(r.sql), why)
		}
	}
	return failed
}
