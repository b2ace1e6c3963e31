package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fakes3"
)

func fsck(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	return captured(t, func() int { return runFsck(context.Background(), args) })
}

// dataDir is a stopped data directory with an applied collection and a table in the log.
func dataDir(t *testing.T, store loam.StoreConfig) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	ctx := context.Background()
	e, err := loam.Open(ctx, loam.Config{Dir: dir, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	s := e.NewSession(loam.SessionConfig{})
	for _, sql := range []string{
		"CREATE COLLECTION docs (id TEXT PRIMARY KEY, body TEXT FULLTEXT 'english', emb VECTOR(2)) WITH (batch_rows = 1, batch_interval = '10ms')",
		"INSERT INTO docs VALUES ('a', 'brown fox', [1, 2]), ('b', 'lazy dog', [3, 4])", "CREATE TABLE t (n INT)", "INSERT INTO t VALUES (1), (2), (3)",
	} {
		res, err := s.Query(ctx, sql)
		if err != nil {
			t.Fatal(err)
		}
		res.Close()
	}
	for deadline := time.Now().Add(20 * time.Second); !applied(t, s); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never applied")
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// applied reports whether a worker has made a split.
func applied(t *testing.T, s *loam.Session) bool {
	t.Helper()
	res, err := s.Query(context.Background(), "SELECT 1 FROM system.segments WHERE kind = 'split'")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Close() }()
	c, err := res.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c != nil && c.Rows() > 0
}

func splits(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "objects", "*", "splits", "*.lsplit"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return list
}

func TestFsck(t *testing.T) {
	dir := dataDir(t, loam.StoreConfig{})
	code, out, errs := fsck(t, "--data", dir)
	if code != 0 || errs != "" || !strings.Contains(out, "collection public.docs: 2 rows, 1 version") || !strings.Contains(out, "table      public.t: 0 rows, 0 versions, 3 records waiting in the log") ||
		!strings.Contains(out, "; 0 damaged, 0 wrong, 0 orphans (0 B)\n") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	stray := filepath.Join(dir, "objects", "1", "splits", "stray.lsplit")
	if err := os.WriteFile(stray, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ = fsck(t, dir); code != 0 || !strings.Contains(out, "orphan  objects/1/splits/stray.lsplit (1 B) of public.docs\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out, errs = fsck(t, "--repair", dir); code != 0 || !strings.Contains(out, "repair  1 orphan (1 B) deleted\n") || !strings.Contains(out, "; 0 damaged, 0 wrong, 0 orphans (0 B)\n") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if _, err := os.Stat(stray); err == nil {
		t.Error("the orphan is still there")
	}
	split := splits(t, dir)[0]
	body, err := os.ReadFile(split)
	if err != nil {
		t.Fatal(err)
	}
	body[len(body)/2] ^= 1
	if err := os.WriteFile(split, body, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ = fsck(t, dir)
	if code != 1 || !strings.Contains(out, "DAMAGED split objects/1/splits/") || !strings.Contains(out, "is altered: checksum") || !strings.Contains(out, "needed by public.docs version 1\n") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	code, out, _ = fsck(t, "--json", dir)
	var rep loam.CheckReport
	if err := json.Unmarshal([]byte(out), &rep); code != 1 || err != nil || len(rep.Damaged) != 1 || rep.Damaged[0].Kind != "split" || rep.Sound() {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
	if err := os.Remove(split); err != nil {
		t.Fatal(err)
	}
	if code, out, _ = fsck(t, dir); code != 1 || !strings.Contains(out, "is missing: ") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestFsckOfABucket: a directory whose objects lie in a bucket is checked there.
func TestFsckOfABucket(t *testing.T) {
	awsEnv(t)
	server := fakes3.Start()
	defer server.Close()
	dir := dataDir(t, loam.StoreConfig{Address: "s3://" + fakes3.Bucket + "/p", Endpoint: server.URL})
	code, out, errs := fsck(t, dir)
	if code != 0 || !strings.Contains(out, "collection public.docs: 2 rows, 1 version") || !strings.Contains(out, "; 0 damaged, 0 wrong, 0 orphans (0 B)\n") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	server.Close()
	if code, _, errs = fsck(t, dir); code != 2 || errs == "" {
		t.Errorf("without the bucket: exit code %d, %s", code, errs)
	}
}

func TestFsckRefuses(t *testing.T) {
	running := t.TempDir()
	s, err := startServer(context.Background(), serveConfig{data: running, flight: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a running server": {[]string{running}, "is in use by process"},
		"its address":      {[]string{running}, "Connect to grpc://"},
		"another place":    {[]string{t.TempDir()}, "is no data directory"},
		"two places":       {[]string{"a", "b"}, `unexpected argument "b"`},
		"a wrong flag":     {[]string{"--jsn"}, "--json"},
	} {
		if code, out, errs := fsck(t, c.args...); code != 2 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errs)
		}
	}
}
