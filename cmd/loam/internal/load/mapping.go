package load

import (
	"cmp"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/datafile"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// mapping says where the columns of a file go.
type mapping struct {
	target      *target
	design      *design
	ignoreExtra bool
	// to is the target column of each column of the file: -1 is ignored, opTarget
	// the operation.
	to []int
	// ignored are names of columns that go nowhere, to be told once.
	ignored []string
}

const opTarget = -2

// extend matches the file's columns that are new since the last call. infer gives
// the type of a column that joins a dynamic collection.
func (m *mapping) extend(cols []datafile.Column, infer func(i int) types.Type) error {
	has := func(n string) bool {
		for _, c := range cols {
			if strings.EqualFold(c.Name, n) {
				return true
			}
		}
		return false
	}
	for i := len(m.to); i < len(cols); i++ {
		if cols[i].Name == opColumn && m.target.isCollection() {
			m.to = append(m.to, opTarget)
			continue
		}
		name := cols[i].Name
		at := m.target.find(name)
		if at < 0 || renamed(m.design, name) {
			name = m.design.rename(name, has)
			at = m.target.find(name)
		}
		switch {
		case at >= 0:
		case m.target.dynamic && !m.ignoreExtra:
			at = len(m.target.cols)
			m.target.cols = append(m.target.cols, column{name: name, typ: infer(i), fresh: true})
		case m.ignoreExtra:
			m.ignored = append(m.ignored, cols[i].Name)
		default:
			return m.extra(cols[i].Name)
		}
		for k, other := range m.to {
			if at >= 0 && other == at {
				return fail.New(fail.DuplicateColumn, "the columns %q and %q both go to %q", cols[k].Name, cols[i].Name, m.target.cols[at].name).
					WithHint("Tell them apart: --rename %s=other", cols[i].Name)
			}
		}
		m.to = append(m.to, at)
	}
	return nil
}

func renamed(d *design, name string) bool { _, ok := named(d.renames, name); return ok }

func (m *mapping) extra(name string) error {
	err := fail.New(fail.UndefinedColumn, "%s %s has no column %q", m.target.kind, m.target.sql(), name)
	if near := fail.Closest(name, m.target.columnNames()); near != "" {
		return err.WithHint("Map it with --rename %s=%s, or leave it out with --ignore-extra.", name, near)
	}
	return err.WithHint("Its columns are %s. Leave it out with --ignore-extra, or map it with --rename %s=column.", strings.Join(m.target.columnNames(), ", "), name)
}

// complete checks that the key is among the columns.
func (m *mapping) complete(cols []datafile.Column) error {
	for i, c := range m.target.cols {
		if !c.notNull {
			continue
		}
		found := false
		for _, at := range m.to {
			found = found || at == i
		}
		if found {
			continue
		}
		var names []string
		for _, f := range cols {
			names = append(names, f.Name)
		}
		what := "column"
		if c.key > 0 {
			what = "key column"
		}
		return fail.New(fail.NotNull, "there is no column for the %s %q of %s", what, c.name, m.target.sql()).
			WithHint("The file has %s. Map one with --rename %s=%s.", strings.Join(names, ", "), first(names, "column"), c.name)
	}
	return nil
}

func first(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return names[0]
}

// converted is a batch in the target's types, without the rows that are wrong.
type converted struct {
	// cols has a vector for each column of the target that the file has, at
	// positions at; ops is the operation column, or nil.
	cols   []*vec.Vector
	at     []int
	ops    *vec.Vector
	n      int
	places []datafile.Place
	bad    []datafile.RowError
}

// convert casts a batch. Rows with an error are told and left out.
func (m *mapping) convert(b *datafile.Batch) *converted {
	out := &converted{n: b.N, places: b.Places, bad: b.Bad}
	wrong := map[int]datafile.RowError{}
	mark := func(row int, col, value string, err error) {
		if _, ok := wrong[row]; !ok {
			wrong[row] = datafile.RowError{Place: b.Places[row], Column: col, Value: value, Err: err}
		}
	}
	for i, c := range b.Cols {
		at := m.to[i]
		if at == -1 {
			continue
		}
		typ := types.Of(types.Text)
		if at >= 0 {
			typ = m.target.cols[at].typ
		}
		v, bad := datafile.Convert(c, typ)
		for _, e := range bad {
			mark(e.Row, b.Columns[i].Name, e.Value, m.advise(e.Err, at))
		}
		if at == opTarget {
			out.ops = v
			continue
		}
		out.cols, out.at = append(out.cols, v), append(out.at, at)
		if m.target.cols[at].notNull && v.HasNulls() {
			m.markNulls(v, out, at, mark)
		}
	}
	if len(wrong) > 0 {
		out.drop(wrong)
	}
	return out
}

func (m *mapping) markNulls(v *vec.Vector, out *converted, at int, mark func(int, string, string, error)) {
	c := m.target.cols[at]
	for row := range v.N {
		if !v.IsNull(row) {
			continue
		}
		if c.key == 0 && out.ops != nil && out.ops.Value(row).Str != "" && out.ops.Value(row).Str != "upsert" {
			continue // a delete or a patch needs the key only
		}
		what := "may not be NULL"
		if c.key > 0 {
			what = "is the key and may not be NULL"
		}
		mark(row, c.name, "", fail.New(fail.NotNull, "it %s", what))
	}
}

// advise adds the cure that a loader has to the error of a cast.
func (m *mapping) advise(err error, at int) error {
	if at < 0 {
		return err
	}
	e := *fail.As(err)
	if e.Hint == "" && m.target.cols[at].fresh {
		e.Hint = "Its type was inferred from the first rows; declare the column first: ALTER … ADD COLUMN."
	}
	return &e
}

// drop leaves out the rows that are wrong.
func (c *converted) drop(wrong map[int]datafile.RowError) {
	var keep []int32
	var places []datafile.Place
	for row := range c.n {
		if e, ok := wrong[row]; ok {
			c.bad = append(c.bad, e)
			continue
		}
		keep, places = append(keep, int32(row)), append(places, c.places[row])
	}
	c.keep(keep, places)
	slices.SortStableFunc(c.bad, func(a, b datafile.RowError) int { return cmp.Compare(a.Row, b.Row) })
}

func (c *converted) keep(rows []int32, places []datafile.Place) {
	for i, v := range c.cols {
		c.cols[i] = gather(v, rows)
	}
	if c.ops != nil {
		c.ops = gather(c.ops, rows)
	}
	c.n, c.places = len(rows), places
}

func gather(v *vec.Vector, rows []int32) *vec.Vector {
	out := vec.New(v.Type, len(rows))
	out.AppendRows(v, rows, len(rows))
	return out
}

// skip leaves out the rows that a state file says are in already.
func (c *converted) skip(done ranges) {
	if len(done) == 0 {
		return
	}
	var keep []int32
	var places []datafile.Place
	for row, p := range c.places {
		if !done.contains(p.Row) {
			keep, places = append(keep, int32(row)), append(places, p)
		}
	}
	if len(keep) < c.n {
		c.keep(keep, places)
	}
	bad := c.bad[:0:0]
	for _, e := range c.bad {
		if !done.contains(e.Row) {
			bad = append(bad, e)
		}
	}
	c.bad = bad
}
