package loam_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
)

// forgetful is a metastore whose answers to appends are lost when told: what was
// asked for has happened.
type forgetful struct {
	metastore.Store
	lost bool
}

func (f *forgetful) Append(ctx context.Context, blocks []metastore.AppendBlock) ([]metastore.AppendResult, error) {
	res, err := f.Store.Append(ctx, blocks)
	if err == nil && f.lost {
		return nil, fail.New(fail.CommitUnknown, "the answer is lost")
	}
	return res, err
}

// TestProducersOverRestarts: batches whose answers were lost are sent again after the
// engine was opened anew, before and after their records were applied, and are in once.
func TestProducersOverRestarts(t *testing.T) {
	ctx := context.Background()
	dir, meta := t.TempDir(), &forgetful{}
	var e *loam.Engine
	var s *loam.Session
	open := func() {
		t.Helper()
		var err error
		e, err = loam.Open(ctx, loam.Config{Dir: dir, NoSync: true, WrapMeta: func(m metastore.Store) metastore.Store {
			meta.Store = m
			return meta
		}})
		if err != nil {
			t.Fatal(err)
		}
		s = e.NewSession(loam.SessionConfig{})
	}
	open()
	defer func() { _ = e.Close() }()
	res, err := s.Query(ctx, "CREATE STREAM s WITH (partitions = 3, batch_interval = '10ms')")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Close()
	send := func(sequence uint64) (loam.Ack, error) {
		docs := make([][]byte, 5)
		for i := range docs {
			docs[i] = fmt.Appendf(nil, `{"key":"k%d","value":%d}`, i, sequence)
		}
		return s.ProduceDocuments(ctx, loam.Target{Name: "s"}, &loam.Producer{ID: "p", Epoch: 1, Sequence: sequence}, docs)
	}
	for sequence := range uint64(6) {
		meta.lost = sequence%2 == 1
		first, err := send(sequence)
		if meta.lost != fail.Is(err, fail.CommitUnknown) {
			t.Fatalf("sequence %d: %v", sequence, err)
		}
		meta.lost = false
		if sequence%3 != 0 {
			time.Sleep(50 * time.Millisecond) // it may be applied by then
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		open()
		again, err := send(sequence)
		if err != nil || !again.Duplicate || again.Rows != 5 || err == nil && sequence%2 == 0 && fmt.Sprint(again.Placed, again.Token) != fmt.Sprint(first.Placed, first.Token) {
			t.Fatalf("sequence %d: first %+v, again %+v, %v", sequence, first, again, err)
		}
	}
	if _, err := send(7); !fail.Is(err, fail.ProducerGap) {
		t.Fatal(err)
	}
	got, _, err := count(t, s, "(SELECT key, value FROM s GROUP BY key, value HAVING count(*) = 1) t")
	if err != nil || got != "30" {
		t.Fatalf("%s records that are in once, want 30, %v", got, err)
	}
}
