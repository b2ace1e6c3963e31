package load

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/datafile"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// A batch on the wire has at most this many rows, or goes when it has this many bytes.
const (
	packRows  = 8192
	packBytes = 4 << 20
)

// part is how many rows of a unit a packet has; bad of them were refused in the end.
type part struct {
	u      *unit
	n, bad int
}

// origin is where a row of a packet came from.
type origin struct {
	it    *item
	place datafile.Place
}

// packet is one batch on its way.
type packet struct {
	rec     arrow.RecordBatch
	parts   []part
	origins []origin
	// doubtful says that the connection broke while it was sent: it may be in already.
	doubtful bool
}

// packer collects rows for the streams. One goroutine uses it.
type packer struct {
	target  *target
	keys    []int
	pending []*pending // one a stream
	next    int        // stream of the next unit of a table
	send    func(stream int, p *packet) error
}

// pending are the rows that wait for a stream.
type pending struct {
	at      []int // columns of the target
	ops     bool
	cols    []*vec.Vector
	bytes   int
	parts   []part
	origins []origin
}

func newPacker(t *target, streams int, send func(int, *packet) error) *packer {
	p := &packer{target: t, keys: t.keys(), send: send}
	for range streams {
		p.pending = append(p.pending, &pending{})
	}
	return p
}

// add takes the rows of a unit.
func (p *packer) add(u *unit, c *converted) error {
	if c.n == 0 {
		return nil
	}
	if !p.target.isCollection() || len(p.pending) == 1 {
		s := p.next
		p.next = (p.next + 1) % len(p.pending)
		if !p.target.isCollection() && len(p.pending[s].origins)+c.n > packRows {
			// A unit of a table goes in one packet: it is in as a whole, or not at all.
			if err := p.flush(s); err != nil {
				return err
			}
		}
		return p.append(s, u, c, nil, c.n)
	}
	sels := make([][]int32, len(p.pending))
	for row := range c.n {
		s := int(p.hash(c, row) % uint64(len(sels)))
		sels[s] = append(sels[s], int32(row))
	}
	for s, sel := range sels {
		if len(sel) > 0 {
			if err := p.append(s, u, c, sel, len(sel)); err != nil {
				return err
			}
		}
	}
	return nil
}

// hash is of the key: rows of one key keep their order.
func (p *packer) hash(c *converted, row int) uint64 {
	var b []byte
	for _, k := range p.keys {
		i := slices.Index(c.at, k)
		if i < 0 {
			continue
		}
		if v := c.cols[i]; v.Type.Kind == types.Text {
			b = append(append(b, v.Strings.At(row)...), 0)
		} else {
			b = append(append(b, v.Value(row).String()...), 0)
		}
	}
	return xxh3.Hash(b)
}

func (p *packer) append(s int, u *unit, c *converted, sel []int32, n int) error {
	w := p.pending[s]
	if len(w.origins) > 0 && (!slices.Equal(w.at, c.at) || w.ops != (c.ops != nil)) {
		if err := p.flush(s); err != nil {
			return err
		}
		w = p.pending[s]
	}
	cols := c.cols
	if c.ops != nil {
		cols = append(slices.Clone(cols), c.ops)
	}
	if len(w.origins) == 0 {
		w.at, w.ops, w.cols = c.at, c.ops != nil, nil
		for _, v := range cols {
			w.cols = append(w.cols, vec.New(v.Type, min(packRows, 2*n)))
		}
	}
	for i, v := range cols {
		w.cols[i].AppendRows(v, sel, n)
		w.bytes += size(v, sel, n)
	}
	w.parts = append(w.parts, part{u: u, n: n})
	for i := range n {
		row := i
		if sel != nil {
			row = int(sel[i])
		}
		w.origins = append(w.origins, origin{u.it, c.places[row]})
	}
	if len(w.origins) >= packRows || w.bytes >= packBytes {
		return p.flush(s)
	}
	return nil
}

// size is roughly the bytes of rows on the wire.
func size(v *vec.Vector, sel []int32, n int) int {
	switch v.Type.Kind {
	case types.Text, types.Binary, types.JSON:
		total := 4 * n
		for i := range n {
			row := i
			if sel != nil {
				row = int(sel[i])
			}
			total += int(v.Strings.Views[row].Len)
		}
		return total
	case types.Vector:
		return 4 * int(v.Type.Dim) * n
	case types.List:
		if v.N > 0 {
			return n * (4 + 12*int(v.Offsets[v.N])/v.N)
		}
	case types.Sparse:
		return 256 * n
	}
	return 8 * n
}

// flush sends what waits for a stream.
func (p *packer) flush(s int) error {
	w := p.pending[s]
	if len(w.origins) == 0 {
		return nil
	}
	p.pending[s] = &pending{}
	var names []string
	var ts []types.Type
	for i, v := range w.cols {
		name := opColumn
		if i < len(w.at) {
			name = p.target.cols[w.at[i]].name
		}
		names, ts = append(names, name), append(ts, v.Type)
	}
	rec, err := vec.ChunkToRecord(&vec.Chunk{Cols: w.cols, N: len(w.origins)}, vec.Schema(names, ts), memory.DefaultAllocator)
	if err != nil {
		return err
	}
	return p.send(s, &packet{rec: rec, parts: w.parts, origins: w.origins})
}

// flushAll sends what waits.
func (p *packer) flushAll() error {
	for s := range p.pending {
		if err := p.flush(s); err != nil {
			return err
		}
	}
	return nil
}
