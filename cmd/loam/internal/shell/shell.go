package shell

import (
	"context"
	"fmt"
	"io"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// Rows is the answer to one statement.
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

// Runner runs one statement.
type Runner func(ctx context.Context, sql string) (*Answer, error)

// Format is how results are printed.
type Format string

// The formats.
const (
	Table Format = "table"
	CSV   Format = "csv"
	JSON  Format = "json"
)

// ParseFormat checks a format's name.
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Table, CSV, JSON:
		return f, nil
	}
	return "", fail.New(fail.InvalidParameter, "there is no format %q", s).WithHint("Formats: table, csv, json.")
}

// Run runs the statements of a script one after the other and prints the result
// of the last one to out. The first error ends it; it is printed to errs as a
// person reads it, and Run returns false.
func Run(ctx context.Context, run Runner, script string, f Format, out, errs io.Writer) bool {
	stmts, err := loam.SplitScript(script)
	if err != nil {
		fmt.Fprintln(errs, fail.Render(err, script))
		return false
	}
	for i, sql := range stmts {
		last := i == len(stmts)-1
		if err := one(ctx, run, sql.Text, f, out, last); err != nil {
			fmt.Fprintln(errs, fail.Render(fail.As(err).Within(script, sql.Start), script))
			return false
		}
	}
	return true
}

func one(ctx context.Context, run Runner, sql string, f Format, out io.Writer, print bool) error {
	a, err := run(ctx, sql)
	if err != nil {
		return err
	}
	if a.Rows == nil || len(a.Columns) == 0 {
		if print {
			printAffected(out, f, a)
		}
		return nil
	}
	defer func() { _ = a.Rows.Close() }()
	w := newWriter(f, out, a.Columns)
	for {
		c, err := a.Rows.Next(ctx)
		if err != nil {
			return err
		}
		if c == nil {
			break
		}
		if print {
			if err := w.chunk(c); err != nil {
				return err
			}
		}
	}
	if print {
		return w.end()
	}
	return nil
}

func printAffected(out io.Writer, f Format, a *Answer) {
	switch {
	case f == JSON:
		fmt.Fprintf(out, "{\"affected\":%d}\n", max(a.Affected, 0))
	case f == CSV:
	case a.Note != "":
		fmt.Fprintln(out, "OK:", a.Note)
	case a.Affected == 1:
		fmt.Fprintln(out, "OK, 1 row")
	case a.Affected > 1:
		fmt.Fprintf(out, "OK, %d rows\n", a.Affected)
	default:
		fmt.Fprintln(out, "OK")
	}
}
