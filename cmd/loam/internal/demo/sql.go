package demo

import (
	"fmt"
	"io"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// show is one query of the tour.
type show struct{ title, sql string }

const createSymbols = `CREATE COLLECTION symbols (
  id TEXT PRIMARY KEY, package TEXT, kind TEXT, name TEXT,
  signature TEXT FULLTEXT 'standard', doc TEXT FULLTEXT 'english',
  emb VECTOR(384) DISTANCE cosine)`

const createPackages = `CREATE COLLECTION packages (
  path TEXT PRIMARY KEY, synopsis TEXT FULLTEXT 'english', lines INT, exported_symbols INT, imports TEXT[])`

// question is the one that the vector queries ask; questionName stands for its vector.
const (
	question     = "how do I wait for several goroutines to finish"
	questionName = ":question"
)

var shows = []show{
	{"SQL: the largest packages and what they export (a join and an aggregate)",
		`SELECT p.path, p.lines, count(*) AS symbols, sum(CASE WHEN s.kind = 'func' THEN 1 ELSE 0 END) AS funcs
FROM packages p JOIN symbols s ON s.package = p.path
GROUP BY p.path, p.lines ORDER BY p.lines DESC LIMIT 5`},
	{"Full text: \"file system walk\" by BM25",
		`SELECT id, round(_score, 2) AS score, left(doc, 48) AS doc
FROM text_search(symbols, 'file system walk', doc) LIMIT 5`},
	{"Vectors: \"" + question + "\" by meaning",
		`SELECT id, round(_score, 3) AS score, left(doc, 48) AS doc
FROM vector_search(symbols, :question) LIMIT 5`},
	{"Both, fused by reciprocal rank, functions and methods of sync only",
		`SELECT id, round(_fused_score, 4) AS score, left(doc, 48) AS doc
FROM rrf(text_search(symbols, 'wait for goroutines'), vector_search(symbols, :question), k => 60)
WHERE package = 'sync' AND kind IN ('func', 'method', 'type') LIMIT 5`},
}

// questionVector is the vector of question as SQL.
func questionVector(e *Embeddings) (string, error) {
	for _, q := range e.Questions() {
		if strings.Contains(strings.ToLower(q.Text), "goroutine") {
			return vec.VectorValue(q.Vector).String(), nil
		}
	}
	return "", fail.Bug("the embeddings hold no question about goroutines")
}

// Print writes the queries of the tour as a script for loam sql.
func Print(out io.Writer) error {
	e, err := LoadEmbeddings()
	if err != nil {
		return err
	}
	q, err := questionVector(e)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `-- The queries of loam demo, for a server that loam demo --keep has left running:
--   loam demo --print | loam sql --endpoint grpc://HOST:PORT
-- Its collections:
-- %s;
-- %s;

-- "%s" as a vector
\set question %s
`, strings.ReplaceAll(createSymbols, "\n", "\n-- "), strings.ReplaceAll(createPackages, "\n", "\n-- "), question, q)
	for _, s := range shows {
		if _, err := fmt.Fprintf(out, "\n-- %s\n%s;\n", s.title, s.sql); err != nil {
			return err
		}
	}
	return nil
}

// goodbye says what to do next.
func goodbye(out io.Writer, s Server) {
	if !s.Keep {
		fmt.Fprint(out, `── Next
  loam demo --keep    the same, and the server stays: a page, Python, a shell
  loam demo --print   the queries above, to change and run
  loam serve          a server of your own; loam load brings files into it
`)
		return
	}
	fmt.Fprintf(out, `── The server keeps running
  Page     http://%[2]s
  Shell    loam sql --endpoint grpc://%[1]s
  Queries  loam demo --print | loam sql --endpoint grpc://%[1]s
  Python   pip install adbc-driver-flightsql pyarrow
           import adbc_driver_flightsql.dbapi as db
           with db.connect("grpc://%[1]s", autocommit=True) as c, c.cursor() as cur:
               cur.execute("SELECT id FROM text_search(symbols, 'read file') LIMIT 5")
               print(cur.fetch_arrow_table())
  curl     curl -H 'Content-Type: application/json' http://%[2]s/v1/sql -d '{"sql": "SELECT count(*) FROM symbols"}'
  Stop     Ctrl-C; the data goes with it
`, s.Flight, s.HTTP)
}
