package metastore

import (
	"testing"

	"github.com/loamdb/loam/internal/fail"
)

// Blocks of a group are appended all or none, also over partitions.
func TestAppendGroups(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 3)
		r.add(o, 1, 4)
		stale := uint64(3)
		block := func(p, group int, expect *uint64) AppendBlock {
			b := r.block(o, p, 1)
			b.Group, b.Expect = group, expect
			return b
		}
		res := must(r.Append(ctx, []AppendBlock{
			block(0, 1, nil), block(1, 1, &stale), // the second cannot be
			block(0, 2, nil), block(2, 0, nil), block(0, 2, nil), // in the place of the first
			block(0, 0, nil),
		}))(t)
		wantCode(t, res[0].Err, fail.Conflict)
		wantCode(t, res[1].Err, fail.Conflict)
		for i, base := range map[int]uint64{2: 0, 3: 0, 4: 1, 5: 2} {
			if res[i].Err != nil || res[i].Base != base {
				t.Errorf("block %d: %+v, want offset %d", i, res[i], base)
			}
		}
		for p, next := range []uint64{3, 4, 1} {
			if got := r.part(o, p).Next; got != next {
				t.Errorf("partition %d is at %d, want %d", p, got, next)
			}
		}
	})
}

// A group whose last block finds the row full leaves nothing behind, also where
// its own blocks fill the row.
func TestAppendGroupFullRow(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		o := r.create("docs", 2)
		for range MaxInlineRefs - 1 {
			r.add(o, 1, 1)
		}
		blocks := []AppendBlock{r.block(o, 0, 1), r.block(o, 1, 1), r.block(o, 1, 1)}
		for i := range blocks {
			blocks[i].Group = 7
		}
		for _, res := range must(r.Append(ctx, blocks))(t) {
			wantCode(t, res.Err, fail.BacklogFull)
		}
		if a, b := r.part(o, 0), r.part(o, 1); a.Next != 0 || b.Next != MaxInlineRefs-1 {
			t.Fatalf("%d %d", a.Next, b.Next)
		}
		for i, res := range must(r.Append(ctx, blocks[:2]))(t) {
			if res.Err != nil {
				t.Fatalf("block %d: %v", i, res.Err)
			}
		}
	})
}
