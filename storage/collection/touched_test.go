package collection

import (
	"context"
	"fmt"
	"testing"

	"github.com/loamdb/loam/internal/fail"
)

// A conditional write fails when one of its keys has been written or deleted since
// its snapshot, wherever the rows lie by then, and only then.
func TestAppendIfSeesWhatChanged(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		change   func(b *bench)
		conflict bool
	}{
		"nothing":                {func(*bench) {}, false},
		"its row, written":       {func(b *bench) { b.add(b.someRows(0, 1)) }, true},
		"its row, deleted":       {func(b *bench) { b.add(DeleteKeys(b.obj, []string{"k000"})) }, true},
		"a new row in its place": {func(b *bench) { b.add(DeleteKeys(b.obj, []string{"k000"})); b.add(b.someRows(0, 1)) }, true},
		"other rows":             {func(b *bench) { b.add(b.someRows(1, 2)); b.add(DeleteKeys(b.obj, []string{"k003"})) }, false},
		"its absent key, made":   {func(b *bench) { b.add(b.someRows(9, 1)) }, true},
	} {
		for where := range 5 { // tail; applied after; before; before and merged after; on both sides
			t.Run(fmt.Sprintf("%s/%d", name, where), func(t *testing.T) {
				b := newBench(t, docsObject(2), Options{MaxSplits: 1, MinFragment: 1})
				b.add(b.someRows(0, 5))
				if where >= 2 {
					b.must(b.c.Apply(ctx, nil))
				}
				base := b.strong()
				c.change(b)
				b.add(b.someRows(20, 1)) // some partition always moves
				b.add(b.someRows(21, 6))
				if where == 1 || where == 4 || where == 3 {
					b.must(b.c.Apply(ctx, nil))
				}
				if where == 3 {
					b.must(b.c.Merge(ctx, nil))
				}
				rows, err := FromDocuments(b.obj, [][]byte{doc{id: "k000", body: "x", emb: make([]float32, 4)}.json(), doc{id: "k009", body: "y", emb: make([]float32, 4)}.json()})
				b.must(err)
				if _, err := b.c.AppendIf(ctx, rows, base); fail.Is(err, fail.Conflict) != c.conflict || err != nil && !c.conflict {
					t.Errorf("conflict is %v, want %v: %v", err, c.conflict, err)
				}
			})
		}
	}
}

func (b *bench) add(r *Rows) {
	b.t.Helper()
	_, err := b.c.Append(context.Background(), r)
	b.must(err)
}
