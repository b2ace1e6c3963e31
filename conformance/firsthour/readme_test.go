//go:build linux

package firsthour

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const readme = "../../README.md"

// readmeSays is what the blocks of the README must print, by a word of the block.
var readmeSays = []struct{ block, says string }{
	{"CREATE COLLECTION docs", "a  │ The quick brown fox"},
	{"adbc_driver_flightsql", "shape: (2, 2)"},
	{"/v1/sql", `"rows":[[4]]`},
	{"import json, lance", "pyarrow.Table"},
}

// TestReadme runs the sh and Python blocks of the README in a copy of the module, one
// after the other; Python's only where the drivers are installed (make conformance).
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(t)
	defer u.endAll()
	home := u.dir
	u.dir = checkout(t)
	u.env = append(u.env, "GOCACHE="+goEnv(t, "GOCACHE"), "GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOFLAGS=-trimpath", "CURL_HOME="+home)
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte("fail-with-body\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	python := pythonWithDrivers()
	said, passed, failed, skipped := 0, 0, 0, 0
	for _, b := range parseBlocks(string(text)) {
		if b.lang == "python" && python == "" {
			t.Logf("README.md:%d: no Python with the drivers at .venv: make conformance makes one", b.line)
			skipped, said = skipped+1, said+1
			continue
		}
		out, ok := u.block(b, python)
		for _, s := range readmeSays {
			if strings.Contains(b.text, s.block) {
				said++
				ok = ok && strings.Contains(out, s.says)
			}
		}
		if ok {
			passed++
			continue
		}
		failed++
		t.Errorf("README.md:%d:\n%s\nprints\n%s", b.line, b.text, out)
	}
	if said != len(readmeSays) || passed == 0 {
		t.Errorf("%d of %d answers were compared", said, len(readmeSays))
	}
	if !t.Failed() {
		u.connects(t, python)
	}
	t.Logf("README: %d blocks passed, %d failed, %d skipped", passed, failed, skipped)
}

// block runs one block; what its last line starts with "serve" goes on behind it.
func (u *user) block(b block, python string) (string, bool) {
	command := b.text
	if b.lang == "python" {
		file := filepath.Join(u.dir, "block.py")
		if err := os.WriteFile(file, []byte(u.ports.Replace(b.text)), 0o600); err != nil {
			return err.Error(), false
		}
		command = python + " block.py"
	}
	server := ""
	if strings.HasSuffix(command, " serve") {
		at := strings.LastIndex(command, "\n") + 1
		command, server = command[:at], command[at:]
	}
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	raw, err := u.command(ctx, "set -eo pipefail\n"+command).CombinedOutput()
	if err != nil {
		return string(raw) + err.Error(), false
	}
	if server == "" {
		return u.unports.Replace(string(raw)), true
	}
	out, ok := u.start(step{command: server + "&", want: []string{"loam … serves loam-data", "  Flight SQL  grpc://…", "  HTTP        http://…"}})
	return strings.Join(out, "\n"), ok
}

// checkout copies what the program is built from.
func checkout(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case path == ".":
			return nil
		case d.IsDir() && (strings.HasPrefix(name, ".") || name == "bin" || name == "testdata" || name == "conformance"):
			return fs.SkipDir
		case d.IsDir():
			return os.Mkdir(filepath.Join(to, path), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := fs.ReadFile(root, path)
		return errors.Join(err, os.WriteFile(filepath.Join(to, path), b, 0o600))
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// pythonWithDrivers is the Python of LOAM_PYTHON or of .venv that has what the README
// imports; "" without.
func pythonWithDrivers() string {
	for _, p := range []string{os.Getenv("LOAM_PYTHON"), "../../.venv/bin/python"} {
		if p == "" {
			continue
		}
		p, err := filepath.Abs(p)
		if err == nil && exec.Command(p, "-c", "import adbc_driver_flightsql, pyarrow, polars, duckdb, lance").Run() == nil {
			return p
		}
	}
	return ""
}
