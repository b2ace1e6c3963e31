package main

import (
	"bytes"
	"flag"
	"os"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// metaConfig says where the metastore of a cluster is.
type metaConfig struct {
	address        string
	ca, cert, key  string // PEM files
	user, password string
}

func (c *metaConfig) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.address, "meta", "", "`address` of an etcd that holds the metastore of several nodes, etcd://HOST:PORT,HOST:PORT, with a /PREFIX when it is not Loam's alone; etcd+tls:// for TLS; empty: the data directory")
	fs.StringVar(&c.ca, "meta-ca", "", "PEM `file` with the authorities of etcd's certificates; empty: those the machine trusts")
	fs.StringVar(&c.cert, "meta-cert", "", "PEM `file` with the certificate to show etcd")
	fs.StringVar(&c.key, "meta-key", "", "PEM `file` with that certificate's key")
	fs.StringVar(&c.user, "meta-user", "", "`name` of the user of etcd's access control")
	fs.StringVar(&c.password, "meta-password", "", "that user's `password`; better in LOAM_META_PASSWORD_FILE, since others see command lines")
}

// open reads the files.
func (c *metaConfig) open() (loam.MetaConfig, error) {
	m := loam.MetaConfig{Address: c.address, User: c.user, Password: c.password}
	if c.address == "" && (c.ca != "" || c.cert != "" || c.key != "" || c.user != "" || c.password != "") {
		return m, fail.New(fail.InvalidParameter, "there are settings of an etcd, and no --meta").WithHint("Write --meta etcd://HOST:PORT.")
	}
	for _, f := range []struct {
		name string
		into *[]byte
	}{{c.ca, &m.CA}, {c.cert, &m.Cert}, {c.key, &m.Key}} {
		if f.name == "" {
			continue
		}
		text, err := os.ReadFile(f.name)
		if err != nil {
			return m, fail.Wrap(fail.InvalidParameter, err, "TLS of the metastore")
		}
		*f.into = bytes.TrimSpace(text)
	}
	return m, nil
}
