package rest

import (
	"context"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/flightsql/internal/auth"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// Options configure the handler. The zero value serves loopback names without credentials.
type Options struct {
	// Users may call; nil is everybody.
	Users *access.Users
	// Certificates says that clients' certificates name users too.
	Certificates bool
	// Hosts are names beside loopback that the Host and Origin headers may carry;
	// "*" is any.
	Hosts []string
	// MaxBodyBytes bounds a request's body; 0 is 64 MiB. MaxBulkBytes bounds one
	// that is read as a stream; 0 is 256 MiB.
	MaxBodyBytes, MaxBulkBytes int64
	// StallTimeout is how long a client may take nothing of its answer before it is
	// cut off, so that it does not hold the memory of a query; 0 is five minutes.
	StallTimeout time.Duration
	// Flight is the address of Flight SQL that the page at / shows; may be empty.
	Flight string
	// Registry gets the handler's metrics and is what /metrics shows; nil makes one.
	Registry *prometheus.Registry
	// OnPanic is told of a panic that failed one request; nil tells nobody.
	OnPanic func(route string, value any, stack []byte)
	// Clock defaults to the machine's.
	Clock clock.Clock
}

// api serves one engine.
type api struct {
	opts     Options
	engine   engine.Engine
	auth     *auth.Checker
	routes   []endpoint
	mux      *http.ServeMux
	document []byte // the OpenAPI document
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// Handler serves an open engine. It is safe for concurrent use.
func Handler(e *loam.Engine, o Options) http.Handler { return newAPI(engine.Wrap(e), o).handler() }

func newAPI(e engine.Engine, o Options) *api {
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = 64 << 20
	}
	if o.MaxBulkBytes == 0 {
		o.MaxBulkBytes = 256 << 20
	}
	if o.StallTimeout == 0 {
		o.StallTimeout = 5 * time.Minute
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
		auth: auth.New(auth.Config{Users: o.Users, Certificates: o.Certificates}, nil, o.Clock),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "loam_http_requests_total", Help: "HTTP requests by route and status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "loam_http_request_seconds", Help: "Duration of HTTP requests by route.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10),
		}, []string{"route"}),
	}
	o.Registry.MustRegister(a.calls, a.seconds, usage{e}, links{e})
	a.routes = a.table()
	a.document = document(a.routes)
	a.mux = http.NewServeMux()
	for _, e := range a.routes {
		a.mux.Handle(e.pattern(), a.handle(e))
	}
	return a
}

// handler finds the endpoint of a request; the mux's own answers are not problems.
func (a *api) handler() http.Handler {
	other := a.handle(endpoint{path: "/", public: true, serve: a.unknown})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := a.mux.Handler(r); pattern == "" || !clean(r.URL.EscapedPath()) {
			other.ServeHTTP(w, r)
			return
		}
		a.mux.ServeHTTP(w, r)
	})
}

// clean reports a path that the mux serves as it is; others it would redirect.
func clean(path string) bool {
	for i, part := range strings.Split(path, "/") {
		if part == "." || part == ".." || part == "" && i > 0 && path != "/" {
			return false
		}
	}
	return true
}

// serving answers one request; an error becomes the answer unless one has begun.
type serving func(ctx context.Context, w *answer, r *http.Request) error

type principalKey struct{}

// handle wraps an endpoint: names that a web page could not fake, credentials,
// the body's bound, panics, counting.
func (a *api) handle(e endpoint) http.Handler {
	pattern := e.pattern()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := a.opts.Clock.Mono()
		out := &answer{ResponseWriter: w, chunked: r.ProtoAtLeast(1, 1), head: r.Method == http.MethodHead}
		if e.rows {
			out.stall, out.now = a.opts.StallTimeout, a.opts.Clock.Now
			defer out.unhurried()
		}
		out.Header().Set("X-Content-Type-Options", "nosniff")
		body := r.Body
		err := a.guarded(e, out, r)
		if err = fail.CauseOf(r.Context(), err); err != nil {
			if out.begun {
				out.cut()
			} else {
				a.drain(w, r, body)
				writeProblem(out, err)
			}
		}
		a.calls.WithLabelValues(pattern, strconv.Itoa(out.status())).Inc()
		a.seconds.WithLabelValues(pattern).Observe((a.opts.Clock.Mono() - start).Seconds())
	})
}

// What is taken in of a body that was refused before its end.
const (
	drainBytes = 32 << 20
	drainTime  = 5 * time.Second
)

// drain reads what is left of a refused body. Many clients read the answer only when
// they have sent all: a connection that is closed before shows them a reset in its place.
func (a *api) drain(w http.ResponseWriter, r *http.Request, body io.Reader) {
	if r.Header.Get("Expect") != "" {
		return // such a client waits for the answer
	}
	if http.NewResponseController(w).SetReadDeadline(a.opts.Clock.Now().Add(drainTime)) == nil {
		_, _ = io.CopyN(io.Discard, body, drainBytes)
	}
}

// guarded is the endpoint behind its checks.
func (a *api) guarded(e endpoint, w *answer, r *http.Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			a.opts.OnPanic(e.pattern(), v, debug.Stack())
			err = fail.FromPanic(v)
		}
	}()
	if err := a.checkNames(r); err != nil {
		return err
	}
	ctx := r.Context()
	if !e.public {
		principal, err := a.auth.Check(r.Header.Get("Authorization"), access.ClientName(r.TLS))
		if err != nil {
			return err
		}
		ctx = context.WithValue(ctx, principalKey{}, principal)
	}
	limit := a.opts.MaxBodyBytes
	if e.bulk {
		limit = a.opts.MaxBulkBytes
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	return e.serve(ctx, w, r)
}

// session is a session for this request alone.
func (a *api) session(ctx context.Context, namespace string) engine.Session {
	principal, _ := ctx.Value(principalKey{}).(auth.Principal)
	if namespace == "" {
		namespace = principal.Namespace
	}
	return a.engine.NewSession(principal.User, namespace)
}

// metrics shows the registry.
func (a *api) metrics() serving {
	h := promhttp.HandlerFor(a.opts.Registry, promhttp.HandlerOpts{})
	return func(_ context.Context, w *answer, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	}
}
