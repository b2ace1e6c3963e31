package column

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// followed is a section that notes what readers say they will read.
type followed struct {
	bytesSource
	notes []string
}

func (f *followed) RangeOn(off, n, until int64) ([]byte, error) {
	f.notes = append(f.notes, fmt.Sprintf("%d+%d to %d", off, n, until))
	return f.Range(off, n)
}

func (f *followed) Soon(off, n int64) { f.notes = append(f.notes, fmt.Sprintf("soon %d+%d", off, n)) }

// TestFollow: a scan says up to where its column goes on, and at the begin of a stretch
// which one comes next; a single chunk says nothing.
func TestFollow(t *testing.T) {
	const chunks = 90
	var buf bytes.Buffer
	s := NewStream(&buf, []string{"a", "b"}, []types.Type{types.Of(types.Int64), types.Of(types.Int64)})
	r := rand.New(rand.NewPCG(1, 1))
	for range chunks {
		cols := make([]*vec.Vector, 2)
		for i := range cols {
			cols[i] = vec.NewFlat(types.Of(types.Int64), vec.ChunkRows)
			for k := range cols[i].Int64s {
				cols[i].Int64s[k] = int64(r.Uint64())
			}
		}
		if err := s.Append(cols, vec.ChunkRows); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	src := &followed{bytesSource: buf.Bytes()}
	sec, err := OpenSource(src, int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		c := sec.cols[name]
		if len(c.stretches) < 4 {
			t.Fatalf("column %s lies in %d stretches", name, len(c.stretches)-1)
		}
		next := 1 // the stretch that comes
		for i, k := range c.Chunks {
			src.notes = nil
			if _, err := sec.Chunk(name, i); err != nil || src.notes != nil {
				t.Fatal(src.notes, err)
			}
			if _, err := sec.Scan(name, i); err != nil {
				t.Fatal(err)
			}
			if i == c.stretches[next] {
				next++
			}
			last := c.Chunks[c.stretches[next]-1]
			var want []string
			if i == c.stretches[next-1] && next+1 < len(c.stretches) {
				from, to := c.Chunks[c.stretches[next]], c.Chunks[c.stretches[next+1]-1]
				want = append(want, fmt.Sprintf("soon %d+%d", from.Off, to.Off+to.Len-from.Off))
			}
			want = append(want, fmt.Sprintf("%d+%d to %d", k.Off, k.Len, last.Off+last.Len))
			if fmt.Sprint(src.notes) != fmt.Sprint(want) {
				t.Errorf("column %s, chunk %d: %v, want %v", name, i, src.notes, want)
			}
		}
	}
}
