package exec

import (
	"context"
	"runtime"
	"sync"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// Source hands out the chunks of a leaf. Next may be called by several workers
// at once; a nil chunk is the end, for every later call too. A chunk belongs to
// the caller and its columns never change afterwards. Chunk.Seq orders the
// chunks: unique, below 1<<48, and growing from call to call of one worker (a
// counter does); where it is not set, rows come in no particular order. Next
// ends soon after its context does. Close is called once, after the last Next.
type Source interface {
	Next(ctx context.Context) (*vec.Chunk, error)
	Close() error
}

// Sources opens leaves at the statement's snapshot. A chunk's columns are the
// node's Columns, in order.
type Sources interface {
	Scan(ctx context.Context, n *plan.Scan) (Source, error)
	Search(ctx context.Context, n *plan.SearchScan) (Source, error)
	System(ctx context.Context, n *plan.SystemScan) (Source, error)
	File(ctx context.Context, n *plan.FileScan) (Source, error)
}

// Options say how a plan is run. The zero value runs it on all processors
// without a memory limit.
type Options struct {
	// Workers is the number of workers of a pipeline; 0 means GOMAXPROCS.
	Workers int
	// Memory is the query's tracker; nil means one without a limit. The caller closes it.
	Memory *mem.Tracker
	// Profile counts the time of each operator on Clock; rows are always counted.
	Profile bool
	Clock   clock.Clock
	// SameHash makes every hash equal. Tests use it to prove that keys, not
	// hashes, decide.
	SameHash bool
}

// queueChunks is how many finished chunks may wait for the reader.
const queueChunks = 4

// Result is a running plan. Its methods are called by one goroutine, except
// Close, which any may call.
type Result struct {
	cancel context.CancelFunc
	queue  chan *vec.Chunk
	done   chan struct{}
	query  *query
	once   sync.Once
	err    error // written before done is closed

}

// Run starts the plan. The caller must Close the result. Errors of the plan
// itself (fail.Unsupported, fail.Internal for a node that cannot be run) come at
// once; all others from Next.
func Run(ctx context.Context, root plan.Node, env *expr.Env, src Sources, opt Options) (*Result, error) {
	if opt.Workers <= 0 {
		opt.Workers = runtime.GOMAXPROCS(0)
	}
	if opt.Memory == nil {
		opt.Memory = mem.New("query", mem.NoLimit)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &Result{cancel: cancel, queue: make(chan *vec.Chunk, queueChunks), done: make(chan struct{})}
	q, err := compile(ctx, root, env, src, opt, r.deliver)
	if err != nil {
		cancel()
		return nil, err
	}
	r.query = q
	go r.run(ctx)
	return r, nil
}

// run is the goroutine of the query; Close waits for it.
func (r *Result) run(ctx context.Context) {
	defer close(r.done)
	defer close(r.queue)
	defer r.query.release()
	r.err = r.query.run(ctx)
}

// deliver hands a chunk to the reader; it waits while the queue is full.
func (r *Result) deliver(c *vec.Chunk) error {
	ctx := r.query.ctx
	select {
	case r.queue <- c:
		return nil
	case <-ctx.Done():
		return fail.Ended(ctx, "the statement")
	}
}

// Next returns the next chunk, dense and in order, or nil at the end. The chunk
// belongs to the caller. After an error every later call returns it again. A
// ctx that ends while Next waits gives fail.Canceled and leaves the query running.
func (r *Result) Next(ctx context.Context) (*vec.Chunk, error) {
	select {
	case c, ok := <-r.queue:
		if ok {
			return c, nil
		}
		<-r.done
		return nil, r.err
	case <-ctx.Done():
		return nil, fail.Ended(ctx, "the statement")
	}
}

// Close cancels what still runs and waits until every worker is idle, every
// source closed and all memory returned. It returns nil: what went wrong was
// told by Next.
func (r *Result) Close() error {
	r.once.Do(func() {
		r.cancel()
		for range r.queue {
			continue
		}
	})
	<-r.done
	return nil
}

// Profile is what the operators counted so far; complete after Next has
// returned nil or an error, or after Close.
func (r *Result) Profile() *Profile { return r.query.profile }

// RunAll runs the plan and returns all its chunks.
func RunAll(ctx context.Context, root plan.Node, env *expr.Env, src Sources, opt Options) ([]*vec.Chunk, error) {
	r, err := Run(ctx, root, env, src, opt)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	var out []*vec.Chunk
	for {
		c, err := r.Next(ctx)
		if err != nil {
			return nil, err
		}
		if c == nil {
			return out, nil
		}
		out = append(out, c)
	}
}
