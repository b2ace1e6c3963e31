package collection

import (
	"context"
	"sort"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/storage/internal/text"
)

// generation is an append-only run of one partition's tail: row i is the record
// with the offset base+i, deletes included. Apply takes whole generations; new
// records go to the next one meanwhile. A reader sees the first n rows, for an n
// that it fixed; they never change.
type generation struct {
	obj       *schema.Object
	partition int
	base      uint64
	text      *text.Mem // nil without full-text fields
	textCols  []int     // fields that the text index covers, in its order

	mu     sync.RWMutex // guards the fields below
	n      int
	bytes  int64
	sets   int          // rows that change vectors alone
	blocks []*tailBlock // all full but the last
	latest map[string]int32
	// own lists the rows that a later row of this generation replaced, and the
	// deletes themselves, by the row that did it, ascending.
	own      []hit
	overlays map[target]*overlay

	ownRows marks // the rows of own
}

// tailBlock holds up to vec.ChunkRows rows. Rows that were counted in n are immutable.
type tailBlock struct {
	cols   []*vec.Vector
	source *vec.Vector
	keys   []string
	ts     []int64
	sets   []vectorSet // of collections
}

// hit says that row by superseded row of a target.
type hit struct{ by, row int32 }

// target is an older set of rows that a generation's records may supersede.
type target interface {
	// lookup finds the row that holds the key now.
	lookup(key string) (int32, bool, error)
}

// overlay is what a generation supersedes in one target, computed as far as a
// reader needed it.
type overlay struct {
	mu   sync.Mutex // guards the fields below
	upto int
	hits []hit
	rows marks // the rows of hits
}

// marks remembers the rows of the first hits of a list that only grows, so that
// a snapshot after each write costs what is new, not the whole list.
type marks struct {
	mu   sync.Mutex // guards the fields below
	done int        // hits whose rows are in bits
	bits *roaring.Bitmap
}

// add adds to out the rows that are superseded by the first n rows. hits ascend
// by the row that did it, and are longer at each call or the same.
func (m *marks) add(hits []hit, n int, out *roaring.Bitmap) {
	end := sort.Search(len(hits), func(i int) bool { return int(hits[i].by) >= n })
	m.mu.Lock()
	defer m.mu.Unlock()
	if end < m.done { // a reader of the past
		for _, h := range hits[:end] {
			out.Add(uint32(h.row))
		}
		return
	}
	if m.bits == nil {
		m.bits = roaring.New()
	}
	for _, h := range hits[m.done:end] {
		m.bits.Add(uint32(h.row))
	}
	m.done = end
	out.Or(m.bits)
}

func newGeneration(obj *schema.Object, partition int, base uint64) (*generation, error) {
	g := &generation{obj: obj, partition: partition, base: base, latest: map[string]int32{}, overlays: map[target]*overlay{}}
	fields, cols := textFields(obj)
	if len(fields) == 0 {
		return g, nil
	}
	g.textCols = cols
	mem, err := text.NewMem(fields)
	g.text = mem
	return g, err
}

// textFields are the full-text fields of an object and their positions.
func textFields(obj *schema.Object) ([]text.FieldConfig, []int) {
	var out []text.FieldConfig
	var cols []int
	for i, f := range obj.Fields {
		if f.FullText != "" {
			out = append(out, text.NewField(f.Name, f.FullText))
			cols = append(cols, i)
		}
	}
	return out, cols
}

// append adds records in offset order. One caller at a time.
func (g *generation) append(rec *records, ts int64, bytes int64) error {
	if err := g.index(rec); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for from := 0; from < len(rec.keys); {
		b := g.openBlock()
		to := min(len(rec.keys), from+vec.ChunkRows-len(b.keys))
		b.add(rec, from, to, ts)
		from = to
	}
	for i, key := range rec.keys {
		row := int32(g.n + i)
		if prev, ok := g.latest[key]; ok {
			g.own = append(g.own, hit{by: row, row: prev})
		}
		if rec.del[i] {
			g.own = append(g.own, hit{by: row, row: row})
		}
		g.latest[key] = row
		if setAt(rec.sets, i) != 0 {
			g.sets++
		}
	}
	g.n += len(rec.keys)
	g.bytes += bytes
	return nil
}

// index adds the records to the text index, before they become visible: a
// reader's view is bounded by n.
func (g *generation) index(rec *records) error {
	if g.text == nil {
		return nil
	}
	values := make([][]string, len(g.textCols))
	for i := range rec.keys {
		for f, c := range g.textCols {
			values[f] = textValues(rec.cols[c], i)
		}
		if _, err := g.text.Add(values); err != nil {
			return err
		}
	}
	return nil
}

// textValues are the strings of a TEXT or TEXT[] row of a flat vector, which
// they may alias.
func textValues(v *vec.Vector, i int) []string {
	if v.IsNull(i) {
		return nil
	}
	if v.Type.Kind != types.List {
		return []string{v.Strings.At(i)}
	}
	var out []string
	for _, e := range v.Value(i).List {
		if !e.Null {
			out = append(out, e.Str)
		}
	}
	return out
}

func (g *generation) openBlock() *tailBlock {
	if k := len(g.blocks); k > 0 && len(g.blocks[k-1].keys) < vec.ChunkRows {
		return g.blocks[k-1]
	}
	b := &tailBlock{cols: newColumns(g.obj, 0)}
	if g.obj.Kind == schema.Collection {
		b.source = vec.New(types.Of(types.Binary), 0)
	}
	g.blocks = append(g.blocks, b)
	return b
}

func (b *tailBlock) add(rec *records, from, to int, ts int64) {
	for i, c := range b.cols {
		part := rec.cols[i].Slice(from, to)
		c.AppendRows(part, nil, part.N)
	}
	if b.source != nil {
		part := rec.source.Slice(from, to)
		b.source.AppendRows(part, nil, part.N)
	}
	b.keys = append(b.keys, rec.keys[from:to]...)
	for range to - from {
		b.ts = append(b.ts, ts)
	}
	if b.source != nil {
		for i := from; i < to; i++ {
			b.sets = append(b.sets, setAt(rec.sets, i))
		}
	}
}

// end is the offset after the last record.
func (g *generation) end() uint64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.base + uint64(g.n)
}

func (g *generation) size() (rows int, bytes int64) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.n, g.bytes
}

// lookup implements target: the row that holds the key, a delete included.
func (g *generation) lookup(key string) (int32, bool, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	row, ok := g.latest[key]
	return row, ok, nil
}

// excludeOwn adds to out the rows among the first n that do not count: replaced within them, or deletes.
func (g *generation) excludeOwn(n int, out *roaring.Bitmap) {
	g.mu.RLock()
	own := g.own
	g.mu.RUnlock()
	g.ownRows.add(own, n, out)
}

// exclude adds to out the rows of t that the first n rows of g supersede. Keys
// are looked up once, when a reader first needs them, without holding up writers.
func (g *generation) exclude(t target, n int, out *roaring.Bitmap) error {
	g.mu.Lock()
	o := g.overlays[t]
	if o == nil {
		o = &overlay{}
		g.overlays[t] = o
	}
	g.mu.Unlock()

	o.mu.Lock()
	defer o.mu.Unlock()
	if o.upto < n {
		rows, keys := g.replacing(o.upto, n)
		for i, key := range keys {
			row, ok, err := t.lookup(key)
			if err != nil {
				o.upto = int(rows[i])
				return err
			}
			if ok {
				o.hits = append(o.hits, hit{by: rows[i], row: row})
			}
		}
		o.upto = n
	}
	o.rows.add(o.hits, n, out)
	return nil
}

// replacing are those of the rows [from, to) whose keys older rows may have, and the
// keys. An inserted row of a table or a stream is a new one: only deletes are of older.
func (g *generation) replacing(from, to int) (rows []int32, keys []string) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	add := func(i int) {
		rows, keys = append(rows, int32(i)), append(keys, g.blocks[i/vec.ChunkRows].keys[i%vec.ChunkRows])
	}
	if !g.obj.Kind.Tabular() {
		for i := from; i < to; i++ {
			add(i)
		}
		return rows, keys
	}
	first := sort.Search(len(g.own), func(i int) bool { return int(g.own[i].by) >= from })
	for _, h := range g.own[first:] {
		if int(h.by) >= to {
			break
		}
		if h.by == h.row { // a delete replaces itself too
			add(int(h.by))
		}
	}
	return rows, keys
}

// forget drops the overlays of targets that are no longer read.
func (g *generation) forget(keep map[target]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for t := range g.overlays {
		if !keep[t] {
			delete(g.overlays, t)
		}
	}
}

// tailPart is the first n rows of a generation. It implements part.
type tailPart struct {
	g *generation
	n int
}

func (p *tailPart) rows() int { return p.n }

func (p *tailPart) block(chunk int) (*tailBlock, int) {
	return p.g.blocks[chunk], min(vec.ChunkRows, p.n-chunk*vec.ChunkRows)
}

// column copies what may still grow: the last block's vectors are appended to by the writer.
func (p *tailPart) column(_ context.Context, c colRef, chunk int) (*vec.Vector, error) {
	p.g.mu.RLock()
	defer p.g.mu.RUnlock()
	b, n := p.block(chunk)
	if p.stored(c) {
		if v := b.stored(p.g.obj, c); v != nil {
			return copyHead(v, n), nil
		}
		return nil, nil
	}
	v := vec.NewFlat(c.t, n)
	for i := range n {
		if err := p.system(v, i, c, chunk*vec.ChunkRows+i); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// stored reports the columns that lie in the blocks as vectors.
func (p *tailPart) stored(c colRef) bool { return c.field >= 0 || c.sys == schema.ColSource }

// stored is the vector of a stored column; nil for a field that the object, as
// the block was written, does not have.
func (b *tailBlock) stored(obj *schema.Object, c colRef) *vec.Vector {
	if c.field < 0 {
		return b.source
	}
	if f := fieldByID(obj, c.id); f >= 0 {
		return b.cols[f]
	}
	return nil
}

// system sets position i of v to a system column's value in a row.
func (p *tailPart) system(v *vec.Vector, i int, c colRef, row int) error {
	b, at := p.g.blocks[row/vec.ChunkRows], row%vec.ChunkRows
	switch c.sys {
	case schema.ColPK:
		v.Strings.Set(i, b.keys[at])
	case schema.ColPartition:
		v.Int32s[i] = int32(p.g.partition)
	case schema.ColOffset:
		v.Int64s[i] = int64(p.g.base) + int64(row)
	case schema.ColIngestTS:
		v.Int64s[i] = b.ts[at]
	case schema.ColRowID:
		v.Int64s[i] = -1 - (int64(p.g.partition)<<48 + int64(p.g.base) + int64(row))
	default:
		return fail.Bug("tail has no column %q", c.sys)
	}
	return nil
}

// copyHead returns the first n rows: the vector itself when it is full, for then it never changes.
func copyHead(v *vec.Vector, n int) *vec.Vector {
	if v.N == vec.ChunkRows && n == vec.ChunkRows {
		return v
	}
	out := vec.New(v.Type, n)
	out.AppendRows(v, nil, n)
	return out
}

func (p *tailPart) key(_ context.Context, row int) (string, error) {
	p.g.mu.RLock()
	defer p.g.mu.RUnlock()
	return p.g.blocks[row/vec.ChunkRows].keys[row%vec.ChunkRows], nil
}

func (p *tailPart) text(context.Context) (text.Part, error) {
	if p.g.text == nil {
		return nil, nil
	}
	return p.g.text.At(uint32(p.n)), nil
}

func (p *tailPart) zone(context.Context, colRef, int) (zone, error) { return zone{}, nil }

func (p *tailPart) whole(colRef) zone { return zone{} }

// take copies the rows alone.
func (p *tailPart) take(_ context.Context, c colRef, rows []uint32) (*vec.Vector, error) {
	p.g.mu.RLock()
	defer p.g.mu.RUnlock()
	if !p.stored(c) {
		v := vec.NewFlat(c.t, len(rows))
		for i, row := range rows {
			if err := p.system(v, i, c, int(row)); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
	out := vec.New(c.t, len(rows))
	absent := false
	err := byChunk(rows, func(chunk int, sel []int32) error {
		v := p.g.blocks[chunk].stored(p.g.obj, c)
		if absent = v == nil; !absent {
			out.AppendRows(v, sel, len(sel))
		}
		return nil
	})
	if err != nil || absent {
		return nil, err
	}
	return out, nil
}
