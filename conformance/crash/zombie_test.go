package crash

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

// stalled is a metastore whose commits wait, as those of a process that hangs.
type stalled struct {
	surviving
	release chan struct{}
	begun   chan struct{}
	once    *sync.Once
	result  chan error // of the first commit
}

func (s *stalled) Commit(ctx context.Context, req metastore.CommitRequest) (metastore.Head, error) {
	first := false
	s.once.Do(func() { first = true; close(s.begun) })
	<-s.release
	h, err := s.surviving.Commit(ctx, req)
	if first {
		s.result <- err
	}
	return h, err
}

// A process that ends, or hangs, while it holds the lease of an apply does not
// hold up the next one; and when it comes back, its commit is refused.
func TestZombieIsFencedAndHoldsNobodyUp(t *testing.T) {
	ctx := context.Background()
	clk := clock.Real()
	store := object.NewMem()
	meta := surviving{metastore.NewMem(clk, clock.RandomIDs(clk), metastore.Options{})}
	open := func(m metastore.Store) *loam.Engine {
		e, err := loam.Open(ctx, loam.Config{
			Collection: collection.Options{BatchInterval: time.Millisecond, MaxBatchInterval: time.Millisecond},
			WrapStore:  func(object.Store) object.Store { return store },
			WrapMeta:   func(metastore.Store) metastore.Store { return m },
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	hung := &stalled{surviving: meta, release: make(chan struct{}), begun: make(chan struct{}), once: &sync.Once{}, result: make(chan error, 1)}
	old := open(hung)
	r := reader{ctx, old.NewSession(loam.SessionConfig{})}
	for _, sql := range []string{"CREATE COLLECTION docs (id TEXT PRIMARY KEY, n BIGINT)", "INSERT INTO docs VALUES ('a', 1), ('b', 2)"} {
		if _, err := r.rows(sql); err != nil {
			t.Fatal(err)
		}
	}
	<-hung.begun // its apply holds the lease and waits for the commit

	e := open(meta)
	s := e.NewSession(loam.SessionConfig{})
	deadline := time.Now().Add(20 * time.Second) // a lease lasts 30
	for {
		p, err := s.ScanPlan(ctx, loam.ScanRequest{Target: loam.Target{Name: "docs"}, Tail: loam.TailMerge})
		if err != nil {
			t.Fatal(err)
		}
		if p.TailRecords == 0 && p.ManifestVersion == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d records still wait: the lease of the dead process holds the new one up", p.TailRecords)
		}
		time.Sleep(20 * time.Millisecond)
	}
	close(hung.release)
	if err := <-hung.result; !fail.Is(err, fail.Conflict) {
		t.Errorf("the zombie's commit: %v, want a conflict", err)
	}
	rows, err := (reader{ctx, s}).rows("SELECT count(*), sum(n) FROM docs")
	if err != nil || rows[0][0] != "2" || rows[0][1] != "3" {
		t.Errorf("%v %v", rows, err)
	}
	for _, x := range []*loam.Engine{e, old} {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}
