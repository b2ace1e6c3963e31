package collection

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// someRows are n documents, which fall into all partitions.
func (b *bench) someRows(from, n int) *Rows {
	b.t.Helper()
	var docs [][]byte
	for i := range n {
		docs = append(docs, doc{id: fmt.Sprintf("k%03d", from+i), body: "red stone", year: 2000 + i, emb: []float32{1, 2, 3, 4}}.json())
	}
	rows, err := FromDocuments(b.obj, docs)
	b.must(err)
	return rows
}

// racing is a metastore beside which something happens right after a read of heads.
type racing struct {
	metastore.Store
	then func()
}

func (r *racing) Heads(ctx context.Context, id uint64) (metastore.Head, []metastore.PartitionState, int64, error) {
	h, parts, rev, err := r.Store.Heads(ctx, id)
	r.race()
	return h, parts, rev, err
}

func (r *racing) Snapshot(ctx context.Context, ids []uint64) (metastore.Snapshot, error) {
	s, err := r.Store.Snapshot(ctx, ids)
	r.race()
	return s, err
}

// race does what comes between the read of an object and what is made of it.
func (r *racing) race() {
	if f := r.then; f != nil {
		r.then = nil
		f()
	}
}

// A statement that is sequenced while an apply begins, and whose records reach the
// tails one partition after the other, is in a manifest whole or not at all; and so
// it is for a reader whose snapshot the commit passes.
func TestApplyTakesWholeStatements(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(3), Options{})
	meta := &racing{Store: b.deps.Meta}
	b.deps.Meta = meta
	b.open()
	if _, err := b.c.Append(ctx, b.someRows(0, 5)); err != nil {
		t.Fatal(err)
	}
	head, parts, _, err := meta.Heads(ctx, b.obj.ID) // a reader begins
	b.must(err)
	meta.then = func() {
		blocks, err := b.c.blocks(b.obj, b.someRows(100, 40))
		b.must(err)
		results, err := b.deps.Log.Append(ctx, logBlocks(blocks))
		b.must(err)
		// The writer is slow: one partition has its records, the others have not.
		p, base := blocks[0].log.Partition, results[0].Base
		rec, err := decodePayload(b.obj, p, base, blocks[0].log.Payload)
		b.must(err)
		b.must(b.c.publish(p, base, rec, results[0].TS, blocks[0].log.Bytes))
	}
	b.must(b.c.Apply(ctx, nil))
	snap, err := b.c.At(ctx, head, parts)
	b.must(err)
	if n := snap.Count(); n != 5 && n != 45 {
		t.Errorf("the reader sees %d rows, want 5 or 45", n)
	}
	for v := range snap.Version() + 1 {
		snap, err := b.c.Version(ctx, v)
		b.must(err)
		if n := snap.Count(); n != 0 && n != 5 && n != 45 {
			t.Errorf("version %d has %d rows, want 0, 5 or 45", v, n)
		}
	}
	if n := b.strong().Count(); n != 45 {
		t.Errorf("%d rows, want 45", n)
	}
}

// lostReply is a metastore whose next commits take effect and lose their reply.
type lostReply struct {
	metastore.Store
	n int
}

func (l *lostReply) Commit(ctx context.Context, req metastore.CommitRequest) (metastore.Head, error) {
	h, err := l.Store.Commit(ctx, req)
	if err == nil && l.n > 0 {
		l.n--
		return metastore.Head{}, fail.New(fail.CommitUnknown, "the reply was lost")
	}
	return h, err
}

// After a commit of unknown outcome that did take effect, apply and merge go on
// without the help of a reader.
func TestApplyGoesOnAfterUnknownCommit(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 1})
	meta := &lostReply{Store: b.deps.Meta}
	b.deps.Meta = meta
	b.open()
	n := 0
	write := func() {
		if _, err := b.c.Append(ctx, b.someRows(n, 10)); err != nil {
			t.Fatal(err)
		}
		n += 10
	}
	write()
	meta.n = 1
	if err := b.c.Apply(ctx, nil); !fail.Is(err, fail.CommitUnknown) {
		t.Fatal(err)
	}
	write()
	b.must(b.c.Apply(ctx, nil))
	meta.n = 1
	if err := b.c.Merge(ctx, nil); !fail.Is(err, fail.CommitUnknown) {
		t.Fatal(err)
	}
	write()
	b.must(b.c.Apply(ctx, nil))
	meta.n = 1
	write()
	if err := b.c.Apply(ctx, nil); !fail.Is(err, fail.CommitUnknown) {
		t.Fatal(err)
	}
	b.must(b.c.Merge(ctx, nil))
	if got := b.strong().Count(); got != int64(n) {
		t.Fatalf("%d rows, want %d", got, n)
	}
	b.open()
	if got := b.strong().Count(); got != int64(n) {
		t.Fatalf("after the restart %d rows, want %d", got, n)
	}
}

// An apply that failed is due again, though nothing more is written.
func TestFailedApplyIsDueAgain(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{BatchInterval: time.Millisecond})
	faulty := object.NewFaulty(b.deps.Objects, b.deps.Clock)
	b.deps.Objects = faulty
	b.open()
	if _, err := b.c.Append(ctx, b.someRows(0, 10)); err != nil {
		t.Fatal(err)
	}
	faulty.Add(object.Fault{Op: object.OpPut, Prefix: "objects/", Kind: object.FailBefore})
	if err := b.c.Apply(ctx, nil); err == nil {
		t.Fatal("the apply does not fail")
	}
	faulty.Clear()
	time.Sleep(5 * time.Millisecond)
	if !b.c.Due() {
		t.Fatal("the records wait, and no apply is due")
	}
	b.must(b.c.Apply(ctx, nil))
	if b.c.Due() || b.strong().Count() != 10 {
		t.Fatalf("due %v, %d rows", b.c.Due(), b.strong().Count())
	}
}
