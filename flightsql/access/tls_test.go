package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// signed makes a certificate and key for a name; without a parent it signs itself
// and is an authority.
func signed(t *testing.T, name string, parent *authority) (cert, key []byte, made *authority) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        parent == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	signer, by := template, private
	if parent != nil {
		signer, by = parent.cert, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer, private.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	return cert, key, &authority{cert: parsed, key: private, pem: cert}
}

// shake connects a client to a server; the results are the server's view of the
// client's name, the certificate that the client saw, and who failed.
func shake(t *testing.T, c *Certificates, client *tls.Config) (name string, seen *x509.Certificate, err error) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lis.Close() }()
	names := make(chan string, 1)
	go func() {
		defer close(names)
		raw, err := lis.Accept()
		if err != nil {
			return
		}
		defer func() { _ = raw.Close() }()
		conn := tls.Server(raw, c.Config())
		if conn.Handshake() == nil {
			_, _ = conn.Write([]byte{1})
			state := conn.ConnectionState()
			names <- ClientName(&state)
		}
	}()
	conn, err := tls.Dial("tcp", lis.Addr().String(), client)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = conn.Close() }()
	// With TLS 1.3 a client learns at its first read that its certificate is refused.
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return "", nil, err
	}
	return <-names, conn.ConnectionState().PeerCertificates[0], nil
}

func trusting(roots ...*authority) *tls.Config {
	pool := x509.NewCertPool()
	for _, r := range roots {
		pool.AddCert(r.cert)
	}
	return &tls.Config{RootCAs: pool, ServerName: "localhost"}
}

func TestCertificates(t *testing.T) {
	_, _, ca := signed(t, "ca", nil)
	_, _, stranger := signed(t, "stranger", nil)
	cert, key, _ := signed(t, "one", ca)
	c, err := NewCertificates(cert, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.AskClients() {
		t.Error("clients are asked for certificates")
	}
	if name, seen, err := shake(t, c, trusting(ca)); err != nil || name != "" || seen.Subject.CommonName != "one" {
		t.Errorf("%q, %v", name, err)
	}
	if _, _, err := shake(t, c, trusting(stranger)); err == nil {
		t.Error("a client that trusts another authority connects")
	}
	old := trusting(ca)
	old.MaxVersion = tls.VersionTLS11
	if _, _, err := shake(t, c, old); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	// A new certificate is for connections to come; a bad one changes nothing.
	cert2, key2, _ := signed(t, "two", ca)
	if err := c.Replace(cert2, key, nil); !fail.Is(err, fail.InvalidParameter) {
		t.Errorf("a key of another certificate: %v", err)
	}
	if _, seen, err := shake(t, c, trusting(ca)); err != nil || seen.Subject.CommonName != "one" {
		t.Errorf("after a bad one: %v", err)
	}
	if err := c.Replace(cert2, key2, nil); err != nil {
		t.Fatal(err)
	}
	if _, seen, err := shake(t, c, trusting(ca)); err != nil || seen.Subject.CommonName != "two" {
		t.Errorf("after a good one: %v", err)
	}
}

func TestClientCertificates(t *testing.T) {
	_, _, ca := signed(t, "ca", nil)
	_, _, clients := signed(t, "clients", nil)
	cert, key, _ := signed(t, "server", ca)
	c, err := NewCertificates(cert, key, clients.pem)
	if err != nil {
		t.Fatal(err)
	}
	if !c.AskClients() {
		t.Error("clients are not asked")
	}
	with := func(by *authority) *tls.Config {
		cfg := trusting(ca)
		cert, key, _ := signed(t, "ml/ann", by)
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Certificates = []tls.Certificate{pair}
		return cfg
	}
	if name, _, err := shake(t, c, with(clients)); err != nil || name != "ml/ann" {
		t.Errorf("%q, %v", name, err)
	}
	if _, _, err := shake(t, c, with(ca)); err == nil {
		t.Error("a certificate of another authority is taken")
	}
	if _, _, err := shake(t, c, trusting(ca)); err == nil {
		t.Error("a client without a certificate connects")
	}
}

func TestWrongCertificates(t *testing.T) {
	cert, key, _ := signed(t, "x", nil)
	for what, texts := range map[string][3][]byte{
		"nothing": {}, "no key": {cert, nil, nil}, "no certificate": {nil, key, nil},
		"text": {[]byte("x"), []byte("y"), nil}, "authorities that are none": {cert, key, []byte("x")},
	} {
		if _, err := NewCertificates(texts[0], texts[1], texts[2]); !fail.Is(err, fail.InvalidParameter) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var none *Certificates
	if none.AskClients() || ClientName(nil) != "" || ClientName(&tls.ConnectionState{}) != "" {
		t.Error("nothing names somebody")
	}
}
