package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/loamdb/loam/cmd/loam/internal/shell/internal/render"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner"
)

// maxDepth bounds how deep scripts include each other.
const maxDepth = 16

// runBy runs the statement before a command, by that command.
func (s *Shell) runBy(ctx context.Context, p piece) error {
	switch p.command {
	case "g", "gx", "watch":
		s.last = p.sql
		return s.command(ctx, p.command, p.args)
	case "e":
		s.last = p.sql
		return s.doEdit(ctx, "")
	case "p":
		s.last = p.sql
		return s.doPrint(ctx, "")
	}
	if _, ok := findCommand(p.command); !ok {
		return unknownCommand(p.command)
	}
	return badUsage(`\%s stands on a line of its own`, p.command).WithHint("End the statement before it with a semicolon.")
}

func (s *Shell) doAgain(ctx context.Context, file string) error {
	if s.last == "" {
		return badUsage("no statement has run yet")
	}
	if file == "" {
		return s.statement(ctx, s.last, true)
	}
	if s.file != nil {
		return badUsage(`results go to a file already`).WithHint(`\o without a file ends that.`)
	}
	if err := s.doOutput(ctx, file); err != nil {
		return err
	}
	err := s.statement(ctx, s.last, true)
	return errors.Join(err, s.Close())
}

func (s *Shell) doAgainTall(ctx context.Context, file string) error {
	before := s.render.Expanded
	defer func() { s.render.Expanded = before }()
	s.render.Expanded = render.ExpandedOn
	return s.doAgain(ctx, file)
}

// doWatch repeats the last statement until it fails or Ctrl-C.
func (s *Shell) doWatch(ctx context.Context, text string) error {
	every := 2 * time.Second
	if text != "" {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f <= 0 || f > 86400 {
			return badUsage(`\watch takes seconds, not %q`, text)
		}
		every = time.Duration(f * float64(time.Second))
	}
	if s.last == "" {
		return badUsage("no statement has run yet")
	}
	pager := s.pager
	defer func() { s.pager = pager }()
	s.pager = false
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	for {
		fmt.Fprintln(s.out, s.paint(dim, s.cfg.Clock.Now().Format("15:04:05")+", every "+every.String()))
		if err := s.statement(ctx, s.last, true); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if s.cfg.Clock.Sleep(ctx, every) != nil {
			return nil
		}
	}
}

// doEdit opens the last statement, or a file, in the editor and runs what is saved.
func (s *Shell) doEdit(ctx context.Context, file string) error {
	if file == "" {
		dir, err := os.MkdirTemp("", "loam-edit-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		file = filepath.Join(dir, "statement.sql")
		text := s.last
		if text != "" {
			text += ";\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	file = home(file)
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		editor = "vi"
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return badUsage("the editor %s failed: %v", editor, err).WithHint("EDITOR names the editor to use.")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	script := strings.TrimSpace(string(text))
	if script == "" {
		return nil
	}
	if s.prompt {
		fmt.Fprintln(s.out, s.paint(dim, script))
		s.history.Add(script)
	}
	return s.nested(ctx, script)
}

func (s *Shell) doInclude(ctx context.Context, file string) error {
	if file == "" {
		return badUsage(`\i needs a file`)
	}
	text, err := os.ReadFile(home(file))
	if err != nil {
		return fail.Wrap(fail.InvalidParameter, err, "script")
	}
	return s.nested(ctx, string(text))
}

// errShown is an error that has been printed where it happened.
var errShown = errors.New("a statement of the script failed")

// nested runs a script within a script.
func (s *Shell) nested(ctx context.Context, script string) error {
	if s.depth++; s.depth > maxDepth {
		s.depth--
		return badUsage("scripts include each other %d deep", maxDepth).WithHint("Does a script include itself?")
	}
	defer func() { s.depth-- }()
	if !s.Run(ctx, script) && !s.cfg.GoOn {
		return errShown
	}
	return nil
}

func (s *Shell) doHistory(_ context.Context, file string) error {
	text := strings.Join(s.history.Entries(), "\n")
	if text != "" {
		text += "\n"
	}
	if file != "" {
		return os.WriteFile(home(file), []byte(text), 0o600)
	}
	width, height := s.size()
	if !s.pager || s.file != nil {
		_, err := fmt.Fprint(s.out, text)
		return err
	}
	p := newPager(s.out, width, height)
	_, err := p.Write([]byte(text))
	if p.left() {
		err = nil
	}
	return errors.Join(err, p.close())
}

// doOutput sends results to a file; "" brings them back.
func (s *Shell) doOutput(_ context.Context, file string) error {
	if err := s.Close(); err != nil || file == "" {
		return err
	}
	f, err := os.Create(home(file))
	if err != nil {
		return fail.Wrap(fail.InvalidParameter, err, "output")
	}
	s.file, s.out = f, f
	return nil
}

// copyFormats are the formats of \copy by the ending of the file.
var copyFormats = map[string]render.Format{
	".csv": render.CSV, ".json": render.JSON, ".jsonl": render.JSONL, ".ndjson": render.JSONL, ".md": render.Markdown,
	".arrow": render.Arrow, ".arrows": render.Arrow, ".parquet": render.Parquet, ".txt": render.Table,
}

// doCopy writes the rows of a query or an object to a file.
func (s *Shell) doCopy(ctx context.Context, args string) error {
	query, file, format, err := parseCopy(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	s.spins.start(ctx)
	defer s.spins.stop()
	start := s.cfg.Clock.Mono()
	text, _ := substitute(query, s.vars)
	a, err := s.ask(ctx, text)
	if err != nil {
		return &inText{err, text}
	}
	defer closeAnswer(a)
	if len(a.Columns) == 0 {
		return badUsage(`\copy takes a query, and this statement has no rows`)
	}
	rows, err := writeFile(ctx, file, a, format)
	if err != nil {
		return err
	}
	s.spins.stop()
	s.tell("%s written to %s (%s).", count(rows, "row"), file, duration(s.cfg.Clock.Mono()-start))
	return nil
}

// writeFile writes an answer under a temporary name first, so that a file is
// never half of a result.
func writeFile(ctx context.Context, file string, a *Answer, format render.Format) (rows int, err error) {
	if info, err := os.Lstat(file); err == nil && !info.Mode().IsRegular() {
		return writeThrough(ctx, file, a, format)
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // the temporary name is nobody's concern
	}
	if err != nil {
		return 0, fail.Wrap(fail.InvalidParameter, err, "cannot write %s", file)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	w, err := render.New(f, a.Columns, render.Options{Format: format})
	if err != nil {
		return 0, err
	}
	if rows, _, err = pour(ctx, a.Rows, w, -1); err != nil {
		return rows, err
	}
	if err := errors.Join(w.End(), f.Chmod(0o644), f.Close()); err != nil {
		return rows, err
	}
	return rows, os.Rename(f.Name(), file)
}

// writeThrough writes to what is no plain file, as /dev/stdout, a pipe or a link,
// and leaves it where it is.
func writeThrough(ctx context.Context, file string, a *Answer, format render.Format) (rows int, err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return 0, fail.Wrap(fail.InvalidParameter, err, "cannot write")
	}
	w, err := render.New(f, a.Columns, render.Options{Format: format})
	if err == nil {
		if rows, _, err = pour(ctx, a.Rows, w, -1); err == nil {
			err = w.End()
		}
	}
	return rows, errors.Join(err, f.Close())
}

// parseCopy reads (QUERY) TO 'FILE' [FORMAT name] and NAME TO 'FILE'.
func parseCopy(args string) (query, file string, format render.Format, err error) {
	usage := badUsage(`\copy is written \copy (QUERY) TO 'FILE', or \copy NAME TO 'FILE'`)
	end := copySource(args)
	word, rest, _ := strings.Cut(strings.TrimSpace(args[end:]), " ")
	switch {
	case strings.EqualFold(word, "from"):
		return "", "", "", badUsage(`\copy writes files only`).
			WithHint("Read a file with INSERT INTO t SELECT * FROM read_parquet('…'), or with the command loam load.")
	case end == 0 || !strings.EqualFold(word, "to"):
		return "", "", "", usage
	}
	query = strings.TrimSpace(args[:end])
	if strings.HasPrefix(query, "(") {
		query = query[1 : len(query)-1]
	} else {
		query = "SELECT * FROM " + query
	}
	file, name := splitFile(strings.TrimSpace(rest))
	if file == "" {
		return "", "", "", usage
	}
	format = copyFormats[strings.ToLower(filepath.Ext(file))]
	if name = strings.Trim(strings.ToLower(name), " ()"); name != "" {
		name = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(name, "with"), " ("))
		name = strings.TrimSpace(strings.TrimPrefix(name, "format"))
		if format = render.Format(name); format != render.Parquet {
			if format, err = render.ParseFormat(name); err != nil {
				return "", "", "", err
			}
		}
	}
	if format == "" {
		return "", "", "", badUsage("the ending of %s names no format", file).
			WithHint("Take .csv, .json, .jsonl, .md, .arrow or .parquet, or write FORMAT csv behind the file.")
	}
	return query, home(file), format, nil
}

// copySource is where the query in parentheses, or the name, ends; 0 without one.
func copySource(args string) int {
	depth, end := 0, 0
	for _, t := range planner.Tokens(args) {
		switch text := args[t.Start:t.End]; {
		case text == "(":
			depth++
		case text == ")":
			if depth--; depth == 0 {
				return t.End
			}
		case depth == 0 && (strings.EqualFold(text, "to") || strings.EqualFold(text, "from")):
			return end
		}
		end = t.End
	}
	return 0
}

// splitFile takes a file name, which may be quoted, off a text.
func splitFile(text string) (file, rest string) {
	if strings.HasPrefix(text, "'") {
		if n := strings.IndexByte(text[1:], '\''); n >= 0 {
			return text[1 : n+1], text[n+2:]
		}
	}
	file, rest, _ = strings.Cut(text, " ")
	return file, rest
}
