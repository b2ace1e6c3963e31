package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

// childEnv holds an order as JSON; a test binary that finds it is a child.
const childEnv = "LOAM_CRASH_CHILD"

// order tells a child what to do.
type order struct {
	Dir   string
	Store loam.StoreConfig
	// Acked is the last acknowledged statement of each writer.
	Acked []int
	// Producers, when there are any, are served instead of the writers of statements.
	Producers []stage
	// VerifyOnly ends the child after the checks, in peace.
	VerifyOnly bool
	// Phase, if not empty, is where the child stops and waits to be killed, at the
	// call number Skip of that phase after the load began, at Point of it.
	Phase string
	Point point
	Skip  int
	Seed  uint64
}

// point is a place within a phase.
type point int

const (
	before point = iota // nothing has happened yet
	during              // the call runs while the kill is on its way
	behind              // all has happened, the reply is not given
)

// phases are the steps of a write, by what announces them.
var phases = []string{"append", "sequence", "apply", "commit"}

func TestMain(m *testing.M) {
	if text := os.Getenv(childEnv); text != "" {
		os.Exit(beChild(text))
	}
	if text := os.Getenv(linkChildEnv); text != "" {
		os.Exit(beLinkChild(text))
	}
	os.Exit(m.Run())
}

// child is the process that will be killed.
type child struct {
	order
	mu  sync.Mutex // guards the field below
	out *os.File

	gate gate
}

// say sends a line to the parent.
func (c *child) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = fmt.Fprintf(c.out, format+"\n", args...)
}

func beChild(text string) int {
	c := &child{out: os.NewFile(3, "parent")}
	if err := json.Unmarshal([]byte(text), &c.order); err != nil {
		c.say("error %v", err)
		return 1
	}
	if err := c.run(context.Background()); err != nil {
		c.say("error %s", strings.ReplaceAll(err.Error(), "\n", " "))
		return 1
	}
	c.say("end")
	return 0
}

func (c *child) run(ctx context.Context) error {
	e, err := loam.Open(ctx, loam.Config{
		Dir: c.Dir, Store: c.Store,
		Collection: collection.Options{ApplyRows: 200, BatchInterval: 50 * time.Millisecond, MaxBatchInterval: 200 * time.Millisecond, MaxSplits: 4, MinFragment: 1, MaxDeleted: 50},
		WrapStore:  func(s object.Store) object.Store { return &watchedStore{s, c} },
		WrapMeta:   func(s metastore.Store) metastore.Store { return &watchedMeta{s, c} },
		OnError:    func(task string, err error) { c.say("problem wrong background task %s: %v", task, err) },
	})
	if err != nil {
		return err
	}
	defer func() { _ = e.Close() }()
	c.say("open")
	if len(c.Producers) > 0 {
		return c.serveStreams(ctx, e)
	}
	r := reader{ctx, e.NewSession(loam.SessionConfig{})}
	for i, sql := range ddl {
		if _, err := r.rows(strings.Replace(sql, objects[i], "IF NOT EXISTS "+objects[i], 1)); err != nil {
			return err
		}
	}
	reached, problems, err := r.verify(c.Acked)
	if err != nil {
		return err
	}
	for _, p := range problems {
		c.say("problem %s %s", p.kind, p.text)
	}
	for w, s := range reached {
		c.say("reached %d %d", w, s)
	}
	c.say("verified")
	if c.VerifyOnly || len(problems) > 0 {
		return nil
	}
	c.load(ctx, e, reached)
	return nil
}

// load writes and reads until the process is killed.
func (c *child) load(ctx context.Context, e *loam.Engine, from []int) {
	c.gate.arm(c.Phase, c.Skip)
	var all sync.WaitGroup
	tracks := make([]*track, writers)
	for w := range writers {
		tracks[w] = &track{first: from[w], acked: from[w]}
		all.Go(func() { c.write(ctx, e, w, tracks[w]) })
	}
	for i := range 2 {
		all.Go(func() { c.read(ctx, e, tracks, c.Seed+uint64(i)) })
	}
	all.Wait()
}

// track is what a writer has done, for the readers of the same process.
type track struct {
	mu    sync.Mutex // guards the fields below
	first int        // the statement before worlds[0]
	// worlds are the rows after each statement that was begun.
	worlds [][]string
	acked  int
}

func (t *track) begin(world []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.worlds = append(t.worlds, world)
}

func (t *track) done(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.acked = n
}

// last is the last acknowledged statement.
func (t *track) last() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.acked
}

// explain says why rows that were read are none of those that count: after a
// statement from number low on, of those begun so far. Empty when they are.
func (t *track) explain(low int, got []string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	allowed := t.worlds[min(len(t.worlds), max(0, low-t.first)):]
	if len(allowed) == 0 || slices.ContainsFunc(allowed, func(world []string) bool { return slices.Equal(world, got) }) {
		return ""
	}
	return fmt.Sprintf("statements %d to %d: against the first %s; against the last %s", low, low+len(allowed)-1,
		difference(allowed[0], got), difference(allowed[len(allowed)-1], got))
}

// writes sends a writer's statements to the end of the context or to an error,
// which it returns; acked is told of each acknowledgement.
func (t *track) writes(ctx context.Context, e *loam.Engine, w int, acked func(statement)) error {
	s := e.NewSession(loam.SessionConfig{})
	have := after(w, t.first)
	t.begin(have.lines(w))
	for n := t.first + 1; ctx.Err() == nil; n++ {
		st := next(w, n, have)
		t.begin(st.after.lines(w))
		if err := send(context.WithoutCancel(ctx), s, w, st); err != nil {
			return fmt.Errorf("writer %d statement %d: %w", w, n, err)
		}
		have = st.after
		t.done(n)
		acked(st)
	}
	return nil
}

func (c *child) write(ctx context.Context, e *loam.Engine, w int, t *track) {
	err := t.writes(ctx, e, w, func(st statement) { c.say("ack %d %d %d", w, st.number, st.rows) })
	if fail.Is(err, fail.Unavailable) {
		c.say("stopped %v", err) // a store that gives no answer ends a writer, and with all of them the load
	} else if err != nil {
		c.say("problem wrong %v", err)
	}
}

// send runs a statement and checks the count that it answers with.
func send(ctx context.Context, s *loam.Session, w int, st statement) error {
	if len(st.docs) > 0 {
		_, err := s.AppendDocuments(ctx, loam.Target{Name: target(w)}, st.docs)
		return err
	}
	res, err := s.Query(ctx, st.sql)
	if err != nil {
		return fmt.Errorf("%s: %w", st.sql, err)
	}
	if res.Affected != int64(st.rows) {
		return fmt.Errorf("%s: %d rows affected, want %d", st.sql, res.Affected, st.rows)
	}
	return res.Close()
}

// read checks, while writers write, that a strong read shows the rows of a writer
// as they were after one of the statements that may count: not before what was
// acknowledged when the read began, not after what was begun when it ended.
func (c *child) read(ctx context.Context, e *loam.Engine, tracks []*track, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	r := reader{ctx, e.NewSession(loam.SessionConfig{})}
	for {
		w := rng.IntN(writers)
		low := tracks[w].last()
		got, err := r.written(target(w), w)
		if err != nil {
			c.say("problem wrong read: %v", err)
			return
		}
		if why := tracks[w].explain(low, got); why != "" {
			c.say("problem wrong live read of writer %d, %s", w, why)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
