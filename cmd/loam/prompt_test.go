package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/loamdb/loam/cmd/loam/internal/shell"
)

// asShell makes the test binary be loam sql.
const asShell = "LOAM_TEST_AS_SHELL"

func TestMain(m *testing.M) {
	if os.Getenv(asShell) != "" {
		os.Exit(sql(context.Background(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

// typed is loam sql on a terminal, with somebody who types.
type typed struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	home string

	mu  sync.Mutex // guards the field below
	out bytes.Buffer
}

// escapes are what a terminal obeys and a person does not see.
var escapes = regexp.MustCompile(`\x1b(\[[0-9;?]*[a-zA-Z]|[=>]|\][^\x07]*\x07)|\r`)

func startTyped(t *testing.T, home string, args ...string) *typed {
	t.Helper()
	// The terminal of the test does not answer where its cursor is.
	inputrc := filepath.Join(home, "inputrc")
	if err := os.WriteFile(inputrc, []byte("set cursor-position-probe off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &typed{t: t, cmd: exec.Command(exe, args...), home: home}
	s.cmd.Env = append(os.Environ(), asShell+"=1", "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home, "INPUTRC="+inputrc,
		"TERM=xterm-256color", "NO_COLOR=1", "PAGER=")
	if s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 100}); err != nil {
		t.Skip("no terminals here: ", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(s, s.tty)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.tty.Close()
		<-done
	})
	s.see("public>")
	return s
}

// Write takes what the terminal shows.
func (s *typed) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

// seen is what was shown since the last key.
func (s *typed) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return escapes.ReplaceAllString(s.out.String(), "")
}

// see waits until the terminal shows all the texts, in any order.
func (s *typed) see(texts ...string) {
	s.t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		seen, missing := s.seen(), ""
		for _, text := range texts {
			if !strings.Contains(seen, text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the terminal does not show %q, but:\n%s", missing, seen)
		}
	}
}

// keys types, and forgets what was shown before.
func (s *typed) keys(text string) {
	s.t.Helper()
	s.mu.Lock()
	s.out.Reset()
	s.mu.Unlock()
	if _, err := io.WriteString(s.tty, text); err != nil {
		s.t.Fatal(err)
	}
}

// clears presses Ctrl-C at the prompt and waits for the next one.
func (s *typed) clears() {
	s.t.Helper()
	s.keys(ctrlC)
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, after, ok := strings.Cut(s.seen(), "^C"); ok && strings.Contains(after, "public> ") {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the line is not cleared:\n%s", s.seen())
		}
	}
}

// leaves waits for the end and returns the exit code.
func (s *typed) leaves() int {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			s.t.Fatal(err)
		}
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(15 * time.Second):
		s.t.Fatalf("the shell does not end:\n%s", s.seen())
		return -1
	}
}

const (
	enter = "\r"
	tab   = "\t"
	up    = "\x1b[A"
	ctrlC = "\x03"
	ctrlD = "\x04"
	ctrlR = "\x12"
)

func TestPromptSession(t *testing.T) {
	home := t.TempDir()
	s := startTyped(t, home, "--memory")
	s.keys("CREATE COLLECTION docs (id TEXT PRIMARY KEY," + enter)
	s.see("(> ") // it goes on, inside a parenthesis
	s.keys("title TEXT FULLTEXT 'english');" + enter)
	s.see("OK (", "public> ")
	s.keys("INSERT INTO docs VALUES ('a', 'Füchse 狐');" + enter)
	s.see("OK, 1 row (")
	s.keys("SELECT ti" + tab)
	s.see("timestamp", "timezone") // no table yet: functions and words
	s.keys(ctrlC)                  // ends the menu
	s.see("public> ")
	s.clears()
	s.keys("SELECT * FROM do" + tab)
	s.see("FROM docs")
	s.keys(" WHERE tit" + tab)
	s.see("WHERE title")
	s.keys(" = 'Füchse 狐';" + enter)
	s.see("id │ title", "a  │ Füchse 狐", "(1 row, ")
	s.keys("\\d do" + tab + enter)
	s.see("Collection public.docs", "Full text:  title (english)", "Rows:       1")
	s.keys("SELECT nope;" + enter)
	s.see("ERROR 42703", "LINE 1, COLUMN 8", "^")
	s.keys(up + up + up)
	s.see("Füchse 狐")
	s.clears()
	s.keys(ctrlR + "INSERT")
	s.see("INSERT INTO docs VALUES")
	s.keys(ctrlC) // ends the search
	s.see("public> ")
	s.clears()
	// What is pasted is not run before Enter, and its tabs complete nothing.
	s.keys("\x1b[200~SELECT 1 AS pasted,\n\t2 AS too;\nSELECT 3 AS third;\x1b[201~")
	s.see("-> ")
	s.keys(enter)
	s.see("pasted │ too", "third")
	s.keys("quit" + enter)
	if code := s.leaves(); code != shell.ExitOK {
		t.Errorf("exit %d", code)
	}
	info, err := os.Stat(filepath.Join(home, "loam", "history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history: %v, %v", info, err)
	}
	// The history of one session is there in the next.
	s = startTyped(t, home, "--memory")
	s.keys(up + up)
	s.see("SELECT 1 AS pasted,")
	s.clears()
	s.keys(ctrlD)
	if code := s.leaves(); code != shell.ExitOK {
		t.Errorf("exit %d", code)
	}
}

// forever is a statement that runs longer than any test.
const forever = "SELECT count(*) FROM generate_series(1, 1000000) a CROSS JOIN generate_series(1, 1000000) b;"

// TestCtrlCCancelsTheStatement, in the process and over Flight, and keeps the session.
func TestCtrlCCancelsTheStatement(t *testing.T) {
	srv := startTest(t)
	for name, where := range map[string][]string{"in the process": {"--memory"}, "over Flight": {"--endpoint", "grpc://" + srv.flightAddr}} {
		t.Run(name, func(t *testing.T) {
			s := startTyped(t, t.TempDir(), where...)
			s.keys("SET schema = public;" + enter)
			s.see("OK", "public> ")
			s.keys(forever + enter)
			s.see("Ctrl-C cancels")
			s.keys(ctrlC)
			s.see("ERROR 57014: the statement was cancelled", "public> ")
			s.keys("SELECT 41 + 1 AS answer;" + enter)
			s.see("42", "(1 row")
			s.keys("\\q" + enter)
			if code := s.leaves(); code != shell.ExitOK {
				t.Errorf("exit %d", code)
			}
		})
	}
}

// TestTerminationEndsTheShell: SIGTERM ends a running statement and the session.
func TestTerminationEndsTheShell(t *testing.T) {
	s := startTyped(t, t.TempDir(), "--memory")
	s.keys(forever + enter)
	s.see("Ctrl-C cancels")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.leaves()
}

// TestStartScript runs before the prompt, and \e runs what the editor leaves.
func TestStartScript(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "loam"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "loam", "shell.sql"), []byte("\\set n 42\n\\pset null ∅\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	editor := filepath.Join(home, "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nsed -i 's/answer/edited/' \"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", editor)
	s := startTyped(t, home, "--memory")
	s.keys("SELECT :n AS answer, NULL AS nothing;" + enter)
	s.see("answer │ nothing", "42 │ ∅")
	s.keys("\\e" + enter)
	s.see("edited │ nothing", "42 │ ∅")
	s.keys("SELECT 1 AS w \\watch 0.1" + enter)
	s.see("every 100ms", "w", "1")
	s.keys(ctrlC)
	s.see("public> ")
	s.keys(ctrlD)
	if code := s.leaves(); code != shell.ExitOK {
		t.Errorf("exit %d", code)
	}
}
