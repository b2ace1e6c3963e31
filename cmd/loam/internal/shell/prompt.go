package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/reeflective/readline"
	"github.com/reeflective/readline/inputrc"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/shell/internal/complete"
	"github.com/loamdb/loam/cmd/loam/internal/shell/internal/render"
	"github.com/loamdb/loam/planner"
)

// PromptConfig says how a session at the prompt begins.
type PromptConfig struct {
	// History is the file of the history; "" keeps none.
	History string
	// Start is a script that runs first, quietly.
	Start string
	// Banner is printed first.
	Banner string
}

// Prompt reads statements and commands from a person until they leave, and
// returns the exit code.
func (s *Shell) Prompt(ctx context.Context, cfg PromptConfig) int {
	var err error
	if s.history, err = OpenHistory(cfg.History); err != nil {
		fmt.Fprintln(s.cfg.Err, s.hint("The history is not kept: "+err.Error()))
	}
	s.greet(ctx, cfg.Banner)
	if cfg.Start != "" {
		s.Run(ctx, cfg.Start)
	}
	s.prompt, s.code = true, ExitOK
	if s.current == "" {
		s.current = s.namespace(ctx)
	}
	ed := s.editor(ctx)
	for !s.quit && ctx.Err() == nil {
		text, err := ed.Readline()
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			continue
		case err != nil:
			if !errors.Is(err, io.EOF) {
				fmt.Fprintln(s.cfg.Err, err)
				return ExitFailed
			}
			fmt.Fprintln(s.cfg.Out)
			return ExitOK
		case strings.TrimSpace(text) == "":
			continue
		}
		s.history.Add(text)
		s.Run(ctx, text)
	}
	return ExitOK
}

// greet says where the session is and how to go on.
func (s *Shell) greet(ctx context.Context, banner string) {
	fmt.Fprintf(s.cfg.Out, "Loam %s. %s\nEnd a statement with a semicolon. \\? lists the commands, \\q leaves.\n", loam.Version, banner)
	if _, err := s.records(ctx, "SELECT 1"); err != nil {
		s.report(err, "")
	}
}

// editor is the line editor with its prompt, history and completion.
func (s *Shell) editor(ctx context.Context) *readline.Shell {
	ed := readline.NewShell(inputrc.WithApp("loam"))
	for name, on := range map[string]bool{
		"menu-complete-display-prefix": true, // Tab first goes as far as all candidates agree
		"multiline-column":             true,
		"enable-bracketed-paste":       true, // a pasted tab is no wish to complete
		// Letters such as é are themselves and no Meta keys.
		"convert-meta": false, "input-meta": true, "output-meta": true,
	} {
		_ = ed.Config.Set(name, on)
	}
	if os.Getenv("TERM") == "dumb" {
		_ = ed.Config.Set("cursor-position-probe", false) // it would wait for an answer
	}
	// The editor's own command drops all but the first code point of a grapheme.
	ed.Keymap.Register(map[string]func(){"self-insert": func() {
		ed.History.SkipSave()
		ed.Cursor().InsertAt(ed.Keys.Caller()...)
	}})
	ed.Prompt.Primary(func() string { return s.paint(bold, s.current) + "> " })
	ed.Prompt.Secondary(func() string { return s.goesOn(string(*ed.Line())) })
	ed.AcceptMultiline = func(line []rune) bool { return finished(string(line)) }
	ed.History.Delete()
	ed.History.Add("history", historySource{s.history})
	names := &catalogNames{shell: s}
	ed.Completer = func(line []rune, cursor int) readline.Completions {
		return offer(complete.At(string(line), len(string(line[:cursor])), names.get(ctx)))
	}
	if s.cfg.Term.Color {
		ed.SyntaxHighlighter = func(line []rune) string { return highlight(string(line)) }
	}
	return ed
}

// goesOn is the prompt of the last of several lines, as wide as the first one's: it
// shows what is still open.
func (s *Shell) goesOn(text string) string {
	mark := "-"
	for at := 0; ; {
		p, end, ok := nextPiece(text, at)
		if !ok {
			break
		}
		if at = end; p.open != "" {
			mark = p.open
		}
	}
	return s.paint(dim, strings.Repeat(" ", max(render.Width(s.current)-1, 0))+mark+"> ")
}

// offer turns candidates into those of the editor.
func offer(from complete.Answer) readline.Completions {
	if strings.IndexFunc(from.Prefix, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		return readline.Completions{} // the editor counts the prefix in bytes
	}
	values := make([]readline.Completion, len(from.Candidates))
	for i, c := range from.Candidates {
		values[i] = readline.Completion{Value: c.Text, Display: c.Text, Tag: c.Kind + "s"}
	}
	out := readline.CompleteRaw(values)
	out.PREFIX = from.Prefix
	return out
}

// highlight colors a text as it is typed.
func highlight(text string) string {
	var b strings.Builder
	at := 0
	for _, t := range planner.Tokens(text) {
		style := ""
		switch t.Class {
		case planner.TokenKeyword:
			style = "\x1b[34m"
		case planner.TokenString, planner.TokenOpen:
			style = "\x1b[32m"
		case planner.TokenNumber:
			style = cyan
		case planner.TokenComment:
			style = dim
		}
		b.WriteString(text[at:t.Start])
		if style == "" {
			b.WriteString(text[t.Start:t.End])
		} else {
			b.WriteString(style + text[t.Start:t.End] + reset)
		}
		at = t.End
	}
	return b.String() + text[at:]
}

// historySource is the history as the editor walks it. What is typed is added by
// the session, not by the editor.
type historySource struct{ h *History }

// Write implements the editor's history.
func (h historySource) Write(string) (int, error) { return len(h.h.entries), nil }

// GetLine implements the editor's history.
func (h historySource) GetLine(i int) (string, error) {
	if i < 0 || i >= len(h.h.entries) {
		return "", fmt.Errorf("the history has no entry %d", i)
	}
	return h.h.entries[i], nil
}

// Len implements the editor's history.
func (h historySource) Len() int { return len(h.h.entries) }

// Dump implements the editor's history.
func (h historySource) Dump() any { return h.h.entries }
