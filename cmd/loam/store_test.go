package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fakes3"
)

// TestServeOnABucket: the server says where the objects lie, loam sql finds them by
// the directory alone, and another address is a mistake with a cure.
func TestServeOnABucket(t *testing.T) {
	awsEnv(t)
	bucket := fakes3.Start()
	defer bucket.Close()
	dir, address := t.TempDir(), "s3://"+fakes3.Bucket+"/p"
	var cfg serveConfig
	t.Chdir(t.TempDir())
	args := []string{"--data", dir, "--store", address, "--store-endpoint", bucket.URL, "--flight", "127.0.0.1:0", "--http", ""}
	if _, err := parseServe(args, &cfg); err != nil {
		t.Fatal(err)
	}
	s, err := startServer(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, said, _ := captured(t, func() int { s.say(s.where(dir, ""), loam.Version); return 0 })
	if !strings.Contains(said, "serves "+address+" with its metastore in "+dir) {
		t.Errorf("it says %s", said)
	}
	endpoint := "grpc://" + s.flightAddr
	code, _, errs := captured(t, func() int {
		return sql(context.Background(), []string{"--endpoint", endpoint, "-c", "CREATE TABLE t (a INT); INSERT INTO t VALUES (41)"})
	})
	if code != 0 {
		t.Errorf("exit %d\n%s", code, errs)
	}
	s.stop()
	code, out, errs := captured(t, func() int {
		return sql(context.Background(), []string{"--data", dir, "-c", "SELECT a + 1 AS b FROM t", "--format", "csv"})
	})
	if code != 0 || out != "b\n42\n" {
		t.Errorf("by the directory: exit %d\n%s%s", code, out, errs)
	}
	code, _, errs = captured(t, func() int {
		return serve(context.Background(), append(args, "--store", "s3://"+fakes3.Bucket+"/q"))
	})
	if code != 1 || !strings.Contains(errs, "keeps its objects in "+address) || !strings.Contains(errs, "HINT: Start it with --store "+address) {
		t.Errorf("another address: exit %d\n%s", code, errs)
	}
}

// TestMetaSettings: the settings of an etcd, their mistakes, and that its password is
// never shown.
func TestMetaSettings(t *testing.T) {
	t.Chdir(t.TempDir())
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LOAM_META_PASSWORD_FILE", secret)
	args := []string{"--meta", "etcd://127.0.0.1:1/p", "--meta-user", "ann", "--store", "s3://b/p"}
	code, out, errs := captured(t, func() int { return runConfig(context.Background(), append([]string{"print"}, args...)) })
	if code != 0 || !strings.Contains(out, "meta: etcd://127.0.0.1:1/p") || !strings.Contains(out, "meta_password: '***'") || strings.Contains(out+errs, "canary") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	var cfg serveConfig
	if _, err := parseServe(args, &cfg); err != nil {
		t.Fatal(err)
	}
	if m, err := cfg.meta.open(); err != nil || m.Password != "canary" || m.User != "ann" {
		t.Errorf("%v, %v", m.User, err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--meta-user", "ann"}, "there are settings of an etcd, and no --meta"},
		{[]string{"--meta", "etcd://h"}, `"h" is not host:port`},
		{[]string{"--meta", "etcd://ann:canary@h:1"}, "holds a user or password"},
		{[]string{"--meta", "etcd+tls://127.0.0.1:1", "--meta-ca", "/nonexistent/ca"}, "TLS of the metastore"},
		{args, "of etcd at 127.0.0.1:1"},
	} {
		code, out, errs := captured(t, func() int {
			return serve(context.Background(), append(c.args, "--flight", "127.0.0.1:0", "--http", ""))
		})
		if code != 1 || !strings.Contains(errs, c.want) || strings.Contains(out+errs, "canary") {
			t.Errorf("%q: exit %d\n%s%s", c.args, code, out, errs)
		}
	}
}
