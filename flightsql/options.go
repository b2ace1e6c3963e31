package flightsql

import (
	"net"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/flightsql/internal/auth"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// Options configure a server. The zero value serves loopback without credentials.
type Options struct {
	// Users may call; nil is everybody.
	Users *access.Users
	// TLS is the server's certificate; nil is plaintext. When it asks clients for
	// certificates, those name users too.
	TLS *access.Certificates
	// Plaintext allows addresses other than loopback without TLS.
	Plaintext bool
	// Insecure allows addresses other than loopback without TLS or users.
	Insecure bool
	// MaxMessageBytes bounds a received message; 0 is 64 MiB.
	MaxMessageBytes int
	// Node tells this server's sessions from those of other nodes of a cluster; empty:
	// there are no others.
	Node string
	// Registry gets the server's metrics; nil keeps none.
	Registry prometheus.Registerer
	// OnPanic is told of a panic that failed one call; nil tells nobody.
	OnPanic func(method string, value any, stack []byte)
	// Clock, IDs and Mem default to the machine's and to Go's heap.
	Clock clock.Clock
	IDs   clock.IDs
	Mem   memory.Allocator
}

func (o Options) withDefaults() Options {
	if o.MaxMessageBytes == 0 {
		o.MaxMessageBytes = 64 << 20
	}
	if o.Clock == nil {
		o.Clock = clock.Real()
	}
	if o.IDs == nil {
		o.IDs = clock.RandomIDs(o.Clock)
	}
	if o.Mem == nil {
		o.Mem = memory.DefaultAllocator
	}
	if o.OnPanic == nil {
		o.OnPanic = func(string, any, []byte) {}
	}
	return o
}

// authConfig is who may call.
func (o Options) authConfig() auth.Config {
	return auth.Config{Users: o.Users, Certificates: o.TLS.AskClients()}
}

// CheckAddress refuses an address that other machines reach when there is no TLS or
// nobody needs credentials, unless Insecure. Addresses that are not IP (unix
// sockets) pass.
func (o Options) CheckAddress(addr net.Addr) error {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || o.Insecure || tcp.IP.IsLoopback() {
		return nil
	}
	if o.TLS == nil && !o.Plaintext {
		return fail.New(fail.InvalidParameter, "%s is reachable from other machines, and this server speaks plaintext", addr).
			WithHint("Pass --tls-cert and --tls-key, or listen on 127.0.0.1, or pass --plaintext if the network is trusted.")
	}
	if o.authConfig().Open() {
		return fail.New(fail.InvalidParameter, "%s is reachable from other machines, and this server asks nobody for credentials", addr).
			WithHint("Pass --users, or --user and --password-file, or --insecure if the network is trusted.")
	}
	return nil
}
