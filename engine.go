package loam

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/functions"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/planner"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/gc"
	"github.com/loamdb/loam/storage/object"
	"github.com/loamdb/loam/storage/wal"
	"github.com/loamdb/loam/worker"
)

// DefaultCacheBytes is the memory for pieces of splits and data files.
const DefaultCacheBytes = collection.DefaultCacheBytes

// Config says where data lies and what an engine may use. The zero value is an
// engine in memory that reads no files.
type Config struct {
	// Dir is the data directory; "" keeps everything in memory.
	Dir string
	// Store is where the objects lie: in S3 when it has an address, else in Dir. A
	// directory keeps the store of its first start, which then needs no naming.
	Store StoreConfig
	// Endpoint is written into the directory's lock, for the error that a second
	// process gets.
	Endpoint string
	// Files are the directories that read_parquet, read_csv, read_json and read_lance may read; none by default.
	Files []string
	// Collection are the budgets of each collection.
	Collection collection.Options
	// CacheBytes bounds what is kept of splits and data files, for all collections;
	// 0 means DefaultCacheBytes.
	CacheBytes int64
	// QueryMemoryBytes bounds the memory of all running queries; 0 means 8 GiB.
	QueryMemoryBytes int64
	// WALRetention is how long log objects stay after they were applied, so that
	// tickets with a tail can be redeemed; 0 means 10 minutes.
	WALRetention time.Duration
	// TimeTravel is how long a version of an object stays readable after a newer
	// one has followed, at least one second; 0 means 24 hours. An object's option
	// time_travel goes before it.
	TimeTravel time.Duration
	// GCInterval is the time between passes of garbage collection over an object, 1 s
	// or more; 0 means 10 minutes. A builder may take as long as that, at least.
	GCInterval time.Duration
	// NoSync leaves out every fsync: for the control builds of durability tests only.
	NoSync bool
	// WrapStore and WrapMeta, for fault tests only, put a layer over the object
	// store and the metastore: to announce what happens, to make it fail, or to
	// replace the store of an engine in memory. The engine closes what WrapMeta
	// returns. Nil changes nothing.
	WrapStore func(object.Store) object.Store
	WrapMeta  func(metastore.Store) metastore.Store
	// Meta is an etcd that holds the metastore of several nodes; the objects then lie in
	// Store, and Dir is not used. It implies Cluster.
	Meta MetaConfig
	// Cluster: this engine is one node of several on one metastore and one store.
	Cluster bool
	// Clock and IDs default to the machine's.
	Clock clock.Clock
	IDs   clock.IDs
	// OnError is told of failures of background tasks.
	OnError func(task string, err error)
}

// Engine is an open data directory. Safe for concurrent use.
type Engine struct {
	cfg     Config
	lock    io.Closer
	store   object.Store
	remote  io.Closer // the store under all layers, when it is a bucket
	address string    // of remote
	start   startMark // of a directory with a bucket
	meta    metastore.Store
	log     *wal.Log
	cat     *catalog.Catalog
	fns     expr.Registry
	planner *planner.Planner
	memory  *mem.Tracker
	pool    *worker.Pool
	garbage *garbage
	node    node
	queries queryLog
	links   links
	quotas  quotas
	cache   *collection.Cache

	mu       sync.Mutex // guards the fields below
	open     map[uint64]*collection.Collection
	opening  map[uint64]chan struct{} // objects that are being opened; closed when they are, or are not
	merging  int64                    // bytes of the merges that run
	lastTrim time.Duration
	// lastRetain is when versions were last released.
	lastRetain time.Duration
	lastForget time.Duration
	opened     bool          // all objects that were there at the start
	tried      time.Duration // when they were last opened, 0 for never
	closed     bool
}

// Open opens or makes a data directory. Errors: fail.Locked when another process
// has it; fail.Unsupported for a newer format.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.Real()
	}
	if cfg.IDs == nil {
		cfg.IDs = clock.RandomIDs(cfg.Clock)
	}
	if cfg.QueryMemoryBytes == 0 {
		cfg.QueryMemoryBytes = 8 << 30
	}
	if cfg.WALRetention == 0 {
		cfg.WALRetention = 10 * time.Minute
	}
	if err := cfg.setTimeTravel(); err != nil {
		return nil, err
	}
	if err := cfg.setGCInterval(); err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, cache: collection.NewCache(cfg.CacheBytes), open: map[uint64]*collection.Collection{}, opening: map[uint64]chan struct{}{}, memory: mem.New("process", cfg.QueryMemoryBytes)}
	if err := e.openStores(ctx); err != nil {
		e.closeStores()
		return nil, err
	}
	if cfg.WrapStore != nil {
		e.store = cfg.WrapStore(e.store)
	}
	if cfg.WrapMeta != nil {
		e.meta = cfg.WrapMeta(e.meta)
	}
	e.log = wal.New(e.store, e.meta, cfg.Clock, cfg.IDs, e.walOptions())
	e.cat = catalog.New(e.meta)
	if err := e.begin(ctx); err != nil {
		e.leaveNodes()
		_ = e.log.Close()
		e.closeStores()
		return nil, err
	}
	e.garbage = newGarbage(cfg, gc.Deps{Meta: e.meta, Objects: e.store})
	e.fns = functions.Default()
	e.planner = planner.New(e.cat, e.fns).WithFiles(e).WithStats(e)
	e.pool = worker.Start(e, e.meta, cfg.Clock, "node/"+e.node.id, worker.Options{OnError: cfg.OnError})
	return e, nil
}

// begin makes the metastore ready for this process.
func (e *Engine) begin(ctx context.Context) error {
	if err := e.joinNodes(ctx); err != nil {
		return err
	}
	if _, err := e.cat.CreateNamespace(ctx, catalog.DefaultNamespace, nil); err != nil {
		return err
	}
	return e.sweep(ctx)
}

func (e *Engine) openStores(ctx context.Context) error {
	if e.cfg.Meta.Address != "" {
		return e.openCluster(ctx)
	}
	if e.cfg.Dir == "" {
		e.store = object.NewMem()
		e.meta = metastore.NewMem(e.cfg.Clock, e.cfg.IDs, metastore.Options{})
		return nil
	}
	var err error
	if e.lock, err = object.LockDir(e.cfg.Dir, e.cfg.Endpoint); err != nil {
		return err
	}
	files, err := e.openObjects(ctx)
	if err != nil {
		return err
	}
	if e.meta, err = e.openMeta(ctx); err != nil {
		return err
	}
	if err = e.claim(ctx); err != nil || e.remote == nil {
		return err
	}
	e.start, err = recordStart(ctx, files, e.store, e.cfg.IDs)
	return err
}

func (e *Engine) closeStores() {
	if e.meta != nil {
		_ = e.meta.Close()
	}
	if e.remote != nil {
		_ = e.remote.Close()
	}
	if e.lock != nil {
		_ = e.lock.Close()
	}
}

// Close stops background work and closes the directory. Acknowledged writes are
// safe before and after; running queries fail.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	e.pool.Close()
	err := e.log.Close()
	e.leaveNodes()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.open {
		c.Close()
	}
	e.cache.Close()
	e.closeStores()
	return err
}

// Ready reports whether the engine can serve: the metastore answers.
func (e *Engine) Ready(ctx context.Context) error {
	_, err := e.meta.Info(ctx)
	return err
}

// StoreAddress is where the objects lie, such as s3://bucket/prefix; empty: in the
// data directory or in memory.
func (e *Engine) StoreAddress() string { return e.address }

// Catalog reads names and descriptions.
func (e *Engine) Catalog() *catalog.Catalog { return e.cat }

// Secret returns n random bytes, the same on every node and after restarts.
func (e *Engine) Secret(ctx context.Context, name string, n int) ([]byte, error) {
	return e.meta.Secret(ctx, name, n)
}

// Now is the time on the metastore's clock.
func (e *Engine) Now(ctx context.Context) (time.Time, error) {
	ms, err := e.meta.Now(ctx)
	return time.UnixMilli(ms).UTC(), err
}

// Functions lists the SQL functions.
func (e *Engine) Functions() []expr.FuncHelp {
	return append(e.fns.Names(), planner.TableFunctions()...)
}

// collection returns the opened collection of an object, and hands it the newest
// description.
func (e *Engine) collection(ctx context.Context, obj *schema.Object) (*collection.Collection, error) {
	for {
		e.mu.Lock()
		if e.closed {
			e.mu.Unlock()
			return nil, fail.New(fail.Unavailable, "the engine is closed")
		}
		if c := e.open[obj.ID]; c != nil {
			e.mu.Unlock()
			c.SetObject(obj)
			return c, nil
		}
		other := e.opening[obj.ID]
		if other == nil {
			done := make(chan struct{})
			e.opening[obj.ID] = done
			e.mu.Unlock()
			return e.openOne(ctx, obj, done)
		}
		e.mu.Unlock()
		select {
		case <-other: // it is open now, or whoever tried has failed
		case <-ctx.Done():
			return nil, fail.Ended(ctx, "the opening of "+obj.QualifiedName())
		}
	}
}

// openOne opens an object, which takes as long as its store does: others wait for done,
// and e.mu is not held.
func (e *Engine) openOne(ctx context.Context, obj *schema.Object, done chan struct{}) (c *collection.Collection, err error) {
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.opening, obj.ID)
		close(done)
		switch {
		case c != nil && err == nil && e.closed:
			c.Close()
			c, err = nil, fail.New(fail.Unavailable, "the engine is closed")
		case c != nil && err == nil:
			e.open[obj.ID] = c
		}
	}()
	opt, err := e.optionsOf(obj)
	if err != nil {
		return nil, err
	}
	return collection.Open(ctx, e.deps(), obj, opt)
}

func (e *Engine) deps() collection.Deps {
	d := collection.Deps{Objects: e.store, Meta: e.meta, Log: e.log, IDs: e.cfg.IDs, Clock: e.cfg.Clock, Cache: e.cache, Admit: e.admit}
	if e.cfg.Cluster {
		d.Describe = e.cat.ByID
	}
	return d
}

// byID opens the collection of an object id.
func (e *Engine) byID(ctx context.Context, id uint64) (*collection.Collection, error) {
	obj, err := e.cat.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return e.collection(ctx, obj)
}

// forget closes a dropped object, whose bytes count no longer.
func (e *Engine) forget(id uint64) {
	e.quotas.again()
	e.mu.Lock()
	for other := e.opening[id]; other != nil; other = e.opening[id] {
		e.mu.Unlock()
		<-other
		e.mu.Lock()
	}
	c := e.open[id]
	delete(e.open, id)
	e.mu.Unlock()
	if c != nil {
		c.Close() // waits for an apply that runs
	}
}
