package rest

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/auth"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// Options configure the handler. The zero value serves loopback names without credentials.
type Options struct {
	// Users maps user names to passwords, Tokens bearer tokens to user names.
	// With neither, everybody may call.
	Users, Tokens map[string]string
	// Hosts are names beside loopback that the Host and Origin headers may carry;
	// "*" is any.
	Hosts []string
	// MaxBodyBytes bounds a request's body; 0 is 64 MiB.
	MaxBodyBytes int64
	// Registry gets the handler's metrics and is what /metrics shows; nil makes one.
	Registry *prometheus.Registry
	// OnPanic is told of a panic that failed one request; nil tells nobody.
	OnPanic func(route string, value any, stack []byte)
	// Clock defaults to the machine's.
	Clock clock.Clock
}

// api serves one engine.
type api struct {
	opts    Options
	engine  engine.Engine
	auth    *auth.Checker
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// Handler serves an open engine. It is safe for concurrent use.
func Handler(e *loam.Engine, o Options) http.Handler { return handler(engine.Wrap(e), o) }

func handler(e engine.Engine, o Options) http.Handler {
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = 64 << 20
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.OnPanic == nil {
		o.OnPanic = func(string, any, []byte) {}
	}
	a := &api{
		opts: o, engine: e,
		auth: auth.New(auth.Config{Users: o.Users, Tokens: o.Tokens}, nil, o.Clock),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loam_http_requests_total", Help: "HTTP requests by route and status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "loam_http_request_seconds", Help: "Duration of HTTP requests by route.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10),
		}, []string{"route"}),
	}
	o.Registry.MustRegister(a.calls, a.seconds)
	mux := http.NewServeMux()
	for pattern, serve := range map[string]route{
		"GET /healthz": a.healthz,
		"GET /readyz":  a.readyz,
		"POST /v1/sql": a.sql,
		"POST /v1/namespaces/{ns}/collections/{c}/documents": a.documents,
		"POST /v1/namespaces/{ns}/collections/{c}/scan":      a.scan,
		"/": a.unknown,
	} {
		mux.Handle(pattern, a.handle(pattern, serve))
	}
	metrics := promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{})
	mux.Handle("GET /metrics", a.handle("GET /metrics", func(_ context.Context, w http.ResponseWriter, r *http.Request) error {
		metrics.ServeHTTP(w, r)
		return nil
	}))
	return mux
}

// route serves one request; an error becomes the answer unless one has begun.
type route func(ctx context.Context, w http.ResponseWriter, r *http.Request) error

// public routes need no credentials: probes and scrapers have none.
var public = map[string]bool{"GET /healthz": true, "GET /readyz": true, "GET /metrics": true}

type principalKey struct{}

// handle wraps a route: names that a web page could not fake, credentials, the
// body's bound, panics, counting.
func (a *api) handle(pattern string, serve route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.opts.Clock.Mono()
		answer := &answer{ResponseWriter: w}
		err := func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					a.opts.OnPanic(pattern, v, debug.Stack())
					err = fail.FromPanic(v)
				}
			}()
			if err := a.checkNames(r); err != nil {
				return err
			}
			ctx := r.Context()
			if !public[pattern] {
				principal, err := a.auth.Check(r.Header.Get("Authorization"))
				if err != nil {
					return err
				}
				ctx = context.WithValue(ctx, principalKey{}, principal)
			}
			r.Body = http.MaxBytesReader(w, r.Body, a.opts.MaxBodyBytes)
			return serve(ctx, answer, r)
		}()
		err = fail.CauseOf(r.Context(), err)
		if err != nil && !answer.begun {
			writeProblem(answer, err)
		}
		a.calls.WithLabelValues(pattern, strconv.Itoa(answer.status())).Inc()
		a.seconds.WithLabelValues(pattern).Observe((a.opts.Clock.Mono() - start).Seconds())
	})
}

// answer knows whether the response has begun, and its status.
type answer struct {
	http.ResponseWriter
	begun bool
	code  int
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if !a.begun {
		a.begun, a.code = true, code
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if !a.begun {
		a.begun, a.code = true, http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

func (a *answer) status() int {
	if a.code == 0 {
		return http.StatusOK
	}
	return a.code
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// checkNames refuses requests that a foreign web page can make a browser send to
// loopback: a Host that is not ours (DNS rebinding), an Origin that is not ours.
func (a *api) checkNames(r *http.Request) error {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if !a.ours(host) {
		return fail.New(fail.PermissionDenied, "the Host %.100q is not a name of this server", r.Host).
			WithHint("Allow it in the server's list of host names.")
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !a.ours(u.Hostname()) {
		return fail.New(fail.PermissionDenied, "the Origin %.100q is not a name of this server", origin)
	}
	return nil
}

func (a *api) ours(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if host == "localhost" {
		return true
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return true
	}
	for _, name := range a.opts.Hosts {
		if name == "*" || strings.EqualFold(name, host) {
			return true
		}
	}
	return false
}

// session is a session for this request alone.
func (a *api) session(ctx context.Context, namespace string) engine.Session {
	principal, _ := ctx.Value(principalKey{}).(auth.Principal)
	if namespace == "" {
		namespace = principal.Namespace
	}
	return a.engine.NewSession(principal.User, namespace)
}

func (a *api) healthz(_ context.Context, w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, []byte(`{"status":"ok"}`))
}

func (a *api) readyz(ctx context.Context, w http.ResponseWriter, _ *http.Request) error {
	if err := a.engine.Ready(ctx); err != nil {
		return fail.Wrap(fail.Unavailable, err, "not ready")
	}
	return writeJSON(w, []byte(`{"status":"ready"}`))
}

func (a *api) unknown(_ context.Context, w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(http.StatusNotFound)
	_, err := w.Write(problemBody(http.StatusNotFound, fail.New(fail.BadRequest, "there is no %s %.200q", r.Method, r.URL.Path)))
	return err
}
