package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/config"
	"github.com/loamdb/loam/internal/fail"
)

const fsckUsage = "Usage: loam fsck [FLAGS] [DIRECTORY]\n\n" +
	"Reads everything in a data directory that no server has open, recomputes every checksum\n" +
	"and count, and names what is damaged, what depends on it, and what nothing leads to.\n" +
	"It changes nothing without --repair, which deletes what nothing leads to. The exit code is 0\n" +
	"when everything that was committed is there, 1 when not, 2 when the check could not be made.\n\nFlags:"

// runFsck is loam fsck.
func runFsck(ctx context.Context, args []string) int {
	fs := flag.NewFlagSet("loam fsck", flag.ContinueOnError)
	var cfg loam.CheckConfig
	fs.StringVar(&cfg.Dir, "data", "loam-data", "data `directory`")
	fs.BoolVar(&cfg.Repair, "repair", false, "delete the orphans; what is damaged is not touched")
	asJSON := fs.Bool("json", false, "print the report as JSON")
	fs.Usage = func() {
		fmt.Fprintln(fs.Output(), fsckUsage)
		fs.PrintDefaults()
	}
	if err := config.ParseArgs(fs, args); err != nil {
		return usageError(err)
	}
	switch rest := fs.Args(); len(rest) {
	case 0:
	case 1:
		cfg.Dir = rest[0]
	default:
		fmt.Fprintf(os.Stderr, "loam fsck: unexpected argument %q\n", rest[1])
		return 2
	}
	rep, err := loam.CheckData(ctx, cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, fail.Render(err, ""))
		return 2
	}
	if err := printReport(os.Stdout, rep, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "loam fsck:", err)
		return 2
	}
	if !rep.Sound() {
		return 1
	}
	return 0
}

func printReport(w io.Writer, rep *loam.CheckReport, asJSON bool) error {
	if !asJSON {
		rep.Text(w)
		return nil
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rep)
}
