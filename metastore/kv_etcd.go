package metastore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// EmbeddedOptions configure [OpenEmbedded]. The zero value is right for the product.
type EmbeddedOptions struct {
	// Logger takes etcd's messages; nil drops them.
	Logger *zap.Logger
	// QuotaBytes bounds the database; beyond it writes are refused with
	// Exhausted until the store is opened again with room. 0 means 2 GiB.
	QuotaBytes int64
	// NoSync leaves out every fsync. Only for the control builds of durability
	// tests, which must then find losses.
	NoSync bool
	// Faults injects failures; nil in the product.
	Faults *Faults
}

const (
	defaultQuota = 2 << 30
	readyTimeout = 60 * time.Second
	// History is dropped after this many revisions or written bytes, whatever
	// comes first; half as many revisions stay for reads that are under way.
	compactRevisions = 2000
	compactBytes     = 32 << 20
)

// OpenEmbedded starts etcd in this process over the directory, which must be
// held by this process alone, and waits until it serves. It opens no socket.
// Close must be called.
func OpenEmbedded(ctx context.Context, dir string, clk clock.Clock, ids clock.IDs, opt EmbeddedOptions) (Store, error) {
	back, err := startEtcd(ctx, dir, opt)
	if err != nil {
		return nil, err
	}
	s := newDB(back, clk, ids, Options{Faults: opt.Faults})
	if err := s.bootstrap(ctx); err != nil {
		return nil, errors.Join(err, back.close())
	}
	return s, nil
}

func etcdConfig(dir string, opt EmbeddedOptions) *embed.Config {
	cfg := embed.NewConfig()
	// Addresses must be named, but nothing listens and nothing dials.
	nowhere := url.URL{Scheme: "unix", Host: "loam"}
	cfg.Name, cfg.Dir = "loam", dir
	cfg.ListenClientUrls, cfg.ListenPeerUrls = nil, nil
	cfg.AdvertiseClientUrls, cfg.AdvertisePeerUrls = []url.URL{nowhere}, []url.URL{nowhere}
	cfg.InitialCluster = "loam=" + nowhere.String()
	cfg.TickMs, cfg.ElectionMs = 10, 100
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = 1000, 100
	cfg.MaxWalFiles, cfg.MaxSnapFiles = 2, 2
	cfg.QuotaBackendBytes = opt.QuotaBytes
	if cfg.QuotaBackendBytes == 0 {
		cfg.QuotaBackendBytes = defaultQuota
	}
	cfg.UnsafeNoFsync = opt.NoSync
	cfg.EnableGRPCGateway = false
	log := opt.Logger
	if log == nil {
		log = zap.NewNop()
	}
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(log)
	return cfg
}

// segmentBytes is the size of one file of etcd's own log, which is allocated
// ahead. etcd's 64 MiB are for clusters; a small store should look small.
const segmentBytes = 8 << 20

// smallSegments sets etcd's process-wide segment size, before the first start.
var smallSegments = sync.OnceFunc(func() { wal.SegmentSizeBytes = segmentBytes })

func startEtcd(ctx context.Context, dir string, opt EmbeddedOptions) (*etcdKV, error) {
	smallSegments()
	e, err := embed.StartEtcd(etcdConfig(dir, opt))
	if err != nil {
		return nil, fail.Wrap(fail.Unavailable, err, "metastore in %q", dir)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	select {
	case <-e.Server.ReadyNotify():
	case err = <-e.Err():
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		e.Close()
		return nil, fail.Wrap(fail.Unavailable, err, "metastore in %q", dir)
	}
	k := &etcdKV{server: e, client: v3client.New(e.Server), due: make(chan int64, 1)}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.done.Go(k.compactor)
	if err := k.reclaim(ctx); err != nil {
		return nil, errors.Join(fail.Wrap(fail.Unavailable, err, "metastore in %q", dir), k.close())
	}
	return k, nil
}

// reclaim gives a store that once hit its quota its free pages back and lets it
// write again. A store that never did is not touched.
func (k *etcdKV) reclaim(ctx context.Context) error {
	alarms, err := k.client.AlarmList(ctx)
	if err != nil || len(alarms.Alarms) == 0 {
		return err
	}
	if _, err := k.client.Compact(ctx, alarms.Header.Revision); err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
		return err
	}
	if err := k.server.Server.Backend().Defrag(); err != nil {
		return err
	}
	_, err = k.client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	return err
}

// etcdKV is the etcd server of this process, or one outside.
type etcdKV struct {
	server *embed.Etcd // nil: outside
	where  *external   // nil: inside
	clk    clock.Clock // of one outside
	client *clientv3.Client

	// The compactor runs from start to close.
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	due    chan int64 // the revision at which compaction is due

	compacted atomic.Int64 // revision of the last compaction asked for
	written   atomic.Int64 // bytes since then
	closing   atomic.Bool
}

func (k *etcdKV) read(ctx context.Context, spans []span) ([][]row, int64, error) {
	if k.closing.Load() {
		return nil, 0, errClosed
	}
	ops := make([]clientv3.Op, len(spans))
	for i, s := range spans {
		ops[i] = clientv3.OpGet(s.from)
		if s.to != "" {
			ops[i] = clientv3.OpGet(s.from, clientv3.WithRange(s.to), clientv3.WithLimit(int64(s.limit)),
				clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
		}
	}
	resp, err := k.get(ctx, ops)
	if err != nil {
		return nil, 0, err
	}
	out := make([][]row, len(spans))
	for i, r := range resp.Responses {
		for _, kv := range r.GetResponseRange().GetKvs() {
			out[i] = append(out[i], row{key: string(kv.Key), value: kv.Value, mod: kv.ModRevision})
		}
	}
	return out, resp.Header.Revision, nil
}

func (k *etcdKV) get(ctx context.Context, ops []clientv3.Op) (*clientv3.TxnResponse, error) {
	if k.where == nil {
		resp, err := k.client.Txn(ctx).Then(ops...).Commit()
		return resp, fail.Wrap(fail.Unavailable, err, "metastore read")
	}
	resp, err := k.readAgain(ctx, ops)
	if err != nil {
		err = k.where.failed(err, "read")
	}
	return resp, err
}

func (k *etcdKV) write(ctx context.Context, conds []cond, ops []op) (bool, error) {
	if k.closing.Load() {
		return false, errClosed
	}
	cmps := make([]clientv3.Cmp, len(conds))
	for i, c := range conds {
		cmps[i] = clientv3.Compare(clientv3.ModRevision(c.key), "=", c.mod)
	}
	size := int64(0)
	thens := make([]clientv3.Op, len(ops))
	for i, o := range ops {
		switch {
		case !o.del:
			thens[i] = clientv3.OpPut(o.key, string(o.value))
		case o.to == "":
			thens[i] = clientv3.OpDelete(o.key)
		default:
			thens[i] = clientv3.OpDelete(o.key, clientv3.WithRange(o.to))
		}
		size += int64(len(o.key) + len(o.value))
	}
	resp, err := k.client.Txn(ctx).If(cmps...).Then(thens...).Commit()
	if err != nil {
		return false, k.writeError(err)
	}
	if resp.Succeeded {
		k.wrote(resp.Header.Revision, size)
	}
	return resp.Succeeded, nil
}

// definite are the answers by which etcd refuses a proposal before it is made.
var definite = []error{rpctypes.ErrTooManyOps, rpctypes.ErrRequestTooLarge, rpctypes.ErrDuplicateKey, rpctypes.ErrTooManyRequests,
	rpctypes.ErrGRPCTooManyOps, rpctypes.ErrGRPCRequestTooLarge, rpctypes.ErrGRPCDuplicateKey, rpctypes.ErrGRPCRequestTooManyRequests}

func (k *etcdKV) writeError(err error) error {
	if errors.Is(err, rpctypes.ErrNoSpace) || errors.Is(err, rpctypes.ErrGRPCNoSpace) {
		cure := "Restart with a larger quota; a restart also gives free pages back."
		if k.where != nil {
			cure = "Give etcd a larger --quota-backend-bytes, or compact and defragment it; then etcdctl alarm disarm."
		}
		return fail.As(fail.Wrap(fail.Exhausted, err, "the metastore is full")).WithHint("%s", cure)
	}
	if k.where != nil && refused(err) {
		return k.where.failed(err, "write")
	}
	for _, d := range definite {
		if errors.Is(err, d) {
			return fail.Wrap(fail.Internal, err, "metastore write")
		}
	}
	return &unknownError{cause: fmt.Errorf("etcd: %w", err)}
}

// wrote counts what history costs and wakes the compactor.
func (k *etcdKV) wrote(rev, size int64) {
	k.compacted.CompareAndSwap(0, rev)
	last := k.compacted.Load()
	if k.written.Add(size) < compactBytes && rev-last < compactRevisions {
		return
	}
	select {
	case k.due <- rev:
	default: // it is due already
	}
}

// compactor drops history, so that the database stays as large as its rows.
func (k *etcdKV) compactor() {
	for {
		select {
		case <-k.ctx.Done():
			return
		case rev := <-k.due:
			if rev-k.compacted.Load() < compactRevisions && k.written.Load() < compactBytes {
				continue // counted before the last compaction
			}
			// A failure leaves the history for the next time.
			if _, err := k.client.Compact(k.ctx, max(1, rev-compactRevisions/2)); err == nil || errors.Is(err, rpctypes.ErrCompacted) {
				k.compacted.Store(rev)
				k.written.Store(0)
			}
		}
	}
}

func (k *etcdKV) size() int64 {
	if k.closing.Load() {
		return 0
	}
	if k.server != nil {
		return k.server.Server.Backend().Size()
	}
	ctx, cancel := context.WithTimeout(k.ctx, dialTimeout)
	defer cancel()
	st, err := k.client.Status(ctx, k.where.hosts[0])
	if err != nil {
		return 0 // a figure for people: not worth an error
	}
	return st.DbSize
}

func (k *etcdKV) close() error {
	if k.closing.Swap(true) {
		return nil
	}
	k.cancel()
	k.done.Wait()
	err := k.client.Close()
	if k.server != nil {
		k.server.Close()
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return fail.Wrap(fail.Unavailable, err, "metastore close")
}
