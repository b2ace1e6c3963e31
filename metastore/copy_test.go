package metastore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// fingerprint is a hash of every name and byte below a directory.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		fmt.Fprintf(h, "%s %d\n", p, len(b))
		h.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestACopyLeavesTheDirectoryAlone(t *testing.T) {
	ctx, clk := context.Background(), clock.Real()
	dir := filepath.Join(t.TempDir(), "meta")
	t.Setenv("TMPDIR", t.TempDir())
	s, err := OpenEmbedded(ctx, dir, clk, clock.RandomIDs(clk), EmbeddedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateNamespace(ctx, "n", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := fingerprint(t, dir)
	c, err := OpenCopy(ctx, dir, clk, clock.RandomIDs(clk), EmbeddedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := c.ListNamespaces(ctx); err != nil || len(list) != 1 || list[0].Name != "n" {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := c.CreateNamespace(ctx, "m", nil); err != nil { // into the copy
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if after := fingerprint(t, dir); after != before {
		t.Error("the directory has changed")
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := OpenCopy(ctx, filepath.Join(dir, "none"), clk, clock.RandomIDs(clk), EmbeddedOptions{}); !fail.Is(err, fail.Unavailable) {
		t.Error(err)
	}
}
