package demo

import (
	"context"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// FindGoroot returns the root of a Go installation that has the sources of the
// standard library. It asks, in this order, the environment variable GOROOT,
// the go command on the PATH ("go env GOROOT"), and the root that this program
// was built with. Where none has sources the error says how to name one.
func FindGoroot(ctx context.Context) (string, error) {
	candidates := []func() string{
		func() string { return os.Getenv("GOROOT") },
		func() string { return goEnvRoot(ctx) },
		func() string { return build.Default.GOROOT },
	}
	return firstGoroot(candidates)
}

// firstGoroot returns the first candidate that holds src/fmt.
func firstGoroot(candidates []func() string) (string, error) {
	var tried []string
	for _, candidate := range candidates {
		root := candidate()
		if root == "" {
			continue
		}
		if info, err := os.Stat(filepath.Join(root, "src", "fmt")); err == nil && info.IsDir() {
			return root, nil
		}
		tried = append(tried, root)
	}
	err := fail.New(fail.InvalidParameter, "no sources of Go's standard library found")
	if len(tried) > 0 {
		err = fail.New(fail.InvalidParameter, "no sources of Go's standard library under %s", strings.Join(tried, ", "))
	}
	return "", err.WithHint("The demo reads Go's own documentation: install Go, or set GOROOT to a Go installation.")
}

// goEnvRoot asks the go command; it is "" where there is none.
func goEnvRoot(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
