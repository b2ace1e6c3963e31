package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/loamdb/loam/cmd/loam/internal/shell/internal/render"
	"github.com/loamdb/loam/internal/fail"
)

// command is one backslash command. Its arguments are the rest of the line.
type command struct {
	name, args, help string
	run              func(s *Shell, ctx context.Context, args string) error
}

// section is a group of commands as \? lists them.
type section struct {
	title    string
	commands []command
}

// commandSections are all commands. A function, for \? itself is one of them.
func commandSections() []section {
	return []section{
		{"General", []command{
			{"q", "", "leave; also quit, exit, Ctrl-D", (*Shell).doQuit},
			{"?", "", "this list; also help", (*Shell).doCommands},
			{"h", "[STATEMENT]", "syntax of a statement", (*Shell).doSyntax},
			{"conninfo", "", "where the session is connected", (*Shell).doConninfo},
			{"set", "[NAME [VALUE]]", "set a variable, or list them; :NAME, :'NAME' in a statement", (*Shell).doSet},
			{"unset", "NAME", "forget a variable", (*Shell).doUnset},
			{"echo", "TEXT", "print a text", (*Shell).doEcho},
			{"!", "[COMMAND]", "run a command of the system's shell", (*Shell).doSystem},
		}},
		{"Look around", []command{
			{"d", "[NAME]", "list objects, or describe one", (*Shell).doDescribe},
			{"dt", "[PATTERN]", "list collections and tables", (*Shell).doTables},
			{"dv", "[PATTERN]", "list views", (*Shell).doViews},
			{"df", "[PATTERN]", "list functions", (*Shell).doFunctions},
			{"dn", "[PATTERN]", "list namespaces", (*Shell).doNamespaces},
			{"l", "", "list catalogs", (*Shell).doCatalogs},
		}},
		{"Run", []command{
			{"g", "[FILE]", "run the statement before it, or the last one; into a file", (*Shell).doAgain},
			{"gx", "[FILE]", "the same, one column a line", (*Shell).doAgainTall},
			{"watch", "[SECONDS]", "run it again and again until Ctrl-C (2 s)", (*Shell).doWatch},
			{"e", "[FILE]", "edit the last statement or a file in $EDITOR, then run it", (*Shell).doEdit},
			{"i", "FILE", "run a script", (*Shell).doInclude},
			{"p", "", "print the last statement", (*Shell).doPrint},
			{"s", "[FILE]", "print the history, or write it to a file", (*Shell).doHistory},
		}},
		{"Output", []command{
			{"o", "[FILE]", "send results to a file; without one to the screen", (*Shell).doOutput},
			{"copy", "(QUERY)|NAME TO FILE", "write a result to a .csv, .json, .jsonl, .arrow, .parquet or .md file", (*Shell).doCopy},
			{"format", "[NAME]", "table, vertical, csv, json, jsonl, markdown, arrow", (*Shell).doFormat},
			{"x", "[on|off|auto]", "one column a line; auto: where a table does not fit", (*Shell).doExpanded},
			{"timing", "[on|off]", "show how long statements take", (*Shell).doTiming},
			{"pset", "[NAME VALUE]", "show or set an option: null, max_rows, pager, format, expanded, timing", (*Shell).doPset},
		}},
	}
}

// commandNames are the names of all commands, in order of \?.
func commandNames() []string {
	var out []string
	for _, sec := range commandSections() {
		for _, c := range sec.commands {
			out = append(out, c.name)
		}
	}
	return out
}

func findCommand(name string) (command, bool) {
	for _, sec := range commandSections() {
		for _, c := range sec.commands {
			if c.name == name {
				return c, true
			}
		}
	}
	return command{}, false
}

// command runs a backslash command.
func (s *Shell) command(ctx context.Context, name, args string) error {
	c, ok := findCommand(name)
	if !ok {
		if c, ok = findCommand(strings.ToLower(name)); !ok {
			return unknownCommand(name)
		}
	}
	if c.args == "" && args != "" && args != ";" {
		return badUsage(`\%s takes no argument`, name).WithHint(`It got %q.`, args)
	}
	return c.run(s, ctx, strings.TrimSpace(strings.TrimSuffix(args, ";")))
}

// unknownCommand names the nearest one.
func unknownCommand(name string) error {
	e := fail.New(fail.Syntax, `there is no command \%s`, name)
	names := commandNames()
	near := fail.Closest(name, names)
	for _, n := range names {
		if near == "" && name != "" && (strings.HasPrefix(n, name) || strings.HasPrefix(name, n) && len(n) > 1) {
			near = n
		}
	}
	switch near = firstOf(meant[strings.ToLower(name)], near); near {
	case "c":
		return e.WithHint("USE name; changes the namespace. Another server goes behind loam sql --endpoint.")
	case "":
		return e.WithHint(`\? lists the commands.`)
	}
	return e.WithHint(`Did you mean \%s? \? lists the commands.`, near)
}

// meant are the commands that people mean by names that other shells have, or
// that they spell out.
var meant = map[string]string{
	"tables": "dt", "list": "d", "describe": "d", "show": "d", "functions": "df", "namespaces": "dn", "schemas": "dn", "views": "dv", "edit": "e",
	"include": "i", "read": "i", "r": "i", "output": "o", "history": "s", "help": "?", "quit": "q", "exit": "q", "mode": "format", "a": "format",
	"c": "c", "connect": "c", "use": "c",
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func badUsage(format string, args ...any) *fail.Error {
	return fail.New(fail.InvalidParameter, format, args...)
}

func (s *Shell) doQuit(context.Context, string) error {
	s.quit = true
	return nil
}

func (s *Shell) doCommands(context.Context, string) error {
	for i, sec := range commandSections() {
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		fmt.Fprintln(s.out, s.paint(bold, sec.title))
		for _, c := range sec.commands {
			fmt.Fprintf(s.out, "  %-26s %s\n", strings.TrimSpace(`\`+c.name+" "+c.args), c.help)
		}
	}
	if s.prompt {
		fmt.Fprintf(s.out, "\n%s\n", s.paint(bold, "Keys"))
		for _, k := range [][2]string{
			{"Enter", "runs a statement that ends with ;"}, {"Tab", "completes names, keywords, files"},
			{"Ctrl-R", "searches the history"}, {"Ctrl-C", "clears the line, cancels a running statement"}, {"Ctrl-D", "leaves"},
		} {
			fmt.Fprintf(s.out, "  %-26s %s\n", k[0], k[1])
		}
	}
	return nil
}

func (s *Shell) doConninfo(ctx context.Context, _ string) error {
	info := s.cfg.Conn.Info()
	recs, err := s.records(ctx, "SELECT current_schema AS namespace, current_user AS who, version() AS version")
	if err != nil {
		return err
	}
	for _, r := range recs {
		info = append(info, [2]string{"Namespace", r["namespace"]}, [2]string{"User", r["who"]}, [2]string{"Engine", r["version"]})
	}
	info = slices.DeleteFunc(info, func(line [2]string) bool { return line[1] == "" })
	width := 0
	for _, line := range info {
		width = max(width, len(line[0]))
	}
	for _, line := range info {
		fmt.Fprintf(s.out, "%-*s  %s\n", width, line[0], line[1])
	}
	return nil
}

func (s *Shell) doSet(_ context.Context, args string) error {
	name, value, _ := strings.Cut(args, " ")
	if name != "" {
		s.vars[name] = unquoted(strings.TrimSpace(value))
		return nil
	}
	names := make([]string, 0, len(s.vars))
	for n := range s.vars {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(s.out, "%s = '%s'\n", n, strings.ReplaceAll(s.vars[n], "'", "''"))
	}
	return nil
}

func (s *Shell) doUnset(_ context.Context, name string) error {
	if _, ok := s.vars[name]; !ok {
		return badUsage("there is no variable %q", name).WithHint(`\set lists the variables.`)
	}
	delete(s.vars, name)
	return nil
}

func (s *Shell) doEcho(_ context.Context, text string) error {
	_, err := fmt.Fprintln(s.out, unquoted(text))
	return err
}

func (s *Shell) doPrint(context.Context, string) error {
	if s.last == "" {
		return badUsage("no statement has run yet")
	}
	_, err := fmt.Fprintln(s.out, s.last)
	return err
}

func (s *Shell) doSystem(ctx context.Context, line string) error {
	sh := os.Getenv("SHELL")
	if sh == "" {
		sh = "sh"
	}
	cmd := exec.CommandContext(ctx, sh)
	if line != "" {
		cmd = exec.CommandContext(ctx, sh, "-c", line)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, s.out, s.cfg.Err
	if err := cmd.Run(); err != nil {
		return badUsage("the command failed: %v", err)
	}
	return nil
}

// unquoted takes one pair of single quotes off a text.
func unquoted(text string) string {
	if n := len(text); n >= 2 && text[0] == '\'' && text[n-1] == '\'' {
		return strings.ReplaceAll(text[1:n-1], "''", "'")
	}
	return text
}

// home spells out ~ at the beginning of a path.
func home(path string) string {
	path = unquoted(path)
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(dir, path[1:])
}

// onOff reads a switch; "" turns it round.
func onOff(name, text string, now bool) (bool, error) {
	switch strings.ToLower(text) {
	case "":
		return !now, nil
	case "on", "true", "1":
		return true, nil
	case "off", "false", "0":
		return false, nil
	}
	return now, badUsage("%s is on or off, not %q", name, text)
}

func word(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (s *Shell) doTiming(_ context.Context, text string) (err error) {
	if s.timing, err = onOff("timing", text, s.timing); err == nil {
		s.tell("Timing is %s.", word(s.timing))
	}
	return err
}

// tell confirms a setting to a person.
func (s *Shell) tell(format string, args ...any) {
	if s.prompt {
		fmt.Fprintln(s.cfg.Err, s.hint(fmt.Sprintf(format, args...)))
	}
}

func (s *Shell) doExpanded(_ context.Context, text string) error {
	switch e := render.Expanded(strings.ToLower(text)); e {
	case "":
		if s.render.Expanded == render.ExpandedOn {
			s.render.Expanded = render.ExpandedAuto
		} else {
			s.render.Expanded = render.ExpandedOn
		}
	case render.ExpandedOn, render.ExpandedOff, render.ExpandedAuto:
		s.render.Expanded = e
	default:
		return badUsage("expanded is on, off or auto, not %q", text)
	}
	s.tell("Expanded display is %s.", s.render.Expanded)
	return nil
}

func (s *Shell) doFormat(_ context.Context, text string) error {
	if text == "" {
		_, err := fmt.Fprintln(s.out, s.render.Format)
		return err
	}
	f, err := render.ParseFormat(text)
	if err != nil {
		return err
	}
	if f == render.Arrow && s.cfg.Term.Out && s.file == nil {
		return badUsage("an Arrow stream is not for a terminal").WithHint(`Send it to a file: \o FILE, or \copy (…) TO 'file.arrow'.`)
	}
	s.render.Format = f
	s.tell("The format is %s.", f)
	return nil
}

// options are what \pset sets.
var options = []string{"expanded", "format", "max_rows", "null", "pager", "timing"}

func (s *Shell) doPset(ctx context.Context, args string) error {
	name, value, given := strings.Cut(args, " ")
	value = strings.TrimSpace(value)
	switch name {
	case "":
		for _, line := range [][2]string{
			{"expanded", string(s.render.Expanded)}, {"format", string(s.render.Format)}, {"max_rows", strconv.Itoa(s.cfg.MaxRows)},
			{"null", "'" + s.render.Null + "'"}, {"pager", word(s.pager)}, {"timing", word(s.timing)},
		} {
			fmt.Fprintf(s.out, "%-9s %s\n", line[0], line[1])
		}
		return nil
	case "null":
		s.render.Null = unquoted(value)
		return nil
	case "max_rows":
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			return badUsage("max_rows is a number from 0, not %q", value).WithHint("0 shows all rows.")
		}
		s.cfg.MaxRows = n
		return nil
	case "pager":
		var err error
		s.pager, err = onOff("pager", value, s.pager)
		return err
	case "format":
		return s.doFormat(ctx, value)
	case "expanded", "x":
		return s.doExpanded(ctx, value)
	case "timing":
		return s.doTiming(ctx, value)
	}
	e := badUsage("there is no option %q", name)
	if near := fail.Closest(name, options); near != "" && (given || name != "") {
		return e.WithHint("Did you mean %s?", near)
	}
	return e.WithHint("The options are %s.", strings.Join(options, ", "))
}
