package shell

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/shell/internal/render"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// engine is a Conn on an engine in memory.
type engine struct{ session *loam.Session }

func (e *engine) Query(ctx context.Context, sql string) (*Answer, error) {
	r, err := e.session.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return &Answer{Columns: r.Columns, Affected: r.Affected, Note: r.Note, Rows: r}, nil
}

func (e *engine) Info() [][2]string { return [][2]string{{"Server", "a test"}, {"Data", "in memory"}} }

func (e *engine) Fresh() bool { return false }

func openTest(t *testing.T) *engine {
	t.Helper()
	e, err := loam.Open(t.Context(), loam.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return &engine{e.NewSession(loam.SessionConfig{})}
}

// still is a clock that does not move, so that times can be compared.
func still() clock.Clock { return clock.NewManual(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) }

// TestShell: scripts and what they print, one engine a file. $DIR is a directory of
// the file's own. Arguments: prompt, as if a person typed; color; go-on; max-rows;
// format.
func TestShell(t *testing.T) {
	t.Setenv("PAGER", "")
	datadriven.Walk(t, "testdata/shell", func(t *testing.T, path string) {
		conn, dir := openTest(t), t.TempDir()
		s := (*Shell)(nil)
		var out, errs bytes.Buffer
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			cfg := Config{Conn: conn, Out: &out, Err: &errs, Clock: still(), Format: render.Table, GoOn: d.HasArg("go-on")}
			if d.HasArg("format") {
				var f string
				d.ScanArgs(t, "format", &f)
				cfg.Format = render.Format(f)
			}
			if d.HasArg("max-rows") {
				d.ScanArgs(t, "max-rows", &cfg.MaxRows)
			}
			cfg.Term = Terminal{Color: d.HasArg("color"), ColorErr: d.HasArg("color")}
			if d.Cmd != "again" {
				s = New(cfg)
				s.prompt = d.HasArg("prompt")
				s.history, _ = OpenHistory("")
			}
			ok := s.Run(t.Context(), strings.ReplaceAll(d.Input, "$DIR", dir))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			text := out.String() + errs.String()
			out.Reset()
			errs.Reset()
			if !ok {
				text += "(failed)\n"
			}
			text = strings.ReplaceAll(strings.ReplaceAll(text, dir, "$DIR"), "\x1b", "␛")
			var b strings.Builder
			for line := range strings.Lines(text) {
				b.WriteString(strings.TrimRight(line, " \n") + "\n")
			}
			return b.String()
		})
	})
}

// TestEveryStatementOfTheHelpParses: what \h shows can be pasted.
func TestEveryStatementOfTheHelpParses(t *testing.T) {
	all := parseSyntax(syntaxText)
	if len(all) < 15 {
		t.Fatalf("%d statements", len(all))
	}
	for _, x := range all {
		if x.help == "" || x.forms == "" || len(x.examples) == 0 || x.name != strings.ToUpper(x.name) {
			t.Errorf("%+v lacks something", x)
		}
		for _, ex := range x.examples {
			if _, err := loam.SplitScript(ex); err != nil {
				t.Errorf("%s: %s: %v", x.name, ex, err)
			}
		}
	}
}

// TestCommands: names are unique, and each command says what it does.
func TestCommands(t *testing.T) {
	seen := map[string]bool{}
	for _, sec := range commandSections() {
		for _, c := range sec.commands {
			if seen[c.name] || c.help == "" || c.run == nil {
				t.Errorf("command %+v", c)
			}
			seen[c.name] = true
		}
	}
	if len(seen) != len(commandNames()) {
		t.Errorf("%d names of %d commands", len(commandNames()), len(seen))
	}
}

// gone is a connection that breaks, and comes back without its session.
type gone struct {
	*engine
	down, fresh bool
	ran         []string
}

func (g *gone) Query(ctx context.Context, sql string) (*Answer, error) {
	g.ran = append(g.ran, sql)
	if g.down {
		return nil, fail.New(fail.Unavailable, "no server answers").WithHint("Start one.")
	}
	return g.engine.Query(ctx, sql)
}

func (g *gone) Fresh() bool {
	was := g.fresh
	g.fresh = false
	return was
}

// TestSettingsComeBack: what SET set is set again on a new connection, once.
func TestSettingsComeBack(t *testing.T) {
	g := &gone{engine: openTest(t)}
	var out, errs bytes.Buffer
	s := New(Config{Conn: g, Out: &out, Err: &errs, Clock: still(), Format: render.CSV})
	if !s.Run(t.Context(), "CREATE NAMESPACE papers; SET schema = papers;") {
		t.Fatal(errs.String())
	}
	g.down = true
	if s.Run(t.Context(), "SELECT 1") || s.Code() != ExitConnection {
		t.Errorf("code %d, %s", s.Code(), errs.String())
	}
	errs.Reset()
	g.session.Reset("all")
	g.down, g.fresh, g.ran = false, true, nil
	for range 2 {
		if !s.Run(t.Context(), "SELECT current_schema AS s") {
			t.Fatal(errs.String())
		}
	}
	if want := "s\npapers\ns\npapers\n"; out.String() != want {
		t.Errorf("out %q", out.String())
	}
	if len(g.ran) != 3 || !strings.Contains(errs.String(), "settings are set again") {
		t.Errorf("ran %q, err %q", g.ran, errs.String())
	}
}

// endless never ends its rows.
type endless struct{ *engine }

func (e *endless) Query(ctx context.Context, sql string) (*Answer, error) {
	a, err := e.engine.Query(ctx, sql)
	if err == nil {
		a.Rows = &repeated{Rows: a.Rows}
	}
	return a, err
}

type repeated struct {
	Rows
	first *vec.Chunk
}

func (r *repeated) Next(ctx context.Context) (*vec.Chunk, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.first == nil {
		c, err := r.Rows.Next(ctx)
		r.first = c
		return c, err
	}
	return r.first, nil
}

// TestMaxRowsEndsAnEndlessQuery, and says so.
func TestMaxRowsEndsAnEndlessQuery(t *testing.T) {
	var out, errs bytes.Buffer
	s := New(Config{Conn: &endless{openTest(t)}, Out: &out, Err: &errs, Clock: still(), Format: render.Table, MaxRows: 2500})
	if !s.Run(t.Context(), "SELECT 1 AS a") {
		t.Fatal(errs.String())
	}
	if n := strings.Count(out.String(), "\n"); n != 2502 || errs.String() != "(the first 2,500 rows; --max-rows 0 shows all)\n" {
		t.Errorf("%d lines, %q", n, errs.String())
	}
}

// TestCancelledStatement is no failure of the script's text, and ends it.
func TestCancelledStatement(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs bytes.Buffer
	s := New(Config{Conn: &endless{openTest(t)}, Out: &writeThen{&out, cancel}, Err: &errs, Clock: still(), Format: render.CSV, GoOn: true})
	if s.Run(ctx, "SELECT 1 AS a; SELECT 2 AS b") {
		t.Error("a cancelled script succeeded")
	}
	if strings.Contains(out.String(), "b") || !strings.Contains(errs.String(), "ERROR 57014: the statement was cancelled") {
		t.Errorf("err %q", errs.String())
	}
}

// writeThen calls f after the first write.
type writeThen struct {
	*bytes.Buffer
	f func()
}

func (w *writeThen) Write(p []byte) (int, error) {
	defer w.f()
	return w.Buffer.Write(p)
}

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	file := HistoryFile()
	if file != filepath.Join(dir, "loam", "history") {
		t.Fatal(file)
	}
	h, err := OpenHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []string{"SELECT 1;", "SELECT\n 2;", "SELECT 1;", " secret", "SET password = 'x';", "  ", "SELECT 1;"} {
		h.Add(e)
	}
	want := "SELECT\n 2;|SELECT 1;"
	if got := strings.Join(h.Entries(), "|"); got != want {
		t.Errorf("entries %q", got)
	}
	again, err := OpenHistory(file)
	if got := strings.Join(again.Entries(), "|"); err != nil || got != want {
		t.Errorf("read back %q, %v", got, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestHistoryIsBounded: repeated and old entries leave the file at the next start.
func TestHistoryIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	for i := range 3 * maxHistory {
		b.WriteString(line("SELECT " + strings.Repeat("x", i%7)))
	}
	if err := os.WriteFile(file, []byte(b.String()+"broken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := OpenHistory(file)
	if err != nil || len(h.Entries()) != 7 {
		t.Fatalf("%d entries, %v", len(h.Entries()), err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), "\n") != 7 {
		t.Errorf("%d lines, %v", strings.Count(string(text), "\n"), err)
	}
}

// TestHistoryWithoutAFile works and keeps nothing.
func TestHistoryWithoutAFile(t *testing.T) {
	h, err := OpenHistory(filepath.Join(t.TempDir(), "a-file"))
	if err != nil {
		t.Fatal(err)
	}
	h.file = filepath.Join(t.TempDir(), "no", "directory")
	h.Add("SELECT 1;")
	if len(h.Entries()) != 1 || h.file != "" {
		t.Errorf("%q, %q", h.Entries(), h.file)
	}
	(*History)(nil).Add("x")
}

func TestTerminal(t *testing.T) {
	for _, c := range []struct {
		color string
		want  bool
	}{{"always", true}, {"never", false}, {"auto", false}} {
		term, err := FindTerminal(c.color)
		if err != nil || term.Color != c.want {
			t.Errorf("%s: %+v %v", c.color, term, err)
		}
	}
	if _, err := FindTerminal("sometimes"); !fail.Is(err, fail.InvalidParameter) {
		t.Errorf("error %v", err)
	}
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1500 * time.Microsecond: "1.5 ms", 42 * time.Millisecond: "42 ms", 2500 * time.Millisecond: "2.50 s", 125 * time.Second: "2m5s",
	} {
		if got := duration(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
	for n, want := range map[int]string{0: "0 rows", 1: "1 row", 999: "999 rows", 1234567: "1,234,567 rows"} {
		if got := count(n, "row"); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// TestPager: what fits the screen is printed, more goes through $PAGER, and a
// reader who leaves early is no error.
func TestPager(t *testing.T) {
	var out bytes.Buffer
	t.Setenv("PAGER", "")
	p := newPager(&out, 80, 5)
	for range 10 {
		if _, err := p.Write([]byte("a line\n")); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.close(); err != nil || strings.Count(out.String(), "\n") != 10 {
		t.Errorf("%q %v", out.String(), err)
	}
	t.Setenv("PAGER", "true")
	p = newPager(&out, 80, 5)
	var err error
	for i := 0; i < 1_000_000 && err == nil; i++ {
		_, err = p.Write([]byte("a line\n"))
	}
	if err == nil || !p.left() {
		t.Errorf("the pager left, and writing goes on: %v", err)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}

// TestCopyLeavesLinksAndDevices: what is no plain file is written to, not replaced.
func TestCopyLeavesLinksAndDevices(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target.csv"), filepath.Join(dir, "link.csv")
	if err := os.WriteFile(target, []byte("a longer text than the result\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip("no links here: ", err)
	}
	var out, errs bytes.Buffer
	s := New(Config{Conn: openTest(t), Out: &out, Err: &errs, Clock: still(), Format: render.Table})
	if !s.Run(t.Context(), "\\copy (SELECT 1 AS a) TO "+link+"\n\\copy (SELECT 1 AS a) TO "+os.DevNull+" FORMAT csv") {
		t.Fatal(errs.String())
	}
	text, err := os.ReadFile(target)
	if err != nil || string(text) != "a\n1\n" {
		t.Errorf("the target holds %q, %v", text, err)
	}
	for _, f := range []string{link, os.DevNull} {
		if info, err := os.Lstat(f); err != nil || info.Mode().IsRegular() {
			t.Errorf("%s was replaced by a plain file: %v", f, err)
		}
	}
}

// TestSpinner shows after half a second and clears its line.
func TestSpinner(t *testing.T) {
	var out bytes.Buffer
	c := clock.Real()
	p := &spinner{out: &out, clock: c}
	p.start(t.Context())
	_ = c.Sleep(t.Context(), 20*time.Millisecond)
	p.stop()
	if out.Len() != 0 {
		t.Errorf("a short statement shows %q", out.String())
	}
	p.start(t.Context())
	_ = c.Sleep(t.Context(), spinAfter+2*spinEvery)
	p.stop()
	p.stop()
	if !strings.Contains(out.String(), "Ctrl-C cancels") || !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Errorf("%q", out.String())
	}
	(*spinner)(nil).start(t.Context())
}

func TestPlacedErrors(t *testing.T) {
	err := within(placed{fail.New(fail.Syntax, "x").At("a b", 2)}, "1; a b", piece{start: 3})
	if e := fail.As(err); e.Pos.Column != 6 {
		t.Errorf("column %d", e.Pos.Column)
	}
	if plain := errors.New("x"); within(plain, "", piece{}) != plain {
		t.Error("an error without a place changed")
	}
}
