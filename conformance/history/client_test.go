package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
)

const keys = 8

func keyOf(k int) string { return fmt.Sprintf("k%d", k) }

func document(key string, n int64) []byte { return fmt.Appendf(nil, `{"id":%q,"n":%d}`, key, n) }

func numberOf(doc string) int64 {
	var d struct{ N int64 }
	if json.Unmarshal([]byte(doc), &d) != nil {
		return -1
	}
	return d.N
}

// written is a write statement and what its caller was told.
type written struct {
	records map[int][]record // by partition, in order
	fate    fate
	base    map[int]uint64 // where the answer says that the records are
	done    int64          // when it was acknowledged
}

type fate uint8

const (
	pending fate = iota
	acked
	refused
	unclear
)

// row is a row as a reader saw it.
type row struct {
	number    int64
	partition int
	offset    uint64
}

// seen is the answer of a read.
type seen struct {
	what    string
	who     string
	call    int64
	version uint64
	bounds  []uint64
	rows    map[string]row
	strong  bool
}

// client sends one operation after the other, each to any node.
type client struct {
	w     *world
	name  string
	token snapshot.Token
}

func (c *client) run(ctx context.Context, operations int) { c.each(ctx, operations, c.one) }

// each does one operation after the other.
func (c *client) each(ctx context.Context, operations int, one func(context.Context, *instance)) {
	for range operations {
		time.Sleep(time.Duration(c.w.rand(int(4 * time.Millisecond))))
		i := c.w.nodes[c.w.rand(len(c.w.nodes))].current()
		ctx, cancel := ctx, context.CancelFunc(func() {})
		if c.w.rand(12) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(c.w.rand(int(8*time.Millisecond))))
		}
		one(ctx, i)
		cancel()
	}
}

func (c *client) one(ctx context.Context, i *instance) {
	switch n := c.w.rand(100); {
	case n < 30:
		c.write(ctx, i, false)
	case n < 38:
		c.write(ctx, i, true)
	case n < 52:
		c.writeIf(ctx, i)
	case n < 70:
		c.strong(ctx, i)
	case n < 75:
		c.byToken(ctx, i)
	case n < 76:
		c.byLaterToken(ctx, i)
	case n < 77:
		c.clock(ctx, i)
	case n < 83:
		c.again(ctx, i)
	case n < 87:
		c.version(ctx, i)
	case n < 95:
		c.build(ctx, i, i.c.Apply)
	case n < 98:
		c.build(ctx, i, i.c.Merge)
	default:
		c.trim(ctx, i)
	}
}

// allowed notes an error that a caller must not get.
func (c *client) allowed(what string, i *instance, call int64, err error) {
	switch {
	case i.dead() || expected(err):
	case (fail.Is(err, fail.Corrupt) || fail.Is(err, fail.Unsupported)) && c.w.troubled(call): // a read was damaged on the way, and seen to be
	default:
		c.w.violation("%s of %s at %s: %v", what, c.name, i.owner, err)
	}
}

// troubled reports whether a node was disturbed at a moment or after it.
func (w *world) troubled(since int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trouble > 0 || w.calm > since
}

func (c *client) pick() []string {
	var out []string
	for range 1 + c.w.rand(3) {
		if k := keyOf(c.w.rand(keys)); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// begin registers a write statement and makes its rows.
func (c *client) begin(keys []string, deletes bool) (n int64, rows *collection.Rows, err error) {
	w := c.w
	w.mu.Lock()
	w.numbers++
	n = w.numbers
	st := &written{records: map[int][]record{}, base: map[int]uint64{}}
	var docs [][]byte
	for _, k := range keys {
		r := record{key: k, number: n}
		if deletes {
			r.number = 0
		}
		p := collection.Partition(k, w.obj.Partitions)
		st.records[p] = append(st.records[p], r)
		docs = append(docs, document(k, n))
	}
	w.writes[n] = st
	w.mu.Unlock()
	if deletes {
		return n, collection.DeleteKeys(w.obj, keys), nil
	}
	rows, err = collection.FromDocuments(w.obj, docs)
	return n, rows, err
}

// end notes what became of a write: an operation on each key and on each log.
func (c *client) end(i *instance, call, n int64, token snapshot.Token, err error, each func(key string) op) {
	w := c.w
	w.mu.Lock()
	st := w.writes[n]
	var ops []op
	switch {
	case i.dead() || fail.Is(err, fail.CommitUnknown): // no reply comes from a machine that is off
		st.fate = unclear
		w.unknown++
	case err != nil:
		st.fate = refused
	default:
		st.fate, st.done = acked, w.seq+1
	}
	for p := range w.obj.Partitions {
		records := st.records[p]
		if len(records) == 0 {
			continue
		}
		o := op{kind: opAppend, part: logName(p), records: int64(len(records)), unknown: st.fate == unclear, who: c.name, write: n}
		if st.fate == acked {
			st.base[p] = token.Offsets[p] - uint64(len(records))
			o.number = int64(st.base[p])
		}
		ops = append(ops, o)
		for _, r := range records {
			k := each(r.key)
			k.part, k.unknown, k.who, k.write = r.key, st.fate == unclear, c.name, n
			ops = append(ops, k)
		}
	}
	if st.fate == acked {
		c.token = c.token.Merge(token)
	}
	fate := st.fate
	w.mu.Unlock()
	if fate != refused {
		w.note(call, ops...)
	}
}

func (c *client) write(ctx context.Context, i *instance, deletes bool) {
	n, rows, err := c.begin(c.pick(), deletes)
	if err != nil {
		c.w.violation("rows: %v", err)
		return
	}
	call := c.w.tick()
	token, err := i.c.Append(ctx, rows)
	if err != nil {
		c.allowed("write", i, call, err)
	}
	c.end(i, call, n, token, err, func(string) op {
		if deletes {
			return op{kind: opDelete}
		}
		return op{kind: opWrite, number: n}
	})
}

// writeIf writes what it computed from a snapshot, if the rows are still those.
func (c *client) writeIf(ctx context.Context, i *instance) {
	s := c.strong(ctx, i)
	if s == nil {
		return
	}
	snap, err := i.c.Pinned(ctx, s.version, s.bounds)
	if err != nil {
		return // the second read of a pin is checked elsewhere
	}
	picked := c.pick()
	n, rows, err := c.begin(picked, false)
	if err != nil {
		c.w.violation("rows: %v", err)
		return
	}
	call := c.w.tick()
	token, err := i.c.AppendIf(ctx, rows, snap)
	if err != nil {
		c.allowed("write if", i, call, err)
	}
	c.end(i, call, n, token, err, func(key string) op { return op{kind: opCond, from: s.rows[key].number, number: n} })
}

// strong reads all rows as of now.
func (c *client) strong(ctx context.Context, i *instance) *seen {
	call := c.w.tick()
	snap, err := i.c.Strong(ctx)
	if err == nil {
		return c.saw("strong read", i, call, snap, true)
	}
	c.allowed("strong read", i, call, err)
	return nil
}

// byToken reads after waiting for all that this client wrote.
func (c *client) byToken(ctx context.Context, i *instance) {
	if c.token.Incarnation == "" {
		return
	}
	call := c.w.tick()
	if err := i.c.WaitToken(ctx, c.token, time.Second); err != nil {
		c.allowed("wait for a token", i, call, err)
		return
	}
	if s := c.strong(ctx, i); s != nil {
		for p, o := range c.token.Offsets {
			if s.bounds[p] < o {
				c.w.violation("a read of %s after its token has %v, the token %v", c.name, s.bounds, c.token.Offsets)
			}
		}
	}
}

// byLaterToken waits for what nobody has written yet, in one partition.
func (c *client) byLaterToken(ctx context.Context, i *instance) {
	s := c.strong(ctx, i)
	if s == nil {
		return
	}
	p := c.w.rand(len(s.bounds))
	later := snapshot.Token{ObjectID: c.w.obj.ID, Incarnation: c.w.obj.Incarnation, Offsets: slices.Clone(s.bounds)}
	later.Offsets[p] += 1 + uint64(c.w.rand(3))
	call := c.w.tick()
	if err := i.c.WaitToken(ctx, later, 20*time.Millisecond); err != nil {
		if !fail.Is(err, fail.ConsistencyTimeout) {
			c.allowed("wait for a later token", i, call, err)
		}
		return
	}
	if s := c.strong(ctx, i); s != nil && s.bounds[p] < later.Offsets[p] {
		c.w.violation("a wait of %s for %v is over, and a read has %v", c.name, later.Offsets, s.bounds)
	}
}

// clock asks a node for the metastore's time: none is more than a second behind what
// another has said, however wrong their own clocks are.
func (c *client) clock(ctx context.Context, i *instance) {
	w := c.w
	w.mu.Lock()
	least := w.latest
	w.mu.Unlock()
	call := w.tick()
	ms, err := i.meta.Now(ctx)
	if err != nil {
		c.allowed("now", i, call, err)
		return
	}
	if ms < least-1000 {
		w.violation("it is %d at %s, and was %d before", ms, i.owner, least)
	}
}

// again reads at a pin that somebody has read at before.
func (c *client) again(ctx context.Context, i *instance) {
	w := c.w
	w.mu.Lock()
	if len(w.reads) == 0 {
		w.mu.Unlock()
		return
	}
	old := w.reads[w.rng.IntN(len(w.reads))]
	w.mu.Unlock()
	call := w.tick()
	snap, err := i.c.Pinned(ctx, old.version, old.bounds)
	if err != nil {
		c.expired("pinned read", i, call, err)
		return
	}
	if s := c.saw("pinned read", i, call, snap, false); s != nil && (!equalRows(s.rows, old.rows) || s.version != old.version || !slices.Equal(s.bounds, old.bounds)) {
		w.violation("version %d at %v was %v when first read (%s), and is %v for %s", old.version, old.bounds, old.rows, old.what, s.rows, c.name)
	}
}

// expired allows for a pin whose log was swept.
func (c *client) expired(what string, i *instance, call int64, err error) {
	c.w.mu.Lock()
	trimmed := c.w.trimmed
	c.w.mu.Unlock()
	if !trimmed || !fail.Is(err, fail.SnapshotExpired) {
		c.allowed(what, i, call, err)
	}
}

// version reads an older manifest without a tail.
func (c *client) version(ctx context.Context, i *instance) {
	w := c.w
	w.mu.Lock()
	n := uint64(w.rng.IntN(len(w.commits) + 1))
	w.mu.Unlock()
	call := w.tick()
	snap, err := i.c.Version(ctx, n)
	if err != nil {
		c.expired(fmt.Sprintf("read of version %d", n), i, call, err)
		return
	}
	c.saw("version read", i, call, snap, false)
}

// saw reads all rows of a snapshot and notes them.
func (c *client) saw(what string, i *instance, call int64, snap *collection.Snapshot, strong bool) *seen {
	w := c.w
	s := &seen{what: what, who: c.name + " at " + i.owner, call: call, version: snap.Version(), bounds: slices.Clone(snap.Bounds()), strong: strong}
	time.Sleep(time.Duration(w.rand(int(time.Millisecond))))
	var err error
	if s.rows, err = rowsOf(snap, w.obj.Partitions); err != nil {
		c.allowed(what, i, call, err)
		return nil
	}
	if n := snap.Count(); n != int64(len(s.rows)) {
		w.violation("%s of %s: count is %d, there are %d rows", what, s.who, n, len(s.rows))
	}
	var ops []op
	for k := range keys {
		ops = append(ops, op{kind: opRead, part: keyOf(k), number: s.rows[keyOf(k)].number, who: s.who})
	}
	if strong {
		w.note(call, ops...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = append(w.reads, s)
	return s
}

func equalRows(a, b map[string]row) bool {
	if len(a) != len(b) {
		return false
	}
	for k, r := range a {
		if b[k] != r {
			return false
		}
	}
	return true
}

// rowsOf scans a snapshot; a key that comes twice is an error.
func rowsOf(snap *collection.Snapshot, partitions int) (map[string]row, error) {
	ctx := context.Background()
	var cols []plan.ScanColumn
	for i, name := range []string{"_pk", "n", "_ingest_partition", "_ingest_offset"} {
		t := []types.Type{types.Of(types.Text), types.Of(types.Int64), types.Of(types.Int32), types.Of(types.Int64)}[i]
		cols = append(cols, plan.ScanColumn{Column: plan.Column{ID: expr.ColumnID(i + 1), Name: name, Type: t}, Field: name})
	}
	sc, err := snap.Scan(&expr.Env{Ctx: ctx, Now: time.Unix(0, 0)}, &plan.Scan{Object: snap.Object(), Cols: cols, Limit: plan.NoLimit})
	if err != nil {
		return nil, err
	}
	out := map[string]row{}
	for {
		chunk, err := sc.Next(ctx)
		if err != nil || chunk == nil {
			return out, err
		}
		for i := range chunk.Rows() {
			at := chunk.RowAt(i)
			key := chunk.Cols[0].Value(at).Str
			if _, twice := out[key]; twice {
				return nil, fail.New(fail.Internal, "%s is there twice", key)
			}
			out[key] = row{chunk.Cols[1].Value(at).Int, int(chunk.Cols[2].Value(at).Int), uint64(chunk.Cols[3].Value(at).Int)}
		}
	}
}

// build applies or merges, mostly under a lease.
func (c *client) build(ctx context.Context, i *instance, work func(context.Context, []metastore.Fence) error) {
	call := c.w.tick()
	if c.w.rand(5) == 0 {
		if err := work(ctx, nil); err != nil {
			c.allowed("build", i, call, err)
		}
		return
	}
	lease, err := i.meta.AcquireLease(ctx, "task/segments", i.owner, leaseTTL)
	if err == nil && c.w.rand(4) == 0 {
		if next, rerr := i.meta.RenewLease(ctx, lease, leaseTTL); rerr == nil {
			lease = next
		}
	}
	if err == nil {
		err = work(ctx, []metastore.Fence{lease.Fence()})
		if c.w.rand(4) > 0 {
			_ = i.meta.ReleaseLease(ctx, lease)
		}
	}
	if err != nil {
		c.allowed("build", i, call, err)
	}
}

// trim sweeps the log without any retention.
func (c *client) trim(ctx context.Context, i *instance) {
	w := c.w
	if w.seed%4 != 0 { // in the other histories every pin stays readable
		return
	}
	w.mu.Lock()
	w.trimmed = true
	w.mu.Unlock()
	call := w.tick()
	if _, err := i.log.Trim(ctx, 0); err != nil {
		c.allowed("trim", i, call, err)
	}
}
