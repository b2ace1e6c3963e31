package op

import (
	"context"

	"github.com/loamdb/loam/exec/internal/hashtable"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Seen remembers rows and tells which are new. It belongs to one goroutine.
type Seen struct {
	groups  *hashtable.Groups
	account mem.Account
}

// NewSeen returns an empty memory of rows of the types (at least one).
func NewSeen(ts []types.Type, t *mem.Tracker, sameHash bool) *Seen {
	s := &Seen{account: mem.Account{Tracker: t}}
	s.groups = hashtable.NewGroups(ts, &s.account, sameHash)
	return s
}

// Fresh returns the rows of the table that were not seen before, each once, in
// order. Error: fail.Exhausted.
func (s *Seen) Fresh(ctx context.Context, t *Table) (*Table, error) {
	var keep []int32
	ids := make([]uint32, vec.ChunkRows)
	for from := 0; from < t.N; from += vec.ChunkRows {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c := t.slice(from, min(t.N, from+vec.ChunkRows))
		known := s.groups.Len()
		if err := s.groups.Find(c.Cols, nil, c.N, ids[:c.N]); err != nil {
			return nil, err
		}
		for i, id := range ids[:c.N] {
			if int(id) >= known { // the first row with an id beyond the known ones makes it
				keep = append(keep, int32(from+i))
				known = int(id) + 1
			}
		}
	}
	if len(keep) == t.N {
		return t, nil
	}
	return &Table{N: len(keep), Cols: Pick(t.Cols, keep, 0).Cols}, nil
}
