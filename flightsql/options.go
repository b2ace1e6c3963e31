package flightsql

import (
	"net"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// Options configure a server. The zero value serves loopback without credentials.
type Options struct {
	// Users maps user names to passwords, Tokens bearer tokens to user names.
	// With neither, everybody may call.
	Users, Tokens map[string]string
	// Insecure allows plaintext on addresses other than loopback.
	Insecure bool
	// MaxMessageBytes bounds a received message; 0 is 64 MiB.
	MaxMessageBytes int
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

// CheckAddress refuses an address that other machines reach, unless insecure:
// this server speaks plaintext. Addresses that are not IP (unix sockets) pass.
func CheckAddress(addr net.Addr, insecure bool) error {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || insecure || tcp.IP.IsLoopback() {
		return nil
	}
	return fail.New(fail.InvalidParameter, "%s is reachable from other machines, and this server speaks plaintext", addr).
		WithHint("Listen on 127.0.0.1, or pass --insecure if the network is trusted.")
}
