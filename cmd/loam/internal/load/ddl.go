package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/datafile"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
)

// design is what the command line says about a target that is to be made.
type design struct {
	key      []string
	vectors  map[string]vectorSpec
	fulltext map[string]string
	types    map[string]types.Type
	renames  map[string]string
}

type vectorSpec struct {
	dim    int32
	metric string
}

// newDesign reads --key, --vector, --fulltext, --type and --rename.
func newDesign(o *Options) (*design, error) {
	d := &design{vectors: map[string]vectorSpec{}, fulltext: map[string]string{}, types: map[string]types.Type{}, renames: map[string]string{}}
	for _, k := range strings.Split(o.Key, ",") {
		if k = strings.TrimSpace(k); k != "" {
			d.key = append(d.key, k)
		}
	}
	for _, v := range o.Vectors {
		name, spec, err := parseVector(v)
		if err != nil {
			return nil, err
		}
		d.vectors[name] = spec
	}
	for _, f := range o.FullText {
		name, analyzer, _ := strings.Cut(f, ":")
		d.fulltext[name] = analyzer
	}
	for _, s := range o.Types {
		name, text, ok := strings.Cut(s, "=")
		t, known := parseType(text)
		if !ok || name == "" || !known {
			return nil, fail.New(fail.InvalidParameter, "--type %s is not column=TYPE", s).WithHint("Such as --type year=INT or --type price=DECIMAL(10,2).")
		}
		d.types[name] = t
	}
	for _, s := range o.Renames {
		from, to, ok := strings.Cut(s, "=")
		if !ok || from == "" || to == "" {
			return nil, fail.New(fail.InvalidParameter, "--rename %s is not file_column=target_column", s)
		}
		d.renames[from] = to
	}
	return d, nil
}

// parseType reads a type as SQL writes it.
func parseType(s string) (types.Type, bool) {
	s = strings.TrimSpace(s)
	elem, list := strings.CutSuffix(s, "[]")
	name, rest, paren := strings.Cut(elem, "(")
	var args []int64
	if paren {
		for _, a := range strings.Split(strings.TrimSuffix(rest, ")"), ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
			if err != nil {
				return types.Type{}, false
			}
			args = append(args, n)
		}
	}
	t, ok := types.Named(name, args)
	if list {
		t = types.ListOf(t)
	}
	return t, ok
}

// parseVector reads column:dimension[:metric].
func parseVector(s string) (string, vectorSpec, error) {
	parts := strings.Split(s, ":")
	wrong := func(why string) (string, vectorSpec, error) {
		return "", vectorSpec{}, fail.New(fail.InvalidParameter, "--vector %s: %s", s, why).
			WithHint("Write column:dimension:metric, such as --vector emb:384:cosine.")
	}
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return wrong("that is not column:dimension:metric")
	}
	dim, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil || dim < 1 || dim > types.MaxDim {
		return wrong(fmt.Sprintf("%q is not a dimension from 1 to %d", parts[1], types.MaxDim))
	}
	spec := vectorSpec{dim: int32(dim), metric: "cosine"}
	if len(parts) == 3 {
		spec.metric = strings.ToLower(parts[2])
	}
	if !slices.Contains([]string{string(schema.Cosine), string(schema.L2), string(schema.Dot)}, spec.metric) {
		return wrong(fmt.Sprintf("there is no metric %q; there are cosine, l2 and dot", spec.metric))
	}
	return parts[0], spec, nil
}

// named finds what the command line says about a column: by its own name, then without case.
func named[T any](m map[string]T, name string) (T, bool) {
	if v, ok := m[name]; ok {
		return v, true
	}
	for k, v := range m {
		if strings.EqualFold(k, name) {
			return v, true
		}
	}
	var none T
	return none, false
}

// rename is a file's column in the target: as --rename says, and without the
// underscores in front that belong to the system.
func (d *design) rename(name string, taken func(string) bool) string {
	if to, ok := named(d.renames, name); ok {
		return to
	}
	if plain := strings.TrimLeft(name, "_"); plain != name && name != opColumn {
		if plain == "" || taken(plain) {
			return plain + "_"
		}
		return plain
	}
	return name
}

// opColumn says what a row does: upsert, delete or patch.
const opColumn = "_op"

// plan makes the target's description of a sample of the first file.
func (d *design) plan(namespace, name string, s *datafile.Sample) (*target, error) {
	t := &target{namespace: namespace, name: name, kind: schema.Table}
	if len(d.key) > 0 {
		t.kind = schema.Collection
	}
	taken := func(n string) bool {
		return slices.ContainsFunc(s.Columns, func(c datafile.Column) bool { return strings.EqualFold(c.Name, n) })
	}
	for i, c := range s.Columns {
		if c.Name == opColumn {
			continue
		}
		col := column{name: d.rename(c.Name, taken), typ: c.Type}
		if typ, ok := d.about(d.types, c.Name, col.name); ok {
			col.typ = typ
		}
		if v, ok := d.vectorOf(c.Name, col.name); ok {
			if n := s.Lengths[i]; n > 0 && n != int(v.dim) {
				return nil, fail.New(fail.InvalidVector, "--vector %s:%d: the lists of the file have %s", col.name, v.dim, fail.Count(n, "element")).
					WithHint("Write --vector %s:%d:%s.", col.name, n, v.metric)
			}
			col.typ = types.VectorOf(v.dim)
		}
		t.cols = append(t.cols, col)
	}
	if err := d.check(t); err != nil {
		return nil, err
	}
	return t, d.setKey(t)
}

func (d *design) about(m map[string]types.Type, fileName, name string) (types.Type, bool) {
	if v, ok := named(m, name); ok {
		return v, true
	}
	return named(m, fileName)
}

func (d *design) vectorOf(fileName, name string) (vectorSpec, bool) {
	if v, ok := named(d.vectors, name); ok {
		return v, true
	}
	return named(d.vectors, fileName)
}

// check refuses options about columns that the file does not have.
func (d *design) check(t *target) error {
	var asked []string
	for n := range d.vectors {
		asked = append(asked, n)
	}
	for n := range d.types {
		asked = append(asked, n)
	}
	for n := range d.fulltext {
		asked = append(asked, n)
	}
	slices.Sort(asked)
	for _, n := range append(asked, d.key...) {
		if t.find(n) < 0 && t.find(strings.TrimLeft(n, "_")) < 0 {
			err := fail.New(fail.UndefinedColumn, "the file has no column %q", n)
			if near := fail.Closest(n, t.columnNames()); near != "" {
				return err.WithHint("Did you mean %q?", near)
			}
			return err.WithHint("Its columns are %s.", strings.Join(t.columnNames(), ", "))
		}
	}
	if t.kind == schema.Table && len(d.fulltext)+len(d.vectors) > 0 {
		return fail.New(fail.InvalidParameter, "search needs a collection, and without a key the target is a table").
			WithHint("Name the column that tells rows apart: --key id")
	}
	return nil
}

// find is the position of a column by name, exactly first, then without case; -1 is none.
func (t *target) find(name string) int {
	at, n := -1, 0
	for i, c := range t.cols {
		if c.name == name {
			return i
		}
		if strings.EqualFold(c.name, name) {
			at, n = i, n+1
		}
	}
	if n == 1 {
		return at
	}
	return -1
}

func (d *design) setKey(t *target) error {
	for k, name := range d.key {
		i := t.find(name)
		if i < 0 {
			i = t.find(strings.TrimLeft(name, "_"))
		}
		c := &t.cols[i]
		c.key, c.notNull = k+1, true
		if c.typ.Kind != types.Text && c.typ.Kind != types.UUID && !c.typ.Integer() {
			return fail.New(fail.WrongObjectType, "the key column %q is %s; keys are TEXT, INT, BIGINT or UUID", c.name, c.typ).
				WithHint("Load it as text: --type %s=TEXT", c.name)
		}
	}
	for i := range t.cols {
		c := &t.cols[i]
		analyzer, ok := named(d.fulltext, c.name)
		if !ok {
			continue
		}
		if c.typ.Kind != types.Text {
			return fail.New(fail.WrongObjectType, "--fulltext %s: the column is %s, not TEXT", c.name, c.typ)
		}
		if c.fulltext = analyzer; analyzer == "" {
			c.fulltext = "standard"
		}
	}
	return nil
}

// createSQL is the statement that makes the target.
func (d *design) createSQL(t *target) string {
	word := "TABLE"
	if t.isCollection() {
		word = "COLLECTION"
	}
	keys := t.keys()
	var lines []string
	for i, c := range t.cols {
		line := loam.QuoteName(c.name) + " " + c.typ.String()
		if c.fulltext != "" {
			line += " FULLTEXT " + loam.QuoteText(c.fulltext)
		}
		if v, ok := d.vectorOf(c.name, c.name); ok && c.typ.Kind == types.Vector {
			line += " DISTANCE " + v.metric
		} else if c.typ.Kind == types.Vector && t.isCollection() {
			line += " DISTANCE cosine"
		}
		if len(keys) == 1 && keys[0] == i {
			line += " PRIMARY KEY"
		}
		lines = append(lines, line)
	}
	if len(keys) > 1 {
		var names []string
		for _, k := range keys {
			names = append(names, loam.QuoteName(t.cols[k].name))
		}
		lines = append(lines, "PRIMARY KEY ("+strings.Join(names, ", ")+")")
	}
	return fmt.Sprintf("CREATE %s %s (\n  %s\n)", word, t.sql(), strings.Join(lines, ",\n  "))
}
