package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/loamdb/loam/internal/fail"
)

// usageError reports a wrong command line or setting; the exit code is 2, or 0 after
// a request for help.
func usageError(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(os.Stderr, fail.Render(err, ""))
	return 2
}

// runConfig is loam config print: the settings that loam serve would run with, as a
// settings file, each with its origin.
func runConfig(_ context.Context, args []string) int {
	if len(args) == 0 || args[0] != "print" {
		fmt.Fprintln(os.Stderr, "Usage: loam config print [FLAGS OF loam serve]\n\nPrints the settings as loam serve would take them, each with where it comes from.")
		return 2
	}
	var cfg serveConfig
	settings, err := parseServe(args[1:], &cfg)
	if err != nil {
		return usageError(err)
	}
	fmt.Print(settings.YAML())
	for _, w := range settings.Warnings {
		fmt.Fprintln(os.Stderr, "warning: "+w)
	}
	return 0
}
