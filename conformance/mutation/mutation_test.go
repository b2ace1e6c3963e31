package mutation

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	run  = flag.Bool("mutants", false, "run the suites over the mutants; else they are only laid on")
	only = flag.String("mutant", "", "the one mutant to run")
)

// suites are what must notice, by the name that a mutant gives.
var suites = map[string][]string{
	"history": {"./conformance/history", "-run", "^TestHistories$", "-histories", "300"},
	"log":     {"./storage/wal", "-run", "^TestCrash$", "-short"},
	"objects": {"./storage/object", "-short"},
	"gc":      {"./storage/gc"},
	"streams": {"./conformance/history", "-run", "^TestStreamHistories$", "-histories", "300"},
	"links":   {".", "-run", "^TestLinkAdversary$", "-links", "20"},
}

// mutant is one fault of the code.
type mutant struct {
	name, what, suite string
	changes           []change
}

// change replaces a run of lines that is in a file exactly once.
type change struct{ file, from, to string }

// parse reads a mutant: what is broken, "suite: name", and for each change "-- file"
// with the lines that go (-) and those that come (+).
func parse(name, text string) (mutant, error) {
	m := mutant{name: name}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		last := len(m.changes) - 1
		switch {
		case strings.HasPrefix(line, "-- "):
			m.changes = append(m.changes, change{file: line[3:]})
		case last < 0 && strings.HasPrefix(line, "suite: "):
			m.suite = line[7:]
		case last < 0:
			m.what = strings.TrimSpace(m.what + " " + line)
		case strings.HasPrefix(line, "-"):
			m.changes[last].from += line[1:] + "\n"
		case strings.HasPrefix(line, "+"):
			m.changes[last].to += line[1:] + "\n"
		case line != "":
			return m, fmt.Errorf("%s: the line %q is none of a mutant", name, line)
		}
	}
	if m.what == "" || len(m.changes) == 0 {
		return m, fmt.Errorf("%s breaks nothing", name)
	}
	return m, nil
}

func load(t *testing.T) []mutant {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	out := make([]mutant, 0, len(files))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		m, err := parse(strings.TrimSuffix(filepath.Base(f), ".txt"), string(text))
		if err != nil {
			t.Fatal(err)
		}
		if suites[m.suite] == nil {
			t.Fatalf("%s names the suite %q, which there is not", m.name, m.suite)
		}
		out = append(out, m)
	}
	return out
}

// lay writes the changed files and the overlay that puts them in the place of the tree's.
func (m mutant) lay(root, dir string) (overlay string, err error) {
	replace := map[string]string{}
	for i, c := range m.changes {
		path := filepath.Join(root, c.file)
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", m.name, err)
		}
		if n := strings.Count(string(text), c.from); n != 1 || c.from == "" {
			return "", fmt.Errorf("%s no longer fits: %s has these lines %d times:\n%s", m.name, c.file, n, c.from)
		}
		out := filepath.Join(dir, fmt.Sprintf("%s-%d.go", m.name, i))
		if err := os.WriteFile(out, []byte(strings.Replace(string(text), c.from, c.to, 1)), 0o600); err != nil {
			return "", err
		}
		if replace[path] != "" {
			return "", fmt.Errorf("%s changes %s twice", m.name, c.file)
		}
		replace[path] = out
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, m.name+".json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

func rootDir(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestMutantsFit: every mutant still finds the lines that it changes.
func TestMutantsFit(t *testing.T) {
	root, dir := rootDir(t), t.TempDir()
	for _, m := range load(t) {
		if _, err := m.lay(root, dir); err != nil {
			t.Error(err)
		}
	}
}

func TestParse(t *testing.T) {
	m, err := parse("x", "It breaks\nthis.\nsuite: log\n\n-- a/b.go\n-\told\n+\tnew\n+\tmore\n")
	if err != nil || m.what != "It breaks this." || m.suite != "log" || len(m.changes) != 1 ||
		m.changes[0] != (change{"a/b.go", "\told\n", "\tnew\n\tmore\n"}) {
		t.Errorf("%+v %v", m, err)
	}
	for _, bad := range []string{"", "what\nsuite: log\n", "what\n-- a\n-x\nloose\n"} {
		if _, err := parse("x", bad); err == nil {
			t.Errorf("%q is taken for a mutant", bad)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("x\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, fits := range map[string]bool{"x\n": false, "y\n": false, "x\nx\n": true} {
		m := mutant{name: "m", changes: []change{{"a.go", from, "z\n"}}}
		if _, err := m.lay(dir, dir); (err == nil) != fits {
			t.Errorf("%q: %v", from, err)
		}
	}
}

// TestMutants builds each mutant and runs its suite, which must fail; and the suites
// over the code as it is, which must pass.
func TestMutants(t *testing.T) {
	if !*run && *only == "" {
		t.Skip("run with -mutants")
	}
	root, dir := rootDir(t), t.TempDir()
	mutants := load(t)
	all := len(mutants)
	if *only != "" {
		mutants = slices.DeleteFunc(mutants, func(m mutant) bool { return m.name != *only })
	}
	sound := map[string]bool{}
	caught, missed := 0, 0
	for _, m := range mutants {
		if !sound[m.suite] {
			if out, err := suite(root, m.suite, ""); err != nil {
				t.Fatalf("the suite %s fails without a mutant: %v\n%s", m.suite, err, tail(out))
			}
			sound[m.suite] = true
		}
		overlay, err := m.lay(root, dir)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		out, err := suite(root, m.suite, overlay)
		took := time.Since(begin).Round(time.Second)
		switch {
		case bytes.Contains(out, []byte("build failed")) || bytes.Contains(out, []byte("setup failed")):
			t.Errorf("%s does not build:\n%s", m.name, tail(out))
			missed++
		case err == nil:
			t.Errorf("%s (%s) is not seen by %s\nrun again: go test ./conformance/mutation -run TestMutants -mutant %s", m.name, m.what, m.suite, m.name)
			missed++
		default:
			caught++
			fmt.Printf("    %-32s seen by %-8s in %4s: %s\n", m.name, m.suite, took, firstComplaint(out))
		}
	}
	fmt.Printf("mutation-control: %d passed, %d failed, %d skipped\n", caught, missed, all-caught-missed)
}

func suite(root, name, overlay string) ([]byte, error) {
	args := []string{"test", "-count=1", "-timeout", "9m"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, suites[name]...)...)
	cmd.Dir = root
	return cmd.CombinedOutput()
}

func tail(out []byte) string {
	lines := strings.Split(string(out), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}

var complaint = regexp.MustCompile(`(?m)^\s+\S+_test\.go:\d+: (.*)$|^panic: (.*)$`)

// firstComplaint is what the suite said, short.
func firstComplaint(out []byte) string {
	m := complaint.FindSubmatch(out)
	if m == nil {
		return "it fails"
	}
	s := string(m[1]) + string(m[2])
	if _, rest, ok := strings.Cut(s, "such as: "); ok {
		s = rest
	}
	return fmt.Sprintf("%.110s", s)
}
