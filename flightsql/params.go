package flightsql

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/ingest"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// binding is bound parameters: rows of values, and the same as an Arrow IPC
// stream inside a handle, or, when it is large, kept here under a reference.
type binding struct {
	rows   [][]vec.Value
	sealed []byte
	ref    string
}

func (b *binding) count() int {
	if b == nil {
		return 0
	}
	return len(b.rows)
}

// maxSealedParams is the largest stream that travels inside a handle.
const maxSealedParams = 64 << 10

// receiveParams reads the parameters of a bind. The second result is their IPC
// stream, nil when there is nothing to bind: a stream without columns.
func receiveParams(r *ingest.Reader) ([]arrow.RecordBatch, []byte, error) {
	schema, err := r.Schema()
	if errors.Is(err, io.EOF) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if schema.NumFields() == 0 {
		return nil, nil, nil
	}
	batches, err := readAll(r)
	if err != nil {
		return nil, nil, err
	}
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(schema))
	for _, rec := range batches {
		if err := w.Write(rec); err != nil {
			return nil, nil, fail.Wrap(fail.BadRequest, err, "the bound parameters")
		}
	}
	if err := w.Close(); err != nil {
		return nil, nil, fail.Wrap(fail.BadRequest, err, "the bound parameters")
	}
	return batches, buf.Bytes(), nil
}

// readAll keeps every batch. Parameters live on Go's heap, so nobody releases them.
func readAll(r *ingest.Reader) ([]arrow.RecordBatch, error) {
	var out []arrow.RecordBatch
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		rec.Retain()
		out = append(out, rec)
	}
}

// sealedParams reads back what receiveParams wrote and checked.
func sealedParams(stream []byte) ([]arrow.RecordBatch, error) {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, fail.Wrap(fail.InvalidTicket, err, "the handle's parameters")
	}
	defer r.Release()
	var out []arrow.RecordBatch
	for r.Next() {
		rec := r.RecordBatch()
		rec.Retain()
		out = append(out, rec)
	}
	if err := r.Err(); err != nil {
		return nil, fail.Wrap(fail.InvalidTicket, err, "the handle's parameters")
	}
	return out, nil
}

// bindTo types the parameters against a statement: it declares the types that
// the statement leaves open, and reads every row. The statement returned is the
// one to bind.
func bindTo(ctx context.Context, sess engine.Session, sql string, st engine.Statement, batches []arrow.RecordBatch) (engine.Statement, [][]vec.Value, error) {
	if len(batches) > 0 {
		given := make([]types.Type, batches[0].NumCols())
		for i, col := range batches[0].Columns() {
			t, err := types.FromArrow(col.DataType())
			if err != nil {
				return nil, nil, fail.Wrap(fail.CodeOf(err), err, "parameter %d", i+1)
			}
			given[i] = t
		}
		var err error
		if st, err = engine.Declare(ctx, sess, sql, st, given); err != nil {
			return nil, nil, err
		}
	}
	var rows [][]vec.Value
	for _, rec := range batches {
		read, err := valuesOf(rec, st.Params())
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, read...)
	}
	return st, rows, nil
}

// valuesOf reads a batch row by row. Vectors and lists are read as what the
// statement wants; the rest as what it is, and cast when it is bound.
func valuesOf(rec arrow.RecordBatch, want []types.Type) ([][]vec.Value, error) {
	rows := make([][]vec.Value, rec.NumRows())
	for i := range rows {
		rows[i] = make([]vec.Value, rec.NumCols())
	}
	for c, col := range rec.Columns() {
		t, err := types.FromArrow(col.DataType())
		if err != nil {
			return nil, err
		}
		if c < len(want) && t.Kind != types.Unknown && nested(want[c]) {
			t = want[c]
		}
		v, err := vec.FromArrow(col, t)
		if err != nil {
			return nil, fail.Wrap(fail.CodeOf(err), err, "parameter %d", c+1)
		}
		for i := range rows {
			rows[i][c] = v.Value(i)
		}
	}
	return rows, nil
}

func nested(t types.Type) bool {
	return t.Kind == types.Vector || t.Kind == types.Sparse || t.Nested()
}

// paramStore keeps streams of bound parameters that are too large for a handle.
type paramStore struct {
	clock clock.Clock
	ids   clock.IDs

	mu    sync.Mutex // guards the fields below
	byRef map[string]keptParams
	order []string // oldest first
	bytes int
}

type keptParams struct {
	stream []byte
	until  time.Duration
}

// Bounds of the store: beyond the bytes the oldest go first.
const (
	paramStoreBytes = 256 << 20
	paramStoreLife  = time.Hour
)

func newParamStore(c clock.Clock, ids clock.IDs) *paramStore {
	return &paramStore{clock: c, ids: ids, byRef: map[string]keptParams{}}
}

func (p *paramStore) put(stream []byte) (ref string, err error) {
	if len(stream) > paramStoreBytes {
		return "", fail.New(fail.TooLarge, "%d bytes of bound parameters, at most %d are kept", len(stream), paramStoreBytes)
	}
	ref = p.ids.ULID()
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Mono()
	for len(p.order) > 0 && (p.bytes+len(stream) > paramStoreBytes || p.byRef[p.order[0]].until < now) {
		p.bytes -= len(p.byRef[p.order[0]].stream)
		delete(p.byRef, p.order[0])
		p.order = p.order[1:]
	}
	p.byRef[ref] = keptParams{stream: stream, until: now + paramStoreLife}
	p.order = append(p.order, ref)
	p.bytes += len(stream)
	return ref, nil
}

func (p *paramStore) get(ref string) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept, ok := p.byRef[ref]
	if !ok || kept.until < p.clock.Mono() {
		return nil, fail.New(fail.TicketExpired, "the bound parameters are not kept any more").WithHint("Bind them again.")
	}
	return kept.stream, nil
}
