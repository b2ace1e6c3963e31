package metastore

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/etcdtest"
	"github.com/loamdb/loam/internal/fail"
)

// certificate makes a certificate for loopback that signs itself, as PEM.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "loam"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// TestExternalTLS: an etcd that asks for certificates, with and without what it takes.
func TestExternalTLS(t *testing.T) {
	cert, key := certificate(t)
	other, otherKey := certificate(t)
	dir := t.TempDir()
	opt := etcdtest.Options{Members: 1, CA: filepath.Join(dir, "cert"), Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key")}
	for name, body := range map[string][]byte{"cert": cert, "key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := etcds(t, opt)
	address := "etcd+tls://" + c.Hosts()[0]
	s := openExternal(t, ExternalOptions{Address: address, CA: cert, Cert: cert, Key: key})
	must(s.CreateNamespace(ctx, "public", nil))(t)
	clk := clock.Real()
	for name, o := range map[string]ExternalOptions{
		"without TLS":              {Address: strings.Replace(address, "+tls", "", 1)},
		"without the authority":    {Address: address, Cert: cert, Key: key},
		"with another authority":   {Address: address, CA: other, Cert: cert, Key: key},
		"with another certificate": {Address: address, CA: cert, Cert: other, Key: otherKey},
		"without a certificate":    {Address: address, CA: cert},
	} {
		_, err := OpenExternal(ctx, clk, clock.RandomIDs(clk), o)
		if got := fail.Render(err, ""); !fail.Is(err, fail.Unavailable) || !strings.Contains(got, "etcd+tls://") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
