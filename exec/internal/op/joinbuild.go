package op

import (
	"context"
	"sync/atomic"

	"github.com/loamdb/loam/exec/internal/hashtable"
	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// JoinBuild is the sink that holds the right side of a join and indexes it by
// its keys, if there are any.
type JoinBuild struct {
	buffers
	stored   *Stored
	width    int
	nullSafe []bool
	sameHash bool
	// marks says that probes set the bits of matched rows (right and full joins).
	marks bool

	out   mem.Account
	table *Table
	index *hashtable.Join
	// nullRows are the rows with a NULL in a key that is not null-safe.
	nullRows []int32
	matched  []atomic.Uint64
}

// NewJoinBuild returns the build of a join of the kind over right rows of width
// columns, stored with their keys as s says.
func NewJoinBuild(kind plan.JoinKind, width int, s *Stored, nullSafe []bool, t *mem.Tracker, sameHash bool) *JoinBuild {
	return &JoinBuild{buffers: buffers{tracker: t}, stored: s, width: width, nullSafe: nullSafe, sameHash: sameHash,
		marks: kind == plan.Right || kind == plan.Full, out: mem.Account{Tracker: t}}
}

// Local implements sched.Sink.
func (b *JoinBuild) Local(w *sched.Worker) (sched.Local, error) {
	return &sortLocal{buffer: b.add(), stored: b.stored, env: w.Env}, nil
}

// Finalize implements sched.Sink.
func (b *JoinBuild) Finalize(w *sched.Worker) (err error) {
	if b.table, err = concat(w.Ctx, b.stored.Types, b.all, &b.out); err != nil {
		return err
	}
	if b.marks {
		if err := b.out.Grow(int64(b.table.N)/8 + 8); err != nil {
			return err
		}
		b.matched = make([]atomic.Uint64, (b.table.N+63)/64)
	}
	if len(b.nullSafe) == 0 {
		return nil
	}
	keys := b.stored.Columns(b.table.Cols)
	if err := b.findNulls(w.Ctx, keys); err != nil {
		return err
	}
	b.index, err = hashtable.BuildJoin(w.Ctx, keys, b.nullSafe, b.table.N, &b.out, b.sameHash)
	return err
}

func (b *JoinBuild) findNulls(ctx context.Context, keys []*vec.Vector) error {
	nulls := false
	for i, k := range keys {
		nulls = nulls || !b.nullSafe[i] && k.HasNulls()
	}
	if !nulls {
		return nil
	}
	for r := range b.table.N {
		if r%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if b.nullKey(keys, r) {
			if err := b.out.Grow(4); err != nil {
				return err
			}
			b.nullRows = append(b.nullRows, int32(r))
		}
	}
	return nil
}

// nullKey reports a NULL in a key column that is not null-safe.
func (b *JoinBuild) nullKey(keys []*vec.Vector, row int) bool {
	for i, k := range keys {
		if !b.nullSafe[i] && k.HasNulls() && k.IsNull(row) {
			return true
		}
	}
	return false
}

// columns are the right side's own columns, without computed keys.
func (b *JoinBuild) columns() []*vec.Vector { return b.table.Cols[:b.width] }

// mark notes that the rows have matched.
func (b *JoinBuild) mark(rows []int32) {
	for _, r := range rows {
		if r == noRow {
			continue
		}
		word, bit := &b.matched[r>>6], uint64(1)<<(r&63)
		if word.Load()&bit == 0 {
			word.Or(bit)
		}
	}
}

// Unmatched reads the right rows that no left row has matched, with NULLs for
// the left columns of the types. It is opened after all probes have ended.
func (b *JoinBuild) Unmatched(left []types.Type) *Ranges {
	return NewRanges(b.table.N, func(from, to int) (*vec.Chunk, error) {
		var rows []int32
		for r := from; r < to; r++ {
			if b.matched[r>>6].Load()>>(r&63)&1 == 0 {
				rows = append(rows, int32(r))
			}
		}
		c := &vec.Chunk{N: len(rows)}
		for _, t := range left {
			c.Cols = append(c.Cols, vec.Const(t, vec.Null(t), c.N))
		}
		c.Cols = append(c.Cols, pickOuter(b.columns(), rows)...)
		return c, nil
	})
}

// Probe is the transform that joins left rows with a finished build.
type Probe struct {
	Kind  plan.JoinKind
	Build *JoinBuild
	// Keys are the left keys; none means that every right row is a candidate.
	Keys Programs
	// Residual judges candidate pairs over the left, then the right columns;
	// nil passes all. Needs lists the columns that it reads.
	Residual *expr.Program
	Needs    []int
	// Whole is the join's whole condition, keys included, for Mark joins.
	Whole      *expr.Program
	WholeNeeds []int
}

// Stage implements sched.Transform.
func (p *Probe) Stage(w *sched.Worker) (sched.Stage, error) {
	return &probeStage{Probe: p, w: w}, nil
}
