package loam

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxArchitecture keeps the map of the house on a few screens.
const maxArchitecture = 250

// link is a Markdown link; images and links in code count too.
var mdLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// heading is a Markdown heading.
var heading = regexp.MustCompile(`(?m)^#+ (.+)$`)

// anchors are the names of a page's headings as links spell them.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
				return r
			}
			return -1
		}, strings.ToLower(m[1]))
		out[name] = true
	}
	return out
}

// pages are the Markdown files of README and docs.
func pages(t *testing.T) []string {
	t.Helper()
	out := []string{"README.md"}
	err := filepath.WalkDir("docs", func(p string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(p) == ".md" {
			out = append(out, filepath.ToSlash(p))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLinksResolve: what a page links to in the repository is there.
func TestLinksResolve(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range mdLink.FindAllStringSubmatch(read(t, page), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file := page
			if target != "" {
				file = path.Join(path.Dir(page), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
				continue
			}
			if anchor != "" && !anchors(read(t, file))[anchor] {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
}

// TestEveryPageIsLinked: a page that nothing leads to is not read.
func TestEveryPageIsLinked(t *testing.T) {
	linked := map[string]bool{"README.md": true, "docs/architecture.md": true}
	for _, page := range pages(t) {
		for _, m := range mdLink.FindAllStringSubmatch(read(t, page), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			linked[path.Join(path.Dir(page), target)] = true
		}
	}
	for _, page := range pages(t) {
		if !linked[page] {
			t.Errorf("no page links to %s", page)
		}
	}
}

// TestArchitectureNamesEveryPackage, and names none that does not exist.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text := read(t, "docs/architecture.md")
	if n := strings.Count(text, "\n"); n > maxArchitecture {
		t.Errorf("docs/architecture.md has %d lines, at most %d are read", n, maxArchitecture)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(text, -1) {
		if info, err := os.Stat(m[1]); err != nil || !info.IsDir() {
			t.Errorf("docs/architecture.md names the room %s, which is not there", m[1])
		}
	}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && p != "." {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil && p != "." {
			return filepath.SkipDir // a module of its own
		}
		files, err := filepath.Glob(filepath.Join(p, "*.go"))
		if err == nil && len(files) > 0 && !strings.Contains(text, "| `"+filepath.ToSlash(p)+"`") {
			t.Errorf("docs/architecture.md does not name the package %s", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
