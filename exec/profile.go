package exec

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loamdb/loam/exec/internal/sched"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

// Profile counts what each operator of a plan did.
type Profile struct {
	root  plan.Node
	clock clock.Clock
	nodes map[plan.Node]*counters
}

// OperatorProfile is what one operator did, over all workers.
type OperatorProfile struct {
	RowsIn, RowsOut int64
	// ChunksOut is the number of chunks handed on.
	ChunksOut int64
	// SkippedSplits and SkippedChunks of others were passed over without reading them.
	SkippedSplits, SkippedChunks int64
	// Time is spent in the operator itself, summed over workers; zero unless
	// Options.Profile.
	Time time.Duration
	// PeakBytes is the most memory that the operator held.
	PeakBytes int64
}

// counters are shared by the workers; memory is set when the operator is made.
type counters struct {
	rowsIn, rowsOut, chunksOut, nanos atomic.Int64
	skippedSplits, skippedChunks      atomic.Int64
	memory                            atomic.Pointer[mem.Tracker]
}

func newProfile(root plan.Node, opt Options) *Profile {
	p := &Profile{root: root, nodes: map[plan.Node]*counters{}}
	if opt.Profile {
		p.clock = opt.Clock
		if p.clock == nil {
			p.clock = clock.Real()
		}
	}
	plan.Walk(root, func(n plan.Node) bool {
		p.nodes[n] = &counters{}
		return true
	})
	return p
}

// Operator is the profile of a node of the plan that was run.
func (p *Profile) Operator(n plan.Node) OperatorProfile {
	c := p.nodes[n]
	if c == nil {
		return OperatorProfile{}
	}
	o := OperatorProfile{RowsIn: c.rowsIn.Load(), RowsOut: c.rowsOut.Load(),
		ChunksOut: c.chunksOut.Load(), SkippedSplits: c.skippedSplits.Load(), SkippedChunks: c.skippedChunks.Load(), Time: time.Duration(c.nanos.Load())}
	if t := c.memory.Load(); t != nil {
		o.PeakBytes = t.Peak()
	}
	return o
}

func (p *Profile) now() time.Duration {
	if p.clock == nil {
		return 0
	}
	return p.clock.Mono()
}

// transform counts what a transform of the node takes and hands on.
func (p *Profile) transform(n plan.Node, t sched.Transform) sched.Transform {
	return &countedTransform{t: t, p: p, c: p.nodes[n]}
}

type countedTransform struct {
	t sched.Transform
	p *Profile
	c *counters
}

// Stage implements sched.Transform.
func (t *countedTransform) Stage(w *sched.Worker) (sched.Stage, error) {
	st, err := t.t.Stage(w)
	return &countedStage{st: st, p: t.p, c: t.c}, err
}

type countedStage struct {
	st sched.Stage
	p  *Profile
	c  *counters
}

// Push implements sched.Stage.
func (s *countedStage) Push(c *vec.Chunk, next sched.Next) error {
	s.c.rowsIn.Add(int64(c.Rows()))
	start, below := s.p.now(), time.Duration(0)
	err := s.st.Push(c, func(out *vec.Chunk) error {
		s.c.rowsOut.Add(int64(out.Rows()))
		s.c.chunksOut.Add(1)
		from := s.p.now()
		err := next(out)
		below += s.p.now() - from
		return err
	})
	s.c.nanos.Add(int64(s.p.now() - start - below))
	return err
}

// source counts what the leaf of the node hands out.
func (p *Profile) source(n plan.Node, open func(context.Context) (sched.Morsels, error)) func(context.Context) (sched.Morsels, error) {
	return func(ctx context.Context) (sched.Morsels, error) {
		start := p.now()
		m, err := open(ctx)
		if err != nil || m == nil {
			return nil, err
		}
		p.nodes[n].nanos.Add(int64(p.now() - start))
		return &countedSource{m: m, p: p, c: p.nodes[n]}, nil
	}
}

type countedSource struct {
	m sched.Morsels
	p *Profile
	c *counters
}

// Morsels is the number of chunks where the source knows it.
func (s *countedSource) Morsels() int {
	if l, ok := s.m.(interface{ Morsels() int }); ok {
		return l.Morsels()
	}
	return 1 << 30
}

// Next implements sched.Morsels.
func (s *countedSource) Next(ctx context.Context) (*vec.Chunk, error) {
	start := s.p.now()
	c, err := s.m.Next(ctx)
	s.c.nanos.Add(int64(s.p.now() - start))
	if c != nil {
		s.c.rowsOut.Add(int64(c.Rows()))
		s.c.chunksOut.Add(1)
	}
	return c, err
}

// Close implements sched.Morsels.
func (s *countedSource) Close() error {
	if k, ok := s.m.(interface{ Skipped() (splits, chunks int64) }); ok {
		splits, chunks := k.Skipped()
		s.c.skippedSplits.Add(splits)
		s.c.skippedChunks.Add(chunks)
	}
	return s.m.Close()
}

// sink counts what a sink of the node takes.
func (p *Profile) sink(n plan.Node, s sched.Sink) sched.Sink {
	return &countedSink{s: s, p: p, c: p.nodes[n]}
}

type countedSink struct {
	s sched.Sink
	p *Profile
	c *counters
}

// Local implements sched.Sink.
func (s *countedSink) Local(w *sched.Worker) (sched.Local, error) {
	l, err := s.s.Local(w)
	return &countedLocal{Local: l, p: s.p, c: s.c}, err
}

// Finalize implements sched.Sink.
func (s *countedSink) Finalize(w *sched.Worker) error {
	start := s.p.now()
	err := s.s.Finalize(w)
	s.c.nanos.Add(int64(s.p.now() - start))
	return err
}

type countedLocal struct {
	sched.Local
	p *Profile
	c *counters
}

// Push implements sched.Local.
func (l *countedLocal) Push(c *vec.Chunk, pos sched.Pos) error {
	l.c.rowsIn.Add(int64(c.Rows()))
	start := l.p.now()
	err := l.Local.Push(c, pos)
	l.c.nanos.Add(int64(l.p.now() - start))
	return err
}

// skipped prints what was passed over; "" where nothing was.
func (o *OperatorProfile) skipped() string {
	var parts []string
	if o.SkippedSplits > 0 {
		parts = append(parts, fail.Count(o.SkippedSplits, "split"))
	}
	if o.SkippedChunks > 0 {
		parts = append(parts, fail.Count(o.SkippedChunks, "chunk"))
	}
	if parts == nil {
		return ""
	}
	return " skipped=[" + strings.Join(parts, ", ") + "]"
}

// Render prints the plan that was run as EXPLAIN ANALYZE shows it: each operator
// with its rows (out, expected if the estimate is given, and in), chunks, what it passed
// over, peak memory and, when it was measured, its own time summed over workers.
func (p *Profile) Render(expected func(plan.Node) float64) []string {
	return plan.ExplainWith(p.root, func(n plan.Node) string {
		o := p.Operator(n)
		s := fmt.Sprintf("(rows=%d", o.RowsOut)
		if expected != nil {
			s += " expected" + plan.About(expected(n))
		}
		if len(n.Children()) > 0 {
			s += fmt.Sprintf(" in=%d", o.RowsIn)
		}
		s += fmt.Sprintf(" chunks=%d", o.ChunksOut)
		s += o.skipped()
		if o.PeakBytes > 0 {
			s += " memory=" + mem.FormatBytes(o.PeakBytes)
		}
		if p.clock != nil {
			s += fmt.Sprintf(" time=%s", o.Time.Round(time.Microsecond))
		}
		return s + ")"
	})
}
