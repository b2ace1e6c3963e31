package collection

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/storage/object"
)

// write gives both nodes the same documents and deletes.
func writeBoth(r *rand.Rand, keys int, model map[string]doc, nodes ...*bench) {
	var docs [][]byte
	for range 1 + r.Intn(12) {
		d := randomDoc(r, keys)
		model[d.id] = d
		docs = append(docs, d.json())
	}
	var gone []string
	for range r.Intn(6) {
		id := fmt.Sprintf("k%03d", r.Intn(keys))
		delete(model, id)
		gone = append(gone, id)
	}
	for _, b := range nodes {
		rows, err := FromDocuments(b.obj, docs)
		b.must(err)
		_, err = b.c.Append(context.Background(), rows)
		b.must(err)
		if len(gone) > 0 {
			_, err = b.c.Append(context.Background(), DeleteKeys(b.obj, gone))
			b.must(err)
		}
	}
}

// TestMergeBesideApplies interleaves the two halves of merges, which are the
// reading of the inputs and the commit, with writes, deletes, applies and
// restarts, and compares every answer with a node that keeps all in the tail,
// every count with a map, and every version with its Lance dataset.
func TestMergeBesideApplies(t *testing.T) {
	stayed := 0
	for seed := range int64(24) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { stayed += besideRun(t, seed) })
	}
	if stayed < 30 {
		t.Errorf("merges left %d fragments as they were", stayed)
	}
}

// besideRun returns how many fragments merges left as they were.
func besideRun(t *testing.T, seed int64) (stayed int) {
	ctx := context.Background()
	r := rand.New(rand.NewSource(seed))
	partitions := 1 + 2*int(seed%2)
	tail := newBench(t, docsObject(partitions), Options{})
	node := newBench(t, docsObject(partitions), Options{MaxSplits: 1 + r.Intn(3), MinFragment: someFragmentStays(r), MaxDeleted: r.Intn(50)})
	keys := []int{6, 40, 150}[r.Intn(3)] // of few keys, whole inputs die while they are merged
	model := map[string]doc{}
	var running *merging
	for step := range 60 {
		switch r.Intn(8) {
		case 0, 1, 2:
			writeBoth(r, keys, model, tail, node)
		case 3, 4:
			node.must(node.c.Apply(ctx, nil))
		case 5, 6:
			if running == nil {
				st := node.c.st
				if pick := node.c.policy().choose(st.manifest.Segments); len(pick) > 0 {
					var err error
					running, err = node.c.rewrite(ctx, st, pick)
					node.must(err)
				}
				break
			}
			node.must(node.c.commitMerge(ctx, running, nil))
			stayed += running.kept
			running = nil
		case 7:
			if r.Intn(3) == 0 {
				node.open() // a merge that runs is lost
				running = nil
			}
		}
		if step%4 == 3 {
			if want, got := answers(t, tail.strong()), answers(t, node.strong()); want != got {
				t.Fatalf("step %d: answers differ\n%s", step, firstDifference(want, got))
			}
			if n := node.strong().Count(); n != int64(len(model)) {
				t.Fatalf("step %d: %d rows, want %d", step, n, len(model))
			}
			node.checkParts(node.strong())
		}
	}
	node.open()
	node.verify()
	if want, got := answers(t, tail.strong()), answers(t, node.strong()); want != got {
		t.Fatalf("after a restart: answers differ\n%s", firstDifference(want, got))
	}
	return stayed
}

// gateStore holds up the data file that is created next, until it is opened.
type gateStore struct {
	object.Store
	mu      sync.Mutex // guards the fields below
	armed   bool
	reached chan struct{}
	open    chan struct{}
}

func (g *gateStore) arm() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed, g.reached, g.open = true, make(chan struct{}), make(chan struct{})
}

// wait returns when a data file is held up.
func (g *gateStore) wait(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case <-g.reached:
	case err := <-done:
		t.Fatalf("the merge ended before it wrote: %v", err)
	}
}

func (g *gateStore) Create(ctx context.Context, key string) (object.Writer, error) {
	g.mu.Lock()
	armed := g.armed && strings.HasSuffix(key, ".lance")
	if armed {
		g.armed = false
	}
	reached, open := g.reached, g.open
	g.mu.Unlock()
	if armed {
		close(reached)
		<-open
	}
	return g.Store.Create(ctx, key)
}

// TestApplyDuringALongMerge: while a merge rewrites its inputs, applies commit,
// and the merge takes over what they deleted.
func TestApplyDuringALongMerge(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 1})
	gate := &gateStore{Store: b.deps.Objects}
	b.deps.Objects = gate
	b.open()
	tail := newBench(t, docsObject(1), Options{})
	r, model := rand.New(rand.NewSource(3)), map[string]doc{}
	for range 2 {
		writeBoth(r, 400, model, tail, b)
		b.must(b.c.Apply(ctx, nil))
	}
	gate.arm()
	done := make(chan error, 1)
	go func() { done <- b.c.Merge(ctx, nil) }()
	gate.wait(t, done)
	for range 3 {
		writeBoth(r, 400, model, tail, b)
		b.must(b.c.Apply(ctx, nil))
		if n := b.c.Backlog().Records; n != 0 {
			t.Fatalf("%d records wait after an apply beside a merge", n)
		}
	}
	before := len(b.strong().Fragments())
	close(gate.open)
	b.must(<-done)
	if n := len(b.strong().Fragments()); n != before-1 {
		t.Fatalf("%d splits after the merge of two of %d", n, before)
	}
	if want, got := answers(t, tail.strong()), answers(t, b.strong()); want != got {
		t.Fatalf("answers differ\n%s", firstDifference(want, got))
	}
}

// TestCloseEndsAMerge: a collection is closed, for DROP, without waiting for a
// long merge to end.
func TestCloseEndsAMerge(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 1})
	gate := &gateStore{Store: b.deps.Objects}
	b.deps.Objects = gate
	b.open()
	r := rand.New(rand.NewSource(3))
	for range 2 {
		writeBoth(r, 400, map[string]doc{}, b)
		b.must(b.c.Apply(ctx, nil))
	}
	gate.arm()
	done, closed := make(chan error, 1), make(chan struct{})
	go func() { done <- b.c.Merge(ctx, nil) }()
	gate.wait(t, done)
	go func() { b.c.Close(); close(closed) }()
	<-b.c.life.Done()
	close(gate.open)
	if err := <-done; !fail.Is(err, fail.Canceled) {
		t.Fatalf("the merge of a closed collection ended with %v", err)
	}
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Fatal("Close did not return")
	}
}

// TestTwoMergesOfOneBase: of two merges that read one version, also on two nodes,
// one commits and the other is told of the conflict.
func TestTwoMergesOfOneBase(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, docsObject(1), Options{MaxSplits: 1})
	r, model := rand.New(rand.NewSource(9)), map[string]doc{}
	for range 2 {
		writeBoth(r, 40, model, b)
		b.must(b.c.Apply(ctx, nil))
	}
	other, err := Open(ctx, b.deps, b.obj, b.opt)
	b.must(err)
	var built []*merging
	for _, c := range []*Collection{b.c, other} {
		m, err := c.rewrite(ctx, c.st, []int{0, 1})
		b.must(err)
		built = append(built, m)
	}
	b.must(other.commitMerge(ctx, built[1], nil))
	if err := b.c.commitMerge(ctx, built[0], nil); !fail.Is(err, fail.Conflict) {
		t.Fatalf("the second merge ended with %v", err)
	}
	if s := b.strong(); s.Count() != int64(len(model)) || len(s.Fragments()) != 1 {
		t.Fatalf("%d rows in %d splits, want %d in 1", s.Count(), len(s.Fragments()), len(model))
	}
}
