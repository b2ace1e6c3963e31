package load

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// remember keeps a word of a full-text column for the query at the end.
func (l *loader) remember(c *converted) {
	if l.example != "" || c.n == 0 {
		return
	}
	for i, at := range c.at {
		if l.target.cols[at].fulltext == "" || c.cols[i].IsNull(0) {
			continue
		}
		for _, w := range strings.FieldsFunc(c.cols[i].Value(0).Str, func(r rune) bool { return !unicode.IsLetter(r) }) {
			if n := len([]rune(w)); n > len([]rune(l.example)) && n <= 12 {
				l.example, l.exampleOf = strings.ToLower(w), at
			}
		}
	}
}

// finish saves the positions, says how far the load came, and what next.
func (l *loader) finish(err error) error {
	if e := l.errs.end(); err == nil {
		err = e
	}
	if err != nil && l.opts.Resume == "" && l.needsState() {
		l.track.path = stateName(l.target)
	}
	if e := l.track.close(); err == nil {
		err = e
	}
	l.summary(err)
	return err
}

// needsState: a table that has some of the rows cannot be loaded again from the start.
func (l *loader) needsState() bool {
	rows, _ := l.track.loaded()
	return rows > 0 && !l.target.isCollection()
}

func stateName(t *target) string { return t.name + ".load-state.json" }

func (l *loader) summary(err error) {
	rows, token := l.track.loaded()
	out := l.io.Out
	if err != nil {
		out = l.io.Err
	}
	took := l.io.Clock.Mono() - l.status.began
	seconds := max(took.Seconds(), 1e-3)
	verb := "loaded"
	if err != nil {
		verb = "stopped:"
		if rows == 0 {
			fmt.Fprintln(out, "nothing was loaded")
			if l.made {
				fmt.Fprintf(out, "the %s %s was made and is empty\n", l.target.kind, l.target.sql())
			}
			return
		}
	}
	what := "row"
	if len(l.counts) > 0 {
		what = "passage"
	}
	fmt.Fprintf(out, "%s %s of %s into %s in %s (%s rows/s, %s/s)\n", verb, plural(rows, what), plural(int64(len(l.items)), "file"),
		l.target.sql(), short(took), thousands(int64(float64(rows)/seconds)), size10(float64(l.status.read.Load())/seconds))
	if n := l.errs.skipped(); n > 0 && err == nil {
		where := "name a file with --errors to see them"
		if l.opts.Errors != "" {
			where = "see " + l.opts.Errors
		}
		fmt.Fprintf(out, "%s wrong and left out: %s\n", wereWrong(n), where)
		if l.opts.Errors == "" {
			fmt.Fprintf(out, "the first: %s\n", fail.As(l.errs.first).Error())
		}
	}
	for i, name := range l.leftOut {
		if i == 5 {
			fmt.Fprintf(out, "left out: %d more\n", len(l.leftOut)-i)
			break
		}
		fmt.Fprintf(out, "left out: %s\n", name)
	}
	for _, d := range l.errs.doubtful {
		fmt.Fprintln(out, d)
	}
	if token != "" {
		fmt.Fprintf(out, "token %s\n", token)
	}
	if err != nil {
		l.howToGoOn(out)
		return
	}
	fmt.Fprintf(out, "try   loam sql%s -c %s\n", l.opts.Connect, shellQuote(l.query()))
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(n) + " " + what + "s"
}

func wereWrong(n int64) string {
	if n == 1 {
		return "1 row was"
	}
	return thousands(n) + " rows were"
}

// howToGoOn says what to do after a stop.
func (l *loader) howToGoOn(out interface{ Write([]byte) (int, error) }) {
	switch {
	case l.track.path != "" && l.opts.Resume != "":
		fmt.Fprintf(out, "to go on, run the same command again: %s has the positions\n", l.opts.Resume)
	case l.track.path != "":
		fmt.Fprintf(out, "to go on, run the same command again with --resume %s\n", l.track.path)
	default:
		fmt.Fprintln(out, "to go on, run the same command again: rows with the same key are replaced, not doubled")
	}
}

// query is a statement that shows what was loaded.
func (l *loader) query() string {
	t := l.target
	if keys := t.keys(); l.example != "" && len(keys) > 0 {
		if len(l.counts) > 0 {
			return fmt.Sprintf("SELECT path, heading, round(_score, 2) AS score FROM text_search(%s, %s) LIMIT 5", t.sql(), loam.QuoteText(l.example))
		}
		return fmt.Sprintf("SELECT %s, round(_score, 2) AS score FROM text_search(%s, %s, %s) LIMIT 5",
			loam.QuoteName(t.cols[keys[0]].name), t.sql(), loam.QuoteText(l.example), loam.QuoteName(t.cols[l.exampleOf].name))
	}
	return "SELECT * FROM " + t.sql() + " LIMIT 5"
}

// shellQuote puts a text in double quotes for a POSIX shell.
func shellQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s) + `"`
}
