package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// ParseArgs parses a command line into f. A wrong flag is an error (22023) with a
// suggestion, and nothing is printed; -h prints the usage to f's output and is
// flag.ErrHelp. form is that of [Usage].
func ParseArgs(f *flag.FlagSet, args []string, form ...string) error {
	out := f.Output()
	f.SetOutput(io.Discard)
	defer f.SetOutput(out)
	err := f.Parse(args)
	if err == nil {
		return nil
	}
	if errors.Is(err, flag.ErrHelp) {
		Usage(out, f, form...)
		return err
	}
	e := fail.New(fail.InvalidParameter, "%s: %v", f.Name(), err)
	wrong, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !ok {
		return e.WithHint("%s -h says what the flags take.", f.Name())
	}
	var names []string
	f.VisitAll(func(fl *flag.Flag) { names = append(names, fl.Name) })
	wrong, _, _ = strings.Cut(strings.TrimLeft(wrong, "-"), "=")
	e = fail.New(fail.InvalidParameter, "%s has no flag --%s", f.Name(), wrong)
	if near := fail.Closest(wrong, names); near != "" {
		return e.WithHint("Did you mean --%s?", near)
	}
	return e.WithHint("%s -h lists the flags.", f.Name())
}

// ShowOnly leaves the flags whose names begin so in [Usage]. A command that takes the
// settings of another reads them all, and tells of those that it goes by.
func ShowOnly(f *flag.FlagSet, names ...string) {
	f.VisitAll(func(fl *flag.Flag) {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(fl.Name, n) }) {
			fl.Usage = ""
		}
	})
}

// Usage prints the flags of a command, one a line, with their defaults. form is what
// stands behind the command's name where that is more than flags, and text below it.
func Usage(w io.Writer, f *flag.FlagSet, form ...string) {
	if len(form) == 0 {
		form = []string{"[FLAGS]"}
	}
	fmt.Fprintf(w, "Usage: %s %s\n\nFlags:\n", f.Name(), strings.Join(form, "\n\n"))
	f.VisitAll(func(fl *flag.Flag) {
		if fl.Usage == "" {
			return
		}
		kind, help := flag.UnquoteUsage(fl)
		name := "--" + fl.Name
		if len(fl.Name) == 1 {
			name = "-" + fl.Name
		}
		if kind != "" {
			name += " " + strings.ToUpper(kind)
		}
		if fl.DefValue != "" && fl.DefValue != "false" {
			help += " (default " + fl.DefValue + ")"
		}
		fmt.Fprintf(w, "  %-24s %s\n", name, help)
	})
}
