package collection

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
)

// Patches of vectors stay in place where they are many: the fragment gets one more
// Lance file, with the vectors of all of its rows and where in the log each comes
// from, and its segment another split over the same rows. Nothing else of the
// fragment is written again, and no row moves. Where they are few, a patched row
// moves into a new fragment, as every row does that is changed otherwise.

// stayShare is the part of the live rows that must be patched for them to stay, as a
// divisor: a fifth. It holds for the fragment, all of whose vectors are written, and
// for the segment, whose split is.
const stayShare = 5

// patchedRow is a row of a split, and the row of the tail that is its document now.
type patchedRow struct {
	row uint32
	now scored
}

// patchedKeys are what the records of each key below the bounds change together, where
// some change vectors alone.
func patchedKeys(gens [][]*generation, bounds []uint64) map[string]vectorSet {
	out := map[string]vectorSet{}
	for p, list := range gens {
		if !slices.ContainsFunc(list, (*generation).patches) {
			continue
		}
		for _, g := range list {
			g.addSets(counted(g, bounds[p]), out)
		}
	}
	return out
}

// patches reports whether a row changes vectors alone.
func (g *generation) patches() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.sets > 0
}

// addSets adds what the first n rows change, by key.
func (g *generation) addSets(n int, out map[string]vectorSet) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for row := range n {
		b, at := g.blocks[row/vec.ChunkRows], row%vec.ChunkRows
		set := setAt(b.sets, at)
		if before, ok := out[b.keys[at]]; ok {
			set = before.then(set)
		}
		out[b.keys[at]] = set
	}
}

// hitsOn are the rows of t that the first n rows of g supersede, as far as exclude
// has looked them up.
func (g *generation) hitsOn(t target, n int) []hit {
	g.mu.RLock()
	o := g.overlays[t]
	g.mu.RUnlock()
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hits[:sort.Search(len(o.hits), func(i int) bool { return int(o.hits[i].by) >= n })]
}

// patch is what stays in place of one segment.
type patch struct {
	obj   *schema.Object
	seg   *Segment
	split *split
	// rows are the patched ones that stay, ascending.
	rows []patchedRow
	// sets are what is written anew, by fragment; 0 where nothing is.
	sets []vectorSet
	// deleted are the rows of the segment that are not live after the fold.
	deleted *roaring.Bitmap
}

// patchInPlace finds the patched rows that stay where they are, and puts segments with
// their new vectors in the place of the old ones. views are those of the change's base
// and of the tail that is folded; of the latter the rows are left out that stay. It
// returns their number.
func (c *Collection) patchInPlace(ctx context.Context, obj *schema.Object, ch *change, views []*view, sets map[string]vectorSet) (stayed int, err error) {
	if len(sets) == 0 {
		return 0, nil
	}
	splits, tail := views[:len(ch.base.splits)], views[len(ch.base.splits):]
	for i, v := range splits {
		p := &patch{obj: obj, seg: &ch.segments[i], split: ch.base.splits[i], deleted: v.excluded}
		if err := p.find(ctx, ch.base.deleted[i], tail, sets); err != nil {
			return 0, err
		}
		if len(p.rows) == 0 {
			continue
		}
		p.take()
		seg, err := c.buildPatched(ctx, p)
		if err != nil {
			return 0, err
		}
		ch.segments[i], ch.deleted[i] = *seg, p.deleted
		stayed += len(p.rows)
	}
	return stayed, nil
}

// find chooses the patched rows that stay; those in before were deleted before the fold.
func (p *patch) find(ctx context.Context, before *roaring.Bitmap, tail []*view, sets map[string]vectorSet) error {
	var rows []patchedRow
	of := map[uint32]vectorSet{}
	for _, v := range tail {
		t, ok := v.part.(*tailPart)
		if !ok {
			return fail.Bug("a fold of something else than a tail")
		}
		for _, h := range t.g.hitsOn(p.split, t.n) {
			if before.Contains(uint32(h.row)) || v.excluded.Contains(uint32(h.by)) {
				continue
			}
			key, err := t.key(ctx, int(h.by))
			if err != nil {
				return err
			}
			if set := sets[key]; set != 0 {
				rows = append(rows, patchedRow{uint32(h.row), scored{view: v, row: uint32(h.by)}})
				of[uint32(h.row)] = set
			}
		}
	}
	slices.SortFunc(rows, func(a, b patchedRow) int { return cmp.Compare(a.row, b.row) })
	p.choose(rows, of)
	return nil
}

// choose keeps the rows of fragments that have enough of them, if the segment has.
func (p *patch) choose(rows []patchedRow, of map[uint32]vectorSet) {
	p.sets = make([]vectorSet, len(p.seg.Fragments))
	i := 0
	for base, f := range p.seg.placed() {
		in := rowsIn(rows, base, f.Rows)
		if len(in) > 0 && stayShare*len(in) >= f.Rows-f.Deleted {
			for _, r := range in {
				p.sets[i] |= of[r.row]
			}
			p.rows = append(p.rows, in...)
		}
		i++
	}
	if stayShare*len(p.rows) < p.seg.Live() {
		p.rows = nil
	}
}

// rowsIn are the rows of [from, from+n).
func rowsIn(rows []patchedRow, from, n int) []patchedRow {
	lo := sort.Search(len(rows), func(i int) bool { return int(rows[i].row) >= from })
	hi := sort.Search(len(rows), func(i int) bool { return int(rows[i].row) >= from+n })
	return rows[lo:hi]
}

// take leaves the rows that stay out of the fold, and brings them back to life where
// they are.
func (p *patch) take() {
	stay := roaring.New()
	by := map[*view]*roaring.Bitmap{}
	for _, r := range p.rows {
		stay.Add(r.row)
		if by[r.now.view] == nil {
			by[r.now.view] = roaring.New()
		}
		by[r.now.view].Add(r.now.row)
	}
	for v, rows := range by {
		v.excluded = roaring.Or(v.excluded, rows)
	}
	p.deleted = roaring.AndNot(p.deleted, stay)
}

// buildPatched writes the new files of the fragments that have some, and the split.
func (c *Collection) buildPatched(ctx context.Context, p *patch) (*Segment, error) {
	part := &patchedPart{p.split, p.rows}
	s := rowSource{view: &view{obj: p.obj, part: part, excluded: emptyBitmap, deleted: p.deleted}}
	for base, f := range p.seg.placed() {
		next := *f
		if set := p.sets[len(s.kept)]; set != 0 {
			file, sums, err := c.vectorFile(ctx, p, base, f.Rows, set)
			if err != nil {
				return nil, err
			}
			next.Files = append(without(f.Files, file.IDs), file)
			s.files = append(s.files, bundleFile{Name: file.Name, Blocks: sums})
		}
		s.kept = append(s.kept, next)
	}
	for _, file := range p.split.bundle.table.Files {
		if named(s.kept, file.Name) {
			s.files = append(s.files, file)
		}
	}
	return c.buildSegment(ctx, p.obj, []rowSource{s}, 0)
}

// named reports whether a fragment has the file.
func named(frags []Fragment, name string) bool {
	return slices.ContainsFunc(frags, func(f Fragment) bool {
		return slices.ContainsFunc(f.Files, func(d DataFile) bool { return d.Name == name })
	})
}

// superseded is the Lance id of a field that a later file has.
const superseded = -2

// without are the files with the fields superseded, and no file of which nothing is left.
func without(files []DataFile, ids []int32) []DataFile {
	var out []DataFile
	for _, d := range files {
		d.IDs = slices.Clone(d.IDs)
		left := false
		for i, id := range d.IDs {
			if slices.Contains(ids, id) {
				d.IDs[i] = superseded
			}
			left = left || d.IDs[i] != superseded
		}
		if left {
			out = append(out, d)
		}
	}
	return out
}

// vectorFile writes the vectors of the set, of all rows of the fragment that begins at
// base, and where in the log they come from.
func (c *Collection) vectorFile(ctx context.Context, p *patch, base, rows int, set vectorSet) (DataFile, []uint64, error) {
	refs := []colRef{partitionRef, offsetRef}
	for number, f := range vectorFields(p.obj) {
		if set.has(number) {
			refs = append(refs, fieldRef(p.obj, f))
		}
	}
	w, err := c.newDataWriter(ctx, p.obj, refs)
	if err != nil {
		return DataFile{}, nil, err
	}
	defer w.abort()
	for from := base; from < base+rows; from += vec.ChunkRows {
		if ctx.Err() != nil {
			return DataFile{}, nil, fail.Ended(ctx, "the patch of "+p.obj.Name)
		}
		n := min(vec.ChunkRows, base+rows-from)
		cols := make([]*vec.Vector, len(refs))
		for i, ref := range refs {
			old, err := p.split.readLance(ctx, ref, from, n)
			if err != nil {
				return DataFile{}, nil, err
			}
			if old == nil {
				old = vec.Const(ref.t, vec.Null(ref.t), n)
			}
			if cols[i], err = over(ctx, old, ref, rowsIn(p.rows, from, n), from); err != nil {
				return DataFile{}, nil, err
			}
		}
		if err := w.write(cols, n); err != nil {
			return DataFile{}, nil, err
		}
	}
	return w.finish()
}

// over is a column of the rows from from on with the values that the patched ones of
// them have now.
func over(ctx context.Context, old *vec.Vector, ref colRef, rows []patchedRow, from int) (*vec.Vector, error) {
	if len(rows) == 0 {
		return old.Flatten(), nil
	}
	now := make([]scored, len(rows))
	for i, r := range rows {
		now[i] = r.now
	}
	fresh, err := (&Search{}).gather(ctx, ref, now)
	if err != nil {
		return nil, err
	}
	all := make([]int32, old.N)
	for i := range all {
		all[i] = int32(i)
	}
	out, at := vec.New(ref.t, old.N), 0
	for i, r := range rows {
		next := int(r.row) - from
		out.AppendRows(old, all[at:next], next-at)
		out.AppendRows(fresh, all[i:i+1], 1)
		at = next + 1
	}
	out.AppendRows(old, all[at:], old.N-at)
	return out, nil
}

// patchedPart is a split as it is indexed anew after a patch: the same rows, of which
// some come from another place in the log. Its columns are read by whole chunks alone.
type patchedPart struct {
	*split
	patched []patchedRow
}

func (p *patchedPart) column(ctx context.Context, c colRef, chunk int) (*vec.Vector, error) {
	old, err := p.split.column(ctx, c, chunk)
	if err != nil || c.sys != schema.ColOffset && c.sys != schema.ColIngestTS {
		return old, err
	}
	from := chunk * vec.ChunkRows
	return over(ctx, old, c, rowsIn(p.patched, from, old.N), from)
}
