package loam

import (
	"context"
	"time"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
)

// stateKey names a state within one statement: the object, and the clause that
// chooses the state, "" for the current one.
type stateKey struct {
	id uint64
	at string
}

// snapshots are the states that one statement reads.
type snapshots map[stateKey]*collection.Snapshot

// leaf is a state that a plan reads.
type leaf struct {
	id uint64
	at *plan.At
}

func (l leaf) key() stateKey { return stateKey{l.id, l.at.String()} }

// leavesOf lists the states that a plan reads, each once, in order of first use.
func leavesOf(root plan.Node) []leaf {
	var out []leaf
	seen := map[stateKey]bool{}
	plan.Walk(root, func(n plan.Node) bool {
		var l leaf
		switch x := n.(type) {
		case *plan.Scan:
			l = leaf{x.Object.ID, x.At}
		case *plan.SearchScan:
			l = leaf{x.Object.ID, x.At}
		default:
			return true
		}
		if !seen[l.key()] {
			seen[l.key()] = true
			out = append(out, l)
		}
		return true
	})
	return out
}

// pin takes a snapshot of every state that the plan reads: the current ones all at
// one revision of the metastore, the past ones as of it.
func (s *Session) pin(ctx context.Context, root plan.Node) (Pin, snapshots, error) {
	e := s.engine
	now, err := e.meta.Now(ctx)
	if err != nil {
		return Pin{}, nil, err
	}
	p, snaps := Pin{NowMicros: now * 1000}, snapshots{}
	leaves := leavesOf(root)
	past := make([]moment, len(leaves))
	var ids []uint64
	place := map[uint64]int{}
	for i, l := range leaves {
		if past[i], err = s.moment(ctx, l, now); err != nil {
			return Pin{}, nil, l.located(err)
		}
		if _, ok := place[l.id]; !ok {
			place[l.id] = len(ids)
			ids = append(ids, l.id)
		}
	}
	if len(ids) == 0 {
		return p, snaps, nil
	}
	states, err := e.meta.Snapshot(ctx, ids)
	if err != nil {
		return Pin{}, nil, err
	}
	for i, l := range leaves {
		snap, err := e.snapshot(ctx, l, past[i], states.Objects[place[l.id]])
		if err != nil {
			return Pin{}, nil, l.located(err)
		}
		snaps[l.key()] = snap
		o := objectPin(snap)
		o.At = l.at.String()
		p.Objects = append(p.Objects, o)
	}
	return p, snaps, nil
}

// located places an error of finding a state at its AT.
func (l leaf) located(err error) error {
	if l.at == nil {
		return err
	}
	return fail.Located(err, l.at.Offset)
}

// snapshot opens a leaf's state, where the object is at one revision.
func (e *Engine) snapshot(ctx context.Context, l leaf, m moment, at metastore.ObjectState) (*collection.Snapshot, error) {
	c, err := e.byID(ctx, l.id)
	if err != nil {
		return nil, err
	}
	if l.at == nil {
		return c.At(ctx, at.Head, at.Partitions)
	}
	p, err := m.point(ctx, c, at.Head)
	if err != nil {
		return nil, err
	}
	return c.Pinned(ctx, p.Version, p.Bounds)
}

// moment is the value of an AT: what its kind asks for is set.
type moment struct {
	kind    plan.AtKind
	version uint64
	tag     string
	token   snapshot.Token
	ms      int64 // UTC
}

// moment evaluates a leaf's AT; a token is waited for.
func (s *Session) moment(ctx context.Context, l leaf, nowMS int64) (moment, error) {
	if l.at == nil {
		return moment{}, nil
	}
	env := &expr.Env{Ctx: ctx, Now: time.UnixMilli(nowMS).UTC(), Namespace: s.Namespace(), User: s.user}
	v, err := expr.EvalConst(env, l.at.Value)
	if err != nil {
		return moment{}, err
	}
	m, err := newMoment(l.at.Kind, v)
	if err == nil && m.kind == plan.AtToken {
		err = s.waitToken(ctx, l.id, m.token)
	}
	return m, err
}

func newMoment(kind plan.AtKind, v vec.Value) (moment, error) {
	m := moment{kind: kind}
	var err error
	switch {
	case v.Null:
		return m, fail.New(fail.InvalidParameter, "AT (%s => NULL) names no state", kind)
	case kind == plan.AtVersion && v.Int < 0:
		return m, fail.New(fail.InvalidParameter, "there is no version %d", v.Int).WithHint("Versions count from 1; version 0 is the empty object.")
	case kind == plan.AtVersion:
		m.version = uint64(v.Int)
	case kind == plan.AtTag:
		m.tag = v.Str
	case kind == plan.AtToken:
		m.token, err = snapshot.ParseToken(v.Str)
	default:
		m.ms = time.UnixMicro(v.Int).UnixMilli()
	}
	return m, err
}

// waitToken waits until the object has what the token covers.
func (s *Session) waitToken(ctx context.Context, id uint64, t snapshot.Token) error {
	c, err := s.engine.byID(ctx, id)
	if err != nil {
		return err
	}
	return c.WaitToken(ctx, t, tokenWait)
}

// point finds the state in the object's past.
func (m moment) point(ctx context.Context, c *collection.Collection, head metastore.Head) (collection.Point, error) {
	switch m.kind {
	case plan.AtVersion:
		return c.AtVersion(ctx, head, m.version)
	case plan.AtTag:
		return c.AtTag(ctx, m.tag)
	case plan.AtToken:
		return c.AtToken(ctx, head, m.token)
	}
	return c.AtTime(ctx, head, m.ms)
}
