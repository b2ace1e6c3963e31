package loam

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// advNode is an engine whose calls of the stores may fail, or never return to a
// world that is still the same.
type advNode struct {
	a    *adversary
	name string
	e    *Engine
	s    *Session
	disk *object.Faulty
	dead bool
}

func (n *advNode) open() {
	n.disk = object.NewFaulty(n.a.store, n.a.clk)
	n.dead = false
	e, err := Open(context.Background(), Config{
		WrapStore: func(object.Store) object.Store { return n.disk },
		WrapMeta: func(own metastore.Store) metastore.Store {
			_ = own.Close()
			return &advMeta{Store: n.a.meta, n: n}
		},
	})
	if err != nil {
		n.a.fatal("%v", err)
	}
	e.pool.Close() // the round decides who works when
	n.e, n.s = e, e.NewSession(SessionConfig{User: n.name})
}

// restart closes the node and opens it again, as after kill -9 when it is dead.
func (n *advNode) restart() {
	_ = n.e.Close()
	n.open()
}

// advMeta is the metastore as a node reaches it.
type advMeta struct {
	metastore.Store
	n *advNode
}

// Close leaves the shared store open.
func (m *advMeta) Close() error { return nil }

// call is one call of a store: it may fail before or after it took effect, take so
// long that another worker comes in between, or be the node's last.
func (n *advNode) call(do func() error) error {
	a := n.a
	if n.dead {
		return errDead
	}
	if a.calm {
		return do()
	}
	switch a.rng.IntN(24) {
	case 0:
		return fail.New(fail.Unavailable, "the call was lost on its way")
	case 1:
		a.lost++
		if err := do(); err != nil {
			return err
		}
		return fail.New(fail.CommitUnknown, "the reply was lost")
	case 2:
		a.overtake(n)
	case 3:
		if a.rng.IntN(3) == 0 {
			n.die()
			return errDead
		}
	case 4:
		if a.rng.IntN(3) == 0 {
			if err := do(); err != nil {
				return err
			}
			n.die()
			return errDead
		}
	}
	err := do()
	if a.rng.IntN(24) == 0 {
		a.overtake(n)
	}
	return err
}

var errDead = fail.New(fail.Unavailable, "the node is dead")

func (n *advNode) die() {
	n.a.died++
	n.dead = true
	n.disk.Add(object.Fault{Kind: object.FailBefore})
}

// overtake lets the lease run out, and another node work on the link meanwhile, or
// drop it and make another.
func (a *adversary) overtake(n *advNode) {
	if a.nested >= 2 {
		return
	}
	a.paused++
	time.Sleep(2 * linkTTL)
	for _, other := range a.nodes {
		if other == n || other.dead {
			continue
		}
		if a.nested == 1 && a.rng.IntN(12) == 0 {
			a.faults.Clear() // statements run in peace
			a.through = other
			a.replace()
			a.through = nil
			return
		}
		other.work()
		return
	}
}

func (m *advMeta) Append(ctx context.Context, blocks []metastore.AppendBlock) (res []metastore.AppendResult, err error) {
	err = m.n.call(func() error { res, err = m.append(ctx, blocks); return err })
	if err != nil {
		return nil, err
	}
	for _, r := range res {
		if errors.Is(r.Err, metastore.ErrFenceLost) || errors.Is(r.Err, metastore.ErrLinkMoved) || errors.Is(r.Err, metastore.ErrLinkChanged) {
			m.n.a.refused++
			break
		}
	}
	return res, nil
}

// append does it right, or as the control says.
func (m *advMeta) append(ctx context.Context, blocks []metastore.AppendBlock) ([]metastore.AppendResult, error) {
	at := slices.IndexFunc(blocks, func(b metastore.AppendBlock) bool { return b.Advance != nil })
	if at < 0 || m.n.a.control == right {
		return m.Store.Append(ctx, blocks)
	}
	blocks = slices.Clone(blocks)
	adv := *blocks[at].Advance
	snap, err := m.Store.Snapshot(ctx, []uint64{adv.Target})
	if err != nil {
		return nil, err
	}
	adv.Fence, adv.Expect = metastore.Fence{}, nil
	for _, p := range snap.Objects[0].Progress {
		if p.Link == adv.Link {
			adv.Expect = p.Offsets
			for i := range adv.Next {
				adv.Next[i] = max(adv.Next[i], p.Offsets[i])
			}
		}
	}
	if m.n.a.control == unfenced {
		blocks[at].Advance = &adv
		return m.Store.Append(ctx, blocks)
	}
	advance := *blocks[at].Advance
	blocks[at].Advance = nil
	if blocks[at].Records == 0 {
		return m.Store.Append(ctx, []metastore.AppendBlock{{Advance: &advance}})
	}
	res, err := m.Store.Append(ctx, blocks)
	if err != nil {
		return res, err
	}
	err = m.n.call(func() error { return nil })
	if err == nil {
		var moved []metastore.AppendResult
		if moved, err = m.Store.Append(ctx, []metastore.AppendBlock{{Advance: &advance}}); err == nil {
			err = moved[0].Err
		}
	}
	return res, err
}

func (m *advMeta) Snapshot(ctx context.Context, ids []uint64) (s metastore.Snapshot, err error) {
	return s, m.n.call(func() error { s, err = m.Store.Snapshot(ctx, ids); return err })
}

func (m *advMeta) GetObjectByID(ctx context.Context, id uint64) (o metastore.Object, err error) {
	return o, m.n.call(func() error { o, err = m.Store.GetObjectByID(ctx, id); return err })
}

func (m *advMeta) AcquireLease(ctx context.Context, key, owner string, ttl time.Duration) (l metastore.Lease, err error) {
	return l, m.n.call(func() error { l, err = m.Store.AcquireLease(ctx, key, owner, ttl); return err })
}

func (m *advMeta) Commit(ctx context.Context, req metastore.CommitRequest) (h metastore.Head, err error) {
	return h, m.n.call(func() error { h, err = m.Store.Commit(ctx, req); return err })
}

// work lets the node take the link's lease and carry some batches.
func (n *advNode) work() {
	a := n.a
	a.nested++
	defer func() { a.nested-- }()
	ctx := context.Background()
	links, err := n.e.cat.Links(ctx, "")
	if err != nil || len(links) == 0 {
		return
	}
	obj := links[len(links)-1]
	lease, err := n.e.meta.AcquireLease(ctx, "task/"+linkLease(obj.ID), n.name, linkTTL)
	if err != nil {
		return
	}
	if obj, err = n.e.cat.ByID(ctx, obj.ID); err != nil || obj.Link.State != schema.LinkRunning {
		return
	}
	eager, def := *obj, *obj.Link
	def.BatchInterval = 0
	eager.Link = &def
	run := newLinkRun(&eager)
	for range 1 + a.rng.IntN(4) {
		end, err := n.e.linkBatch(ctx, run, []metastore.Fence{lease.Fence()})
		if err == nil && !end {
			a.batches++
		}
		if n.dead || end {
			break
		}
	}
	if a.rng.IntN(2) == 0 {
		_ = n.e.meta.ReleaseLease(ctx, lease)
	}
}
