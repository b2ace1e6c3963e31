package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/loamdb/loam/cmd/loam/internal/config"
	"github.com/loamdb/loam/cmd/loam/internal/demo"
	"github.com/loamdb/loam/internal/fail"
)

func runDemo(ctx context.Context, args []string) int {
	fs := flag.NewFlagSet("loam demo", flag.ContinueOnError)
	keep := fs.Bool("keep", false, "leave the server running at the end, and say how to connect")
	show := fs.Bool("print", false, "print the queries as a script for loam sql, and run nothing")
	if err := config.ParseArgs(fs, args); err != nil {
		return usageError(err)
	}
	if *show {
		if err := demo.Print(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, fail.Render(err, ""))
			return 1
		}
		return 0
	}
	dir, err := os.MkdirTemp("", "loam-demo-")
	if err != nil {
		fmt.Fprintln(os.Stderr, fail.Render(err, ""))
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := startServer(ctx, serveConfig{data: dir, flight: "127.0.0.1:0", http: "127.0.0.1:0"})
	if err != nil {
		fmt.Fprintln(os.Stderr, fail.Render(err, ""))
		return 1
	}
	defer s.stop()
	info, err := os.Stdout.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	if err := demo.Run(ctx, os.Stdout, demo.Server{Flight: s.flightAddr, HTTP: s.httpAddr, Dir: dir, Terminal: terminal, Keep: *keep}); err != nil {
		fmt.Fprintln(os.Stderr, fail.Render(err, ""))
		return 1
	}
	if *keep {
		<-ctx.Done()
	}
	return 0
}
