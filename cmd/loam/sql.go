package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/shell"
	"github.com/loamdb/loam/flightsql/client"
	"github.com/loamdb/loam/internal/fail"
)

// sqlFlags are the flags of loam sql.
type sqlFlags struct {
	endpoint, data, text, file, format, namespace string
	memory                                        bool
}

func sql(ctx context.Context, args []string) int {
	var f sqlFlags
	fs := flag.NewFlagSet("loam sql", flag.ContinueOnError)
	fs.StringVar(&f.endpoint, "endpoint", "", "server to use, grpc://host:port (default grpc://127.0.0.1:8815)")
	fs.StringVar(&f.data, "data", "", "open this data directory in the process, without a server")
	fs.BoolVar(&f.memory, "memory", false, "run in memory; nothing is kept")
	fs.StringVar(&f.text, "c", "", "SQL to run; several statements are separated by ;")
	fs.StringVar(&f.file, "f", "", "file with SQL to run; - is standard input")
	fs.StringVar(&f.format, "format", "table", "table, csv or json")
	fs.StringVar(&f.namespace, "namespace", "", "default namespace")
	if err := fs.Parse(args); err != nil {
		return 2
	}
	script, format, err := f.script(fs.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, fail.Render(err, ""))
		return 1
	}
	run, closer, err := f.runner(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, fail.Render(err, ""))
		return 1
	}
	defer closer()
	if !shell.Run(ctx, run, script, format, os.Stdout, os.Stderr) {
		return 1
	}
	return 0
}

// script is what to run: -c, -f, or standard input.
func (f *sqlFlags) script(rest []string) (string, shell.Format, error) {
	format, err := shell.ParseFormat(f.format)
	if err != nil {
		return "", "", err
	}
	if len(rest) > 0 {
		return "", "", fail.New(fail.InvalidParameter, "unexpected argument %q", rest[0]).WithHint("Put the SQL behind -c, in quotes.")
	}
	if f.text != "" {
		return f.text, format, nil
	}
	if f.file == "" || f.file == "-" {
		b, err := io.ReadAll(os.Stdin)
		return string(b), format, err
	}
	b, err := os.ReadFile(f.file)
	return string(b), format, fail.Wrap(fail.InvalidParameter, err, "SQL file")
}

// runner connects to a server, or opens an engine in this process.
func (f *sqlFlags) runner(ctx context.Context) (shell.Runner, func(), error) {
	if f.memory || f.data != "" {
		return f.local(ctx)
	}
	endpoint := f.endpoint
	if endpoint == "" {
		endpoint = "grpc://" + defaultFlight
	}
	c, err := client.Dial(endpoint, client.Options{Namespace: f.namespace})
	if err != nil {
		return nil, nil, err
	}
	run := func(ctx context.Context, sql string) (*shell.Answer, error) {
		r, err := c.Query(ctx, sql)
		if err != nil {
			return nil, err
		}
		return &shell.Answer{Columns: r.Columns, Affected: r.Affected, Rows: r}, nil
	}
	return run, func() { _ = c.Close() }, nil
}

func (f *sqlFlags) local(ctx context.Context) (shell.Runner, func(), error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	e, err := loam.Open(ctx, loam.Config{Dir: f.data, Files: []string{dir}})
	if err != nil {
		return nil, nil, err
	}
	s := e.NewSession(loam.SessionConfig{Namespace: f.namespace})
	run := func(ctx context.Context, sql string) (*shell.Answer, error) {
		r, err := s.Query(ctx, sql)
		if err != nil {
			return nil, err
		}
		return &shell.Answer{Columns: r.Columns, Affected: r.Affected, Note: r.Note, Rows: r}, nil
	}
	return run, func() { _ = e.Close() }, nil
}
