package column

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// TestStreamIsAWriter: in whatever pieces rows come, a small section has the
// bytes that the Writer makes.
func TestStreamIsAWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := []types.Type{types.Of(types.Int64), types.Of(types.Text), types.Of(types.Boolean)}
		names := []string{"a", "b", "c"}
		var out bytes.Buffer
		s := NewStream(&out, names, columns)
		all := []*vec.Vector{vec.New(columns[0], 0), vec.New(columns[1], 0), vec.New(columns[2], 0)}
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, vec.ChunkRows), 0, 6).Draw(t, "pieces") {
			piece := []*vec.Vector{vec.New(columns[0], n), vec.New(columns[1], n), vec.New(columns[2], n)}
			for i := range n {
				at := s.Rows() + i
				piece[0].Append(vec.Int64(int64(at) * 7))
				piece[1].Append(vec.Text(fmt.Sprint("text ", at%900)))
				if at%5 == 0 {
					piece[2].AppendNull()
				} else {
					piece[2].Append(vec.Bool(at%3 == 0))
				}
			}
			if err := s.Append(piece, n); err != nil {
				t.Fatal(err)
			}
			for i, v := range all {
				v.AppendRows(piece[i], nil, n)
			}
		}
		if err := s.Finish(); err != nil {
			t.Fatal(err)
		}
		w := NewWriter(s.Rows())
		for i, v := range all {
			if err := w.Add(names[i], v); err != nil {
				t.Fatal(err)
			}
		}
		want, err := w.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Fatalf("%d rows: %d bytes, the writer makes %d", s.Rows(), out.Len(), len(want))
		}
	})
}

// largest remembers the size of the section when it was last written to.
type largest struct {
	bytes.Buffer
	writes int
}

func (l *largest) Write(p []byte) (int, error) {
	l.writes++
	return l.Buffer.Write(p)
}

// TestALargeStream: above what it holds, a stream writes runs of each column.
func TestALargeStream(t *testing.T) {
	columns := []types.Type{types.Of(types.Int64), types.Of(types.Text)}
	var out largest
	s := NewStream(&out, []string{"n", "text"}, columns)
	const chunks = 30
	noise := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	textOf := func(at int) string { return string(noise[at*900%(len(noise)-900):][:at%900]) }
	for k := range chunks {
		piece := []*vec.Vector{vec.New(columns[0], 0), vec.New(columns[1], 0)}
		for i := range vec.ChunkRows {
			at := k*vec.ChunkRows + i
			piece[0].Append(vec.Int64(int64(at)))
			piece[1].Append(vec.Text(textOf(at)))
		}
		if err := s.Append(piece, vec.ChunkRows); err != nil {
			t.Fatal(err)
		}
		if s.held > 2*runBytes+4<<20 {
			t.Fatalf("%d bytes are held", s.held)
		}
	}
	before := out.writes
	if before == 0 {
		t.Fatal("nothing was written before the end")
	}
	if err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	sec, err := Open(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for k := range chunks {
		n, err := sec.Chunk("n", k)
		if err != nil {
			t.Fatal(err)
		}
		text, err := sec.Chunk("text", k)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, 1, vec.ChunkRows - 1} {
			at := k*vec.ChunkRows + i
			if want := textOf(at); n.Value(i).Int != int64(at) || text.Value(i).Str != want {
				t.Fatalf("row %d: %v, %q", at, n.Value(i), text.Value(i).Str)
			}
		}
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestStreamErrors(t *testing.T) {
	s := NewStream(brokenWriter{}, []string{"a"}, []types.Type{types.Of(types.Int64)})
	v := vec.New(types.Of(types.Int64), 1)
	v.Append(vec.Int64(1))
	if err := s.Append([]*vec.Vector{v, v}, 1); err == nil {
		t.Error("two columns went into a section of one")
	}
	if err := s.Append([]*vec.Vector{v}, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(); !errors.Is(err, errBroken) {
		t.Errorf("the writer's error: %v", err)
	}
}
