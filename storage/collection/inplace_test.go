package collection

import (
	"context"
	"fmt"
	"testing"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/object"
)

// vectors are n values for a field of the tests, all the same.
func vectors(n int, x ...float32) []vec.Value {
	out := make([]vec.Value, n)
	for i := range out {
		out[i] = vec.VectorValue(x)
	}
	return out
}

// patchIf patches the keys on the state as it is.
func (b *bench) patchIf(keys []string, values map[string][]vec.Value) {
	b.t.Helper()
	_, err := b.c.AppendIf(context.Background(), b.patched(keys, values), b.strong())
	b.must(err)
}

func someKeys(from, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("k%03d", from+i)
	}
	return out
}

// fragments draws where the rows lie: of each fragment its id, live rows of all, and
// the Lance ids of its files.
func (b *bench) fragments() string {
	out := ""
	for _, s := range b.strong().manifest.Segments {
		for _, f := range s.Fragments {
			out += fmt.Sprintf("%d: %d/%d", f.ID, f.Rows-f.Deleted, f.Rows)
			for _, d := range f.Files {
				out += fmt.Sprint(" ", d.IDs)
			}
			out += "\n"
		}
	}
	return out
}

// What a patch does to a fragment of ten rows, by what else is in the fold.
func TestWhichPatchesStayInPlace(t *testing.T) {
	ctx := context.Background()
	const whole, moved = " [0 1 2 3 32]", " [0 1 2 3 32 40 50 52]"
	v, w := vectors(10, 9, 9, 9, 9), vectors(10, 7, 7, 7)
	emb := func(n int) map[string][]vec.Value { return map[string][]vec.Value{"emb": v[:n]} }
	for _, c := range []struct {
		name string
		do   func(b *bench)
		want string
	}{
		{"one of ten moves", func(b *bench) { b.patchIf(someKeys(0, 1), emb(1)) }, "0: 9/10" + whole + "\n1: 1/1" + moved + "\n"},
		{"two of ten stay", func(b *bench) { b.patchIf(someKeys(0, 2), emb(2)) }, "0: 10/10 [0 1 -2 -2 -2] [2 3 32]\n"},
		{"an added column", func(b *bench) { b.patchIf(someKeys(0, 10), map[string][]vec.Value{"emb2": w}) }, "0: 10/10 [0 1 -2 -2 32] [2 3 40]\n"},
		{"a patch of a patch", func(b *bench) {
			b.patchIf(someKeys(0, 3), emb(3))
			b.patchIf(someKeys(1, 3), map[string][]vec.Value{"emb2": w[:3]})
		}, "0: 10/10 [0 1 -2 -2 -2] [2 3 32 40]\n"},
		{"another field as well", func(b *bench) {
			b.patchIf(someKeys(0, 5), map[string][]vec.Value{"emb": v[:5], "year": {vec.Int32(1), vec.Int32(1), vec.Int32(1), vec.Int32(1), vec.Int32(1)}})
		}, "0: 5/10" + whole + "\n1: 5/5" + moved + "\n"},
		{"patched, then replaced", func(b *bench) {
			b.patchIf(someKeys(0, 4), emb(4))
			_, err := b.c.Append(ctx, b.someRows(0, 2))
			b.must(err)
		}, "0: 8/10 [0 1 -2 -2 -2] [2 3 32]\n1: 2/2" + moved + "\n"},
		{"replaced, then patched", func(b *bench) {
			_, err := b.c.Append(ctx, b.someRows(0, 9))
			b.must(err)
			b.patchIf(someKeys(0, 10), emb(10))
		}, "0: 0/10" + whole + "\n1: 10/10" + moved + "\n"},
		{"patched, then deleted", func(b *bench) {
			b.patchIf(someKeys(0, 4), emb(4))
			_, err := b.c.Append(ctx, DeleteKeys(b.obj, someKeys(0, 3)))
			b.must(err)
		}, "0: 6/10" + whole + "\n1: 1/1" + moved + "\n"},
		{"deleted, written, patched", func(b *bench) {
			_, err := b.c.Append(ctx, DeleteKeys(b.obj, someKeys(0, 4)))
			b.must(err)
			_, err = b.c.Append(ctx, b.someRows(0, 4))
			b.must(err)
			b.patchIf(someKeys(0, 4), emb(4))
		}, "0: 6/10" + whole + "\n1: 4/4" + moved + "\n"},
		{"not on top of what was read", func(b *bench) {
			_, err := b.c.Append(ctx, b.patched(someKeys(0, 5), emb(5)))
			b.must(err)
		}, "0: 5/10" + whole + "\n1: 5/5" + moved + "\n"},
		{"patches of several folds", func(b *bench) {
			b.patchIf(someKeys(0, 5), emb(5))
			b.must(b.c.Apply(ctx, nil))
			b.patchIf(someKeys(3, 5), emb(5))
			b.must(b.c.Apply(ctx, nil))
			b.patchIf(someKeys(3, 5), map[string][]vec.Value{"emb2": w[:5]})
		}, "0: 10/10 [0 1 -2 -2 -2] [-2 -2 32] [2 3 40]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, docsObject(1), Options{})
			_, err := b.c.Append(ctx, b.someRows(0, 10))
			b.must(err)
			b.must(b.c.Apply(ctx, nil))
			b.alter(withVectors(b.obj))
			c.do(b)
			before := answers(t, b.strong())
			b.must(b.c.Apply(ctx, nil))
			if got := answers(t, b.strong()); got != before {
				t.Errorf("the fold changed the answers\n%s", firstDifference(before, got))
			}
			if got := b.fragments(); got != c.want && "0: 0/10"+whole+"\n"+got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// A split of several fragments is written anew only where a fifth of it is patched.
func TestPatchOfOneFragmentOfMany(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 1, MinFragment: 1})
	for _, n := range []int{0, 100} {
		_, err := b.c.Append(ctx, b.someRows(n, 100-n*9/10))
		b.must(err)
		b.must(b.c.Apply(ctx, nil))
	}
	b.must(b.c.Merge(ctx, nil))
	const full = " [0 1 2 3 32]\n"
	if got, want := b.fragments(), "0: 100/100"+full+"1: 10/10"+full; got != want {
		t.Fatalf("got\n%swant\n%s", got, want)
	}
	b.patchIf(someKeys(100, 10), map[string][]vec.Value{"emb": vectors(10, 9, 9, 9, 9)})
	b.must(b.c.Apply(ctx, nil))
	if got, want := b.fragments(), "0: 100/100"+full+"1: 0/10"+full+"2: 10/10"+full; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A conditional write sees that a row that stayed in place has changed.
func TestConflictWithAPatchInPlace(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{})
	_, err := b.c.Append(ctx, b.someRows(0, 10))
	b.must(err)
	b.must(b.c.Apply(ctx, nil))
	base := b.strong()
	stale := b.patched(someKeys(1, 2), map[string][]vec.Value{"year": {vec.Int32(1), vec.Int32(1)}})
	other := b.patched(someKeys(7, 2), map[string][]vec.Value{"year": {vec.Int32(1), vec.Int32(1)}})
	b.patchIf(someKeys(0, 5), map[string][]vec.Value{"emb": vectors(5, 9, 9, 9, 9)})
	b.must(b.c.Apply(ctx, nil))
	if got := b.fragments(); got != "0: 10/10 [0 1 -2 -2 -2] [2 3 32]\n" {
		t.Fatal(got)
	}
	if _, err := b.c.AppendIf(ctx, stale, base); !fail.Is(err, fail.Conflict) {
		t.Errorf("a write over the patched row: %v", err)
	}
	if _, err := b.c.AppendIf(ctx, other, base); err != nil {
		t.Errorf("a write beside it: %v", err)
	}
}

// A merge that has read a fragment before it was patched in place is not committed.
func TestMergeBesideAPatchInPlace(t *testing.T) {
	ctx := context.Background()
	for _, keep := range []int64{1, 0} {
		b := newBench(t, docsObject(1), Options{MaxSplits: 1, MinFragment: keep})
		for i := range 2 {
			_, err := b.c.Append(ctx, b.someRows(10*i, 10))
			b.must(err)
			b.must(b.c.Apply(ctx, nil))
		}
		st := b.c.st
		m, err := b.c.rewrite(ctx, st, []int{0, 1})
		b.must(err)
		b.patchIf(someKeys(0, 5), map[string][]vec.Value{"emb": vectors(5, 9, 9, 9, 9)})
		b.must(b.c.Apply(ctx, nil))
		want := answers(t, b.strong())
		if err := b.c.commitMerge(ctx, m, nil); !fail.Is(err, fail.Conflict) {
			t.Errorf("the merge: %v", err)
		}
		b.must(b.c.Merge(ctx, nil))
		if got := answers(t, b.strong()); got != want || len(b.c.st.manifest.Segments) != 1 {
			t.Errorf("after another: %s\n%s", b.fragments(), firstDifference(want, got))
		}
	}
}

// A search reads on behind a fragment that lacks the column.
func TestSearchBehindAFragmentWithoutTheVector(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 1, MinFragment: 1})
	_, err := b.c.Append(ctx, b.someRows(0, vec.ChunkRows+1))
	b.must(err)
	b.must(b.c.Apply(ctx, nil))
	b.alter(withVectors(b.obj))
	_, err = b.c.Append(ctx, b.someRows(9000, 2))
	b.must(err)
	b.patchIf(someKeys(9000, 2), map[string][]vec.Value{"emb2": vectors(2, 1, 1, 1)})
	b.must(b.c.Apply(ctx, nil))
	before := answers(t, b.strong())
	b.must(b.c.Merge(ctx, nil))
	if len(b.c.st.manifest.Segments) != 1 || len(b.c.st.manifest.Segments[0].Fragments) != 2 {
		t.Fatal(b.fragments())
	}
	if got := answers(t, b.strong()); got != before {
		t.Error(firstDifference(before, got))
	}
}

// An apply that fails at any call of the store, or is never heard of again, has changed
// nothing or all: the patch is in the tail, or in place.
func TestPatchInPlaceFailsWhole(t *testing.T) {
	ctx := context.Background()
	ended := 0
	for call := range 60 {
		b := newBench(t, docsObject(1), Options{})
		_, err := b.c.Append(ctx, b.someRows(0, 10))
		b.must(err)
		b.must(b.c.Apply(ctx, nil))
		b.patchIf(someKeys(0, 6), map[string][]vec.Value{"emb": vectors(6, 9, 9, 9, 9)})
		_, err = b.c.Append(ctx, DeleteKeys(b.obj, someKeys(5, 2)))
		b.must(err)
		want := answers(t, b.strong())
		faulty := object.NewFaulty(b.deps.Objects, b.deps.Clock)
		b.deps.Objects = faulty
		b.open()
		b.strong()
		faulty.Add(object.Fault{Kind: []object.FaultKind{object.FailBefore, object.FailAfter}[call%2], Skip: call / 2, N: 1})
		failed := b.c.Apply(ctx, nil)
		faulty.Clear()
		if got := answers(t, b.strong()); got != want {
			t.Fatalf("call %d, %v: %s", call, failed, firstDifference(want, got))
		}
		if failed == nil {
			ended++
		}
		b.open()
		b.must(b.c.Apply(ctx, nil))
		if got := answers(t, b.strong()); got != want {
			t.Fatalf("call %d, after another apply: %s", call, firstDifference(want, got))
		}
		if got := b.fragments(); got != "0: 8/10 [0 1 -2 -2 -2] [2 3 32]\n" {
			t.Fatalf("call %d: %s", call, got)
		}
	}
	if ended < 2 || ended > 40 {
		t.Errorf("%d of 60 applies did not fail: the faults miss them", ended)
	}
}

// The bytes that a backfill of all rows costs, in place and moved.
func TestBytesOfABackfill(t *testing.T) {
	ctx := context.Background()
	written := func(stay bool) int64 {
		b := newBench(t, docsObject(1), Options{})
		_, err := b.c.Append(ctx, b.someRows(0, 500))
		b.must(err)
		b.must(b.c.Apply(ctx, nil))
		rows := b.patched(someKeys(0, 500), map[string][]vec.Value{"emb": vectors(500, 9, 9, 9, 9)})
		if stay {
			_, err = b.c.AppendIf(ctx, rows, b.strong())
		} else {
			_, err = b.c.Append(ctx, rows)
		}
		b.must(err)
		old := map[string]bool{}
		for _, o := range b.c.st.manifest.Objects() {
			old[o.Key] = true
		}
		b.must(b.c.Apply(ctx, nil))
		n := int64(0)
		for _, o := range b.c.st.manifest.Objects() {
			if o.Kind == DataObject && !old[o.Key] {
				n += o.Size
			}
		}
		return n
	}
	if stay, move := written(true), written(false); stay == 0 || 2*stay > move {
		t.Errorf("%d bytes of Lance files in place, %d moved", stay, move)
	}
}

// A file of which every column was replaced is not named any more.
func TestReplacedFilesAreLeftOut(t *testing.T) {
	files := []DataFile{{Name: "a", IDs: []int32{0, 1, 2, 3, 32}}, {Name: "b", IDs: []int32{-2, 40}}}
	left := without(files, []int32{2, 3, 40})
	if len(left) != 1 || fmt.Sprint(left[0].IDs) != "[0 1 -2 -2 32]" || fmt.Sprint(files[0].IDs) != "[0 1 2 3 32]" {
		t.Errorf("%+v of %+v", left, files)
	}
}
