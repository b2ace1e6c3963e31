package crash

import (
	"context"
	"strings"
	"sync"

	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// gate stops a child at a chosen call of a phase.
type gate struct {
	mu    sync.Mutex // guards the fields below
	phase string
	skip  int
}

func (g *gate) arm(phase string, skip int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.phase, g.skip = phase, skip
}

// take reports whether this call of the phase is the one to stop at.
func (g *gate) take(phase string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase != phase {
		return false
	}
	if g.skip > 0 {
		g.skip--
		return false
	}
	g.phase = ""
	return true
}

// enter runs a call that belongs to a phase. At the chosen call it tells the
// parent and lets nothing more out: the process ends here.
func (c *child) enter(phase string, call func()) {
	if !c.gate.take(phase) {
		call()
		return
	}
	switch c.Point {
	case before:
		c.say("phase %s", phase)
		select {}
	case during:
		c.say("phase %s", phase)
		call()
		select {}
	case behind:
		call()
		c.say("phase %s", phase)
		select {}
	}
}

// watchedStore announces what is written to the object store.
type watchedStore struct {
	object.Store
	c *child
}

func phaseOf(key string) string {
	if strings.HasPrefix(key, "wal/") {
		return "append"
	}
	return "apply"
}

func (s *watchedStore) Put(ctx context.Context, key string, body []byte, opt object.PutOptions) (info object.Info, err error) {
	s.c.enter(phaseOf(key), func() { info, err = s.Store.Put(ctx, key, body, opt) })
	return info, err
}

func (s *watchedStore) Create(ctx context.Context, key string) (object.Writer, error) {
	w, err := s.Store.Create(ctx, key)
	if err != nil {
		return nil, err
	}
	return &watchedWriter{w, s.c, phaseOf(key)}, nil
}

type watchedWriter struct {
	object.Writer
	c     *child
	phase string
}

func (w *watchedWriter) Write(p []byte) (n int, err error) {
	w.c.enter(w.phase, func() { n, err = w.Writer.Write(p) })
	return n, err
}

func (w *watchedWriter) Commit() (info object.Info, err error) {
	w.c.enter(w.phase, func() { info, err = w.Writer.Commit() })
	return info, err
}

// watchedMeta announces the two transactions that make data count.
type watchedMeta struct {
	metastore.Store
	c *child
}

func (m *watchedMeta) Append(ctx context.Context, blocks []metastore.AppendBlock) (res []metastore.AppendResult, err error) {
	m.c.enter("sequence", func() { res, err = m.Store.Append(ctx, blocks) })
	return res, err
}

func (m *watchedMeta) Commit(ctx context.Context, req metastore.CommitRequest) (h metastore.Head, err error) {
	m.c.enter("commit", func() { h, err = m.Store.Commit(ctx, req) })
	return h, err
}
