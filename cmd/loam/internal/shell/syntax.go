package shell

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// syntaxText is the syntax of all statements: a line "# NAME", what it does, its
// forms, and behind "example:" statements that parse.
//
//go:embed syntax.txt
var syntaxText string

// syntax is the help of one statement.
type syntax struct {
	name, help, forms string
	examples          []string
}

func parseSyntax(text string) []syntax {
	var out []syntax
	for block := range strings.SplitSeq(text, "\n# ") {
		name, rest, _ := strings.Cut(strings.TrimPrefix(block, "# "), "\n")
		help, forms, _ := strings.Cut(rest, "\n")
		x := syntax{name: strings.TrimSpace(name), help: help}
		var kept []string
		for line := range strings.SplitSeq(strings.TrimSpace(forms), "\n") {
			if ex, ok := strings.CutPrefix(line, "example: "); ok {
				x.examples = append(x.examples, ex)
			} else {
				kept = append(kept, line)
			}
		}
		x.forms = strings.TrimSpace(strings.Join(kept, "\n"))
		out = append(out, x)
	}
	return out
}

func (s *Shell) doSyntax(_ context.Context, name string) error {
	all := parseSyntax(syntaxText)
	name = strings.Join(strings.Fields(strings.ToUpper(name)), " ")
	if name == "" {
		for _, x := range all {
			fmt.Fprintf(s.out, "  %-20s %s\n", x.name, x.help)
		}
		_, err := fmt.Fprintf(s.out, "\n%s\n", s.paint(dim, `\h NAME shows one of them.`))
		return err
	}
	found := false
	names := make([]string, len(all))
	for i, x := range all {
		names[i] = x.name
		if strings.HasPrefix(x.name, name) {
			if found {
				fmt.Fprintln(s.out)
			}
			found = true
			fmt.Fprintf(s.out, "%s  %s\n%s\n", s.paint(bold, x.name), x.help, indented(x.forms))
			for _, ex := range x.examples {
				fmt.Fprintf(s.out, "  %s %s\n", s.paint(dim, "e.g."), ex)
			}
		}
	}
	if found {
		return nil
	}
	e := badUsage("there is no help for %q", name)
	if near := fail.Closest(name, names); near != "" {
		return e.WithHint(`Did you mean \h %s?`, near)
	}
	return e.WithHint(`\h lists the statements.`)
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
