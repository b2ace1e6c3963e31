package collection

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

// sweepLog deletes the whole log.
func (b *bench) sweepLog() {
	b.t.Helper()
	ctx := context.Background()
	for _, prefix := range []string{"wal/", "walx/"} {
		for info, err := range object.All(ctx, b.deps.Objects, prefix) {
			b.must(err)
			b.must(b.deps.Objects.Delete(ctx, info.Key))
		}
	}
}

// laterMeta calls then after the next Snapshot.
type laterMeta struct {
	metastore.Store
	then func()
}

func (m *laterMeta) Snapshot(ctx context.Context, ids []uint64) (metastore.Snapshot, error) {
	s, err := m.Store.Snapshot(ctx, ids)
	if then := m.then; then != nil {
		m.then = nil
		then()
	}
	return s, err
}

// TestApplyOfALogThatIsSwept: so it is for an apply, which finds nothing left to do.
func TestApplyOfALogThatIsSwept(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{})
	other, err := Open(ctx, b.deps, b.obj, b.opt)
	b.must(err)
	meta := &laterMeta{Store: b.deps.Meta}
	b.deps.Meta = meta
	b.open()
	_, err = other.Append(ctx, b.someRows(0, 3))
	b.must(err)
	meta.then = func() {
		b.must(other.Apply(ctx, nil))
		b.sweepLog()
	}
	b.must(b.c.Apply(ctx, nil))
	if n := b.strong().Count(); n != 3 || meta.then != nil {
		t.Errorf("%d rows, want 3", n)
	}
}

// TestReadersOfALogThatIsSwept: between the look at the head and the read of the log,
// another node applies the records and the log is swept, its segments or also the index
// of older ones. The reader finds the records in the splits. What was swept and not
// applied is an error, which names the object.
func TestReadersOfALogThatIsSwept(t *testing.T) {
	ctx := context.Background()
	for _, appends := range []int{3, 120} {
		t.Run(fmt.Sprint(appends, " appends"), func(t *testing.T) {
			b := newBench(t, docsObject(1), Options{})
			other, err := Open(ctx, b.deps, b.obj, b.opt)
			b.must(err)
			for i := range appends {
				_, err := other.Append(ctx, b.someRows(i, 1))
				b.must(err)
			}
			head, parts, _, err := b.deps.Meta.Heads(ctx, b.obj.ID)
			b.must(err)
			if index := parts[0].Overflow.IndexKey != ""; index != (appends > 100) {
				t.Fatalf("an index of older segments: %v", index)
			}
			b.must(other.Apply(ctx, nil))
			b.sweepLog()
			snap, err := b.c.At(ctx, head, parts)
			b.must(err)
			if n := snap.Count(); n != int64(appends) {
				t.Errorf("%d rows, want %d", n, appends)
			}
			_, err = other.Append(ctx, b.someRows(appends, 1))
			b.must(err)
			b.sweepLog()
			if _, err := b.c.Strong(ctx); !errors.Is(err, object.ErrNotFound) {
				t.Errorf("a record that is gone: %v", err)
			}
		})
	}
}
