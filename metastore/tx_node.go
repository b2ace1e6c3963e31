package metastore

import (
	"context"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// A node shows that it lives every NodeBeat, and counts as dead NodeTTL after its
// last sign of life.
const (
	NodeBeat = 5 * time.Second
	NodeTTL  = 15 * time.Second
)

// maxSkew is how far the wall clock of a node that starts may be from the clock of
// nodes that live.
const maxSkew = time.Minute

// Node is a process that serves from the metastore.
type Node struct {
	ID        string // ULID, new with each start
	Endpoint  string // where clients reach it
	Version   string // of Loam
	StartedMS int64  // metastore clock
	SeenMS    int64  // its last sign of life, metastore clock
	Live      bool   // less than NodeTTL ago; not stored
}

func nodeKey(id string) string { return prefixNode + id }

func encodeNode(n Node) []byte {
	e := newEnc()
	e.str(n.ID)
	e.str(n.Endpoint)
	e.str(n.Version)
	e.int(n.StartedMS)
	e.int(n.SeenMS)
	return e.b
}

func decodeNode(r row) (Node, error) {
	d := newDec(r)
	n := Node{ID: d.str(), Endpoint: d.str(), Version: d.str(), StartedMS: d.int(), SeenMS: d.int()}
	return n, d.end()
}

// KeepNode implements [Store].
func (s *db) KeepNode(ctx context.Context, n Node) error {
	if err := checkName("node", n.ID); err != nil {
		return err
	}
	return s.update(ctx, "keep_node", func(t *tx) error {
		key := nodeKey(n.ID)
		if err := t.load(key, keyClock); err != nil {
			return err
		}
		now, err := s.stamp(t)
		if err != nil {
			return err
		}
		n.StartedMS, n.SeenMS = now/1000, now/1000
		if r, ok := t.get(key); ok {
			was, err := decodeNode(r)
			if err != nil {
				return err
			}
			n.StartedMS = was.StartedMS
		}
		t.put(key, encodeNode(n))
		return nil
	})
}

// DropNode implements [Store].
func (s *db) DropNode(ctx context.Context, id string) error {
	return s.update(ctx, "drop_node", func(t *tx) error {
		t.del(nodeKey(id))
		return nil
	})
}

// Nodes implements [Store].
func (s *db) Nodes(ctx context.Context) ([]Node, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	rows, _, err := s.read(ctx, prefixSpan(prefixNode))
	if err != nil {
		return nil, err
	}
	out := make([]Node, len(rows[0]))
	for i, r := range rows[0] {
		if out[i], err = decodeNode(r); err != nil {
			return nil, err
		}
		out[i].Live = now-out[i].SeenMS < NodeTTL.Milliseconds()
	}
	return out, nil
}

// checkClock refuses a node whose wall clock is far from the clock of nodes that
// live. Whether they do is seen by the clock row, which they move: rows alone may be
// those of nodes that were killed together.
func (s *db) checkClock(ctx context.Context) error {
	bound, seen, err := s.lastSign(ctx)
	if err != nil || !seen {
		return err
	}
	skew := s.clk.Now().Sub(time.UnixMicro(bound))
	if skew.Abs() <= maxSkew {
		return nil
	}
	for waited := time.Duration(0); waited <= 2*NodeBeat; waited += NodeBeat / 5 {
		if err := s.clk.Sleep(ctx, NodeBeat/5); err != nil {
			return fail.Ended(ctx, "the start of the node")
		}
		now, _, err := s.lastSign(ctx)
		if err != nil {
			return err
		}
		if now != bound {
			where := "ahead of"
			if skew < 0 {
				where = "behind"
			}
			return fail.New(fail.InvalidParameter, "the clock of this machine is %s %s that of the other nodes", skew.Abs().Round(time.Second), where).
				WithHint("Set it, for instance by NTP, and start again.")
		}
	}
	return nil
}

// lastSign is the clock row, and whether there are nodes that it does not call dead.
func (s *db) lastSign(ctx context.Context) (bound int64, seen bool, err error) {
	rows, _, err := s.read(ctx, keySpan(keyClock), prefixSpan(prefixNode))
	if err != nil || len(rows[0]) == 0 {
		return 0, false, err
	}
	v, err := decodeUint(rows[0][0])
	if err != nil {
		return 0, false, err
	}
	for _, r := range rows[1] {
		n, err := decodeNode(r)
		if err != nil {
			return 0, false, err
		}
		seen = seen || int64(v)/1000-n.SeenMS < NodeTTL.Milliseconds()
	}
	return int64(v), seen, nil
}
