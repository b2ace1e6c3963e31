package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/loamdb/loam/cmd/loam/internal/config"
	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

const passwdAbout = "Reads a password from standard input, hidden on a terminal, and prints a line for\nloam serve --users."

// runPasswd is loam passwd: it makes a line for the file of loam serve --users.
func runPasswd(_ context.Context, args []string) int {
	fs := flag.NewFlagSet("loam passwd", flag.ContinueOnError)
	token := fs.Bool("token", false, "make a token in place of a password; the token itself goes to standard error, once")
	if err := config.ParseArgs(fs, args, "[FLAGS] NAME >>users", passwdAbout); err != nil {
		return usageError(err)
	}
	if fs.NArg() != 1 || fs.Arg(0) == "" || strings.ContainsAny(fs.Arg(0), ":\n") {
		return usageError(fail.New(fail.InvalidParameter, "loam passwd takes the name of one user, without a colon").
			WithHint("Write what it prints to the users file: loam passwd NAME >>users"))
	}
	name, ids := fs.Arg(0), clock.RandomIDs(clock.Real())
	if *token {
		secret, hash := access.NewToken(ids)
		fmt.Fprintln(os.Stderr, secret)
		fmt.Printf("%s:%s\n", name, hash)
		return 0
	}
	password, err := readPassword(name)
	if err != nil {
		fmt.Fprintln(os.Stderr, "loam passwd:", err)
		return 1
	}
	if password == "" {
		fmt.Fprintln(os.Stderr, "loam passwd: the password is empty")
		return 1
	}
	fmt.Printf("%s:%s\n", name, access.Hash(password, ids))
	return 0
}

// readPassword reads a line of standard input; on a terminal it asks, and what is
// typed stays hidden.
func readPassword(name string) (string, error) {
	if fd := int(os.Stdin.Fd()); term.IsTerminal(fd) {
		fmt.Fprintf(os.Stderr, "Password of %s: ", name)
		typed, err := term.ReadPassword(fd)
		fmt.Fprintln(os.Stderr)
		return string(typed), err
	}
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil // a last line may end without a newline
	}
	return strings.TrimRight(line, "\r\n"), err
}
