package flightsql

import (
	"context"
	"runtime/debug"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/flightsql/internal/auth"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/fail"
)

// Headers that a call may carry. Of a repeated header the last value counts.
const (
	headerNamespace    = "loam-namespace"
	headerNamespaceOld = "operon-namespace"
	headerMaxEndpoints = "loam-max-endpoints"
	headerToken        = "loam-consistency-token"
	headerTokenOld     = "operon-consistency-token"
	headerConsistency  = "loam-consistency"
	headerPinManifest  = "loam-pin-manifest"
	headerPinOld       = "operon-pin-manifest"
	headerProducer     = "loam-producer-id"
	headerEpoch        = "loam-producer-epoch"
	headerSequence     = "loam-producer-sequence"
	headerAuth         = "authorization"
	headerCookie       = "cookie"
	headerSetCookie    = "set-cookie"
	sessionCookie      = "arrow_flight_session_id"
)

// maxEndpointsLimit bounds what a client can ask for.
const maxEndpointsLimit = 1024

// call is what a call's headers say.
type call struct {
	principal auth.Principal
	// namespace is the header's, "" without one.
	namespace string
	// session is the id of the session that the call belongs to, "" without one.
	session string
	// maxEndpoints is the header's, 0 without one.
	maxEndpoints int
	// producer says which batch of which producer the first batch of a DoPut is; nil
	// without one.
	producer *loam.Producer
	// options are those of the session that headers set for this call.
	options map[string]string
}

type callKey struct{}

// callOf is the call that the interceptor found; every handler has one.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{principal: auth.Principal{User: auth.Anonymous}}
}

func last(md metadata.MD, names ...string) string {
	for _, name := range names {
		if values := md.Get(name); len(values) > 0 {
			return values[len(values)-1]
		}
	}
	return ""
}

// readCall authenticates and reads headers.
func (s *Server) readCall(ctx context.Context) (*call, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	principal, err := s.auth.Check(last(md, headerAuth), certificate(ctx))
	if err != nil {
		return nil, err
	}
	c := &call{principal: principal, namespace: last(md, headerNamespace, headerNamespaceOld), session: principal.Session}
	if id := cookie(md); id != "" {
		c.session = id
	}
	if text := last(md, headerMaxEndpoints); text != "" {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > maxEndpointsLimit {
			return nil, fail.New(fail.InvalidParameter, "header %s is %.40q; it is a number from 1 to %d", headerMaxEndpoints, text, maxEndpointsLimit)
		}
		c.maxEndpoints = n
	}
	if c.producer, err = engine.ProducerOf(func(name string) string { return last(md, name) }, headerProducer, headerEpoch, headerSequence); err != nil {
		return nil, err
	}
	if err := engine.CheckTokens(last(md, headerToken, headerTokenOld)); err != nil {
		return nil, err
	}
	c.options = consistency(last(md, headerConsistency), last(md, headerToken, headerTokenOld), last(md, headerPinManifest, headerPinOld))
	return c, nil
}

// consistency are the session's options for what a call's queries see. A token alone
// is waited for, a manifest version makes a pin.
func consistency(level, tokens, manifest string) map[string]string {
	switch {
	case level != "":
	case manifest != "":
		level = "pinned"
	case tokens != "":
		level = "token"
	default:
		return nil
	}
	out := map[string]string{"loam.consistency": level}
	if tokens != "" {
		out["loam.consistency_token"] = tokens
	}
	if manifest != "" {
		out["loam.pin_manifest"] = manifest
	}
	return out
}

// certificate is the name in the caller's verified certificate, "" without one.
func certificate(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return ""
	}
	return access.ClientName(&info.State)
}

// cookie is the session id among the call's cookies.
func cookie(md metadata.MD) string {
	id := ""
	for _, line := range md.Get(headerCookie) {
		for part := range strings.SplitSeq(line, ";") {
			if name, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok && name == sessionCookie {
				id = strings.Trim(value, `"`)
			}
		}
	}
	return id
}

// open lists services that need no credentials, by method prefix.
var open = []string{"/grpc.health.v1.Health/", "/arrow.flight.protocol.FlightService/Handshake"}

func needsNoCredentials(method string) bool {
	for _, prefix := range open {
		if strings.HasPrefix(method, prefix) {
			return true
		}
	}
	return false
}

// around runs a handler: credentials before, and after it errors become statuses
// with trailers, also a panic, and the call is counted. The call ends with its
// client's or with the server.
func (s *Server) around(ctx context.Context, method string, setTrailer func(metadata.MD), handle func(context.Context) error) error {
	start := s.opts.Clock.Mono()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ending, func() { cancel(fail.Stopping()) })()
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				s.opts.OnPanic(method, v, debug.Stack())
				err = fail.FromPanic(v)
			}
		}()
		if needsNoCredentials(method) {
			return handle(ctx)
		}
		c, err := s.readCall(ctx)
		if err != nil {
			return err
		}
		return handle(context.WithValue(ctx, callKey{}, c))
	}()
	name := method[strings.LastIndexByte(method, '/')+1:]
	if err == nil {
		s.metrics.call(name, "OK", s.opts.Clock.Mono()-start)
		return nil
	}
	st, trailers := toStatus(fail.CauseOf(ctx, err))
	s.metrics.call(name, st.Code().String(), s.opts.Clock.Mono()-start)
	if trailers != nil {
		setTrailer(trailers)
	}
	return st.Err()
}

func (s *Server) interceptUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	err = s.around(ctx, info.FullMethod, func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) }, func(ctx context.Context) error {
		var err error
		resp, err = handler(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (s *Server) interceptStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return s.around(stream.Context(), info.FullMethod, stream.SetTrailer, func(ctx context.Context) error {
		return handler(srv, &callStream{ServerStream: stream, ctx: ctx})
	})
}

// callStream carries the call in the stream's context.
type callStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (c *callStream) Context() context.Context { return c.ctx }
