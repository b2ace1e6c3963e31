package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

// faulted is a node whose stores fail by rules, driven step by step. What it does
// in the background runs into the same faults.
type faulted struct {
	t      *testing.T
	rng    *rand.Rand
	store  *object.Faulty
	faults *metastore.Faults
	meta   metastore.Store
	e      *loam.Engine
	r      reader
	at     []int // statements that count, by writer

	steps, failed, unknown, happened int
}

func newFaulted(t *testing.T, seed uint64) *faulted {
	clk := clock.Real()
	f := &faulted{t: t, rng: rand.New(rand.NewPCG(seed, 11)), store: object.NewFaulty(object.NewMem(), clk), faults: &metastore.Faults{}, at: make([]int, writers)}
	f.meta = surviving{metastore.NewMem(clk, clock.RandomIDs(clk), metastore.Options{Faults: f.faults})}
	f.open()
	for _, sql := range ddl {
		if _, err := f.r.rows(sql); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f *faulted) open() {
	f.t.Helper()
	if f.e != nil {
		if err := f.e.Close(); err != nil {
			f.t.Fatal(err)
		}
	}
	var err error
	f.e, err = loam.Open(context.Background(), loam.Config{
		Collection: collection.Options{MaxSplits: 2, MinFragment: 1, MaxDeleted: 50},
		WrapStore:  func(object.Store) object.Store { return f.store },
		WrapMeta:   func(metastore.Store) metastore.Store { return f.meta },
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.r = reader{context.Background(), f.e.NewSession(loam.SessionConfig{})}
}

// breakSomething puts one or two faults in force and says which.
func (f *faulted) breakSomething() string {
	var said []string
	if f.rng.IntN(5) == 0 { // the reply is lost for good: nobody can find out
		f.faults.Add(metastore.Fault{Op: "append", Kind: metastore.LostAfter, N: 1})
		f.faults.Add(metastore.Fault{Op: "commit", Kind: metastore.LostAfter, N: 1})
		f.faults.Add(metastore.Fault{Kind: metastore.Unreadable, Skip: f.rng.IntN(4), N: 20})
		said = append(said, "replies lost after the write")
	}
	for range 1 + f.rng.IntN(2) {
		if f.rng.IntN(2) == 0 {
			rule := metastore.Fault{
				Op:   []string{"append", "commit", ""}[f.rng.IntN(3)],
				Kind: []metastore.FaultKind{metastore.LostBefore, metastore.LostAfter, metastore.Refused, metastore.Unreadable}[f.rng.IntN(4)],
				N:    1 + f.rng.IntN(4),
			}
			f.faults.Add(rule)
			said = append(said, fmt.Sprintf("metastore %+v", rule))
			continue
		}
		rule := object.Fault{
			Op:   []object.Op{object.OpPut, object.OpCommit, object.OpGetRange, object.OpGet, object.OpCreate, object.OpOpen}[f.rng.IntN(6)],
			Kind: []object.FaultKind{object.FailBefore, object.FailAfter, object.LostBefore}[f.rng.IntN(3)],
			Skip: f.rng.IntN(3), N: 1 + f.rng.IntN(3),
		}
		f.store.Add(rule)
		said = append(said, fmt.Sprintf("store %+v", rule))
	}
	return strings.Join(said, "; ")
}

func (f *faulted) mend() {
	f.faults.Clear()
	f.store.Clear()
}

// step sends one statement, perhaps with faults, and checks what it left.
func (f *faulted) step() {
	f.t.Helper()
	f.steps++
	w := f.rng.IntN(writers)
	have := after(w, f.at[w])
	st := next(w, f.at[w]+1, have)
	why := "nothing"
	if f.rng.IntN(2) == 0 {
		why = f.breakSomething()
	}
	err := send(context.Background(), f.e.NewSession(loam.SessionConfig{}), w, st)
	f.mend()
	got, rerr := f.r.written(target(w), w)
	if rerr != nil {
		f.t.Fatalf("step %d: read after %s: %v", f.steps, why, rerr)
	}
	old, fresh := slices.Equal(got, have.lines(w)), slices.Equal(got, st.after.lines(w))
	switch {
	case err == nil && fresh:
		f.at[w]++
	case err != nil && fail.Is(err, fail.CommitUnknown) && (old || fresh):
		if f.failed, f.unknown = f.failed+1, f.unknown+1; fresh {
			f.happened++
			f.at[w]++
		}
	case err != nil && !fail.Is(err, fail.CommitUnknown) && old:
		f.failed++
	default:
		f.t.Fatalf("step %d: with %s, writer %d statement %d (%.200s) ended with %v, code %s; against the rows before: %s; against the rows after: %s",
			f.steps, why, w, st.number, st.sql, err, fail.CodeOf(err), difference(have.lines(w), got), difference(st.after.lines(w), got))
	}
}

// settle applies everything of an object, perhaps with faults; then it must work.
func (f *faulted) settle() {
	f.t.Helper()
	object := objects[f.rng.IntN(len(objects))]
	why := "nothing"
	if f.rng.IntN(2) == 0 {
		why = f.breakSomething()
	}
	_, err := f.r.scanned(object, loam.TailWait)
	f.mend()
	if err != nil {
		f.failed++
	}
	if _, err := f.r.scanned(object, loam.TailWait); err != nil {
		f.t.Fatalf("step %d: after an apply with %s: %v", f.steps, why, err)
	}
}

// check compares everything that can be read with what must be there.
func (f *faulted) check() {
	f.t.Helper()
	reached, problems, err := f.r.verify(f.at)
	if err != nil || len(problems) > 0 {
		f.t.Fatalf("step %d: %v %v", f.steps, err, problems)
	}
	if !slices.Equal(reached, f.at) {
		f.t.Fatalf("step %d: writers are at %v, want %v: a write that failed came to be", f.steps, reached, f.at)
	}
}

// TestOutcomes lets the stores fail before and after they act, and refuse, and lose
// replies. A statement that fails has left nothing, one whose outcome is unknown
// is whole or absent, and so it stays after a restart.
func TestOutcomes(t *testing.T) {
	seed := seedOf(t)
	sessions := 60
	if testing.Short() {
		sessions = 10
	}
	var sum faulted
	for i := range sessions {
		f := newFaulted(t, seed+uint64(i))
		for range 40 {
			switch f.rng.IntN(8) {
			case 0:
				f.settle()
			case 1:
				f.open()
			default:
				f.step()
			}
			if f.rng.IntN(12) == 0 {
				f.check()
			}
		}
		f.open()
		f.check()
		if err := f.e.Close(); err != nil {
			t.Fatal(err)
		}
		sum.steps, sum.failed, sum.unknown, sum.happened = sum.steps+f.steps, sum.failed+f.failed, sum.unknown+f.unknown, sum.happened+f.happened
	}
	if !testing.Short() && (sum.failed == 0 || sum.unknown == 0 || sum.happened == 0 || sum.happened == sum.unknown) {
		t.Errorf("the faults do not reach every outcome: %d failed, %d unknown, of which %d happened", sum.failed, sum.unknown, sum.happened)
	}
	t.Logf("%d statements, %d failures, %d of unknown outcome, of which %d had happened", sum.steps, sum.failed, sum.unknown, sum.happened)
}
