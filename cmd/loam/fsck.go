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

// fsckUsage is what stands behind the name, and the text below it.
var fsckUsage = []string{"[FLAGS] [DIRECTORY]", "Reads everything in a data directory that no server has open, or in a cluster of which\n" +
	"no node runs (--meta), recomputes every checksum and count, and names what is damaged,\n" +
	"what depends on it, and what nothing leads to. It changes nothing without --repair, which\n" +
	"deletes what nothing leads to. It takes the settings of loam serve. The exit code is 0 when\n" +
	"everything that was committed is there, 1 when not, 2 when the check could not be made."}

// runFsck is loam fsck.
func runFsck(ctx context.Context, args []string) int {
	var of serveConfig
	fs := serveFlags(&of)
	fs.Init("loam fsck", flag.ContinueOnError)
	config.ShowOnly(fs, "data", "store", "meta")
	repair := fs.Bool("repair", false, "delete the orphans; what is damaged is not touched")
	asJSON := fs.Bool("json", false, "print the report as JSON")
	src := serveSources(args)
	src.Form = fsckUsage
	settings, err := config.Parse(fs, src, serveSecrets...)
	if err != nil {
		return usageError(err)
	}
	switch rest := settings.Rest; len(rest) {
	case 0:
	case 1:
		of.data, of.meta = rest[0], metaConfig{}
	default:
		fmt.Fprintf(os.Stderr, "loam fsck: unexpected argument %q\n", rest[1])
		return 2
	}
	meta, err := of.meta.open()
	if err != nil {
		return usageError(err)
	}
	cfg := loam.CheckConfig{Dir: of.data, Store: of.store, Meta: meta, Repair: *repair}
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
