package history

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

var errOff = fail.New(fail.Unavailable, "the machine is off")

// meteredMeta is a node's metastore: calls take time, and what heads and leases
// went through is noted.
type meteredMeta struct {
	metastore.Store
	i *instance
}

func (m *meteredMeta) wait() { m.i.n.pause(2 * time.Millisecond) }

func (m *meteredMeta) Heads(ctx context.Context, id uint64) (metastore.Head, []metastore.PartitionState, int64, error) {
	w := m.i.n.w
	call := w.tick()
	h, parts, rev, err := m.Store.Heads(ctx, id)
	if err == nil {
		ops := []op{{kind: opHead, part: "head", number: int64(h.Version), who: m.i.owner}}
		for p := range parts {
			ops = append(ops, op{kind: opTail, part: logName(p), number: int64(parts[p].Next), who: m.i.owner})
		}
		w.note(call, ops...)
	}
	m.wait()
	return h, parts, rev, err
}

func (m *meteredMeta) Now(ctx context.Context) (int64, error) {
	ms, err := m.Store.Now(ctx)
	w := m.i.n.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = max(w.latest, ms)
	return ms, err
}

func (m *meteredMeta) Append(ctx context.Context, blocks []metastore.AppendBlock) ([]metastore.AppendResult, error) {
	m.wait()
	res, err := m.Store.Append(ctx, blocks)
	m.wait()
	return res, err
}

func (m *meteredMeta) Commit(ctx context.Context, req metastore.CommitRequest) (metastore.Head, error) {
	w := m.i.n.w
	m.wait()
	w.capture()
	o := op{kind: opCommit, part: "head", number: int64(req.Head.Version), from: int64(req.ExpectVersion), commit: req.Head.CommitID, who: m.i.owner}
	if len(req.Fences) > 0 {
		o.epoch = req.Fences[0].Epoch
	}
	call := w.tick()
	h, err := m.Store.Commit(ctx, req)
	if o.unknown = fail.Is(err, fail.CommitUnknown); err == nil || o.unknown {
		w.note(call, o)
	}
	if err == nil {
		w.committed(req.Head)
	}
	m.wait()
	return h, err
}

func (m *meteredMeta) MoveRefs(ctx context.Context, id uint64, p int, upTo uint64, key, expect string) error {
	m.i.n.w.capture()
	m.wait()
	return m.Store.MoveRefs(ctx, id, p, upTo, key, expect)
}

// lease notes what became of an operation on a lease.
func (m *meteredMeta) lease(call int64, k kind, epoch uint64, err error) {
	o := op{kind: k, part: "head", epoch: epoch, unknown: fail.Is(err, fail.CommitUnknown), who: m.i.owner}
	if err == nil || o.unknown && k == opRelease {
		m.i.n.w.note(call, o)
	}
}

func (m *meteredMeta) AcquireLease(ctx context.Context, key, owner string, ttl time.Duration) (metastore.Lease, error) {
	m.wait()
	call := m.i.n.w.tick()
	l, err := m.Store.AcquireLease(ctx, key, owner, ttl)
	if err == nil { // an unknown one is an epoch that nobody uses
		m.lease(call, opAcquire, l.Epoch, nil)
	}
	m.wait()
	return l, err
}

func (m *meteredMeta) RenewLease(ctx context.Context, l metastore.Lease, ttl time.Duration) (metastore.Lease, error) {
	call := m.i.n.w.tick()
	next, err := m.Store.RenewLease(ctx, l, ttl)
	m.lease(call, opRenew, l.Epoch, err)
	m.wait()
	return next, err
}

func (m *meteredMeta) ReleaseLease(ctx context.Context, l metastore.Lease) error {
	m.wait()
	call := m.i.n.w.tick()
	err := m.Store.ReleaseLease(ctx, l)
	m.lease(call, opRelease, l.Epoch, err)
	return err
}

// meteredStore is a node's object store: what is written takes time, and a machine
// that is off reaches nothing.
type meteredStore struct {
	object.Store
	i *instance
}

func (s *meteredStore) write() error {
	s.i.n.pause(3 * time.Millisecond)
	return s.read()
}

func (s *meteredStore) read() error {
	if s.i.dead() {
		return errOff
	}
	return nil
}

func (s *meteredStore) Put(ctx context.Context, key string, body []byte, opt object.PutOptions) (object.Info, error) {
	if err := s.write(); err != nil {
		return object.Info{}, err
	}
	return s.Store.Put(ctx, key, body, opt)
}

func (s *meteredStore) Create(ctx context.Context, key string) (object.Writer, error) {
	if err := s.write(); err != nil {
		return nil, err
	}
	out, err := s.Store.Create(ctx, key)
	if err != nil {
		return nil, err
	}
	return &meteredWriter{out, s}, nil
}

type meteredWriter struct {
	object.Writer
	s *meteredStore
}

func (m *meteredWriter) Commit() (object.Info, error) {
	if err := m.s.write(); err != nil {
		m.Abort()
		return object.Info{}, err
	}
	return m.Writer.Commit()
}

func (s *meteredStore) Get(ctx context.Context, key string) ([]byte, error) {
	if err := s.read(); err != nil {
		return nil, err
	}
	return s.Store.Get(ctx, key)
}

func (s *meteredStore) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	if err := s.read(); err != nil {
		return nil, err
	}
	return s.Store.GetRange(ctx, key, off, n)
}

func (s *meteredStore) Open(ctx context.Context, key string) (object.Object, error) {
	if err := s.read(); err != nil {
		return nil, err
	}
	return s.Store.Open(ctx, key)
}

func (s *meteredStore) Delete(ctx context.Context, keys ...string) error {
	if err := s.write(); err != nil {
		return err
	}
	return s.Store.Delete(ctx, keys...)
}

// record is one entry of the log.
type record struct {
	key    string
	number int64 // 0: a delete
	ts     int64
}

func logName(p int) string { return "log" + string(rune('0'+p)) }

// capture copies what the log holds before a commit lets go of it.
func (w *world) capture() {
	head, parts, _, err := w.observer.Heads(context.Background(), w.obj.ID)
	if err != nil {
		w.violation("the observer: %v", err)
		return
	}
	w.mu.Lock()
	w.landed[head.CommitID] = true
	w.mu.Unlock()
	for p, part := range parts {
		for _, ref := range part.Refs {
			if !w.captured(p, ref.Base) {
				w.take(p, ref)
			}
		}
	}
}

func (w *world) captured(p int, base uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.log[p][base]
	return ok
}

// take reads one run of the log, by the pages docs/formats/wal.md and log-payload.md.
func (w *world) take(p int, ref metastore.Ref) {
	batches, err := w.reader.ReadBlock(context.Background(), ref)
	if err != nil {
		w.violation("%s at %d, sequenced: %v", logName(p), ref.Base, err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range batches {
		records, ok := make([]record, b.Records), true // those of a stream are read by its readers
		if w.obj.Kind == schema.Collection {
			records, ok = parsePayload(b.Payload)
		}
		if !ok || len(records) != int(b.Records) {
			w.wrong = append(w.wrong, "a batch of the log cannot be read")
			return
		}
		for i, r := range records {
			r.ts = b.TS
			w.log[p][b.Base+uint64(i)] = r
		}
	}
}

// parsePayload reads documents without vectors: their keys and the number n.
func parsePayload(b []byte) (out []record, ok bool) {
	defer func() { ok = ok && recover() == nil }()
	num := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	text := func() string {
		n := num()
		s := string(b[:n])
		b = b[n:]
		return s
	}
	if b[0] != 'D' || b[1] != 0 {
		return nil, false
	}
	b = b[2:]
	for range num() {
		deleted := b[0] == 1
		b = b[1:]
		r := record{key: text()}
		if !deleted {
			r.number = numberOf(text())
		}
		out = append(out, r)
	}
	return out, len(b) == 0
}
