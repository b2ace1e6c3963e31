package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"os"
	"os/user"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/shell"
	"github.com/loamdb/loam/flightsql/client"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// connFlags say where a client command finds its data.
type connFlags struct {
	endpoint, data, namespace string
	user, password, token, ca string
	memory                    bool
}

func (f *connFlags) add(fs *flag.FlagSet) {
	fs.StringVar(&f.endpoint, "endpoint", "", "`server` to use, grpc://host:port or grpc+tls://host:port (LOAM_ENDPOINT; else grpc://"+defaultFlight+")")
	fs.StringVar(&f.data, "data", "", "open this data `directory` in the process, without a server")
	fs.StringVar(&f.namespace, "namespace", "", "default `namespace` (LOAM_NAMESPACE; else public)")
	fs.StringVar(&f.user, "user", "", "`name` to log in with (LOAM_USER)")
	fs.StringVar(&f.password, "password", "", "its `password`; better in LOAM_PASSWORD, which other users do not see")
	fs.StringVar(&f.token, "token", "", "bearer `token` to log in with; better in LOAM_TOKEN")
	fs.StringVar(&f.ca, "tls-ca", "", "`file` of certificates to trust, beside those of the system")
}

// environment fills what no flag gave.
func (f *connFlags) environment(getenv func(string) string) {
	local := f.memory || f.data != ""
	for name, to := range map[string]*string{"LOAM_ENDPOINT": &f.endpoint, "LOAM_NAMESPACE": &f.namespace, "LOAM_USER": &f.user,
		"LOAM_PASSWORD": &f.password, "LOAM_TOKEN": &f.token} {
		if *to == "" && !(local && name == "LOAM_ENDPOINT") {
			*to = getenv(name)
		}
	}
	if f.endpoint == "" {
		f.endpoint = "grpc://" + defaultFlight
	} else if local {
		f.endpoint = "both"
	}
}

func (f *connFlags) check() error {
	switch {
	case f.memory && f.data != "":
		return fail.New(fail.InvalidParameter, "--memory and --data exclude each other").WithHint("--data keeps what is written; --memory forgets it.")
	case f.endpoint == "both":
		return fail.New(fail.InvalidParameter, "--endpoint goes to a server, --data and --memory need none").WithHint("Give one of them.")
	}
	return nil
}

// conn is a shell's connection that can be closed.
type conn interface {
	shell.Conn
	// banner is what the prompt begins with.
	banner() string
	close()
}

// open opens an engine in this process, or makes a client. A client connects with
// its first call.
func (f *connFlags) open(ctx context.Context) (conn, error) {
	if f.memory || f.data != "" {
		return openLocal(ctx, f.data)
	}
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	c, err := client.Dial(f.endpoint, o)
	if err != nil {
		return nil, err
	}
	return &remote{endpoint: f.endpoint, options: o, client: c, ctx: ctx}, nil
}

// options are how a client logs in, and whom it trusts.
func (f *connFlags) options() (client.Options, error) {
	o := client.Options{Token: f.token, User: f.user, Password: f.password}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return o, fail.Wrap(fail.InvalidParameter, err, "--tls-ca")
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return o, fail.New(fail.InvalidParameter, "%s holds no certificate", f.ca).WithHint("It is a file of PEM blocks CERTIFICATE.")
		}
		o.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return o, nil
}

// remote runs statements on a server.
type remote struct {
	endpoint string
	options  client.Options
	client   *client.Client
	ctx      context.Context
	broken   bool
}

func (r *remote) Query(ctx context.Context, sql string) (*shell.Answer, error) {
	rows, err := r.client.Query(ctx, sql)
	if err != nil {
		return nil, r.explain(ctx, err)
	}
	return &shell.Answer{Columns: rows.Columns, Affected: rows.Affected, Rows: &remoteRows{rows, r}}, nil
}

// explain says more of an error of the connection.
func (r *remote) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	r.broken = fail.Is(err, fail.Unavailable)
	return client.Explain(ctx, r.endpoint, err)
}

// Fresh connects anew after the connection broke.
func (r *remote) Fresh() bool {
	was := r.broken
	if was {
		if c, err := client.Dial(r.endpoint, r.options); err == nil {
			_ = r.client.Close()
			r.client, r.broken = c, false
		}
	}
	return r.client.Fresh(r.ctx) || was
}

func (r *remote) Info() [][2]string {
	login := "none"
	switch {
	case r.options.Token != "":
		login = "a token"
	case r.options.User != "":
		login = "user " + r.options.User
	}
	return [][2]string{{"Server", r.endpoint}, {"Login", login}, {"Client", "loam " + loam.Version}}
}

func (r *remote) banner() string { return "Connected to " + r.endpoint + "." }

func (r *remote) close() { _ = r.client.Close() }

// remoteRows explains errors that come with the rows.
type remoteRows struct {
	*client.Rows
	from *remote
}

// Next implements shell.Rows.
func (r *remoteRows) Next(ctx context.Context) (*vec.Chunk, error) {
	c, err := r.Rows.Next(ctx)
	if err != nil {
		err = r.from.explain(ctx, err)
	}
	return c, err
}

// local runs statements on an engine in this process.
type local struct {
	engine  *loam.Engine
	session *loam.Session
	dir     string
}

func openLocal(ctx context.Context, dir string) (*local, error) {
	wd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	e, err := loam.Open(ctx, loam.Config{Dir: dir, Files: []string{wd}})
	if err != nil {
		return nil, err
	}
	return &local{engine: e, session: e.NewSession(loam.SessionConfig{User: systemUser()}), dir: dir}, nil
}

func (l *local) Query(ctx context.Context, sql string) (*shell.Answer, error) {
	r, err := l.session.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return &shell.Answer{Columns: r.Columns, Affected: r.Affected, Note: r.Note, Rows: r}, nil
}

func (l *local) Fresh() bool { return false }

func (l *local) Info() [][2]string {
	return [][2]string{{"Server", "none: an engine in this process"}, {"Data", l.where()}}
}

func (l *local) where() string {
	if l.dir == "" {
		return "in memory; nothing is kept"
	}
	return l.dir
}

func (l *local) banner() string {
	if l.dir == "" {
		return "In memory; nothing is kept."
	}
	return "Opened " + l.dir + " in this process."
}

func (l *local) close() { _ = l.engine.Close() }

// systemUser is who runs this process: the user of a session without a server.
func systemUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "loam"
}
