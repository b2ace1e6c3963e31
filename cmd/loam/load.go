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
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/config"
	"github.com/loamdb/loam/cmd/loam/internal/load"
	"github.com/loamdb/loam/flightsql/client"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// loadFlags are the flags of loam load.
type loadFlags struct {
	connFlags
	load.Options
}

const loadUsage = `Usage: loam load TARGET FILE… [FLAGS]

Loads files into a collection or table: CSV, TSV, JSON, Parquet, Arrow IPC, plain or
as .gz or .zst. FILE may be a quoted glob ("data/**/*.parquet"), a directory, or - for
standard input. Columns are matched by name. Texts (Markdown, HTML, source code, …) are
split into passages: id, path, heading, chunk, text.

`

// loadExits are the exit codes.
const loadExits = `
Exit codes: 0 loaded, 1 failed, 2 wrong command line, 3 no server.
`

func loadCommand(ctx context.Context, args []string) int {
	f, err := parseLoad(args)
	if err != nil {
		return usageError(err)
	}
	// After the first Ctrl-C the load ends in order; the second one ends the process.
	defer context.AfterFunc(ctx, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })()
	server, closer, err := f.server(ctx)
	if err == nil {
		info, serr := os.Stderr.Stat()
		terminal := serr == nil && info.Mode()&os.ModeCharDevice != 0
		err = load.Run(ctx, server, load.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Terminal: terminal, Clock: clock.Real()}, &f.Options)
		closer()
	}
	if err == nil {
		return 0
	}
	if f.data == "" {
		err = client.Explain(ctx, f.endpoint, err)
	}
	fmt.Fprintln(os.Stderr, fail.Render(err, ""))
	if fail.Is(err, fail.Unavailable) {
		return 3
	}
	return 1
}

// parseLoad reads the command line; flags may stand before and behind the files.
func parseLoad(args []string) (*loadFlags, error) {
	f := &loadFlags{}
	fs := flag.NewFlagSet("loam load", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f.declare(fs)
	var rest []string
	for {
		if err := config.ParseArgs(fs, args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				printLoadHelp(os.Stderr, fs)
			}
			return nil, err
		}
		if args = fs.Args(); len(args) == 0 {
			break
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	if len(rest) > 0 {
		f.Target, f.Files = rest[0], rest[1:]
	}
	switch {
	case f.data != "":
		f.Connect = " --data " + f.data
	case f.endpoint != "":
		f.Connect = " --endpoint " + f.endpoint
	}
	f.environment(os.Getenv)
	if err := f.connFlags.check(); err != nil {
		return nil, err
	}
	f.Namespace = f.namespace
	return f, f.Check()
}

// printLoadHelp prints what loam load is for, and its flags.
func printLoadHelp(w io.Writer, fs *flag.FlagSet) {
	var flags strings.Builder
	config.Usage(&flags, fs)
	_, list, _ := strings.Cut(flags.String(), "\n\n")
	fmt.Fprint(w, loadUsage, list, loadExits)
}

func (f *loadFlags) declare(fs *flag.FlagSet) {
	many := func(to *[]string, name, help string) {
		fs.Func(name, help+"; may be repeated", func(v string) error {
			*to = append(*to, v)
			return nil
		})
	}
	f.connFlags.add(fs)
	fs.BoolVar(&f.Create, "create", false, "make the target from the first file: a collection with --key, else a table")
	fs.BoolVar(&f.DryRun, "dry-run", false, "print what would be made, and load nothing")
	fs.StringVar(&f.Key, "key", "", "primary key of a new collection; several `columns` are separated by commas")
	many(&f.Vectors, "vector", "vector `column` of a new collection, column:dimension[:metric]")
	many(&f.FullText, "fulltext", "searched text `column` of a new collection, column[:analyzer]")
	many(&f.Types, "type", "type of a new `column`, column=TYPE, in place of the inferred one")
	many(&f.Renames, "rename", "`column` of the files under another name: file_column=target_column")
	fs.BoolVar(&f.IgnoreExtra, "ignore-extra", false, "leave out columns that the target does not have")
	fs.StringVar(&f.Format, "format", "", "`format` of the files: csv, tsv, json, parquet, arrow, or text (default: found out)")
	fs.StringVar(&f.Delimiter, "delim", "", "`character` between fields of CSV, or tab (default: found out)")
	fs.StringVar(&f.Quote, "quote", "", "`character` around fields of CSV, or none (default: found out)")
	fs.StringVar(&f.Header, "header", "", "whether the first line of CSV names the columns: `yes` or no (default: found out)")
	many(&f.Nulls, "null", "unquoted `text` of CSV that means NULL (default: empty, \\N and NULL)")
	fs.IntVar(&f.Chunk, "chunk", 400, "most `words` of a passage of a text; words are what blanks separate")
	fs.IntVar(&f.Overlap, "overlap", 40, "`words` at the end of a passage that the next one repeats")
	fs.BoolVar(&f.Prune, "prune", false, "delete passages of texts that are not among the files")
	fs.IntVar(&f.Streams, "streams", 4, "`number` of streams that send at once")
	fs.StringVar(&f.Errors, "errors", "", "write rows that are wrong to this `file`, a JSON object a line")
	fs.Int64Var(&f.MaxErrors, "max-errors", 0, "leave out up to this `number` of rows that are wrong; more end the load")
	fs.StringVar(&f.Resume, "resume", "", "keep positions in this state `file`, and go on from it")
	fs.DurationVar(&f.Patience, "patience", 2*time.Minute, "how long a server that went away is waited for")
	fs.BoolVar(&f.Quiet, "quiet", false, "print no progress")
}

// server connects to a server, or opens an engine in this process.
func (f *loadFlags) server(ctx context.Context) (load.Server, func(), error) {
	if f.data != "" {
		e, err := loam.Open(ctx, loam.Config{Dir: f.data})
		if err != nil {
			return nil, nil, err
		}
		return load.Local(e.NewSession(loam.SessionConfig{User: systemUser(), Namespace: f.Namespace})), func() { _ = e.Close() }, nil
	}
	o, err := f.options()
	if err != nil {
		return nil, nil, err
	}
	c, err := client.Dial(f.endpoint, o)
	if err != nil {
		return nil, nil, err
	}
	return load.Flight(c), func() { _ = c.Close() }, nil
}
