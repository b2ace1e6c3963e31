package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/rest"
)

var (
	appendFor  = flag.Duration("append", 0, "how long each turn of TestAppendBench lasts; 0 skips it")
	appendOnly = flag.String("append-case", "", "the one case to run, such as go/8/100: API, clients, records a call")
)

// appendTurns is how often Loam and the anchor take turns.
const appendTurns = 3

// appendCase is one way to append small batches to a stream.
type appendCase struct {
	API     string `json:"api"` // go: Session.ProduceDocuments; producer: the same as batches of producers; rest: POST …/records
	Clients int    `json:"clients"`
	Batch   int    `json:"batch"` // records a call
}

// appendFigures are a case's line. Rates are medians of the turns; latencies and the
// processor's time are of all of them.
type appendFigures struct {
	Bench string `json:"bench"`
	appendCase
	Calls     float64 `json:"calls_per_s"`
	Records   float64 `json:"records_per_s"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	CPU       float64 `json:"cpu_us_per_call"`
	Anchor    float64 `json:"anchor_calls_per_s"`
	AnchorP50 float64 `json:"anchor_p50_ms"`
	Ratio     float64 `json:"ratio"`
	Rows      int64   `json:"rows_compared"`
}

// TestAppendBench measures small appends, each durable before it is acknowledged, by 1,
// 8 and 64 clients. The anchor writes the same bytes to one file of the same disk in the
// same run: whatever waits is written and synced at once, as a log of its own would do
// that has no names, no order to agree upon and no rows to read. Loam writes an object,
// syncs it and its directory, and sequences it in its metastore, which syncs too.
func TestAppendBench(t *testing.T) {
	if *appendFor == 0 {
		t.Skip("run with -append 1s")
	}
	for _, clients := range []int{1, 8, 64} {
		for _, batch := range []int{1, 100} {
			for _, api := range []string{"go", "producer", "rest"} {
				c := appendCase{api, clients, batch}
				if *appendOnly != "" && *appendOnly != fmt.Sprintf("%s/%d/%d", api, clients, batch) {
					continue
				}
				line, err := json.Marshal(benchAppend(t, c))
				if err != nil {
					t.Fatal(err)
				}
				fmt.Println(string(line))
			}
		}
	}
}

func benchAppend(t *testing.T, c appendCase) appendFigures {
	dir := t.TempDir()
	db, err := loam.Open(t.Context(), loam.Config{Dir: filepath.Join(dir, "loam")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s := db.NewSession(loam.SessionConfig{})
	if res, err := s.Query(t.Context(), "CREATE STREAM events"); err != nil || res.Close() != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, "anchor"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	send, done := sender(db, c)
	defer done()
	out := appendFigures{Bench: "append", appendCase: c}
	var ours, theirs []float64
	var all, anchored []time.Duration
	calls, spent := 0, time.Duration(0)
	for turn := range appendTurns {
		before := cpuTime()
		took := turns(t, c, turn, send)
		spent, calls = spent+cpuTime()-before, calls+len(took)
		ours, all = append(ours, float64(len(took))/appendFor.Seconds()), append(all, took...)
		log := &groupFile{file: file, wake: make(chan struct{}, 1)}
		var writer sync.WaitGroup
		writer.Go(log.run)
		took = turns(t, c, turn, log.send)
		close(log.wake)
		writer.Wait()
		theirs, anchored = append(theirs, float64(len(took))/appendFor.Seconds()), append(anchored, took...)
	}
	out.Calls, out.Anchor = middle(ours), middle(theirs)
	out.Records, out.Ratio = out.Calls*float64(c.Batch), math.Round(100*out.Calls/out.Anchor)/100
	out.P50, out.P99, out.AnchorP50 = quantile(all, 0.5), quantile(all, 0.99), quantile(anchored, 0.5)
	out.CPU = math.Round(float64(spent.Microseconds()) / float64(calls))
	out.Rows = compareRows(t, s, int64(calls*c.Batch))
	return out
}

// turns lets the clients send for a while, each one batch after the other, and returns
// how long each took.
func turns(t *testing.T, c appendCase, turn int, send func(client, call int, docs [][]byte) error) []time.Duration {
	t.Helper()
	var mu sync.Mutex
	var out []time.Duration
	var all sync.WaitGroup
	end := time.Now().Add(*appendFor)
	for client := range c.Clients {
		all.Go(func() {
			var mine []time.Duration
			for call := 0; time.Now().Before(end); call++ {
				docs := make([][]byte, c.Batch)
				for i := range docs {
					docs[i] = fmt.Appendf(nil, `{"key":"client-%d","value":{"turn":%d,"call":%d,"record":%d,"text":"a small event of some sixty bytes, as they are"}}`, client, turn, call, i)
				}
				begin := time.Now()
				if err := send(client, call, docs); err != nil {
					t.Error(err)
					return
				}
				mine = append(mine, time.Since(begin))
			}
			mu.Lock()
			defer mu.Unlock()
			out = append(out, mine...)
		})
	}
	all.Wait()
	return out
}

// sender is a case's way to send.
func sender(db *loam.Engine, c appendCase) (send func(client, call int, docs [][]byte) error, done func()) {
	ctx, to := context.Background(), loam.Target{Name: "events"}
	s := db.NewSession(loam.SessionConfig{})
	switch c.API {
	case "producer":
		next := make([]atomic.Uint64, c.Clients)
		return func(client, _ int, docs [][]byte) error {
			_, err := s.ProduceDocuments(ctx, to, &loam.Producer{ID: fmt.Sprint(client), Sequence: next[client].Add(1) - 1}, docs)
			return err
		}, func() {}
	case "rest":
		srv := httptest.NewServer(rest.Handler(db, rest.Options{}))
		web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: c.Clients}}
		return func(_, _ int, docs [][]byte) error {
				res, err := web.Post(srv.URL+"/v1/namespaces/public/streams/events/records", "application/x-ndjson", bytes.NewReader(bytes.Join(docs, []byte("\n"))))
				if err != nil {
					return err
				}
				defer func() { _ = res.Body.Close() }()
				body, err := io.ReadAll(res.Body)
				if err == nil && res.StatusCode != http.StatusOK {
					err = fmt.Errorf("%s: %s", res.Status, body)
				}
				return err
			}, func() {
				web.CloseIdleConnections()
				srv.Close()
			}
	}
	return func(_, _ int, docs [][]byte) error {
		_, err := s.ProduceDocuments(ctx, to, nil, docs)
		return err
	}, func() {}
}

// groupFile appends to a file: run writes and syncs at once what all clients have
// brought since it did so last.
type groupFile struct {
	file *os.File
	wake chan struct{} // something waits; closed at the end

	mu      sync.Mutex // guards the fields below
	waiting []byte
	told    []chan error
}

func (g *groupFile) send(_, _ int, docs [][]byte) error {
	mine := make(chan error, 1)
	g.mu.Lock()
	for _, d := range docs {
		g.waiting = append(g.waiting, d...)
	}
	g.told = append(g.told, mine)
	g.mu.Unlock()
	select {
	case g.wake <- struct{}{}:
	default:
	}
	return <-mine
}

func (g *groupFile) run() {
	for range g.wake {
		g.mu.Lock()
		buf, told := g.waiting, g.told
		g.waiting, g.told = nil, nil
		g.mu.Unlock()
		_, err := g.file.Write(buf)
		if err == nil {
			err = g.file.Sync()
		}
		for _, c := range told {
			c <- err
		}
	}
}

// compareRows checks that every record that was acknowledged is there once.
func compareRows(t *testing.T, s *loam.Session, want int64) int64 {
	t.Helper()
	res, err := s.Query(t.Context(), "SELECT count(*), count(DISTINCT (key, convert_from(value, 'UTF8'))) FROM events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Close() }()
	c, err := res.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := c.RowAt(0)
	if n, distinct := c.Cols[0].Value(at).Int, c.Cols[1].Value(at).Int; n != want || distinct != want {
		t.Errorf("%d records are there, %d different ones, and %d were acknowledged", n, distinct, want)
	}
	return want
}

func middle(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return math.Round(v[len(v)/2])
}

// quantile is in milliseconds.
func quantile(v []time.Duration, q float64) float64 {
	slices.Sort(v)
	return math.Round(float64(v[int(q*float64(len(v)-1))].Microseconds())) / 1000
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
