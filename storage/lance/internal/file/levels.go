package file

import "github.com/loamdb/loam/storage/lance/internal/pb"

// levelMap is the compact numbering of one page's definition levels.
type levelMap struct {
	// null[i] and empty[i] are the levels at which node i is null or an empty
	// list; 0 when the page has none.
	null, empty []uint16
	max         uint16
	// visible is the highest level whose entries own a value slot.
	visible uint16
	// top is the repetition level of an entry that starts a row.
	top uint16
	// start[r] is the path depth at which an entry of repetition level r begins.
	start []int
}

// levelRun is the levels of consecutive entries. A nil slice stands for zeros
// (def) or row starts (rep).
type levelRun struct {
	n        int
	rep, def []uint16
}

func (r levelRun) slice(from, to int) levelRun {
	out := levelRun{n: to - from}
	if r.rep != nil {
		out.rep = r.rep[from:to]
	}
	if r.def != nil {
		out.def = r.def[from:to]
	}
	return out
}

// plainItems counts the entries from i on that only continue the innermost list
// with a valid item.
func (r levelRun) plainItems(i int) int {
	if r.rep == nil {
		return 0
	}
	from := i
	if r.def == nil {
		for i < r.n && r.rep[i] == 0 {
			i++
		}
		return i - from
	}
	for i < r.n && r.rep[i]|r.def[i] == 0 {
		i++
	}
	return i - from
}

// newLevelMap numbers the layers, which run from the leaf outwards, over the path.
func newLevelMap(l *leaf, layers []pb.Layer) (levelMap, error) {
	if len(layers) != len(l.path) {
		return levelMap{}, corrupt("it has %d layers, the column %d", len(layers), len(l.path))
	}
	m := levelMap{
		null: make([]uint16, len(l.path)), empty: make([]uint16, len(l.path)),
		top: uint16(l.lists), start: make([]int, l.lists+1),
	}
	seen := 0
	for k, layer := range layers {
		i := len(l.path) - 1 - k
		isList := layer == pb.AllValidList || layer >= pb.NullableList
		if isList != (l.path[i].kind == nodeList) {
			return m, corrupt("layer %d is of kind %d, which does not fit the column", k, layer)
		}
		if layer == pb.NullableItem || layer == pb.NullableList || layer == pb.NullAndEmptyList {
			m.max++
			m.null[i] = m.max
		}
		if layer == pb.EmptyableList || layer == pb.NullAndEmptyList {
			m.max++
			m.empty[i] = m.max
		}
		if isList {
			m.start[seen] = i + 1
			seen++
		} else if seen == 0 {
			m.visible = m.max
		}
	}
	return m, nil
}

// check refuses levels out of range and a page or chunk that starts within a row
// it does not have.
func (m *levelMap) check(r levelRun) error {
	for i, v := range r.rep {
		if v > m.top {
			return corrupt("entry %d has repetition level %d of at most %d", i, v, m.top)
		}
	}
	for i, v := range r.def {
		if v > m.max {
			return corrupt("entry %d has definition level %d of at most %d", i, v, m.max)
		}
	}
	return nil
}

// countVisible is how many of the entries own a value slot.
func (m *levelMap) countVisible(r levelRun) int {
	if r.def == nil || m.visible == m.max {
		return r.n
	}
	n := 0
	for _, d := range r.def {
		if d <= m.visible {
			n++
		}
	}
	return n
}

// entriesOf is the entries [from, to) of the run that belong to the rows. first
// is the row that the run's first row start begins; entries before that start
// belong to the row before.
func (m *levelMap) entriesOf(run levelRun, first int64, rows rowRange) (from, to int) {
	row := first - 1
	for i := range run.n {
		if run.rep == nil || run.rep[i] == m.top {
			row++
		}
		if row >= rows.to {
			return from, i
		}
		if row < rows.from {
			from = i + 1
		}
	}
	return from, run.n
}
