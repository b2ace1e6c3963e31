package main

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/etcdtest"
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
	fill(t, loam.Config{Dir: dir, Store: store})
	return dir
}

// fill makes an applied collection and a table in the log, and stops.
func fill(t *testing.T, cfg loam.Config) {
	t.Helper()
	ctx := context.Background()
	e, err := loam.Open(ctx, cfg)
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

// TestFsckOfACluster: the metastore is an etcd outside, the objects lie in a bucket.
// What a server can be told fsck can be told, by flags or by variables.
func TestFsckOfACluster(t *testing.T) {
	awsEnv(t)
	server := fakes3.Start()
	defer server.Close()
	etcd, err := etcdtest.Start(t.TempDir(), etcdtest.Options{Members: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	address := "etcd://" + etcd.Hosts()[0]
	store := loam.StoreConfig{Address: "s3://" + fakes3.Bucket + "/p", Endpoint: server.URL}
	nothing := func(what string) {
		t.Helper()
		code, out, errs := fsck(t, "--meta", address+"/loam", "--store", store.Address, "--store-endpoint", server.URL)
		if code != 2 || out != "" || !strings.Contains(errs, "there is no metastore") {
			t.Errorf("%s: exit code %d\n%s%s", what, code, out, errs)
		}
	}
	nothing("before the first server")
	nothing("after a check")
	cfg := loam.Config{Meta: loam.MetaConfig{Address: address}, Store: store, Endpoint: "grpc://a"}
	fill(t, cfg)
	nothing("beside it")

	const sound = "; 0 damaged, 0 wrong, 0 orphans (0 B)\n"
	code, out, errs := fsck(t, "--meta", address, "--store-endpoint", server.URL) // the metastore knows the bucket
	if code != 0 || !strings.Contains(out, "collection public.docs: 2 rows, 1 version") || !strings.Contains(out, "3 records waiting in the log") || !strings.Contains(out, sound) {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	t.Setenv("LOAM_META", address)
	t.Setenv("LOAM_STORE_ENDPOINT", server.URL)
	split := slices.IndexFunc(server.Keys(), func(key string) bool { return strings.HasSuffix(key, ".lsplit") })
	stray := path.Dir(server.Keys()[split]) + "/stray.lsplit"
	server.Store(stray, "x")
	if code, out, errs = fsck(t); code != 0 || !strings.Contains(out, "orphan  "+strings.TrimPrefix(stray, "p/")+" (1 B) of public.docs\n") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if code, out, errs = fsck(t, "--repair"); code != 0 || !strings.Contains(out, "repair  1 orphan (1 B) deleted\n") || !strings.Contains(out, sound) {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if code, out, errs = fsck(t, "--store", "s3://"+fakes3.Bucket+"/other"); code != 1 || !strings.Contains(out, "is missing") {
		t.Errorf("a place without the objects: exit code %d\n%s%s", code, out, errs)
	}
	fill(t, loam.Config{Dir: filepath.Join(t.TempDir(), "d"), Store: loam.StoreConfig{Address: store.Address + "2", Endpoint: server.URL}})
	if code, _, errs = fsck(t, "--store", store.Address+"2"); code != 2 || !strings.Contains(errs, "belongs to the metastore") {
		t.Errorf("the objects of another metastore: exit code %d\n%s", code, errs)
	}

	e, err := loam.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if code, _, errs = fsck(t); code != 2 || !strings.Contains(errs, "1 node serves from the metastore: grpc://a") || !strings.Contains(errs, "Stop all nodes") {
		t.Errorf("a live node: exit code %d\n%s", code, errs)
	}
	if code, out, errs = fsck(t, dataDir(t, loam.StoreConfig{})); code != 0 {
		t.Errorf("a directory by name, with the settings of a cluster around: exit code %d\n%s%s", code, out, errs)
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
		"another store":    {[]string{"--store", "s3://b/p", dataDir(t, loam.StoreConfig{})}, "keeps its objects in itself"},
		"no etcd":          {[]string{"--meta", "etcd:/x"}, "is no address of a metastore"},
	} {
		if code, out, errs := fsck(t, c.args...); code != 2 || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errs)
		}
	}
}

// TestUsageTellsWhatACommandGoesBy: commands that take the server's settings do not list
// those that mean nothing to them.
func TestUsageTellsWhatACommandGoesBy(t *testing.T) {
	for _, c := range []struct {
		run         func(context.Context, []string) int
		has, hasNot string
	}{
		{runFsck, "[FLAGS] [DIRECTORY] --repair --json --data --meta-password --store-region --config no server has open", "--flight --advertise --users --time-travel"},
		{runHealth, "--ready --timeout --http --config", "--flight --data --store --time-travel"},
	} {
		code, out, errs := captured(t, func() int { return c.run(t.Context(), []string{"-h"}) })
		text := out + errs
		if code != 0 {
			t.Errorf("exit code %d\n%s", code, text)
		}
		for _, want := range strings.Fields(c.has) {
			if !strings.Contains(text, want) {
				t.Errorf("%s is not in\n%s", want, text)
			}
		}
		for _, other := range strings.Fields(c.hasNot) {
			if strings.Contains(text, other) {
				t.Errorf("%s is in\n%s", other, text)
			}
		}
	}
}
