package loam

import (
	"context"
	"sync"

	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// oneChunk is a source of rows that exist already; it hands them out in chunks.
type oneChunk struct {
	mu    sync.Mutex // guards the fields below
	chunk *vec.Chunk
	at    int
}

// Next implements exec.Source.
func (s *oneChunk) Next(context.Context) (*vec.Chunk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chunk == nil || s.at >= s.chunk.N {
		return nil, nil
	}
	to := min(s.at+vec.ChunkRows, s.chunk.N)
	out := &vec.Chunk{N: to - s.at, Seq: uint64(s.at)}
	for _, c := range s.chunk.Cols {
		out.Cols = append(out.Cols, c.Slice(s.at, to))
	}
	s.at = to
	return out, nil
}

// Close implements exec.Source.
func (s *oneChunk) Close() error { return nil }

// textResult is a result of one text column, one row a line.
func textResult(cols []plan.Column, lines []string) *Result {
	v := vec.New(types.Of(types.Text), len(lines))
	for _, l := range lines {
		v.Append(vec.Text(l))
	}
	src := &oneChunk{chunk: &vec.Chunk{Cols: []*vec.Vector{v}, N: v.N}}
	return &Result{Columns: cols, Affected: -1, next: src.Next}
}
