package sched

import (
	"context"
	"errors"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/vec"
)

// ErrStop is returned by a push when no further row is wanted. It ends the
// pipeline without an error.
var ErrStop = errors.New("no further rows wanted")

// Morsels hands out the chunks of a leaf. Next may be called by several workers
// at once; a nil chunk is the end, for every later call too. Chunk.Seq orders
// the chunks: it is unique, below 1<<48, and grows from call to call of one
// worker. Where it is not set, the order of rows is unspecified.
type Morsels interface {
	Next(ctx context.Context) (*vec.Chunk, error)
	Close() error
}

// Pos is the position of a chunk in its pipeline's order.
type Pos struct {
	Seq uint64
	Sub uint32
}

// Less orders positions.
func (p Pos) Less(o Pos) bool { return p.Seq < o.Seq || p.Seq == o.Seq && p.Sub < o.Sub }

// Worker is what one worker's stages and sink know of their run.
type Worker struct {
	// ID counts from 0 within the pipeline.
	ID  int
	Ctx context.Context
	Env *expr.Env
	pos Pos
}

// Next consumes a chunk. ErrStop asks the pipeline to end.
type Next func(*vec.Chunk) error

// Stage is one worker's instance of a transform. Push hands on zero or more
// chunks; the chunks may be kept by whoever receives them and never change.
type Stage interface {
	Push(c *vec.Chunk, next Next) error
}

// Transform makes stages. Stage is called by one worker at a time.
type Transform interface {
	Stage(w *Worker) (Stage, error)
}

// Branch is a source with the transforms that its chunks pass.
type Branch struct {
	// Open is called once, when the first worker reaches the branch.
	Open       func(ctx context.Context) (Morsels, error)
	Transforms []Transform
	// Barrier delays the branch until every worker has finished the ones before.
	Barrier bool
}

// Local is one worker's end of a sink. Its methods are called by that worker alone.
type Local interface {
	// Push takes a chunk; positions ascend.
	Push(c *vec.Chunk, pos Pos) error
	// Progress says that all later chunks have a sequence number of at least seq.
	Progress(seq uint64) error
	// Done says that the worker has no more chunks.
	Done() error
}

// Sink ends a pipeline.
type Sink interface {
	// Local is called once for each worker before any of them starts.
	Local(w *Worker) (Local, error)
	// Finalize is called once after all workers are done without error.
	Finalize(w *Worker) error
}

// Pipeline is a list of branches, in the order of their rows, and a sink.
type Pipeline struct {
	Branches []Branch
	Sink     Sink
	// Serial pipelines run on one worker.
	Serial bool
}
