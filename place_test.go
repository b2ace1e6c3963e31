package loam_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fakes3"
)

// awsEnv keeps the machine's own AWS settings out of a test.
func awsEnv(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "loam", "AWS_SECRET_ACCESS_KEY": "loamsecret", "AWS_SESSION_TOKEN": "",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
}

// bucket is an S3 server in memory.
func bucket(t *testing.T) *fakes3.Server {
	t.Helper()
	awsEnv(t)
	server := fakes3.Start()
	t.Cleanup(server.Close)
	return server
}

func at(server *fakes3.Server, prefix string) loam.StoreConfig {
	return loam.StoreConfig{Address: "s3://" + fakes3.Bucket + "/" + prefix, Endpoint: server.URL}
}

// askRows runs a statement and returns its rows, cells joined by commas.
func askRows(t *testing.T, s *loam.Session, sql string) []string {
	t.Helper()
	rows, err := tryRows(t.Context(), s, sql)
	if err != nil {
		t.Fatalf("%s: %s", sql, fail.Render(err, sql))
	}
	return rows
}

func tryRows(ctx context.Context, s *loam.Session, sql string) ([]string, error) {
	res, err := s.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Close() }()
	var out []string
	for {
		c, err := res.Next(ctx)
		if err != nil || c == nil {
			return out, err
		}
		for row := range c.N {
			var cells []string
			for _, v := range c.Cols {
				cells = append(cells, v.Value(row).String())
			}
			out = append(out, strings.Join(cells, ","))
		}
	}
}

func mustOpen(t *testing.T, cfg loam.Config) *loam.Engine {
	t.Helper()
	e, err := loam.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(fail.Render(err, ""))
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func mustClose(t *testing.T, e *loam.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestABucketKeepsTheData: objects lie in the bucket, the metastore in the directory,
// and the directory remembers the bucket.
func TestABucketKeepsTheData(t *testing.T) {
	server, dir := bucket(t), t.TempDir()
	e := mustOpen(t, loam.Config{Dir: dir, Store: at(server, "some/prefix/")})
	s := e.NewSession(loam.SessionConfig{})
	askRows(t, s, "CREATE COLLECTION docs (id TEXT PRIMARY KEY, body TEXT FULLTEXT 'english', emb VECTOR(2))")
	askRows(t, s, "INSERT INTO docs VALUES ('a', 'quick foxes', [1, 0]), ('b', 'lazy dogs', [0, 1])")
	plan, err := s.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: "docs"}, Tail: loam.TailWait})
	if err != nil {
		t.Fatal(err)
	}
	if want := "s3://" + fakes3.Bucket + "/some/prefix/objects/"; plan.Lance == nil || !strings.HasPrefix(plan.Lance.URI, want) || !strings.HasSuffix(plan.Lance.URI, "/data.lance") {
		t.Errorf("the scan plan leads to %+v, want %s…/data.lance", plan.Lance, want)
	}
	mustClose(t, e)

	kinds := map[string]bool{}
	for _, key := range server.Keys() {
		rest, ok := strings.CutPrefix(key, "some/prefix/")
		if !ok {
			t.Errorf("object %q lies outside of the prefix", key)
		}
		kind, _, _ := strings.Cut(rest, "/")
		kinds[kind] = true
	}
	for _, want := range []string{"CLUSTER", "objects", "wal"} {
		if !kinds[want] {
			t.Errorf("no %s in %q", want, server.Keys())
		}
		if _, err := os.Stat(filepath.Join(dir, want)); err == nil {
			t.Errorf("%s lies in the data directory", want)
		}
	}
	// The second start needs no address: STORE has it.
	e = mustOpen(t, loam.Config{Dir: dir})
	if got := askRows(t, e.NewSession(loam.SessionConfig{}), "SELECT id FROM text_search(docs, 'fox')"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("after the restart: %q", got)
	}
	if e.StoreAddress() != "s3://"+fakes3.Bucket+"/some/prefix" {
		t.Errorf("the engine says that its objects lie in %q", e.StoreAddress())
	}
}

// TestWrongStoresAreRefused: each way to bring a directory and a store together that
// do not belong together, by name and with a cure.
func TestWrongStoresAreRefused(t *testing.T) {
	server := bucket(t)
	begin := func(cfg loam.Config) loam.Config {
		mustClose(t, mustOpen(t, cfg))
		return cfg
	}
	inDir := begin(loam.Config{Dir: t.TempDir()})
	inA := begin(loam.Config{Dir: t.TempDir(), Store: at(server, "a")})
	inB := begin(loam.Config{Dir: t.TempDir(), Store: at(server, "b")})
	moved := func(c loam.Config, to loam.StoreConfig) loam.Config { c.Store = to; return c }
	put := func(c loam.Config, name, text string) loam.Config {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return c
	}
	unmarked := begin(loam.Config{Dir: t.TempDir()})
	if err := os.Remove(filepath.Join(unmarked.Dir, "STORE")); err != nil {
		t.Fatal(err)
	}
	lost := begin(loam.Config{Dir: t.TempDir()})
	if err := os.Remove(filepath.Join(lost.Dir, "CLUSTER")); err != nil {
		t.Fatal(err)
	}
	server.Store("newer/CLUSTER", `{"format":"loam cluster","version":1}`)
	server.Store("foreign/CLUSTER", `{"format":"notes"}`)
	for name, c := range map[string]struct {
		cfg  loam.Config
		code fail.Code
		want []string
	}{
		"local data, a bucket named":      {moved(inDir, at(server, "c")), fail.InvalidParameter, []string{"keeps its objects in itself, not in s3://loam-test/c", "without --store"}},
		"an old directory, a bucket":      {moved(unmarked, at(server, "c")), fail.InvalidParameter, []string{"keeps its objects in itself", "without --store"}},
		"another prefix":                  {moved(inA, at(server, "c")), fail.InvalidParameter, []string{"keeps its objects in s3://loam-test/a, not in s3://loam-test/c", "--store s3://loam-test/a"}},
		"a prefix with another metastore": {loam.Config{Dir: t.TempDir(), Store: at(server, "b/")}, fail.InvalidParameter, []string{"s3://loam-test/b belongs to the metastore", "two metastores cannot share a store", "a prefix of its own"}},
		"a store without its data":        {lost, fail.InvalidParameter, []string{"has none of it", "copy all objects"}},
		"a newer store":                   {loam.Config{Dir: t.TempDir(), Store: at(server, "newer")}, fail.Unsupported, []string{"s3://loam-test/newer/CLUSTER has version 1", "newer one"}},
		"somebody else's CLUSTER":         {loam.Config{Dir: t.TempDir(), Store: at(server, "foreign")}, fail.Corrupt, []string{`is not Loam's: it says "notes"`}},
		"a newer STORE":                   {put(loam.Config{Dir: t.TempDir()}, "STORE", `{"format":"loam store","version":3}`), fail.Unsupported, []string{"STORE has version 3"}},
		"a torn STORE":                    {put(loam.Config{Dir: t.TempDir()}, "STORE", `{"format":"lo`), fail.Corrupt, []string{"STORE cannot be read"}},
		"no S3 address":                   {loam.Config{Dir: t.TempDir(), Store: loam.StoreConfig{Address: "gs://b"}}, fail.InvalidParameter, []string{`"gs://b" is no address of an S3 store`}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := loam.Open(t.Context(), c.cfg)
			if err == nil {
				mustClose(t, e)
				t.Fatal("it opened")
			}
			got := fail.Render(err, "")
			if !fail.Is(err, c.code) {
				t.Errorf("code %v", fail.CodeOf(err))
			}
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("%q is not in\n%s", w, got)
				}
			}
		})
	}
	for _, cfg := range []loam.Config{inDir, inA, inB, unmarked} { // none of it has hurt them
		mustClose(t, mustOpen(t, loam.Config{Dir: cfg.Dir}))
	}
}

// TestAStoreThatIgnoresConditionsIsRefused, before anything is written that stays.
func TestAStoreThatIgnoresConditionsIsRefused(t *testing.T) {
	server := bucket(t)
	server.Lie(fakes3.Lies{IgnoreConditions: true})
	dir := t.TempDir()
	_, err := loam.Open(t.Context(), loam.Config{Dir: dir, Store: at(server, "p")})
	if got := fail.Render(err, ""); !fail.Is(err, fail.Unsupported) || !strings.Contains(got, "ignores If-None-Match") || !strings.Contains(got, "loam doctor store s3://loam-test/p") {
		t.Errorf("%s", got)
	}
	if left := server.Keys(); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	server.Lie(fakes3.Lies{})
	mustClose(t, mustOpen(t, loam.Config{Dir: dir, Store: at(server, "p")}))
}
