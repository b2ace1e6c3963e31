package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/shell/internal/render"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
)

// Rows are the rows of an answer. Next returns nil at the end.
type Rows interface {
	Next(context.Context) (*vec.Chunk, error)
	Close() error
}

// Answer is rows with their columns, or the number of rows that changed.
type Answer struct {
	Columns  []plan.Column
	Affected int64
	Note     string
	Rows     Rows
}

// Conn is where statements run.
type Conn interface {
	// Query runs one statement until ctx ends.
	Query(ctx context.Context, sql string) (*Answer, error)
	// Info describes the connection in lines of name and value.
	Info() [][2]string
	// Fresh reports, once, that the connection was made anew, so that what was set
	// on the old one is gone.
	Fresh() bool
}

// ParseFormat checks a format's name.
func ParseFormat(name string) (render.Format, error) { return render.ParseFormat(name) }

// Arrow is the format that is not for a terminal.
const Arrow = render.Arrow

// TerminalRows is how many rows a table shows on a terminal, unless told otherwise.
const TerminalRows = 1000

// Exit codes of a shell.
const (
	ExitOK         = 0
	ExitFailed     = 1 // a statement failed
	ExitUsage      = 2
	ExitConnection = 3 // no server, or it turned the caller away
)

// Config says how a shell runs.
type Config struct {
	Conn     Conn
	Out, Err io.Writer
	Clock    clock.Clock
	Term     Terminal
	Format   render.Format
	// MaxRows bounds the rows of a table; 0 shows all.
	MaxRows int
	// GoOn runs the rest of a script after an error.
	GoOn bool
	// Vars are the variables that statements may name as :name.
	Vars map[string]string
}

// Shell runs statements and commands one after the other and keeps what they
// share: settings, variables, the last statement. One goroutine uses it.
type Shell struct {
	cfg    Config
	out    io.Writer
	file   io.Closer // of \o, nil without one
	render render.Options
	vars   map[string]string

	timing, pager bool
	prompt        bool // a person types
	quit          bool
	depth         int      // of \i
	last          string   // the last statement
	keep          []string // statements that set the session up, for a new connection
	current       string   // the namespace, for the prompt
	changes       int      // statements that may have changed names
	code          int
	history       *History
	spins         *spinner
}

// New makes a shell.
func New(cfg Config) *Shell {
	if cfg.Vars == nil {
		cfg.Vars = map[string]string{}
	}
	s := &Shell{cfg: cfg, out: cfg.Out, vars: cfg.Vars, timing: cfg.Term.Out, pager: cfg.Term.Out && cfg.Term.In}
	s.render = render.Options{Format: cfg.Format, Color: cfg.Term.Color, Expanded: render.ExpandedAuto}
	if cfg.Term.Err {
		s.spins = &spinner{out: cfg.Err, clock: cfg.Clock}
	}
	return s
}

// Close ends what \o began.
func (s *Shell) Close() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file, s.out = nil, s.cfg.Out
	return f.Close()
}

// Code is the exit code so far.
func (s *Shell) Code() int { return s.code }

// Run runs a script of statements and commands. It stops at the first error
// unless Config.GoOn; errors are printed as a person reads them. A script of
// statements alone that does not parse runs nothing.
func (s *Shell) Run(ctx context.Context, script string) bool {
	if !s.cfg.GoOn && !s.prompt {
		if err := check(script, s.vars); err != nil {
			s.report(err, script)
			return false
		}
	}
	ok := true
	for at := 0; !s.quit; {
		p, end, more := nextPiece(script, at)
		if !more {
			break
		}
		at = end
		_, _, follows := nextPiece(script, end)
		if err := s.piece(ctx, p, !follows); err != nil {
			s.report(within(err, script, p), script)
			ok = false
			if !s.cfg.GoOn || errors.Is(err, errInterrupted) {
				break
			}
		}
	}
	return ok
}

// check parses a script of statements; one with commands passes, for they may
// change what follows.
func check(script string, vars map[string]string) error {
	var stmts []piece
	for at := 0; ; {
		p, end, ok := nextPiece(script, at)
		if !ok {
			break
		}
		if p.sql == "" || p.command != "" || wordCommand(p.sql) != "" {
			return nil
		}
		stmts = append(stmts, p)
		at = end
	}
	for _, p := range stmts {
		text, changed := substitute(p.sql, vars)
		_, err := loam.SplitScript(text)
		switch {
		case err != nil && changed:
			return &inText{err, text}
		case err != nil:
			return within(placed{err}, script, p)
		}
	}
	return nil
}

// placed is an error whose place is counted in the statement as it was written.
type placed struct{ error }

func (p placed) Unwrap() error { return p.error }

// within counts an error's place in the script instead of the statement.
func within(err error, script string, p piece) error {
	var own placed
	if errors.As(err, &own) {
		return fail.As(err).Within(script, p.start)
	}
	return err
}

// piece runs one piece of a script.
func (s *Shell) piece(ctx context.Context, p piece, last bool) error {
	if p.sql == "" {
		err := s.command(ctx, p.command, p.args)
		var own placed
		if errors.As(err, &own) { // of the last statement, run again
			return &inText{err, s.last}
		}
		return err
	}
	if word := wordCommand(p.sql); word != "" {
		return s.command(ctx, word, "")
	}
	if p.command != "" {
		return s.runBy(ctx, p)
	}
	return s.statement(ctx, p.sql, last || s.prompt)
}

var errInterrupted = errors.New("interrupted")

// statement runs one statement and prints its answer. Of statements without rows
// only the last tells that it went well, unless a person looks on.
func (s *Shell) statement(ctx context.Context, sql string, tell bool) error {
	s.last = sql
	text, changed := substitute(sql, s.vars)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if s.prompt && s.cfg.Term.In {
		defer silence(int(os.Stdin.Fd()))()
	}
	err := s.query(ctx, text, tell)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", errInterrupted, fail.New(fail.Canceled, "the statement was cancelled"))
	case changed:
		return &inText{err, text}
	}
	return placed{err}
}

// inText is an error whose place is counted in another text than the script.
type inText struct {
	error
	text string
}

func (e *inText) Unwrap() error { return e.error }

func (s *Shell) query(ctx context.Context, sql string, tell bool) error {
	s.spins.start(ctx)
	defer s.spins.stop()
	start := s.cfg.Clock.Mono()
	a, err := s.ask(ctx, sql)
	if err != nil {
		return err
	}
	defer closeAnswer(a)
	if a.Rows == nil || len(a.Columns) == 0 {
		s.spins.stop()
		s.note(ctx, sql)
		if tell {
			s.affected(a, s.cfg.Clock.Mono()-start)
		}
		return nil
	}
	return s.show(ctx, a, start)
}

func closeAnswer(a *Answer) {
	if a.Rows != nil {
		_ = a.Rows.Close()
	}
}

// ask runs a statement; on a new connection it first sets up again what was set.
func (s *Shell) ask(ctx context.Context, sql string) (*Answer, error) {
	if s.cfg.Conn.Fresh() && len(s.keep) > 0 {
		fmt.Fprintln(s.cfg.Err, s.hint("Connected again; the session's settings are set again."))
		for _, set := range s.keep {
			a, err := s.cfg.Conn.Query(ctx, set)
			if err != nil {
				return nil, err
			}
			closeAnswer(a)
		}
	}
	return s.cfg.Conn.Query(ctx, sql)
}

// note remembers a statement that changed the session or the catalog.
func (s *Shell) note(ctx context.Context, sql string) {
	s.changes++
	t, _ := planner.NextToken(sql, 0)
	switch strings.ToUpper(sql[t.Start:t.End]) {
	case "SET", "USE", "RESET":
		s.keep = append(s.keep, sql)
		if s.prompt {
			s.current = s.namespace(ctx)
		}
	}
}

// Enter makes a namespace the session's, unless it is ""; false after an error,
// which is printed.
func (s *Shell) Enter(ctx context.Context, namespace string) bool {
	if namespace == "" {
		return true
	}
	if err := s.statement(ctx, "SET schema = "+planner.QuoteText(namespace), false); err != nil {
		s.report(&inText{err, s.last}, "")
		return false
	}
	s.current = namespace
	return true
}

// show prints rows as they come, up to the limit of a table.
func (s *Shell) show(ctx context.Context, a *Answer, start time.Duration) error {
	o := s.render
	width, height := s.size()
	o.Width = width
	limit := -1
	if s.cfg.MaxRows > 0 && o.Format.ForPeople() {
		limit = s.cfg.MaxRows
	}
	dest := &lateWriter{first: s.spins.stop, out: s.out}
	var page *pager
	if s.pager && s.file == nil && o.Format.ForPeople() {
		page = newPager(s.out, width, height)
		dest.out = page
		defer func() { _ = page.close() }()
	}
	w, err := render.New(dest, a.Columns, o)
	if err != nil {
		return err
	}
	rows, more, err := pour(ctx, a.Rows, w, limit)
	if err == nil || rows > 0 {
		if e := w.End(); err == nil {
			err = e
		}
	}
	switch {
	case page != nil && page.left():
		return nil // the reader has seen enough
	case err != nil:
		return err
	}
	s.footer(dest, rows, more, s.cfg.Clock.Mono()-start)
	if page != nil {
		return page.close()
	}
	return nil
}

// pour writes the rows of an answer, at most limit; more says that there are others.
func pour(ctx context.Context, from Rows, w render.Writer, limit int) (rows int, more bool, err error) {
	for {
		c, err := from.Next(ctx)
		if err != nil || c == nil {
			return rows, false, err
		}
		if limit >= 0 && rows+c.Rows() > limit {
			err := w.Chunk(render.Head(c, limit-rows))
			return limit, true, err
		}
		rows += c.Rows()
		if err := w.Chunk(c); err != nil {
			return rows, false, err
		}
	}
}

// footer tells a person how many rows there were.
func (s *Shell) footer(out io.Writer, rows int, more bool, took time.Duration) {
	if !s.render.Format.ForPeople() {
		return
	}
	text := count(rows, "row")
	if more {
		text = "the first " + text
	}
	if s.timing {
		text += ", " + duration(took)
	}
	switch {
	case more && s.prompt:
		text += `; \pset max_rows 0 shows all`
	case more:
		text += "; --max-rows 0 shows all"
	}
	if s.cfg.Term.Out && s.file == nil {
		fmt.Fprintln(out, s.paint(dim, "("+text+")"))
	} else if more {
		fmt.Fprintln(s.cfg.Err, "("+text+")")
	}
}

// affected tells what a statement without rows did.
func (s *Shell) affected(a *Answer, took time.Duration) {
	switch s.render.Format {
	case render.JSON, render.JSONL:
		fmt.Fprintf(s.out, "{\"affected\":%d}\n", max(a.Affected, 0))
		return
	case render.CSV, render.Arrow, render.Markdown:
		return
	}
	text := "OK"
	switch {
	case a.Note != "":
		text += ": " + a.Note
	case a.Affected > 0:
		text += ", " + count(int(a.Affected), "row")
	}
	if s.timing {
		text += s.paint(dim, " ("+duration(took)+")")
	}
	fmt.Fprintln(s.out, text)
}

// report prints an error with its place and cure, and remembers the exit code.
func (s *Shell) report(err error, script string) {
	s.spins.stop()
	if errors.Is(err, errShown) {
		return
	}
	s.code = max(s.code, ExitFailed)
	if fail.Is(err, fail.Unauthenticated) || fail.Is(err, fail.Unavailable) {
		s.code = ExitConnection
	}
	var other *inText
	if errors.As(err, &other) {
		script = other.text
	}
	fmt.Fprintln(s.cfg.Err, paintError(fail.Render(err, script), s.cfg.Term.ColorErr))
}
