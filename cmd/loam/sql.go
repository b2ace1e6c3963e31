package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/loamdb/loam/cmd/loam/internal/config"
	"github.com/loamdb/loam/cmd/loam/internal/shell"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// sqlFlags are the flags of loam sql.
type sqlFlags struct {
	connFlags
	text, file, format, color, onError string
	maxRows                            int
	noRC                               bool
	vars                               map[string]string
}

func (f *sqlFlags) set() *flag.FlagSet {
	fs := flag.NewFlagSet("loam sql", flag.ContinueOnError)
	f.connFlags.add(fs)
	fs.BoolVar(&f.memory, "memory", false, "run in memory; nothing is kept")
	fs.StringVar(&f.text, "c", "", "`sql` to run; several statements are separated by ;")
	fs.StringVar(&f.file, "f", "", "`file` with SQL to run; - is standard input")
	fs.StringVar(&f.format, "format", "table", "`form` of results: table, vertical, csv, json, jsonl, markdown, arrow")
	fs.IntVar(&f.maxRows, "max-rows", -1, "most `rows` that a table shows, 0 for all; 1000 on a terminal, else all")
	fs.StringVar(&f.color, "color", "auto", "colors: `when` is auto, always or never; NO_COLOR is honored")
	fs.StringVar(&f.onError, "on-error", "stop", "stop or continue: `what` a script does after an error")
	fs.BoolVar(&f.noRC, "no-rc", false, "do not run the start script of the prompt, ~/.config/loam/shell.sql")
	f.vars = map[string]string{}
	fs.Func("v", "variable `name=value`, for :name and :'name' in statements; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return errors.New("write name=value")
		}
		f.vars[name] = value
		return nil
	})
	return fs
}

// sql is loam sql: a script, or a session at the prompt when a person types.
func sql(ctx context.Context, args []string) int {
	var f sqlFlags
	fs := f.set()
	if err := config.ParseArgs(fs, args); err != nil {
		return usageError(err)
	}
	f.connFlags.environment(os.Getenv)
	cfg, err := f.shellConfig(fs.Args())
	if err != nil {
		return usageError(err)
	}
	prompt := f.text == "" && f.file == "" && cfg.Term.In
	script, err := f.script(prompt)
	if err != nil {
		return usageError(err)
	}
	// Ctrl-C ends a statement, not the session.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	conn, err := f.connFlags.open(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, fail.Render(err, ""))
		if fail.Is(err, fail.InvalidParameter) {
			return shell.ExitUsage
		}
		return shell.ExitFailed
	}
	defer conn.close()
	cfg.Conn = conn
	s := shell.New(cfg)
	defer func() { _ = s.Close() }()
	if !s.Enter(ctx, f.namespace) {
		return s.Code()
	}
	if prompt {
		return s.Prompt(ctx, shell.PromptConfig{History: shell.HistoryFile(), Start: f.startScript(), Banner: conn.banner()})
	}
	s.Run(ctx, script)
	return s.Code()
}

// shellConfig checks the flags that the shell takes.
func (f *sqlFlags) shellConfig(rest []string) (shell.Config, error) {
	cfg := shell.Config{Out: os.Stdout, Err: os.Stderr, Clock: clock.Real(), Vars: f.vars, MaxRows: f.maxRows}
	if len(rest) > 0 {
		return cfg, fail.New(fail.InvalidParameter, "loam sql: unexpected argument %q", rest[0]).WithHint("Put the SQL behind -c, in quotes.")
	}
	var err error
	if cfg.Format, err = shell.ParseFormat(f.format); err != nil {
		return cfg, err
	}
	if cfg.Term, err = shell.FindTerminal(f.color); err != nil {
		return cfg, err
	}
	switch f.onError {
	case "stop":
	case "continue":
		cfg.GoOn = true
	default:
		return cfg, fail.New(fail.InvalidParameter, "--on-error is %q", f.onError).WithHint("Write stop or continue.")
	}
	switch {
	case cfg.MaxRows >= 0:
	case cfg.Term.Out:
		cfg.MaxRows = shell.TerminalRows
	default:
		cfg.MaxRows = 0
	}
	if cfg.Format == shell.Arrow && cfg.Term.Out {
		return cfg, fail.New(fail.InvalidParameter, "an Arrow stream is not for a terminal").
			WithHint("Send it to a file or a program: loam sql --format arrow -c … > result.arrow")
	}
	return cfg, f.connFlags.check()
}

// script is what to run: -c, -f, or standard input.
func (f *sqlFlags) script(prompt bool) (string, error) {
	switch {
	case prompt:
		return "", nil
	case f.text != "" && f.file != "":
		return "", fail.New(fail.InvalidParameter, "-c and -f exclude each other").WithHint("\\i FILE in the text of -c runs a file.")
	case f.text != "":
		return f.text, nil
	case f.file == "" || f.file == "-":
		b, err := io.ReadAll(os.Stdin)
		return string(b), err
	}
	b, err := os.ReadFile(f.file)
	return string(b), fail.Wrap(fail.InvalidParameter, err, "SQL file")
}

// startScript is the script that the prompt begins with; "" without one.
func (f *sqlFlags) startScript() string {
	dir, err := os.UserConfigDir()
	if f.noRC || err != nil {
		return ""
	}
	b, err := os.ReadFile(dir + "/loam/shell.sql")
	if err != nil {
		return ""
	}
	return string(b)
}
