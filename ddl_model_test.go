package loam_test

import (
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/fail"
)

// modelColumn is a column by identity: views and rows hold on to it under any name.
type modelColumn struct{ name string }

// modelObject is a table with rows, or a view whose column i reads from[i] of base.
type modelObject struct {
	name string
	cols []*modelColumn
	rows []map[*modelColumn]string
	base *modelObject
	from []*modelColumn
}

func (o *modelObject) kind() string {
	if o.base != nil {
		return "VIEW"
	}
	return "TABLE"
}

// value is what row i of the object has in a column.
func (o *modelObject) value(i int, c *modelColumn) string {
	if o.base == nil {
		if v, ok := o.rows[i][c]; ok {
			return v
		}
		return "NULL"
	}
	return o.base.value(i, o.from[slices.Index(o.cols, c)])
}

func (o *modelObject) count() int {
	if o.base != nil {
		return o.base.count()
	}
	return len(o.rows)
}

func (o *modelObject) column(name string) *modelColumn {
	for _, c := range o.cols {
		if c.name == name {
			return c
		}
	}
	return nil
}

// ddlModel is a simple model of a namespace beside the engine.
type ddlModel struct {
	*node
	rnd  *rand.Rand
	objs []*modelObject
	log  []string
	next int
}

func (m *ddlModel) find(name string) *modelObject {
	for _, o := range m.objs {
		if o.name == name {
			return o
		}
	}
	return nil
}

func (m *ddlModel) any() *modelObject {
	if len(m.objs) == 0 {
		return nil
	}
	return m.objs[m.rnd.Intn(len(m.objs))]
}

func (m *ddlModel) name() string { return string(rune('p' + m.rnd.Intn(6))) }

func (m *ddlModel) columnName() string { return string(rune('a' + m.rnd.Intn(6))) }

// readers are the views that read an object, directly or not.
func (m *ddlModel) readers(o *modelObject) []*modelObject {
	var out []*modelObject
	for _, v := range m.objs {
		for b := v.base; b != nil; b = b.base {
			if b == o {
				out = append(out, v)
				break
			}
		}
	}
	return out
}

// run runs a statement that should give the code and, when it works, does change.
func (m *ddlModel) run(sql string, want fail.Code, change func()) {
	m.t.Helper()
	m.log = append(m.log, sql)
	_, _, err := m.query(sql)
	if fail.CodeOf(err) != want {
		m.t.Fatalf("%s\ngot %v (%v), want %v", strings.Join(m.log, ";\n"), err, fail.CodeOf(err), want)
	}
	if err == nil {
		change()
	}
}

func (m *ddlModel) create() {
	o := &modelObject{name: m.name()}
	for _, i := range m.rnd.Perm(6)[:1+m.rnd.Intn(4)] {
		o.cols = append(o.cols, &modelColumn{name: string(rune('a' + i))})
	}
	want := fail.OK
	if m.find(o.name) != nil {
		want = fail.DuplicateObject
	}
	m.run(fmt.Sprintf("CREATE TABLE %s (%s TEXT)", o.name, names(o.cols, " TEXT, ")), want, func() { m.objs = append(m.objs, o) })
}

func names(cols []*modelColumn, sep string) string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = c.name
	}
	return strings.Join(out, sep)
}

func (m *ddlModel) insert() {
	o := m.any()
	if o == nil || o.base != nil {
		return
	}
	row := map[*modelColumn]string{}
	var cols []*modelColumn
	var vals []string
	for _, c := range o.cols {
		if m.rnd.Intn(3) > 0 {
			m.next++
			row[c] = fmt.Sprint(m.next)
			cols, vals = append(cols, c), append(vals, "'"+row[c]+"'")
		}
	}
	if len(cols) > 0 {
		m.run(fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)", o.name, names(cols, ", "), strings.Join(vals, ", ")), fail.OK, func() { o.rows = append(o.rows, row) })
	}
}

func (m *ddlModel) drop() {
	o := m.any()
	if o == nil {
		return
	}
	sql, want := "DROP "+o.kind()+" "+o.name, fail.OK
	gone := append(m.readers(o), o)
	if m.rnd.Intn(2) == 0 {
		sql += " CASCADE"
	} else if len(gone) > 1 {
		want = fail.Dependents
	}
	m.run(sql, want, func() {
		m.objs = slices.DeleteFunc(m.objs, func(x *modelObject) bool { return slices.Contains(gone, x) })
	})
}

func (m *ddlModel) rename() {
	o := m.any()
	if o == nil {
		return
	}
	to, want := m.name(), fail.OK
	if old := m.find(to); old != nil && old != o {
		want = fail.DuplicateObject
	}
	m.run(fmt.Sprintf("ALTER %s %s RENAME TO %s", o.kind(), o.name, to), want, func() { o.name = to })
}

func (m *ddlModel) alterColumn() {
	o := m.any()
	if o == nil {
		return
	}
	name, want := m.columnName(), fail.OK
	c := o.cols[m.rnd.Intn(len(o.cols))]
	op := m.rnd.Intn(3)
	switch other := o.column(name); {
	case op == 0:
		if other != nil && other != c {
			want = fail.DuplicateColumn
		}
		m.run(fmt.Sprintf("ALTER %s %s RENAME COLUMN %s TO %s", o.kind(), o.name, c.name, name), want, func() { c.name = name })
	case o.base != nil:
		m.run(fmt.Sprintf("ALTER VIEW %s DROP COLUMN %s", o.name, c.name), fail.WrongObjectType, nil)
	case op == 1:
		if other != nil {
			want = fail.DuplicateColumn
		}
		m.run(fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s TEXT", o.name, name), want, func() { o.cols = append(o.cols, &modelColumn{name: name}) })
	default:
		for _, v := range m.objs {
			if v.base == o && slices.Contains(v.from, c) {
				want = fail.Dependents
			}
		}
		if len(o.cols) == 1 {
			want = fail.InvalidObject
		}
		m.run(fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s", o.name, c.name), want, func() {
			o.cols = slices.DeleteFunc(o.cols, func(x *modelColumn) bool { return x == c })
		})
	}
}

// view makes or replaces a view over any object. A replaced view keeps its
// columns by name, for the views that read them.
func (m *ddlModel) view() {
	base, name, want := m.any(), m.name(), fail.OK
	if base == nil {
		return
	}
	v := &modelObject{name: name, base: base}
	list := "*"
	v.from = slices.Clone(base.cols)
	if m.rnd.Intn(2) == 0 {
		m.rnd.Shuffle(len(v.from), func(i, j int) { v.from[i], v.from[j] = v.from[j], v.from[i] })
		v.from = v.from[:1+m.rnd.Intn(len(v.from))]
		list = names(v.from, ", ")
	}
	old := m.find(name)
	replace := m.rnd.Intn(2) == 0
	for _, c := range v.from {
		k := &modelColumn{name: c.name}
		if old != nil && old.column(c.name) != nil {
			k = old.column(c.name)
		}
		v.cols = append(v.cols, k)
	}
	verb := "CREATE"
	if replace {
		verb = "CREATE OR REPLACE"
	}
	switch {
	case old == nil:
	case !replace:
		want = fail.DuplicateObject
	case old.base == nil:
		want = fail.WrongObjectType
	case base == old || slices.Contains(m.readers(old), base):
		want = fail.InvalidObject
	default:
		for _, r := range m.objs {
			if r.base == old && slices.ContainsFunc(r.from, func(c *modelColumn) bool { return !slices.Contains(v.cols, c) }) {
				want = fail.Dependents
			}
		}
	}
	m.run(fmt.Sprintf("%s VIEW %s AS SELECT %s FROM %s", verb, name, list, base.name), want, func() {
		if old == nil {
			m.objs = append(m.objs, v)
			return
		}
		old.base, old.from, old.cols = v.base, v.from, v.cols
	})
}

// check compares every object with the model.
func (m *ddlModel) check() {
	m.t.Helper()
	var list []string
	for _, o := range m.objs {
		list = append(list, o.name+"\t"+strings.ToLower(o.kind()))
		var want []string
		for i := range o.count() {
			var cells []string
			for _, c := range o.cols {
				cells = append(cells, o.value(i, c))
			}
			want = append(want, strings.Join(cells, "\t"))
		}
		got, _, err := m.query("SELECT " + names(o.cols, ", ") + " FROM " + o.name)
		sort.Strings(got)
		sort.Strings(want)
		if err != nil || !slices.Equal(got, want) {
			m.t.Fatalf("%s\n%s has %q, want %q, %v", strings.Join(m.log, ";\n"), o.name, got, want, err)
		}
	}
	sort.Strings(list)
	got, _, err := m.query("SELECT name, kind FROM system.tables WHERE namespace = 'public' ORDER BY name")
	if err != nil || !slices.Equal(got, list) {
		m.t.Fatalf("%s\nobjects %q, want %q, %v", strings.Join(m.log, ";\n"), got, list, err)
	}
}

// TestDDLModel runs random DDL beside a simple model: every statement works or
// fails as it should, and names, columns and rows agree, also after a restart.
func TestDDLModel(t *testing.T) {
	for seed := range int64(6) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			t.Parallel()
			m := &ddlModel{node: &node{t: t, dir: t.TempDir()}, rnd: rand.New(rand.NewSource(seed))}
			m.open()
			defer func() { m.close() }()
			for range 150 {
				switch m.rnd.Intn(10) {
				case 0, 1:
					m.create()
				case 2, 3:
					m.view()
				case 4:
					m.rename()
				case 5, 6:
					m.alterColumn()
				case 7, 8:
					m.insert()
				default:
					if m.rnd.Intn(2) == 0 {
						m.drop()
					}
				}
				switch m.rnd.Intn(25) {
				case 0:
					m.log = append(m.log, "-- restart")
					m.close()
					m.open()
				case 1:
					m.log = append(m.log, "-- apply")
					m.apply()
				}
				m.check()
			}
		})
	}
}
