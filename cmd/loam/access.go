package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// accessConfig says who may call, and how connections are protected.
type accessConfig struct {
	cert, key, clientCA          string // PEM files
	users                        string // file of NAME:HASH lines
	user, password, passwordFile string
	auth                         authMode
	plaintext, insecure          bool
}

func (c *accessConfig) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.cert, "tls-cert", "", "PEM `file` with the server's certificate chain; with --tls-key, both Flight SQL and HTTP speak TLS")
	fs.StringVar(&c.key, "tls-key", "", "PEM `file` with the certificate's key")
	fs.StringVar(&c.clientCA, "tls-client-ca", "", "PEM `file` with authorities: clients need a certificate that one of them signed; its common name is the user")
	fs.StringVar(&c.users, "users", "", "`file` of users: lines NAME:HASH as loam passwd makes them")
	fs.StringVar(&c.user, "user", "", "`name` of a single user, in place of --users")
	fs.StringVar(&c.password, "password", "", "the single user's `password`; better in a file, since others see command lines")
	fs.StringVar(&c.passwordFile, "password-file", "", "`file` with the single user's password")
	fs.Var(&c.auth, "auth", "who may call: given (as the settings say), none (everybody), or `mode` generate: without users, a password for the user loam is made at the first start")
	fs.BoolVar(&c.plaintext, "plaintext", false, "allow addresses that other machines reach without TLS; users are still asked for")
	fs.BoolVar(&c.insecure, "insecure", false, "allow addresses that other machines reach without TLS or without users; warns at each start")
}

// gate is the access of a running server. Both parts may be nil: plaintext, everybody.
type gate struct {
	config accessConfig
	made   string // the password that this start has made, to be shown once
	users  *access.Users
	tls    *access.Certificates
}

// open reads the files. In the mode generate it may make one in the data directory.
func (c accessConfig) open(data string) (*gate, error) {
	made, err := c.generate(data)
	if err != nil {
		return nil, err
	}
	g := &gate{config: c, made: made}
	if g.users, err = c.readUsers(); err != nil {
		return nil, err
	}
	g.tls, err = c.readCertificates()
	return g, err
}

// reload reads the files again; what has an error stays as it was.
func (g *gate) reload() {
	users, err := g.config.readUsers()
	if err == nil && users != nil {
		g.users.Replace(users)
	}
	if err == nil && g.tls != nil {
		err = g.config.replaceCertificates(g.tls)
	}
	if err != nil {
		slog.Error("certificates and users stay as they were", "error", err)
		return
	}
	slog.Info("certificates and users read again")
}

func (c accessConfig) readUsers() (*access.Users, error) {
	cl := clock.Real()
	ids := clock.RandomIDs(cl)
	if c.users != "" {
		if c.user != "" {
			return nil, fail.New(fail.InvalidParameter, "--users and --user exclude each other").WithHint("Put the single user into the file: loam passwd NAME makes its line.")
		}
		text, err := os.ReadFile(c.users)
		if err != nil {
			return nil, fail.Wrap(fail.InvalidParameter, err, "--users")
		}
		return access.Parse(c.users, text, cl, ids)
	}
	password, err := c.singlePassword()
	if c.auth == authNone && (c.user != "" || password != "") {
		return nil, fail.New(fail.InvalidParameter, "--auth none asks nobody for a password, and one is given").WithHint("Leave out one of them.")
	}
	switch {
	case err != nil:
		return nil, err
	case c.user == "" && password == "":
		return nil, nil
	case c.user == "":
		return nil, fail.New(fail.InvalidParameter, "there is a password without a user").WithHint("Pass --user NAME.")
	case password == "":
		return nil, fail.New(fail.InvalidParameter, "the user %q has no password", c.user).WithHint("Pass --password-file FILE.")
	}
	return access.Plain(map[string]string{c.user: password}, nil, cl, ids), nil
}

func (c accessConfig) singlePassword() (string, error) {
	if c.passwordFile == "" {
		return c.password, nil
	}
	if c.password != "" {
		return "", fail.New(fail.InvalidParameter, "--password and --password-file exclude each other")
	}
	text, err := os.ReadFile(c.passwordFile)
	return strings.TrimRight(string(text), "\r\n"), fail.Wrap(fail.InvalidParameter, err, "--password-file")
}

// readCertificates is nil without a certificate.
func (c accessConfig) readCertificates() (*access.Certificates, error) {
	switch {
	case c.cert == "" && c.key == "" && c.clientCA == "":
		return nil, nil
	case c.cert == "" || c.key == "":
		return nil, fail.New(fail.InvalidParameter, "TLS needs both --tls-cert and --tls-key")
	}
	made := &access.Certificates{}
	if err := c.replaceCertificates(made); err != nil {
		return nil, err
	}
	return made, nil
}

func (c accessConfig) replaceCertificates(into *access.Certificates) error {
	var texts [3][]byte
	for i, file := range []string{c.cert, c.key, c.clientCA} {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return fail.Wrap(fail.InvalidParameter, err, "TLS")
		}
		texts[i] = bytes.TrimSpace(text)
	}
	return into.Replace(texts[0], texts[1], texts[2])
}

// warn says what the settings leave open, at each start.
func (g *gate) warn() {
	c := g.config
	if g.tls == nil && (c.insecure || c.plaintext) {
		slog.Warn("serving in plaintext: passwords, tokens and data can be read on the way")
	}
	if g.users.Open() && !g.tls.AskClients() && (c.insecure || c.auth == authNone) {
		slog.Warn("serving without users: everybody who reaches the address may read and write")
	}
}

// scheme is that of an URL: plain, or with suffix behind it for TLS.
func (g *gate) scheme(plain, suffix string) string {
	if g.tls == nil {
		return plain
	}
	return plain + suffix
}

// where is what the server serves, in words.
func (s *server) where(data, meta string) string {
	if store := s.engine.StoreAddress(); store != "" {
		return store + " with its metastore in " + cmp.Or(meta, data)
	}
	return data
}

// say prints a line of the addresses.
func (s *server) say(data, version string) {
	fmt.Printf("loam %s serves %s\n  Flight SQL  %s://%s\n", version, data, s.gate.scheme("grpc", "+tls"), s.flightAddr)
	if s.httpAddr != "" {
		fmt.Printf("  HTTP        %s://%s\n", s.gate.scheme("http", "s"), s.httpAddr)
	}
	if s.gate.made != "" {
		fmt.Printf("  user        %s\n  password    %s   (made at this first start, and shown only now)\n", imageUser, s.gate.made)
	}
}
