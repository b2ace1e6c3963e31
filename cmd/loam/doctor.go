package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/config"
	"github.com/loamdb/loam/internal/fail"
)

const doctorUsage = "Usage: loam doctor store s3://BUCKET/PREFIX [FLAGS]\n\n" +
	"Tries whether an object store keeps the promises that Loam builds on. It writes up to\n" +
	"20 MiB below the prefix and removes them again. The credentials come from the AWS_*\n" +
	"environment or the shared files. The exit code is 0 when the store can be used."

// runDoctor is loam doctor: exit code 0 when the store keeps all promises, 1 when
// not, 2 for a wrong call.
func runDoctor(ctx context.Context, args []string) int {
	var cfg loam.StoreConfig
	fs := flag.NewFlagSet("loam doctor store", flag.ContinueOnError)
	fs.StringVar(&cfg.Endpoint, "endpoint", "", "`URL` of an S3 server that is not AWS's; empty: AWS_ENDPOINT_URL or AWS itself")
	fs.StringVar(&cfg.Region, "region", "", "`region` of the bucket; empty: AWS_REGION or the profile's")
	fs.StringVar(&cfg.Addressing, "addressing", "", "`form` of addresses: path (endpoint/bucket) or virtual (bucket.endpoint); empty: path with an endpoint")
	if len(args) == 0 || args[0] != "store" {
		fmt.Fprintln(os.Stderr, doctorUsage)
		return 2
	}
	rest := args[1:]
	for { // the address may stand before the flags, or behind
		if err := config.ParseArgs(fs, rest); err != nil {
			return usageError(err)
		}
		if rest = fs.Args(); len(rest) == 0 {
			break
		}
		if cfg.Address != "" {
			fmt.Fprintf(os.Stderr, "loam doctor store: unexpected argument %q\n", rest[0])
			return 2
		}
		cfg.Address, rest = rest[0], rest[1:]
	}
	if cfg.Address == "" {
		fmt.Fprintln(os.Stderr, doctorUsage)
		return 2
	}
	checks, err := loam.ProbeStore(ctx, cfg)
	failed := printChecks(os.Stdout, cfg.Address, checks)
	if err != nil {
		fmt.Fprintln(os.Stderr, fail.Render(err, ""))
		return 1
	}
	if failed {
		return 1
	}
	return 0
}

// printChecks prints the table and a verdict, and reports whether a check failed.
func printChecks(w io.Writer, address string, checks []loam.StoreCheck) bool {
	passed, failed, skipped := 0, 0, 0
	for _, c := range checks {
		switch {
		case c.Skipped:
			skipped++
			fmt.Fprintf(w, "skip  %-15s %s\n", c.Name, c.What)
		case c.Err == nil:
			passed++
			fmt.Fprintf(w, "ok    %-15s %s\n", c.Name, c.What)
		default:
			failed++
			fmt.Fprintf(w, "FAIL  %-15s %s\n      %s\n", c.Name, c.What, indented(fail.Render(c.Err, "")))
		}
	}
	if len(checks) > 0 {
		verdict := "Loam can keep its data in " + address
		if failed > 0 {
			verdict = "do not keep data in " + address
		}
		fmt.Fprintf(w, "\n%s\ndoctor: %d passed, %d failed, %d skipped\n", verdict, passed, failed, skipped)
	}
	return failed > 0
}

func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n      ") }
