// Command loam is the server and the tools of Loam: serve, sql, demo, version,
// health, fsck, doctor, config. Each command reads its flags, wires rooms together, and runs.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/config"
)

// command is one word after loam.
type command struct {
	name, help string
	run        func(ctx context.Context, args []string) int
}

var commands = []command{
	{"serve", "serve Flight SQL and HTTP from a data directory", serve},
	{"sql", "run SQL against a server, a data directory or memory", sql},
	{"load", "load files into a collection or table", loadCommand},
	{"demo", "load Go's documentation into a temporary server and query it", runDemo},
	{"health", "ask a running server how it is; the exit code answers", runHealth},
	{"fsck", "check everything in a data directory against its checksums", runFsck},
	{"doctor", "try whether an object store keeps what Loam needs", runDoctor},
	{"config", "print the settings of loam serve and where each comes from", runConfig},
	{"passwd", "make a line for the users file of loam serve", runPasswd},
	{"version", "print the version and the build", version},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 {
		for _, c := range commands {
			if c.name == os.Args[1] {
				os.Exit(c.run(ctx, os.Args[2:]))
			}
		}
		if w := os.Args[1]; w != "help" && w != "-h" && w != "--help" {
			fmt.Fprintf(os.Stderr, "loam: there is no command %q\n\n", w)
			usage()
			os.Exit(2)
		}
	}
	usage()
}

func usage() {
	fmt.Fprintln(os.Stderr, "Loam, a Flight SQL-first query engine over retrieval data.\n\nUsage: loam COMMAND [FLAGS]\n\nCommands:")
	for _, c := range commands {
		fmt.Fprintf(os.Stderr, "  %-8s %s\n", c.name, c.help)
	}
	fmt.Fprintln(os.Stderr, "\nloam COMMAND -h lists the flags of a command.")
}

// version prints one line, or JSON with --json.
func version(_ context.Context, args []string) int {
	fs := flag.NewFlagSet("loam version", flag.ContinueOnError)
	asJSON := fs.Bool("json", false, "print JSON")
	if err := config.ParseArgs(fs, args); err != nil {
		return usageError(err)
	}
	if !*asJSON {
		fmt.Println(loam.Build())
		return 0
	}
	b, err := json.Marshal(loam.Build())
	if err != nil {
		fmt.Fprintln(os.Stderr, "loam version:", err)
		return 1
	}
	fmt.Println(string(b))
	return 0
}
