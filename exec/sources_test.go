package exec

import (
	"context"
	"math/rand/v2"
	"sync/atomic"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// table is rows in memory, with the types of its columns.
type table struct {
	types []types.Type
	rows  [][]vec.Value
}

// memSources opens scans over tables by object name. It hands out chunks of
// chunkRows rows; with seed ≠ 0 some of them carry selections and constants.
type memSources struct {
	tables    map[string]*table
	chunkRows int
	seed      uint64
	opened    atomic.Int64
	closed    atomic.Int64
	// before, when set, is called by each Next.
	before func(ctx context.Context) error
}

func (m *memSources) Scan(_ context.Context, n *plan.Scan) (Source, error) {
	t := m.tables[n.Object.Name]
	if t == nil {
		return nil, fail.New(fail.UndefinedTable, "no table %s", n.Object.Name)
	}
	m.opened.Add(1)
	return &memSource{m: m, chunks: m.chunks(t, n.Cols)}, nil
}

func (m *memSources) Search(context.Context, *plan.SearchScan) (Source, error) {
	return nil, fail.New(fail.Unsupported, "no search here")
}

func (m *memSources) System(context.Context, *plan.SystemScan) (Source, error) {
	return nil, fail.New(fail.Unsupported, "no system tables here")
}

func (m *memSources) File(context.Context, *plan.FileScan) (Source, error) {
	return nil, fail.New(fail.Unsupported, "no files here")
}

// chunks cuts the columns of a table, named by position ("0", "1", …).
func (m *memSources) chunks(t *table, cols []plan.ScanColumn) []*vec.Chunk {
	rng := rand.New(rand.NewPCG(m.seed, 7))
	var out []*vec.Chunk
	for from := 0; from < len(t.rows); from += m.chunkRows {
		rows := t.rows[from:min(len(t.rows), from+m.chunkRows)]
		if m.seed != 0 && rng.IntN(2) == 0 && 2*len(rows) <= vec.ChunkRows {
			out = append(out, padded(t, rows, cols))
			continue
		}
		c := &vec.Chunk{N: len(rows)}
		for _, col := range cols {
			v := vec.New(col.Type, len(rows))
			for _, r := range rows {
				v.Append(r[fieldOf(col)])
			}
			if m.seed != 0 && rng.IntN(2) == 0 {
				v = dictionary(v)
			}
			c.Cols = append(c.Cols, v)
		}
		out = append(out, c)
	}
	for i, c := range out {
		c.Seq = uint64(i)
	}
	return out
}

func fieldOf(c plan.ScanColumn) int { return int(c.Field[0] - '0') }

// padded is a chunk in which each row is followed by one that is not selected.
func padded(t *table, rows [][]vec.Value, cols []plan.ScanColumn) *vec.Chunk {
	c := &vec.Chunk{N: 2 * len(rows)}
	for i := range rows {
		c.Sel = append(c.Sel, int32(2*i))
	}
	for _, col := range cols {
		v := vec.New(col.Type, c.N)
		for _, r := range rows {
			v.Append(r[fieldOf(col)])
			v.AppendNull()
		}
		c.Cols = append(c.Cols, v)
	}
	return c
}

// dictionary is v with its values reversed in a dictionary.
func dictionary(v *vec.Vector) *vec.Vector {
	d := vec.New(v.Type, v.N)
	out := &vec.Vector{Type: v.Type, Encoding: vec.Dictionary, N: v.N, Dict: d}
	for i := range v.N {
		d.Append(v.Value(v.N - 1 - i))
		out.Codes = append(out.Codes, int32(v.N-1-i))
	}
	return out
}

type memSource struct {
	m      *memSources
	chunks []*vec.Chunk
	next   atomic.Int64
}

func (s *memSource) Next(ctx context.Context) (*vec.Chunk, error) {
	i := s.next.Add(1) - 1
	if s.m.before != nil {
		if err := s.m.before(ctx); err != nil {
			return nil, err
		}
	}
	if i >= int64(len(s.chunks)) {
		return nil, nil
	}
	return s.chunks[i], nil
}

func (s *memSource) Close() error {
	s.m.closed.Add(1)
	return nil
}

// scanOf is a scan of all columns of a table; its columns get ids from base.
func scanOf(name string, t *table, base int) *plan.Scan {
	n := &plan.Scan{Object: &schema.Object{Name: name, Kind: schema.Table}, Limit: plan.NoLimit}
	for i, typ := range t.types {
		n.Cols = append(n.Cols, plan.ScanColumn{Field: string(rune('0' + i)),
			Column: plan.Column{ID: colID(base + i), Name: name + string(rune('0'+i)), Type: typ}})
	}
	return n
}
