package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/internal/clock"
)

// runPasswd is loam passwd: it makes a line for the file of loam serve --users.
func runPasswd(_ context.Context, args []string) int {
	fs := flag.NewFlagSet("loam passwd", flag.ContinueOnError)
	token := fs.Bool("token", false, "make a token in place of a password; the token itself goes to standard error, once")
	fs.Usage = func() {
		fmt.Fprintln(fs.Output(), "Usage: loam passwd [--token] NAME >>users\n\nReads a password from standard input and prints a line for loam serve --users.")
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		return usageError(err)
	}
	if fs.NArg() != 1 || fs.Arg(0) == "" || strings.ContainsAny(fs.Arg(0), ":\n") {
		fs.Usage()
		return 2
	}
	name, ids := fs.Arg(0), clock.RandomIDs(clock.Real())
	if *token {
		secret, hash := access.NewToken(ids)
		fmt.Fprintln(os.Stderr, secret)
		fmt.Printf("%s:%s\n", name, hash)
		return 0
	}
	if isTerminal(os.Stdin) {
		fmt.Fprintf(os.Stderr, "Password of %s (it shows while you type): ", name)
	}
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	password := strings.TrimRight(line, "\r\n")
	if password == "" {
		fmt.Fprintln(os.Stderr, "loam passwd: the password is empty")
		return 1
	}
	fmt.Printf("%s:%s\n", name, access.Hash(password, ids))
	return 0
}
