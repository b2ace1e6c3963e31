package access

import (
	"crypto/tls"
	"crypto/x509"
	"sync/atomic"

	"github.com/loamdb/loam/internal/fail"
)

// Certificates are a server's certificate and the authorities of its clients.
// Safe for concurrent use.
type Certificates struct {
	current atomic.Pointer[certificates]
}

type certificates struct {
	own     tls.Certificate
	clients *x509.CertPool // nil asks clients for nothing
}

// NewCertificates reads PEM texts: the server's certificate chain and key, and the
// authorities that sign clients' certificates, which may be empty. With them a
// client needs such a certificate. Errors: fail.InvalidParameter.
func NewCertificates(chain, key, clientAuthorities []byte) (*Certificates, error) {
	c := &Certificates{}
	return c, c.Replace(chain, key, clientAuthorities)
}

// Replace takes new texts for the connections to come. On an error the old ones stay.
func (c *Certificates) Replace(chain, key, clientAuthorities []byte) error {
	own, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return fail.Wrap(fail.InvalidParameter, err, "the TLS certificate and its key")
	}
	next := &certificates{own: own}
	if len(clientAuthorities) > 0 {
		next.clients = x509.NewCertPool()
		if !next.clients.AppendCertsFromPEM(clientAuthorities) {
			return fail.New(fail.InvalidParameter, "the authorities of clients are no PEM certificates")
		}
	}
	c.current.Store(next)
	return nil
}

// Config is a configuration for a listener; each connection takes what is current.
func (c *Certificates) Config() *tls.Config {
	make := func() *tls.Config {
		now := c.current.Load()
		cfg := &tls.Config{Certificates: []tls.Certificate{now.own}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
		if now.clients != nil {
			cfg.ClientAuth, cfg.ClientCAs = tls.RequireAndVerifyClientCert, now.clients
		}
		return cfg
	}
	cfg := make()
	cfg.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return make(), nil }
	return cfg
}

// AskClients reports that clients need a certificate.
func (c *Certificates) AskClients() bool { return c != nil && c.current.Load().clients != nil }

// ClientName is the name in a connection's verified client certificate, "" without one.
func ClientName(state *tls.ConnectionState) string {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return ""
	}
	return state.VerifiedChains[0][0].Subject.CommonName
}
