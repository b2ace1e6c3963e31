package op

import (
	"context"
	"math"
	"sort"
	"sync"

	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// held is a chunk that a sink keeps, with its position.
type held struct {
	pos sched.Pos
	c   *vec.Chunk
}

// buffer keeps the chunks of one worker.
type buffer struct {
	account mem.Account
	chunks  []held
	rows    int
}

// keep keeps the chunk's rows: the chunk itself while all of it is selected, for
// chunks never change, else a copy. The rows count as if they were copied.
func (b *buffer) keep(c *vec.Chunk, pos sched.Pos) error {
	n := c.Rows()
	if n == 0 {
		return nil
	}
	if err := b.account.Grow(chunkBytes(c)); err != nil {
		return err
	}
	k := &vec.Chunk{Cols: append([]*vec.Vector(nil), c.Cols...), N: n}
	if c.Sel != nil {
		for i, col := range c.Cols {
			k.Cols[i] = pickOwn(col, c.Sel)
		}
	}
	b.chunks = append(b.chunks, held{pos, k})
	b.rows += n
	return nil
}

// inOrder merges the chunks of all buffers in the order of their positions.
func inOrder(buffers []*buffer) []held {
	var all []held
	for _, b := range buffers {
		all = append(all, b.chunks...)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].pos.Less(all[j].pos) })
	return all
}

// Table is all rows of a sink as flat columns in input order. It is read-only.
type Table struct {
	Cols []*vec.Vector
	N    int
}

// concat copies the chunks of the buffers into one table, column by column, and
// gives the copied columns back. The table's bytes are in account.
func concat(ctx context.Context, ts []types.Type, buffers []*buffer, account *mem.Account) (*Table, error) {
	all := inOrder(buffers)
	t := &Table{Cols: make([]*vec.Vector, len(ts))}
	for _, h := range all {
		t.N += h.c.N
	}
	if t.N > math.MaxInt32 {
		return nil, fail.New(fail.Exhausted, "%s holds %d rows, more than it can number", account.Tracker.Name(), t.N)
	}
	for i, typ := range ts {
		bytes := int64(0)
		for _, h := range all {
			bytes += vectorBytes(h.c.Cols[i], nil, h.c.N)
		}
		if err := account.Grow(bytes); err != nil {
			return nil, err
		}
		t.Cols[i] = vec.New(typ, t.N)
		for _, h := range all {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			appendAll(t.Cols[i], h.c.Cols[i])
			h.c.Cols[i] = nil
		}
		release(buffers, bytes)
	}
	for _, b := range buffers {
		b.account.Close()
		b.chunks = nil
	}
	return t, nil
}

// release gives bytes of copied columns back to the buffers' accounts.
func release(buffers []*buffer, bytes int64) {
	for _, b := range buffers {
		give := min(bytes, b.account.Bytes())
		b.account.Shrink(give)
		bytes -= give
	}
}

// buffers is the part of a sink that gives each worker a buffer.
type buffers struct {
	tracker *mem.Tracker
	// mu guards all.
	mu  sync.Mutex
	all []*buffer
}

func (b *buffers) add() *buffer {
	n := &buffer{account: mem.Account{Tracker: b.tracker}}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, n)
	return n
}

// Collect is a sink that keeps all rows in their order.
type Collect struct {
	buffers
	types []types.Type
	out   mem.Account
	table *Table
}

// NewCollect returns a sink for rows of the types, held under the tracker.
func NewCollect(ts []types.Type, t *mem.Tracker) *Collect {
	return &Collect{buffers: buffers{tracker: t}, types: ts, out: mem.Account{Tracker: t}}
}

// Local implements sched.Sink.
func (c *Collect) Local(*sched.Worker) (sched.Local, error) {
	return &collectLocal{buffer: c.add()}, nil
}

// Finalize implements sched.Sink.
func (c *Collect) Finalize(w *sched.Worker) (err error) {
	c.table, err = concat(w.Ctx, c.types, c.all, &c.out)
	return err
}

// Table is what was collected; valid after Finalize.
func (c *Collect) Table() *Table { return c.table }

type collectLocal struct {
	*buffer
	noProgress
}

// Push implements sched.Local.
func (l *collectLocal) Push(c *vec.Chunk, pos sched.Pos) error { return l.keep(c, pos) }

// noProgress is the part of a local sink that does not care for order.
type noProgress struct{}

// Progress implements sched.Local.
func (noProgress) Progress(uint64) error { return nil }

// Done implements sched.Local.
func (noProgress) Done() error { return nil }
