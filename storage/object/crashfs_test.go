package object

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// keepAll and keepNone are the two extremes of a crash.
func keepAll(n int) int  { return n - 1 }
func keepNone(n int) int { return 0 }

func writeFile(t *testing.T, c *CrashFS, name, body string, sync bool) {
	t.Helper()
	f, err := c.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if sync {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	_ = f.Close()
}

// tree prints a file system.
func tree(t *testing.T, c *CrashFS, dir string) string {
	t.Helper()
	entries, err := c.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(entries, func(a, b DirEntry) int { return strings.Compare(a.Name, b.Name) })
	var out []string
	for _, e := range entries {
		name := strings.TrimSuffix(dir, "/") + "/" + e.Name
		if e.Dir {
			out = append(out, e.Name+"{"+tree(t, c, name)+"}")
			continue
		}
		f, err := c.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, e.Size)
		if _, err := f.ReadAt(p, 0); err != nil && e.Size > 0 {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s=%q", e.Name, p))
	}
	return strings.Join(out, " ")
}

// What each combination of syncs keeps of one file in one new directory.
func TestCrashFSKeeps(t *testing.T) {
	cases := []struct {
		file, dir, parent bool
		want              string // when nothing unsynced survives
	}{
		{true, true, true, `d{f="body"}`},
		{false, true, true, `d{f=""}`},
		{true, false, true, `d{}`},
		{true, true, false, ``},
	}
	for _, c := range cases {
		m := NewCrashFS()
		if err := m.Mkdir("/d"); err != nil {
			t.Fatal(err)
		}
		writeFile(t, m, "/d/f", "body", c.file)
		if c.dir {
			_ = m.SyncDir("/d")
		}
		if c.parent {
			_ = m.SyncDir("/")
		}
		if got := tree(t, m.Image(keepNone), "/"); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
		all := tree(t, m.Image(func(n int) int { // all bytes, no hole
			if n == 2 && !c.file {
				return 1
			}
			return keepAll(n)
		}), "/")
		if !strings.HasPrefix(all, "d{f=") {
			t.Errorf("%+v with all changes kept: %s", c, all)
		}
		if got := tree(t, m, "/"); got != `d{f="body"}` {
			t.Errorf("an image changed its origin: %s", got)
		}
	}
}

func TestCrashFSLinksAndRenames(t *testing.T) {
	m := NewCrashFS()
	writeFile(t, m, "/a", "one", true)
	writeFile(t, m, "/b", "two", true)
	_ = m.SyncDir("/")
	if err := m.Link("/a", "/b"); !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	if err := m.Link("/none", "/c"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := m.Link("/a", "/c"); err != nil {
		t.Fatal(err)
	}
	if err := m.Rename("/a", "/b"); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, m, "/"); got != `b="one" c="one"` {
		t.Fatal(got)
	}
	seen := map[string]bool{}
	for seed := range uint64(50) {
		seen[tree(t, m.Image(rand.New(rand.NewPCG(seed, 0)).IntN), "/")] = true
	}
	// The link and the rename survive apart, the rename never by half.
	for _, want := range []string{`a="one" b="two"`, `a="one" b="two" c="one"`, `b="one"`, `b="one" c="one"`} {
		if !seen[want] {
			t.Errorf("no image is %s", want)
		}
		delete(seen, want)
	}
	if len(seen) > 0 {
		t.Errorf("impossible images: %v", seen)
	}
}

func TestCrashFSTears(t *testing.T) {
	m := NewCrashFS()
	writeFile(t, m, "/f", strings.Repeat("x", 3*crashPage), false)
	_ = m.SyncDir("/")
	short, holes := false, false
	for seed := range uint64(50) {
		img := m.Image(rand.New(rand.NewPCG(seed, 0)).IntN)
		body := img.root.entries["f"].data
		short = short || len(body) < 3*crashPage
		holes = holes || slices.Contains(body, 0)
		// An image is durable: a second crash changes nothing.
		if again := img.Image(keepNone).root.entries["f"].data; string(again) != string(body) {
			t.Fatal("a second crash tears more")
		}
	}
	if !short || !holes {
		t.Fatalf("short %v, holes %v", short, holes)
	}
}

func TestCrashFSStops(t *testing.T) {
	m := NewCrashFS()
	writeFile(t, m, "/f", "x", true)
	steps := m.Steps()
	m.CrashAfter(1)
	if err := m.Mkdir("/d"); err != nil {
		t.Fatal(err)
	}
	if err := m.Mkdir("/e"); !errors.Is(err, ErrCrashed) {
		t.Fatal(err)
	}
	_, cerr := m.Create("/g")
	_, oerr := m.Open("/f")
	_, rerr := m.ReadDir("/")
	_, serr := m.Stat("/f")
	for op, err := range map[string]error{"create": cerr, "open": oerr, "readdir": rerr, "stat": serr, "sync": m.SyncDir("/"),
		"remove": m.Remove("/f"), "rename": m.Rename("/f", "/h"), "link": m.Link("/f", "/h")} {
		if !errors.Is(err, ErrCrashed) {
			t.Errorf("%s after the crash: %v", op, err)
		}
	}
	if m.Steps() != steps+2 {
		t.Errorf("%d steps", m.Steps()-steps)
	}
	if got := tree(t, m.Image(keepAll), "/"); got != `d{} e{} f="x"` { // the change at the crash may be there
		t.Error(got)
	}
}
