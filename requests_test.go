package loam_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fakes3"
	"github.com/loamdb/loam/storage/collection"
)

// requestRows is the size of each of the splits that reads are measured on.
const requestRows = 20_000

// bucketOfSplits is a directory whose collection docs has so many splits in a bucket.
func bucketOfSplits(t *testing.T, server *fakes3.Server, splits int) loam.Config {
	t.Helper()
	cfg := loam.Config{Dir: t.TempDir(), Store: at(server, "r"), Collection: collection.Options{MaxSplits: 100}}
	e := mustOpen(t, cfg)
	s := e.NewSession(loam.SessionConfig{})
	askRows(t, s, "CREATE COLLECTION docs (id TEXT PRIMARY KEY, body TEXT FULLTEXT 'english', n INT, emb VECTOR(32))")
	for i := range splits {
		askRows(t, s, fmt.Sprintf(`INSERT INTO docs SELECT 'k' || g, 'words of document ' || g || ' fox' || (g %% 100), g,
			[%s]::FLOAT[]::VECTOR(32) FROM generate_series(%d, %d) t(g)`, "g"+strings.Repeat(", 1", 31), i*requestRows, (i+1)*requestRows-1))
		if _, err := s.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: "docs"}, Tail: loam.TailWait}); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, e)
	return cfg
}

// TestRequestsOfReads holds how many requests for objects a read of three splits in a
// bucket costs: cold, with the opening of the engine, and warm. docs/object-store.md
// has the figures.
func TestRequestsOfReads(t *testing.T) {
	const splits = 3
	server := bucket(t)
	cfg := bucketOfSplits(t, server, splits)
	count := func() (n int) {
		for _, r := range server.Requests() {
			if strings.Contains(r, "/objects/") {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		name, sql string
		rows      int
		// Requests for objects, at most: with the opening, and the second time.
		cold, warm int
	}{
		{"opening alone", "SELECT 1", 1, 1 + splits, 0},
		{"point lookup", "SELECT id, body FROM docs WHERE id = 'k7'", 1, 1 + 2*splits + 1, 0},
		{"text search", "SELECT id FROM text_search(docs, 'fox7') LIMIT 5", 5, 1 + 7*splits, 0},
		{"vector search", "SELECT id FROM vector_search(docs, [1" + strings.Repeat(", 1", 31) + "]) LIMIT 5", 5, 1 + 7*splits, 0},
		{"aggregate", "SELECT sum(n) FROM docs", 1, 1 + 2*splits, 0},
		{"full scan", "SELECT id, body, n FROM docs", splits * requestRows, 1 + 7*splits, 0},
		{"full scan with vectors", "SELECT id, body, n, emb FROM docs", splits * requestRows, 1 + 12*splits, 0},
		{"full scan with documents", "SELECT id, _source FROM docs", splits * requestRows, 1 + 9*splits, 0},
		{"document by key", "SELECT _source FROM docs WHERE id = 'k7'", 1, 1 + 3*splits + 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := count()
			e := mustOpen(t, cfg)
			s := e.NewSession(loam.SessionConfig{})
			askRows(t, s, "SELECT count(*) FROM docs") // opens it, before the background does
			for _, bound := range []int{c.cold, c.warm} {
				if got := askRows(t, s, c.sql); len(got) != c.rows {
					t.Fatalf("%d rows, want %d", len(got), c.rows)
				}
				after := count()
				if t.Logf("%d requests", after-before); after-before > bound {
					t.Errorf("%d requests, at most %d are right\n%s", after-before, bound, strings.Join(server.Requests(), "\n"))
				}
				before = after
			}
			mustClose(t, e)
		})
	}
}
