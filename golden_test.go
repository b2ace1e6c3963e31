package loam_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/storage/collection"
)

var goldenOut = flag.String("golden", "", "write the archive of a data directory in the present format to this file")

// goldenScript makes a data directory with every kind of object and file: rows in
// splits, in merged ones, deleted ones, and in the log.
var goldenScript = []string{
	"CREATE NAMESPACE old",
	"CREATE COLLECTION docs (id TEXT PRIMARY KEY, body TEXT FULLTEXT 'english', n INT, at TIMESTAMP, emb VECTOR(2), sp SPARSE VECTOR) WITH (partitions = 2, dynamic = true, max_splits = 2)",
	"INSERT INTO docs (id, body, n, at, emb) VALUES ('a', 'quick foxes', 1, '2024-02-29 12:00:00', [1, 0]), ('b', 'lazy dogs', 2, NULL, [0, 1]), ('c', 'a quick dog', NULL, NULL, NULL)",
	"apply docs",
	`INSERT INTO docs SELECT 'k' || g, 'number ' || g, g, NULL, NULL, NULL FROM generate_series(1, 3000) x(g)`,
	"apply docs",
	"DELETE FROM docs WHERE id = 'b'",
	"UPDATE docs SET n = 100 WHERE id = 'c'",
	"apply docs",
	"ALTER COLLECTION docs ADD COLUMN lang TEXT",
	"INSERT INTO docs (id, lang) VALUES ('d', 'de')",
	"CREATE TABLE old.t (a INT, b DECIMAL(10, 2), c TEXT[], d UUID, e VARCHAR(5) NOT NULL DEFAULT 'x')",
	"INSERT INTO old.t (a, b, c) VALUES (1, 1.25, ['x', 'y']), (2, NULL, [])",
	"apply old.t",
	"DELETE FROM old.t WHERE a = 2",
	"INSERT INTO old.t (a, d) VALUES (3, '00000000-0000-0000-0000-000000000001')",
	"CREATE STREAM events",
	`INSERT INTO events (key, value) VALUES ('x', '{"a": 1}'), ('y', '{"a": 2}')`,
	"apply events",
	`INSERT INTO events (key, value) VALUES ('z', '{"a": 3}')`,
	"CREATE VIEW v AS SELECT id, n FROM docs WHERE n >= 100 AND id NOT LIKE 'k%'",
}

// goldenQuestions are asked of the directory before it is archived and ever after.
var goldenQuestions = []string{
	"SELECT count(*), sum(n), min(at) FROM docs",
	"SELECT id, body, n, lang FROM docs WHERE id < 'e' ORDER BY id",
	"SELECT id FROM text_search(docs, 'quick') ORDER BY id",
	"SELECT id FROM vector_search(docs, [1, 0]) ORDER BY id LIMIT 3",
	"SELECT id, n FROM v",
	"SELECT a, b, c, d, e FROM old.t ORDER BY a",
	"SELECT key, value, _ingest_offset FROM events ORDER BY key",
	"SELECT _source FROM docs WHERE id = 'a'",
}

// runGolden runs a script, in which apply takes the tail of an object into a split.
func runGolden(t *testing.T, e *loam.Engine, script []string) {
	t.Helper()
	s := e.NewSession(loam.SessionConfig{})
	for _, sql := range script {
		name, apply := strings.CutPrefix(sql, "apply ")
		if !apply {
			askRows(t, s, sql)
			continue
		}
		target := loam.Target{Name: name}
		if ns, n, ok := strings.Cut(name, "."); ok {
			target = loam.Target{Namespace: ns, Name: n}
		}
		if _, err := s.ScanPlan(t.Context(), loam.ScanRequest{Target: target, Tail: loam.TailWait}); err != nil {
			t.Fatal(err)
		}
	}
}

// goldenAnswers are the questions with their answers, as text.
func goldenAnswers(t *testing.T, e *loam.Engine, questions []string) string {
	t.Helper()
	s := e.NewSession(loam.SessionConfig{})
	var b strings.Builder
	for _, q := range questions {
		fmt.Fprintf(&b, "%s\n----\n%s\n\n", q, strings.Join(askRows(t, s, q), "\n"))
	}
	return b.String()
}

func questionsOf(answers string) (out []string) {
	for part := range strings.SplitSeq(strings.TrimSpace(answers), "\n\n") {
		q, _, _ := strings.Cut(part, "\n----")
		out = append(out, q)
	}
	return out
}

// goldenConfig leaves what is in the log in the log.
func goldenConfig(dir string) loam.Config {
	return loam.Config{Dir: dir, Collection: collection.Options{BatchInterval: time.Hour, MaxBatchInterval: time.Hour}}
}

// archive is a data directory in the present format with its answers, packed.
func archive(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	e := mustOpen(t, goldenConfig(dir))
	runGolden(t, e, goldenScript)
	answers := goldenAnswers(t, e, goldenQuestions)
	mustClose(t, e)
	if err := os.WriteFile(filepath.Join(dir, "answers"), []byte(answers), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// unpack unpacks an archive into a new directory.
func unpack(t *testing.T, packed []byte) string {
	t.Helper()
	dir := t.TempDir()
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			var body []byte
			if body, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, body, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestGoldenDirectories opens a data directory of every released format, and one of
// the present format that was packed and unpacked: it answers as it did, takes
// writes, and does both again after a restart. Formats that were never released have
// no archive; make golden writes the one of a release.
func TestGoldenDirectories(t *testing.T) {
	fresh := archive(t)
	if *goldenOut != "" {
		if err := errors.Join(os.MkdirAll(filepath.Dir(*goldenOut), 0o755), os.WriteFile(*goldenOut, fresh, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	archives := map[string][]byte{"present": fresh}
	released, err := filepath.Glob("testdata/golden/*.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range released {
		if archives[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, packed := range archives {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, packed)
			want, err := os.ReadFile(filepath.Join(dir, "answers"))
			if err != nil {
				t.Fatal(err)
			}
			e := mustOpen(t, goldenConfig(dir))
			if got := goldenAnswers(t, e, questionsOf(string(want))); got != string(want) {
				t.Errorf("it answers\n%s\nand did answer\n%s", got, want)
			}
			runGolden(t, e, []string{"INSERT INTO docs (id, body, n) VALUES ('new', 'a quick newcomer', 7)", "UPDATE docs SET n = n + 1 WHERE id = 'a'",
				"DELETE FROM docs WHERE id = 'k1'", "INSERT INTO old.t (a) VALUES (4)", "apply docs", "apply old.t"})
			changed := goldenAnswers(t, e, goldenQuestions)
			mustClose(t, e)
			if changed == string(want) {
				t.Error("nothing has changed")
			}
			e = mustOpen(t, goldenConfig(dir))
			if got := goldenAnswers(t, e, goldenQuestions); got != changed {
				t.Errorf("after the restart it answers\n%s\nand did answer\n%s", got, changed)
			}
			mustClose(t, e)
			kinds(t, dir)
		})
	}
}

// kinds holds that the directory has a file of every kind.
func kinds(t *testing.T, dir string) {
	t.Helper()
	seen := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		seen[strings.TrimPrefix(filepath.Ext(path), ".")] = true
		if d.Name() == "STORE" || d.Name() == "CLUSTER" {
			seen[d.Name()] = true
		}
		return err
	})
	for _, kind := range []string{"lwal", "lsplit", "lman", "lance", "manifest", "bin", "STORE", "CLUSTER"} {
		if !seen[kind] {
			t.Errorf("no file of kind %s among %v", kind, slices.Sorted(maps.Keys(seen)))
		}
	}
	if err != nil {
		t.Error(err)
	}
}
