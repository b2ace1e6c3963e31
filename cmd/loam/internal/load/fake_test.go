package load

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// fakeServer has one object, t (k BIGINT, v BIGINT), and does with each batch
// what its script says.
type fakeServer struct {
	collection bool
	// script is asked before each batch with its number, from 1. It may return an
	// error that the client gets; written says whether the batch is in all the same.
	script func(batch int) (err error, written bool)

	mu      sync.Mutex // guards the fields below
	batches int
	order   [][2]int64 // rows as they came
	latest  map[int64]int64
}

// Query implements Server.
func (f *fakeServer) Query(_ context.Context, sql string) ([][]string, error) {
	kind, key := "table", ""
	if f.collection {
		kind, key = "collection", "1"
	}
	switch {
	case strings.Contains(sql, "system.tables"):
		return [][]string{{"public", "t", kind}}, nil
	case strings.Contains(sql, "system.columns"):
		return [][]string{{"k", "BIGINT", "true", key, ""}, {"v", "BIGINT", "true", "", ""}}, nil
	}
	return nil, nil
}

// Put implements Server.
func (f *fakeServer) Put(context.Context, string, string, string, *arrow.Schema) (Stream, error) {
	return &fakeStream{f: f}, nil
}

type fakeStream struct {
	f    *fakeServer
	over bool
}

// Write implements Stream.
func (s *fakeStream) Write(ctx context.Context, rec arrow.RecordBatch) (Ack, error) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if s.over {
		return Ack{}, fmt.Errorf("a stream was used after its error")
	}
	if err := ctx.Err(); err != nil {
		return Ack{}, err
	}
	s.f.batches++
	var err error
	written := true
	if s.f.script != nil {
		err, written = s.f.script(s.f.batches)
	}
	if err == nil || written {
		for i := range int(rec.NumRows()) {
			k, v := rec.Column(0).(*array.Int64).Value(i), rec.Column(1).(*array.Int64).Value(i)
			s.f.order = append(s.f.order, [2]int64{k, v})
			s.f.latest[k] = v
		}
	}
	s.over = err != nil
	return Ack{Rows: rec.NumRows()}, err
}

func (s *fakeStream) Close() error { return nil }
func (s *fakeStream) Abandon()     {}

// counts are how often each k came.
func (f *fakeServer) counts() map[int64]int {
	out := map[int64]int{}
	for _, r := range f.order {
		out[r[0]]++
	}
	return out
}

func newFake(collection bool, script func(int) (error, bool)) *fakeServer {
	return &fakeServer{collection: collection, script: script, latest: map[int64]int64{}}
}

// numbers writes a CSV file of rows k, v with k = i % distinct and v = i.
func numbers(t *testing.T, name string, rows, distinct int) string {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("k,v\n")
	for i := range rows {
		fmt.Fprintf(&b, "%d,%d\n", i%distinct, i)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run loads files into the fake server and returns what was printed.
func run(ctx context.Context, t *testing.T, f *fakeServer, o Options) (out, errs string, err error) {
	t.Helper()
	if o.Target == "" {
		o.Target = "t"
	}
	if o.Streams == 0 {
		o.Streams = 3
	}
	o.Chunk = 400
	if o.Patience == 0 {
		o.Patience = 1e9
	}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	var bo, be bytes.Buffer
	err = Run(ctx, f, IO{In: strings.NewReader(""), Out: &bo, Err: &be, Clock: clock.Real()}, &o)
	return bo.String(), be.String(), err
}

// picky refuses batches with certain keys as a whole, as the engine does.
type picky struct {
	*fakeServer
	bad []int64
}

// Put implements Server.
func (p *picky) Put(context.Context, string, string, string, *arrow.Schema) (Stream, error) {
	return &pickyStream{fakeStream{f: p.fakeServer}, p.bad}, nil
}

type pickyStream struct {
	fakeStream
	bad []int64
}

// Write implements Stream.
func (s *pickyStream) Write(ctx context.Context, rec arrow.RecordBatch) (Ack, error) {
	for i := range int(rec.NumRows()) {
		if k := rec.Column(0).(*array.Int64).Value(i); slices.Contains(s.bad, k) {
			return Ack{}, fail.New(fail.OutOfRange, "row %d: field k: %d is not liked", i+1, k)
		}
	}
	return s.fakeStream.Write(ctx, rec)
}

func runOn(t *testing.T, s Server, o Options) (out, errs string, err error) {
	t.Helper()
	o.Chunk = 400
	var bo, be bytes.Buffer
	err = Run(t.Context(), s, IO{In: strings.NewReader(""), Out: &bo, Err: &be, Clock: clock.Real()}, &o)
	return bo.String(), be.String(), err
}
