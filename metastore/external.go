package metastore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/namespace"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// ExternalOptions configure [OpenExternal].
type ExternalOptions struct {
	// Address is etcd://host:port,host:port, with a /prefix when the etcd is not
	// Loam's alone; etcd+tls:// speaks TLS. With ?compaction=off Loam never compacts
	// the etcd's history: whoever else uses it does.
	Address string
	// User and Password are those of etcd's own access control; empty: none.
	User, Password string
	// CA, Cert and Key are PEM: who signs the servers' certificates (empty: those the
	// machine trusts), and the certificate to show them.
	CA, Cert, Key []byte
	// Existing refuses an etcd that holds no metastore yet, and leaves its history alone.
	Existing bool
	// Faults injects failures; nil in the product.
	Faults *Faults
}

const (
	dialTimeout = 5 * time.Second
	// patience is how long a transaction and a read are tried again while an etcd
	// outside elects a leader: a second or two, as a rule.
	patience = 15 * time.Second
)

// quickBackoff is how a lost connection is dialed again: elections are short.
var quickBackoff = backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second}

// external is a parsed address.
type external struct {
	hosts  []string
	prefix string // without a slash at its end
	tls    bool
	keep   bool // history is somebody else's to compact
}

const addressCure = "Write etcd://host:port or etcd://host:port,host:port/prefix; etcd+tls:// for TLS."

// parseExternal reads an address. Errors: fail.InvalidParameter.
func parseExternal(address string) (external, error) {
	bad := func(why string) (external, error) {
		return external{}, fail.New(fail.InvalidParameter, "%q is no address of a metastore: %s", redacted(address), why).WithHint("%s", addressCure)
	}
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || scheme != "etcd" && scheme != "etcd+tls" {
		return bad("it does not begin with etcd:// or etcd+tls://")
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, prefix, _ := strings.Cut(rest, "/")
	if strings.Contains(hosts, "@") {
		return external{}, fail.New(fail.InvalidParameter, "the address of the metastore holds a user or password").
			WithHint("Addresses are shown in logs. Use --meta-user, and --meta-password in the environment or a file.")
	}
	x := external{tls: scheme == "etcd+tls"}
	for host := range strings.SplitSeq(hosts, ",") {
		name, port, err := net.SplitHostPort(host)
		if n, perr := strconv.Atoi(port); err != nil || perr != nil || name == "" || n < 1 || n > 65535 {
			return bad(fmt.Sprintf("%q is not host:port", host))
		}
		x.hosts = append(x.hosts, host)
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		x.prefix = "/" + prefix
	}
	options, err := url.ParseQuery(query)
	if err != nil {
		return bad("its options cannot be read")
	}
	for name, values := range options {
		if name != "compaction" || len(values) != 1 || values[0] != "on" && values[0] != "off" {
			return bad("the one option is compaction=on or compaction=off")
		}
		x.keep = values[0] == "off"
	}
	return x, nil
}

// redacted is an address without a password that stands in it by mistake.
func redacted(address string) string {
	head, rest, _ := strings.Cut(address, "://")
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		return head + "://***@" + rest[at+1:]
	}
	return address
}

// OpenExternal opens the metastore in an etcd that runs elsewhere, and which other
// nodes use too. Close must be called. Errors: fail.Unavailable when it cannot be
// reached, fail.PermissionDenied, fail.Unsupported for an etcd before 3.5.
func OpenExternal(ctx context.Context, clk clock.Clock, ids clock.IDs, opt ExternalOptions) (Store, error) {
	x, err := parseExternal(opt.Address)
	if err != nil {
		return nil, err
	}
	security, err := opt.security(x)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	client, err := clientv3.New(clientv3.Config{
		Endpoints: x.hosts, DialTimeout: dialTimeout, TLS: security, Username: opt.User, Password: opt.Password, Context: life,
		DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 3 * time.Second, PermitWithoutStream: true, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{Backoff: quickBackoff, MinConnectTimeout: dialTimeout})},
	})
	if err != nil {
		end()
		return nil, x.failed(err, "connection")
	}
	if x.prefix != "" {
		client.KV = namespace.NewKV(client.KV, x.prefix)
	}
	k := &etcdKV{client: client, where: &x, clk: clk, due: make(chan int64, 1), ctx: life, cancel: end}
	s := newDB(k, clk, ids, Options{Faults: opt.Faults, Shared: true})
	s.patience, s.attemptTimeout, s.existing = patience, remoteTimeout, opt.Existing
	if !x.keep && !opt.Existing {
		k.done.Go(k.compactor)
	}
	if err = k.checkVersion(ctx); err == nil {
		err = s.bootstrap(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	return s, nil
}

// security is the configuration of TLS; nil for none.
func (o *ExternalOptions) security(x external) (*tls.Config, error) {
	if !x.tls {
		if len(o.CA)+len(o.Cert)+len(o.Key) > 0 {
			return nil, fail.New(fail.InvalidParameter, "there are certificates for the metastore, and its address is without TLS").WithHint("Write etcd+tls:// in the address.")
		}
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(o.CA) > 0 {
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(o.CA) {
			return nil, fail.New(fail.InvalidParameter, "the file of authorities for the metastore holds no certificate").WithHint("It is a PEM file; look at --meta-ca.")
		}
	}
	if len(o.Cert)+len(o.Key) > 0 {
		pair, err := tls.X509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fail.Wrap(fail.InvalidParameter, err, "the certificate for the metastore")
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// failed names an error of an etcd outside.
func (x *external) failed(err error, what string) error {
	at := "etcd at " + strings.Join(x.hosts, ", ")
	switch {
	case errors.Is(err, rpctypes.ErrAuthFailed), errors.Is(err, rpctypes.ErrPermissionDenied), errors.Is(err, rpctypes.ErrUserEmpty),
		status.Code(err) == codes.Unauthenticated, status.Code(err) == codes.PermissionDenied:
		prefix := x.prefix + "/loam/"
		return fail.As(fail.Wrap(fail.PermissionDenied, err, "%s of %s", what, at)).
			WithHint("Look at --meta-user and its password; the user needs a role that may read and write the keys below %s.", prefix)
	}
	return fail.As(fail.Wrap(fail.Unavailable, err, "%s of %s", what, at)).WithHint("Look whether etcd runs there, has a leader, and speaks what the address says (etcd:// or etcd+tls://).")
}

// checkVersion refuses an etcd that could lose an acknowledged write (etcd 3.4,
// issue 14370), and finds out whether any member answers.
func (k *etcdKV) checkVersion(ctx context.Context) error {
	var err error
	for _, host := range k.where.hosts {
		one, cancel := context.WithTimeout(ctx, dialTimeout)
		var st *clientv3.StatusResponse
		st, err = k.client.Status(one, host)
		cancel()
		if err != nil {
			continue
		}
		var major, minor int
		if n, _ := fmt.Sscanf(st.Version, "%d.%d", &major, &minor); n == 2 && (major < 3 || major == 3 && minor < 5) {
			return fail.New(fail.Unsupported, "%s runs etcd %s", host, st.Version).WithHint("Loam needs etcd 3.5 or newer: older ones can lose writes.")
		}
		return nil
	}
	if ended := fail.Ended(ctx, "the start of the metastore"); ended != nil {
		return ended
	}
	return k.where.failed(err, "status")
}

// readAgain reads until an answer comes, for as long as it takes to elect a leader.
func (k *etcdKV) readAgain(ctx context.Context, ops []clientv3.Op) (*clientv3.TxnResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		one, end := context.WithTimeout(ctx, remoteTimeout)
		resp, err := k.client.Txn(one).Then(ops...).Commit()
		end()
		if err == nil || ctx.Err() != nil || refused(err) {
			return resp, err
		}
		if k.clk.Sleep(ctx, electionPause) != nil {
			return nil, err
		}
	}
}

// electionPause is the pause between tries while there may be no leader.
const electionPause = 100 * time.Millisecond

// refused reports an answer that another try would not change.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied, codes.InvalidArgument:
		return true
	}
	return errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrAuthFailed) || errors.Is(err, rpctypes.ErrUserEmpty)
}
