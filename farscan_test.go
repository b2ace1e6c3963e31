package loam_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fakes3"
	"github.com/loamdb/loam/storage/collection"
)

var farScan = flag.Bool("far-scan-bench", false, "run TestBenchFarScan: first scans of a bucket with 20 ms a request (a minute)")

// farDelay is what each request for an object takes at least.
const farDelay = 20 * time.Millisecond

// TestBenchFarScan measures the first full scan of a collection of about 200 MB in a
// bucket that answers each request after 20 ms, and prints a line of JSON a case. The
// anchor is a node whose cache is too small for runs, so that it reads block by block.
// It asserts answers, never times.
func TestBenchFarScan(t *testing.T) {
	if !*farScan {
		t.Skip("runs with -far-scan-bench")
	}
	const splits, rows, dim = 4, 20_000, 512
	server := bucket(t)
	cfg := loam.Config{Dir: t.TempDir(), Store: at(server, "r"), Collection: collection.Options{MaxSplits: 100}}
	e := mustOpen(t, cfg)
	s := e.NewSession(loam.SessionConfig{})
	askRows(t, s, fmt.Sprintf("CREATE COLLECTION docs (id TEXT PRIMARY KEY, body TEXT, n INT, emb VECTOR(%d))", dim))
	for i := range splits {
		askRows(t, s, fmt.Sprintf(`INSERT INTO docs SELECT 'k' || g, repeat(md5(g::TEXT), 10), g, [%s]::FLOAT[]::VECTOR(%d) FROM generate_series(%d, %d) t(g)`,
			"g"+strings.Repeat(", 1", dim-1), dim, i*rows, (i+1)*rows-1))
		if _, err := s.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: "docs"}, Tail: loam.TailWait}); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, e)
	bytes := 0
	for _, k := range server.Keys() {
		if b, _ := server.Object(k); !strings.Contains(k, "/wal/") {
			bytes += len(b)
		}
	}
	server.Add(fakes3.Fault{Kind: fakes3.Slow, Method: "GET", Delay: farDelay})
	for _, sql := range []string{
		"SELECT sum(n), count(DISTINCT id) FROM docs",
		"SELECT sum(length(_source)) FROM docs",
		"SELECT sum(length(_source)), sum(length(body)), max(emb <-> emb) FROM docs",
	} {
		var seconds [2]float64
		var requests [2]int
		var answers [2]string
		for i, cache := range []int64{collection.DefaultCacheBytes, 32 << 20} {
			for range 2 {
				cfg.CacheBytes = cache
				d, n, answer := firstScan(t, server, cfg, sql)
				if seconds[i] == 0 || d < seconds[i] {
					seconds[i], requests[i], answers[i] = d, n, answer
				}
			}
		}
		if answers[0] != answers[1] {
			t.Errorf("%s: %s and %s", sql, answers[0], answers[1])
		}
		line, err := json.Marshal(map[string]any{"bench": "far-scan", "case": sql, "mib": bytes >> 20, "ours": seconds[0], "requests": requests[0],
			"anchor": "blocks of 256 KiB", "theirs": seconds[1], "their_requests": requests[1], "ratio": round3(seconds[0] / seconds[1]), "unit": "s"})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(string(line))
	}
}

func round3(v float64) float64 { return math.Round(1000*v) / 1000 }

// firstScan runs the statement on a node that has read nothing, and says how long it
// took and how many requests for objects.
func firstScan(t *testing.T, server *fakes3.Server, cfg loam.Config, sql string) (seconds float64, requests int, answer string) {
	t.Helper()
	e := mustOpen(t, cfg)
	defer mustClose(t, e)
	s := e.NewSession(loam.SessionConfig{})
	askRows(t, s, "SELECT count(*) FROM docs")
	before := len(server.Requests())
	start := time.Now()
	got := askRows(t, s, sql)
	d := time.Since(start)
	for _, r := range server.Requests()[before:] {
		if strings.Contains(r, "/objects/") {
			requests++
		}
	}
	return round3(d.Seconds()), requests, strings.Join(got, ";")
}
