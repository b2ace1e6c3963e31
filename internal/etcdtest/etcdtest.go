// Package etcdtest runs a cluster of etcd members in this process, on loopback, for
// tests of a metastore outside of Loam.
//
// In: a directory. Out: members that can be stopped, started again and filled up. It
// is never linked into the product, and imports nothing of Loam.
package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// Options configure a cluster. The zero value is right for most tests.
type Options struct {
	Members    int   // 0 means 3
	QuotaBytes int64 // of each member's database; 0 means etcd's default
	// CA, Cert and Key are PEM files: clients then speak TLS, and show a certificate.
	CA, Cert, Key string
}

// Cluster is a running cluster.
type Cluster struct {
	opt     Options
	dir     string
	members []*embed.Etcd // nil where stopped
	peers   []url.URL
	clients []url.URL
}

// Start starts the members and waits until they have a leader. The caller closes it.
func Start(dir string, opt Options) (*Cluster, error) {
	if opt.Members == 0 {
		opt.Members = 3
	}
	c := &Cluster{opt: opt, dir: dir, members: make([]*embed.Etcd, opt.Members)}
	for range 2 * opt.Members {
		u, err := c.free()
		if err != nil {
			return nil, err
		}
		if len(c.peers) < opt.Members {
			c.peers = append(c.peers, u)
			continue
		}
		if opt.Cert != "" {
			u.Scheme = "https"
		}
		c.clients = append(c.clients, u)
	}
	for i := range c.members {
		if err := c.start(i); err != nil {
			c.Close()
			return nil, err
		}
	}
	for i := range c.members {
		if err := c.ready(i); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// free is a URL with a port that nobody has, as far as one can know.
func (c *Cluster) free() (url.URL, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return url.URL{}, err
	}
	defer func() { _ = lis.Close() }()
	return url.URL{Scheme: "http", Host: lis.Addr().String()}, nil
}

func (c *Cluster) start(i int) error {
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir = fmt.Sprintf("m%d", i), filepath.Join(c.dir, fmt.Sprintf("m%d", i))
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{c.peers[i]}, []url.URL{c.peers[i]}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{c.clients[i]}, []url.URL{c.clients[i]}
	var initial []string
	for j, p := range c.peers {
		initial = append(initial, fmt.Sprintf("m%d=%s", j, p.String()))
	}
	cfg.InitialCluster = strings.Join(initial, ",")
	cfg.QuotaBackendBytes = c.opt.QuotaBytes
	cfg.EnableGRPCGateway = false
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	if c.opt.Cert != "" {
		cfg.ClientTLSInfo.CertFile, cfg.ClientTLSInfo.KeyFile = c.opt.Cert, c.opt.Key
		cfg.ClientTLSInfo.TrustedCAFile, cfg.ClientTLSInfo.ClientCertAuth = c.opt.CA, true
	}
	m, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	c.members[i] = m
	return nil
}

func (c *Cluster) ready(i int) error {
	select {
	case <-c.members[i].Server.ReadyNotify():
		return nil
	case err := <-c.members[i].Err():
		return err
	case <-time.After(30 * time.Second):
		return errors.New("an etcd member is not ready after 30 s")
	}
}

// Hosts are the members' addresses for clients, host:port, also of stopped ones.
func (c *Cluster) Hosts() []string {
	out := make([]string, len(c.clients))
	for i, u := range c.clients {
		out[i] = u.Host
	}
	return out
}

// Leader is the member that leads now, or -1.
func (c *Cluster) Leader() int {
	for i, m := range c.members {
		if m != nil && m.Server.Leader() == m.Server.MemberID() {
			return i
		}
	}
	return -1
}

// Stop ends a member at once, without handing over.
func (c *Cluster) Stop(i int) {
	if m := c.members[i]; m != nil {
		c.members[i] = nil
		m.Server.HardStop()
		m.Close()
	}
}

// Restart starts a stopped member again over its files.
func (c *Cluster) Restart(i int) error {
	if err := c.start(i); err != nil {
		return err
	}
	return c.ready(i)
}

// Client is a client of all members, for what Loam does not do. The caller closes it.
func (c *Cluster) Client() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: c.Hosts(), DialTimeout: 5 * time.Second, Logger: zap.NewNop(), Context: context.Background()})
}

// Close stops all members.
func (c *Cluster) Close() {
	for i := range c.members {
		c.Stop(i)
	}
}
