package flightsql

import (
	"context"
	"net"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/auth"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/meta"
	"github.com/loamdb/loam/flightsql/internal/session"
	"github.com/loamdb/loam/flightsql/internal/slab"
	"github.com/loamdb/loam/flightsql/internal/ticket"
	"github.com/loamdb/loam/flightsql/internal/wire"
)

// sqlTicketLife is how long the ticket of a query can be redeemed.
const sqlTicketLife = time.Hour

// slabBytes bounds the memory that waits for the next batches: those in the
// making and under way of a dozen streams.
const slabBytes = 32 << 20

// Server serves one engine. Safe for concurrent use.
type Server struct {
	opts     Options
	engine   engine.Engine
	sealer   *ticket.Sealer
	auth     *auth.Checker
	sessions *session.Manager[engine.Session]
	params   *paramStore
	running  *running
	recent   *recent
	meta     *meta.Source
	slabs    *slab.Pool // of batches of queries
	metrics  *metrics
	grpc     *grpc.Server
	health   *health.Server
	ending   context.Context // ends when running calls must
	end      context.CancelFunc
}

// lastWords is how long calls that Shutdown ends have to say so to their clients.
const lastWords = time.Second

// service is the Flight service; its methods are spread over the files of this
// package. Apart from Server, so that Server's methods are the package's door.
type service struct {
	flight.BaseFlightServer
	*Server
}

// NewServer makes a server of an open engine, which the caller closes after
// Shutdown. It fails when the engine does not give its secret.
func NewServer(e *loam.Engine, o Options) (*Server, error) {
	return newServer(engine.Wrap(e), o)
}

func newServer(e engine.Engine, o Options) (*Server, error) {
	o = o.withDefaults()
	key, err := e.Secret(context.Background(), "flight-tickets", ticket.KeySize)
	if err != nil {
		return nil, err
	}
	sealer, err := ticket.NewSealer(key, o.Clock, o.IDs)
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts: o, engine: e, sealer: sealer,
		auth:     auth.New(o.authConfig(), sealer, o.Clock),
		sessions: session.NewManager[engine.Session](o.Clock, o.IDs, 0, 0),
		params:   newParamStore(o.Clock, o.IDs),
		running:  newRunning(),
		recent:   newRecent(),
		meta:     &meta.Source{Catalog: e.Catalog(), Version: loam.Version, Mem: o.Mem},
		slabs:    slab.New(o.Mem, slabBytes),
		metrics:  newMetrics(o.Registry),
		health:   health.NewServer(),
	}
	if o.Node != "" {
		s.sessions.Tagged(o.Node)
	}
	s.ending, s.end = context.WithCancel(context.Background())
	for _, f := range e.Functions() {
		s.meta.Functions = append(s.meta.Functions, f.Name)
	}
	s.grpc = grpc.NewServer(s.grpcOptions()...)
	flight.RegisterFlightServiceServer(s.grpc, &service{Server: s})
	healthpb.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	return s, nil
}

// grpcOptions are sized for record batches: clients that ping each ten seconds
// are welcome, windows hold several messages, headers stay small.
func (s *Server) grpcOptions() []grpc.ServerOption {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(s.opts.MaxMessageBytes),
		grpc.MaxHeaderListSize(64 << 10),
		grpc.InitialWindowSize(8 << 20),
		grpc.InitialConnWindowSize(16 << 20),
		grpc.WriteBufferSize(256 << 10),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 60 * time.Second, Timeout: 20 * time.Second}),
		grpc.ForceServerCodecV2(wire.Codec()),
		grpc.UnaryInterceptor(s.interceptUnary),
		grpc.StreamInterceptor(s.interceptStream),
	}
	if s.opts.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.opts.TLS.Config())))
	}
	return options
}

// Serve accepts connections until Shutdown; it owns the listener from then on.
// It refuses a listener that [Options.CheckAddress] does.
func (s *Server) Serve(lis net.Listener) error {
	if err := s.opts.CheckAddress(lis.Addr()); err != nil {
		_ = lis.Close()
		return err
	}
	if s.opts.TLS == nil {
		lis = answering{lis}
	}
	return s.grpc.Serve(lis)
}

// Shutdown stops accepting, waits for running calls, and ends them when ctx
// does: their clients are told so, and a call that still runs a second later is
// cut off. It returns ctx's error in that case. It may be called at any time.
func (s *Server) Shutdown(ctx context.Context) error {
	s.health.Shutdown()
	drained, finish := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, func() {
		s.end()
		_ = s.opts.Clock.Sleep(drained, lastWords)
		s.grpc.Stop()
	})
	s.grpc.GracefulStop()
	finish()
	s.end()
	s.slabs.Close()
	if !stop() {
		return ctx.Err()
	}
	return nil
}
