package rows

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Chunks is a running result: Next gives nil at the end, Close ends it early.
type Chunks interface {
	Next(ctx context.Context) (*vec.Chunk, error)
	Close() error
}

// Open starts the i-th of several executions whose rows follow each other; it
// returns nil when there is none.
type Open func(ctx context.Context, i int) (Chunks, error)

// TargetBytes is the size that a batch does not exceed, unless one row does.
const TargetBytes = 2 << 20

// Chunks are gathered up to gatherBytes or gatherRows, and a last one as long as
// it stays within fullBytes; the first chunk goes out
// at once and each batch may be twice as long as the one before, so that the
// first rows arrive soon.
const (
	gatherBytes = 1 << 20
	fullBytes   = gatherBytes + gatherBytes/4
	gatherRows  = 128 << 10
)

// patience is how long rows wait for others of their batch: the batch is closed
// with the first chunk that comes later.
const patience = 100 * time.Millisecond

// Schema is the Arrow schema of a result. Every field is nullable. Decimals
// carry their precision and scale as Flight SQL's column metadata too, since JDBC
// tells its callers those and does not look into the type; there is no other
// metadata, because some clients show it as labels.
func Schema(columns []plan.Column) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type.Arrow(), Nullable: true}
		if c.Type.Kind == types.Decimal {
			fields[i].Metadata = arrow.NewMetadata(
				[]string{flightsql.PrecisionKey, flightsql.ScaleKey},
				[]string{strconv.Itoa(int(c.Type.Precision)), strconv.Itoa(int(c.Type.Scale))},
			)
		}
	}
	return arrow.NewSchema(fields, nil)
}

// Types are the columns' types.
func Types(columns []plan.Column) []types.Type {
	ts := make([]types.Type, len(columns))
	for i, c := range columns {
		ts[i] = c.Type
	}
	return ts
}

// Reader reads results as record batches. Not safe for concurrent use. The
// caller calls Close.
type Reader struct {
	schema *arrow.Schema
	types  []types.Type
	mem    memory.Allocator
	open   Open

	current Chunks
	opened  int
	builder *vec.Builder
	held    []*vec.Chunk // read ahead of the batch they go into
	limit   int          // rows of the next batch
	clock   clock.Clock
	queue   []arrow.RecordBatch
	ended   bool
}

// NewReader reads the executions that open starts; their columns have the types.
func NewReader(schema *arrow.Schema, ts []types.Type, mem memory.Allocator, open Open) *Reader {
	return &Reader{schema: schema, types: ts, mem: mem, open: open, limit: vec.ChunkRows}
}

// Of reads one execution that runs already; Close closes it in any case.
func Of(schema *arrow.Schema, ts []types.Type, mem memory.Allocator, chunks Chunks) *Reader {
	r := NewReader(schema, ts, mem, func(context.Context, int) (Chunks, error) { return nil, nil })
	r.current = chunks
	return r
}

// Hurry makes batches of a slow result go out early, by the clock; without it
// they are as large as they may be. It is called before Next.
func (r *Reader) Hurry(c clock.Clock) *Reader {
	r.clock = c
	return r
}

// Schema is the schema of every batch.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// Next is the next batch, which has rows, or nil at the end. The caller releases
// it. An error ends the reader.
func (r *Reader) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if len(r.queue) == 0 && !r.ended {
		if err := r.fill(ctx); err != nil {
			r.ended = true
			return nil, err
		}
	}
	if len(r.queue) == 0 {
		r.ended = true
		return nil, nil
	}
	rec := r.queue[0]
	r.queue = r.queue[1:]
	return rec, nil
}

// Empty is a batch without rows.
func (r *Reader) Empty() arrow.RecordBatch {
	rec, err := vec.ChunkToRecord(vec.NewChunk(r.types, 0), r.schema, r.mem)
	if err != nil {
		return array.NewRecordBatch(r.schema, nil, 0)
	}
	return rec
}

// Close ends the running execution and releases what was not taken.
func (r *Reader) Close() error {
	r.ended = true
	for _, rec := range r.queue {
		rec.Release()
	}
	r.queue, r.held = nil, nil
	if r.builder != nil {
		r.builder.Release()
	}
	if r.current == nil {
		return nil
	}
	err := r.current.Close()
	r.current = nil
	return err
}

// fill gathers chunks into one batch and cuts it to messages.
func (r *Reader) fill(ctx context.Context) error {
	if r.builder == nil {
		b, err := vec.NewBuilder(r.schema, r.types, r.mem)
		if err != nil {
			return err
		}
		r.builder = b
	}
	if err := r.gather(ctx); err != nil || r.builder.Rows() == 0 {
		return err
	}
	r.limit = min(2*r.limit, gatherRows)
	rec := r.builder.Batch()
	defer rec.Release()
	r.queue = Split(rec, TargetBytes)
	return nil
}

// gather appends chunks to the builder until it holds a batch. A chunk that
// would make it too large waits for the next one.
func (r *Reader) gather(ctx context.Context) error {
	size, late := 0, r.deadline()
	for r.builder.Rows() < r.limit && size < gatherBytes && (r.builder.Rows() == 0 || !late()) {
		chunk, err := r.take(ctx)
		if err != nil || chunk == nil {
			return err
		}
		n := chunkBytes(chunk)
		if have := r.builder.Rows(); have == 0 {
			r.builder.Expect(max(chunk.Rows(), min(r.limit, fullBytes*chunk.Rows()/max(1, n))))
		} else if have+chunk.Rows() > r.limit || size+n > fullBytes {
			r.held = slices.Insert(r.held, 0, chunk)
			return nil
		}
		if err := r.builder.Append(chunk); err != nil {
			return err
		}
		size += n
	}
	return nil
}

// deadline tells whether rows that come now have waited long enough.
func (r *Reader) deadline() (late func() bool) {
	if r.clock == nil {
		return func() bool { return false }
	}
	start := r.clock.Mono()
	return func() bool { return r.clock.Mono()-start > patience }
}

// take is the next chunk with rows over all executions.
func (r *Reader) take(ctx context.Context) (*vec.Chunk, error) {
	if len(r.held) > 0 {
		c := r.held[0]
		r.held = r.held[1:]
		return c, nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.current == nil {
			next, err := r.open(ctx, r.opened)
			if err != nil || next == nil {
				return nil, err
			}
			r.opened++
			r.current = next
		}
		chunk, err := r.current.Next(ctx)
		if err != nil {
			return nil, err
		}
		if chunk == nil {
			err := r.current.Close()
			r.current = nil
			if err != nil {
				return nil, err
			}
			continue
		}
		if chunk.Rows() > 0 {
			pieces := cut(chunk)
			r.held = pieces[1:]
			return pieces[0], nil
		}
	}
}

// cut divides a chunk that is larger than a batch, so that its rows are still in
// the processor's cache when they are sent.
func cut(c *vec.Chunk) []*vec.Chunk {
	n := c.Rows()
	count := min(n, (chunkBytes(c)+gatherBytes-1)/gatherBytes)
	if count <= 1 {
		return []*vec.Chunk{c}
	}
	pieces := make([]*vec.Chunk, count)
	for i := range pieces {
		from, to := i*n/count, (i+1)*n/count
		if c.Sel != nil {
			pieces[i] = &vec.Chunk{Cols: c.Cols, N: c.N, Sel: c.Sel[from:to]}
			continue
		}
		pieces[i] = &vec.Chunk{Cols: make([]*vec.Vector, len(c.Cols)), N: to - from}
		for j, col := range c.Cols {
			pieces[i].Cols[j] = col.Slice(from, to)
		}
	}
	return pieces
}
