package collection

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
	"github.com/loamdb/loam/storage/wal"
)

// Deps are what collections of one node share.
type Deps struct {
	Objects object.Store
	Meta    metastore.Store
	Log     *wal.Log
	IDs     clock.IDs
	Clock   clock.Clock
	// Describe reads an object's newest description, where other nodes may change it:
	// records in the log may be of a schema that this node has not seen. Nil: nobody else.
	Describe func(ctx context.Context, id uint64) (*schema.Object, error)
	// Admit says why bytes of rows cannot be written into an object of a namespace, and
	// counts them when it does not: the namespace's quota. Nil: nothing is refused.
	Admit func(ctx context.Context, namespace string, bytes int64) error
	// Cache is what all of them read through; nil gives each collection its own, of
	// the default budget.
	Cache *Cache
}

// Options are the budgets of one collection; zero values mean the defaults.
type Options struct {
	// ApplyBytes and ApplyRows of waiting records start an apply at once; else it
	// starts when the oldest has waited BatchInterval, which grows to
	// MaxBatchInterval while commits stay small.
	ApplyBytes       int64
	ApplyRows        int
	BatchInterval    time.Duration
	MaxBatchInterval time.Duration
	// MaxUnappliedRecords and MaxUnappliedBytes are the backlog budget: at either,
	// writes are refused with RetryAfter.
	MaxUnappliedRecords int64
	MaxUnappliedBytes   int64
	// Retention is how long a stream keeps its records, counted from their ingest time;
	// 0 is for ever. RetentionBytes is the size above which its oldest segments go; 0
	// is any. MaxRecordBytes is the size of one record of a stream.
	Retention      time.Duration
	RetentionBytes int64
	MaxRecordBytes int64
	// MaxSplits is the number of splits of about one size above which the merge
	// task joins them to one. MinFragment is the size, in bytes of its Lance files,
	// from which it leaves a fragment as it is, unless MaxDeleted percent of its rows
	// or more, at most 50, are deleted.
	MaxSplits   int
	MinFragment int64
	MaxDeleted  int
	// TimeTravel is how long a version stays readable after a newer one has
	// followed; MaxTags how many tags the object may have.
	TimeTravel time.Duration
	MaxTags    int
}

// WithDefaults fills zero values in.
func (o Options) WithDefaults() Options {
	set := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.ApplyBytes, 16<<20)
	set(&o.MaxUnappliedRecords, 1_000_000)
	set(&o.MaxUnappliedBytes, 128<<20)
	set(&o.MaxRecordBytes, 1<<20)
	set(&o.MinFragment, 4<<20)
	if o.ApplyRows == 0 {
		o.ApplyRows = 20_000
	}
	if o.BatchInterval == 0 {
		o.BatchInterval = 2 * time.Second
	}
	if o.MaxBatchInterval == 0 {
		o.MaxBatchInterval = time.Minute
	}
	if o.MaxSplits == 0 {
		o.MaxSplits = 8
	}
	if o.MaxDeleted == 0 {
		o.MaxDeleted = 20
	}
	o.MaxDeleted = min(o.MaxDeleted, 50)
	if o.TimeTravel == 0 {
		o.TimeTravel = 24 * time.Hour
	}
	if o.MaxTags == 0 {
		o.MaxTags = metastore.MaxTags
	}
	return o
}

// Collection serves one collection, table or stream on this node. All methods are safe
// for concurrent use.
type Collection struct {
	deps Deps
	opt  Options
	// origin is the object as it was opened: id, kind, incarnation and partitions
	// never change.
	origin *schema.Object

	// seq is held shared by appends and exclusively by a conditional append that
	// lost its race too often. Order: seq, merging, building, mu.
	seq turn
	// merging is held by the one merge that runs; life ends when the collection closes.
	merging turn
	life    context.Context
	end     context.CancelFunc
	// building is held by the one apply that runs, and by a merge while it commits.
	building turn
	// rotation counts the batches without a key, which go to the partitions in turn.
	rotation atomic.Uint64

	// flying counts the appends of this node that are not yet published.
	flying atomic.Int64

	mu   sync.Mutex // guards the fields below
	cond *sync.Cond // signaled when a tail grows or the state changes
	obj  *schema.Object
	st   *state
	// tails[p] is the next offset that partition p's tail can take, and what came early.
	tails []tailHead
	cache map[string]*split // by split key
	// waiting since when the oldest unapplied record waits (monotonic), 0 for none.
	waiting  time.Duration
	interval time.Duration
	retained time.Duration // when retention was last looked at (monotonic), 0 for never
	told     Backlog       // of all nodes, as the metastore said last
	recent   []*Snapshot   // last snapshots handed out, newest last

	// reached says that the tail has been read since the start.
	reached atomic.Bool
	folded  foldedStatistics

	// past and pasts are manifests, and snapshots without a tail, of versions before
	// the one in force, as they were read last.
	past  recall[*Manifest]
	pasts recall[*Snapshot]
	// superseding is when the oldest version that is kept was superseded, or will not
	// have been before (ms): until the retention has passed since, nothing is released.
	superseding atomic.Int64

	// mirroring is held while tags are mirrored, and guards the fields below: the ids of
	// the tags whose mirrors were looked into, the rounds of maintenance, and the ids of
	// all tags at the last one.
	mirroring   sync.Mutex
	mirrored    map[string]bool
	mirrorRound int
	mirrorIDs   string
}

// state is the manifest in force with its parts. Fields are replaced, not changed.
type state struct {
	manifest *Manifest
	ref      ManifestRef
	// committedMS is when the manifest became the head, on the metastore's clock.
	committedMS int64
	splits      []*split
	deleted     []*roaring.Bitmap
	// gens[p] are the tail generations of partition p, oldest first; the last is open.
	gens [][]*generation
}

// tailHead tracks where a partition's tail ends and holds what was published out of order.
type tailHead struct {
	next uint64
	// cut is where an apply wants a generation to end.
	cut   uint64
	early map[uint64]published
}

type published struct {
	rec   *records
	ts    int64
	bytes int64
}

// Open loads the state of an object. The tail is read from the log when first needed.
func Open(ctx context.Context, deps Deps, obj *schema.Object, opt Options) (*Collection, error) {
	if deps.Cache == nil {
		deps.Cache = NewCache(0)
	}
	c := &Collection{deps: deps, opt: opt.WithDefaults(), origin: obj, obj: obj, cache: map[string]*split{},
		seq: newTurn(), merging: newTurn(), building: newTurn(), past: recall[*Manifest]{max: 64}, pasts: recall[*Snapshot]{max: 8}}
	c.cond = sync.NewCond(&c.mu)
	c.life, c.end = context.WithCancel(context.Background())
	c.interval = c.opt.BatchInterval
	head, _, _, err := deps.Meta.Heads(ctx, obj.ID)
	if err != nil {
		return nil, err
	}
	st, err := c.newestState(ctx, head)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c, c.install(st)
}

// Close ends a merge that runs and releases files. Nothing is lost: what was
// acknowledged is in the log.
func (c *Collection) Close() {
	c.end()
	for _, t := range []turn{c.merging, c.building} {
		if leave, err := t.alone(context.Background(), "the close"); err == nil {
			defer leave()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.cache {
		s.close()
	}
	c.cache = map[string]*split{}
}

// Object is the description in force.
func (c *Collection) Object() *schema.Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.obj
}

// SetObject takes a newer schema version of the same object. Records appended
// from now on are kept under it.
func (c *Collection) SetObject(obj *schema.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if obj.SchemaVersion > c.obj.SchemaVersion {
		c.obj = obj
	}
}

// manifestOf reads the manifest of a head; version 0 has none.
func (c *Collection) manifestOf(ctx context.Context, head metastore.Head) (*Manifest, ManifestRef, error) {
	if head.Version == 0 {
		return &Manifest{Object: c.origin.ID, Incarnation: c.origin.Incarnation, Applied: make([]uint64, c.origin.Partitions)}, ManifestRef{}, nil
	}
	ref := ManifestRef{Key: head.ManifestKey, Checksum: head.ManifestChecksum, Size: head.ManifestSize}
	m, err := readManifest(ctx, c.deps.Objects, ref, c.groups())
	if err != nil {
		return nil, ref, err
	}
	if m.Object != c.origin.ID || m.Incarnation != c.origin.Incarnation || m.Version != head.Version || len(m.Applied) != c.origin.Partitions {
		return nil, ref, fail.New(fail.Corrupt, "manifest %s is of object %d version %d, the metastore says %d version %d",
			ref.Key, m.Object, m.Version, c.origin.ID, head.Version)
	}
	return m, ref, nil
}

// groups are those of the version in force.
func (c *Collection) groups() []Group {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.st == nil {
		return nil
	}
	return c.st.manifest.Groups
}

// load opens the splits and deletion bitmaps of a manifest. Its gens are nil.
func (c *Collection) load(ctx context.Context, m *Manifest, ref ManifestRef) (*state, error) {
	n := len(m.Segments)
	st := &state{manifest: m, ref: ref, splits: make([]*split, n), deleted: make([]*roaring.Bitmap, n)}
	err := together(n, func(i int) (err error) {
		if st.splits[i], err = c.split(ctx, m.Segments[i]); err == nil {
			st.splits[i].of(m.Version)
			st.deleted[i], err = readDeletions(ctx, c.deps.Objects, &m.Segments[i])
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return st, nil
}

// opensAtOnce bounds the splits that are opened side by side: on a distant store an
// opening is mostly waiting.
const opensAtOnce = 16

// together runs do for 0 to n-1, several at once, and returns the first error in
// their order. After an error no more are begun.
func together(n int, do func(i int) error) error {
	if n == 1 {
		return do(0)
	}
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var all sync.WaitGroup
	for range min(n, opensAtOnce) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
				if errs[i] = do(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// split returns the opened split of a segment, from the cache if it is there.
func (c *Collection) split(ctx context.Context, seg Segment) (*split, error) {
	c.mu.Lock()
	s := c.cache[seg.SplitKey]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := openSplit(ctx, c.deps.Objects, c.deps.Cache.c, c.origin, seg)
	if err != nil {
		return nil, err
	}
	s.watch(c.goneWith)
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.cache[seg.SplitKey]; other != nil {
		s.close()
		return other, nil
	}
	c.cache[seg.SplitKey] = s
	return s, nil
}

// install makes st the state in force: generations below its applied offsets
// are dropped, splits of no state are closed. c.mu is held.
func (c *Collection) install(st *state) error {
	old := c.st
	if c.tails == nil {
		c.tails = make([]tailHead, c.obj.Partitions)
	}
	st.gens = make([][]*generation, c.obj.Partitions)
	for p := range st.gens {
		applied := st.manifest.Applied[p]
		if old != nil {
			for _, g := range old.gens[p] {
				if g.base >= applied {
					st.gens[p] = append(st.gens[p], g)
				}
			}
		}
		if len(st.gens[p]) == 0 {
			g, err := newGeneration(c.obj, p, max(applied, c.tails[p].next))
			if err != nil {
				return err
			}
			st.gens[p] = []*generation{g}
		}
		c.tails[p].next = max(c.tails[p].next, applied)
	}
	c.st = st
	keep := map[target]bool{}
	live := map[string]bool{}
	for _, s := range st.splits {
		keep[s] = true
		live[s.seg.SplitKey] = true
	}
	for _, list := range st.gens {
		for _, g := range list {
			keep[g] = true
		}
	}
	for _, list := range st.gens {
		for _, g := range list {
			g.forget(keep)
		}
	}
	for key := range c.cache {
		if !live[key] {
			c.cache[key].forget()
			delete(c.cache, key) // the file closes when the last snapshot lets go of it
		}
	}
	c.recent = nil
	c.cond.Broadcast()
	return nil
}
