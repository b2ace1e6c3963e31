package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/config"
	"github.com/loamdb/loam/flightsql"
	"github.com/loamdb/loam/flightsql/rest"
	"github.com/loamdb/loam/internal/fail"
)

// The default addresses.
const (
	defaultFlight = "127.0.0.1:8815"
	defaultHTTP   = "127.0.0.1:8816"
)

// serveConfig is what loam serve is told.
type serveConfig struct {
	data, flight, http string
	store              loam.StoreConfig
	meta               metaConfig
	advertise          string
	access             accessConfig
	gcEvery            time.Duration
	files              config.List
	timeTravel         time.Duration
	cacheMiB           uint
	memory             memoryConfig
	logs               logConfig
}

// server is a running loam serve.
type server struct {
	engine     *loam.Engine
	gate       *gate
	flight     *flightsql.Server
	http       *http.Server
	endHTTP    context.CancelCauseFunc // ends running requests
	flightAddr string
	httpAddr   string
	failed     chan error
}

// serveFlags are the settings of loam serve, and the only list of them.
func serveFlags(cfg *serveConfig) *flag.FlagSet {
	fs := flag.NewFlagSet("loam serve", flag.ContinueOnError)
	fs.StringVar(&cfg.data, "data", "loam-data", "data `directory`, made if it is not there")
	storeFlags(fs, &cfg.store)
	cfg.meta.flags(fs)
	fs.StringVar(&cfg.advertise, "advertise", "", "`address` by which clients and other nodes reach Flight SQL, for system.nodes; empty: that of --flight")
	fs.StringVar(&cfg.flight, "flight", defaultFlight, "`address` of Flight SQL")
	fs.StringVar(&cfg.http, "http", defaultHTTP, "`address` of HTTP; empty for none")
	cfg.access.flags(fs)
	fs.Var(&cfg.files, "allow-files", "`directory` that read_parquet, read_csv, read_json and read_lance may read; may be repeated")
	fs.DurationVar(&cfg.timeTravel, "time-travel", 24*time.Hour, "how long the past of a collection or table stays readable; WITH (time_travel = …) of an object goes before it")
	fs.DurationVar(&cfg.gcEvery, "gc-interval", 10*time.Minute, "time between passes of garbage collection over a collection or table; unused files go with the second pass")
	fs.UintVar(&cfg.cacheMiB, "cache-mib", loam.DefaultCacheBytes>>20, "memory in `MiB` for pieces of splits and data files, of all collections and tables together")
	cfg.memory.flags(fs)
	fs.TextVar(&cfg.logs.level, "log-level", slog.LevelInfo, "least `level` to log: DEBUG, INFO, WARN or ERROR")
	fs.Var(&cfg.logs.format, "log-format", "`form` of the log: text, json, or auto, which is text on a terminal")
	return fs
}

// storeFlags are the settings of the object store.
func storeFlags(fs *flag.FlagSet, cfg *loam.StoreConfig) {
	fs.StringVar(&cfg.Address, "store", "", "`address` of the objects, s3://BUCKET/PREFIX; empty: what the data directory was begun with, at first itself")
	fs.StringVar(&cfg.Endpoint, "store-endpoint", "", "`URL` of an S3 server that is not AWS's; empty: AWS_ENDPOINT_URL or AWS itself")
	fs.StringVar(&cfg.Region, "store-region", "", "`region` of the bucket; empty: AWS_REGION or the profile's")
	fs.StringVar(&cfg.Addressing, "store-addressing", "", "`form` of addresses: path (endpoint/bucket) or virtual (bucket.endpoint); empty: path with an endpoint")
}

// serveSources says where the settings of loam serve come from.
func serveSources(args []string) config.Sources {
	return config.Sources{
		Args: args, Env: os.Environ(),
		Files: []string{"loam.yaml", "/etc/loam/loam.yaml"},
		Other: []string{"LOAM_ENDPOINT", "LOAM_TOKEN", "LOAM_NAMESPACE"},
	}
}

// serveSecrets are the settings that may lie in files.
var serveSecrets = []string{"password", "meta-password"}

// parseServe reads the settings from the command line, the environment and the file.
func parseServe(args []string, cfg *serveConfig) (*config.Settings, error) {
	return config.Parse(serveFlags(cfg), serveSources(args), serveSecrets...)
}

func serve(ctx context.Context, args []string) int {
	var cfg serveConfig
	settings, err := parseServe(args, &cfg)
	if err != nil {
		return usageError(err)
	}
	if len(settings.Rest) > 0 {
		fmt.Fprintf(os.Stderr, "loam serve: unexpected argument %q; the directory goes behind --data\n", settings.Rest[0])
		return 2
	}
	cfg.logs.install(os.Stderr)
	for _, w := range settings.Warnings {
		slog.Warn(w)
	}
	if f := settings.File(); f != "" {
		slog.Info("settings file read", "file", f)
	}
	s, err := startServer(ctx, cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, fail.Render(err, ""))
		return 1
	}
	s.say(s.where(cfg.data, cfg.meta.address), loam.Version)
	s.gate.warn()
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	code := s.wait(ctx, hangup)
	s.stop()
	return code
}

// wait waits for the end of the server, and reads its access files again at each
// hang-up; the result is the exit code.
func (s *server) wait(ctx context.Context, hangup <-chan os.Signal) int {
	for {
		select {
		case <-ctx.Done():
			return 0
		case <-hangup:
			s.gate.reload()
		case err := <-s.failed:
			fmt.Fprintln(os.Stderr, fail.Render(err, ""))
			return 1
		}
	}
}

// startServer opens the data directory and listens on both addresses.
func startServer(ctx context.Context, cfg serveConfig) (*server, error) {
	g, err := cfg.access.open(cfg.data)
	if err != nil {
		return nil, err
	}
	onError := func(task string, err error) { slog.Error("background task failed", "task", task, "error", err) }
	meta, err := cfg.meta.open()
	if err != nil {
		return nil, err
	}
	e, err := loam.Open(ctx, loam.Config{Dir: cfg.data, Store: cfg.store, Meta: meta, Endpoint: g.scheme("grpc", "+tls") + "://" + cmp.Or(cfg.advertise, cfg.flight), Files: cfg.files, OnError: onError,
		TimeTravel: cfg.timeTravel, GCInterval: cfg.gcEvery, CacheBytes: int64(cfg.cacheMiB) << 20, QueryMemoryBytes: cfg.memory.apply(os.DirFS("/"))})
	if err != nil {
		return nil, err
	}
	s := &server{engine: e, gate: g, failed: make(chan error, 2)}
	if err := s.listen(cfg); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return s, nil
}

func (s *server) listen(cfg serveConfig) error {
	reg := prometheus.NewRegistry()
	options := flightsql.Options{Node: s.engine.NodeID(), Users: s.gate.users, TLS: s.gate.tls, Plaintext: cfg.access.plaintext, Insecure: cfg.access.unguarded(s.gate.tls != nil), Registry: reg}
	var err error
	if s.flight, err = flightsql.NewServer(s.engine, options); err != nil {
		return err
	}
	lis, err := net.Listen("tcp", cfg.flight)
	if err != nil {
		return fail.New(fail.Unavailable, "Flight SQL cannot listen on %s: %v", cfg.flight, err).WithHint("Choose another address with --flight.")
	}
	if err := options.CheckAddress(lis.Addr()); err != nil {
		_ = lis.Close()
		return err
	}
	s.flightAddr = lis.Addr().String()
	go func() { s.fail(s.flight.Serve(lis)) }()
	if cfg.http == "" {
		return nil
	}
	web, err := net.Listen("tcp", cfg.http)
	if err != nil {
		_ = lis.Close()
		return fail.New(fail.Unavailable, "HTTP cannot listen on %s: %v", cfg.http, err).WithHint("Choose another address with --http, or --http \"\" for none.")
	}
	if err := options.CheckAddress(web.Addr()); err != nil {
		_ = web.Close()
		return err
	}
	s.httpAddr = web.Addr().String()
	requests, end := context.WithCancelCause(context.Background())
	s.endHTTP = end
	s.http = &http.Server{
		Handler:           rest.Handler(s.engine, s.restOptions(reg)),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return requests },
	}
	serveHTTP := func() error { return s.http.Serve(web) }
	if s.gate.tls != nil {
		s.http.TLSConfig = s.gate.tls.Config()
		serveHTTP = func() error { return s.http.ServeTLS(web, "", "") }
	}
	go func() { s.fail(serveHTTP()) }()
	return nil
}

// restOptions are those of HTTP. Only a server on loopback that asks nobody needs to
// check the names it is called by: a certificate does not match a foreign name, and a
// foreign page has no credentials.
func (s *server) restOptions(reg *prometheus.Registry) rest.Options {
	o := rest.Options{Users: s.gate.users, Certificates: s.gate.tls.AskClients(), Registry: reg, Flight: s.flightAddr}
	if s.gate.tls != nil || !s.gate.users.Open() || s.gate.config.unguarded(s.gate.tls != nil) {
		o.Hosts = []string{"*"}
	}
	return o
}

// fail reports the end of a listener that was not asked for.
func (s *server) fail(err error) {
	if err == nil || errors.Is(err, http.ErrServerClosed) {
		return
	}
	select {
	case s.failed <- err:
	default:
	}
}

// drain is how long running calls may go on after the stop; lastWords is how long
// requests that are ended then have to answer.
const (
	drain     = 10 * time.Second
	lastWords = time.Second
)

// stop ends both listeners, side by side, and closes the directory.
func (s *server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	var web sync.WaitGroup
	if s.http != nil {
		web.Go(func() { s.stopHTTP(ctx) })
	}
	_ = s.flight.Shutdown(ctx)
	web.Wait()
	if err := s.engine.Close(); err != nil {
		slog.Error("closing the data directory", "error", err)
	}
}

func (s *server) stopHTTP(ctx context.Context) {
	defer s.endHTTP(fail.Stopping())
	if s.http.Shutdown(ctx) == nil {
		return
	}
	s.endHTTP(fail.Stopping())
	last, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if s.http.Shutdown(last) != nil {
		_ = s.http.Close()
	}
}
