package shell

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/loamdb/loam/cmd/loam/internal/shell/internal/render"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
)

// record is a row of a system table by column name, as text; NULL is "".
type record map[string]string

// records reads all rows of a query.
func (s *Shell) records(ctx context.Context, sql string) ([]record, error) {
	a, err := s.ask(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer closeAnswer(a)
	var out []record
	for {
		c, err := a.Rows.Next(ctx)
		if err != nil || c == nil {
			return out, err
		}
		for i := range c.Rows() {
			r := record{}
			for j, col := range c.Cols {
				if v := col.Value(c.RowAt(i)); !v.Null {
					r[a.Columns[j].Name] = v.String()
				}
			}
			out = append(out, r)
		}
	}
}

// list prints rows of text as a result; an empty column is left out.
func (s *Shell) list(noun string, head []string, rows [][]string) error {
	var cols []plan.Column
	var used []int
	for j, name := range head {
		for _, r := range rows {
			if r[j] != "" {
				used = append(used, j)
				cols = append(cols, plan.Column{Name: name, Type: types.Of(types.Text)})
				break
			}
		}
	}
	if len(cols) == 0 {
		fmt.Fprintf(s.out, "There is no %s.\n", noun)
		return nil
	}
	c := &vec.Chunk{N: len(rows)}
	for _, j := range used {
		v := vec.New(types.Of(types.Text), len(rows))
		for _, r := range rows {
			v.Append(vec.Text(r[j]))
		}
		c.Cols = append(c.Cols, v)
	}
	o := s.render
	width, height := s.size()
	o.Width = width
	if o.Format == render.Arrow {
		o.Format = render.Table
	}
	dest, done := s.out, func() error { return nil }
	if s.pager && s.file == nil {
		p := newPager(s.out, width, height)
		dest, done = p, p.close
	}
	w, err := render.New(dest, cols, o)
	if err == nil {
		err = w.Chunk(c)
	}
	if err == nil {
		err = w.End()
	}
	if e := done(); err == nil {
		err = e
	}
	return err
}

// matches reports whether a name fits a pattern with * and ?; "" fits all. A
// pattern without a dot is that of the name alone.
func matches(pattern, namespace, name string) bool {
	if pattern == "" {
		return true
	}
	pattern = strings.ToLower(strings.ReplaceAll(pattern, `"`, ""))
	if ns, rest, ok := strings.Cut(pattern, "."); ok {
		in, err := path.Match(ns, strings.ToLower(namespace))
		if err != nil || !in {
			return false
		}
		pattern = rest
	}
	ok, err := path.Match(pattern, strings.ToLower(name))
	return err == nil && ok
}

// objects lists the objects of the kinds that fit a pattern.
func (s *Shell) objects(ctx context.Context, noun, pattern string, kinds func(string) bool) error {
	recs, err := s.records(ctx, "SELECT * FROM system.tables")
	if err != nil {
		return err
	}
	var rows [][]string
	for _, r := range recs {
		// The system's own tables show up when they are asked for.
		if r["kind"] == "system table" && !strings.Contains(pattern, ".") {
			continue
		}
		if kinds(r["kind"]) && matches(pattern, r["namespace"], r["name"]) {
			rows = append(rows, []string{r["namespace"], r["name"], r["kind"], r["options"]})
		}
	}
	slices.SortFunc(rows, slices.Compare[[]string])
	return s.list(noun, []string{"namespace", "name", "kind", "options"}, rows)
}

func (s *Shell) doTables(ctx context.Context, pattern string) error {
	return s.objects(ctx, "such collection or table", pattern, func(kind string) bool { return !strings.Contains(kind, "view") })
}

func (s *Shell) doViews(ctx context.Context, pattern string) error {
	return s.objects(ctx, "such view", pattern, func(kind string) bool { return strings.Contains(kind, "view") })
}

func (s *Shell) doFunctions(ctx context.Context, pattern string) error {
	recs, err := s.records(ctx, "SELECT * FROM system.functions")
	if err != nil {
		return err
	}
	var rows [][]string
	for _, r := range recs {
		if matches(pattern, "", r["name"]) {
			rows = append(rows, []string{r["name"], r["kind"], r["signature"], r["description"]})
		}
	}
	slices.SortFunc(rows, slices.Compare[[]string])
	return s.list("such function", []string{"name", "kind", "signature", "description"}, rows)
}

func (s *Shell) doNamespaces(ctx context.Context, pattern string) error {
	recs, err := s.records(ctx, "SELECT * FROM system.namespaces")
	if err != nil {
		return err
	}
	objs, err := s.records(ctx, "SELECT * FROM system.tables")
	if err != nil {
		return err
	}
	number := map[string]int{}
	for _, o := range objs {
		number[o["namespace"]]++
	}
	var rows [][]string
	for _, r := range recs {
		if ns := r["namespace"]; matches(pattern, "", ns) {
			rows = append(rows, []string{ns, count(number[ns], "object")})
		}
	}
	return s.list("such namespace", []string{"namespace", "holds"}, rows)
}

func (s *Shell) doCatalogs(ctx context.Context, _ string) error {
	recs, err := s.records(ctx, "SELECT * FROM system.namespaces")
	if err != nil {
		return err
	}
	return s.list("catalog", []string{"catalog", "holds"}, [][]string{{"loam", count(len(recs), "namespace")}})
}

// doDescribe lists all objects, those of a pattern, or describes one.
func (s *Shell) doDescribe(ctx context.Context, name string) error {
	if name == "" || strings.ContainsAny(name, "*?") {
		return s.objects(ctx, "such object", name, func(string) bool { return true })
	}
	found, names, err := s.find(ctx, name)
	if err != nil {
		return err
	}
	if found == nil {
		e := fail.New(fail.UndefinedTable, "there is no object %q", name)
		if near := fail.Closest(name, names); near != "" {
			return e.WithHint("Did you mean %s?", near)
		}
		return e.WithHint(`\d lists the objects.`)
	}
	return s.describe(ctx, found)
}

// find looks an object up as a statement would: in the session's namespace where
// the name has one part.
func (s *Shell) find(ctx context.Context, name string) (found record, names []string, err error) {
	recs, err := s.records(ctx, "SELECT * FROM system.tables")
	if err != nil {
		return nil, nil, err
	}
	plain := strings.TrimPrefix(strings.ReplaceAll(name, `"`, ""), "loam.")
	full := plain
	if !strings.Contains(full, ".") {
		full = s.namespace(ctx) + "." + full
	}
	for _, r := range recs {
		own := r["namespace"] + "." + r["name"]
		names = append(names, r["name"], own)
		if strings.EqualFold(own, full) && (found == nil || own == full) {
			found = r
		}
	}
	return found, names, nil
}

// namespace is the session's default namespace.
func (s *Shell) namespace(ctx context.Context) string {
	recs, err := s.records(ctx, "SELECT current_schema AS namespace")
	if err != nil || len(recs) == 0 {
		return "public"
	}
	return recs[0]["namespace"]
}

func (s *Shell) describe(ctx context.Context, obj record) error {
	full := planner.QuoteName(obj["namespace"]) + "." + planner.QuoteName(obj["name"])
	title := strings.ToUpper(obj["kind"][:1]) + obj["kind"][1:] + " " + full
	fmt.Fprintln(s.out, s.paint(bold, title))
	cols, err := s.records(ctx, fmt.Sprintf("SELECT * FROM system.columns WHERE namespace = %s AND \"table\" = %s ORDER BY position", planner.QuoteText(obj["namespace"]), planner.QuoteText(obj["name"])))
	if err != nil {
		return err
	}
	if len(cols) == 0 {
		if cols, err = s.described(ctx, full); err != nil {
			return err
		}
	}
	var rows [][]string
	for _, c := range cols {
		null := ""
		if c["nullable"] == "false" {
			null = "not null"
		}
		rows = append(rows, []string{c["column"], c["type"], null, c["key_position"], c["fulltext"], c["distance"], c["modifier"], c["default"]})
	}
	if err := s.list("column", []string{"column", "type", "null", "key", "fulltext", "distance", "modifier", "default"}, rows); err != nil {
		return err
	}
	return s.facts(ctx, obj, cols, full)
}

// described are the columns of an object that system.columns leaves out.
func (s *Shell) described(ctx context.Context, full string) ([]record, error) {
	a, err := s.ask(ctx, "SELECT * FROM "+full+" LIMIT 0")
	if err != nil {
		return nil, err
	}
	defer closeAnswer(a)
	var out []record
	for _, c := range a.Columns {
		out = append(out, record{"column": c.Name, "type": c.Type.String()})
	}
	return out, nil
}

// facts prints what an object has beside its columns.
func (s *Shell) facts(ctx context.Context, obj record, cols []record, full string) error {
	var key, text, vectors []string
	for _, c := range cols {
		name := c["column"]
		if c["key_position"] != "" {
			key = append(key, name)
		}
		if c["fulltext"] != "" {
			text = append(text, name+" ("+c["fulltext"]+")")
		}
		if c["distance"] != "" {
			vectors = append(vectors, name+" "+c["type"]+" "+c["distance"])
		}
	}
	rows, err := s.records(ctx, "SELECT count(*) AS n FROM "+full)
	if err != nil {
		return err
	}
	definition := ""
	if obj["kind"] == "view" {
		if recs, err := s.records(ctx, "SHOW CREATE VIEW "+full); err == nil && len(recs) > 0 {
			definition = recs[0]["statement"]
		}
	}
	for _, line := range [][2]string{
		{"Key", strings.Join(key, ", ")}, {"Full text", strings.Join(text, ", ")}, {"Vectors", strings.Join(vectors, ", ")},
		{"Partitions", obj["partitions"]}, {"Options", obj["options"]}, {"Definition", definition}, {"Rows", rows[0]["n"]},
	} {
		if line[1] != "" && line[1] != "0" || line[0] == "Rows" {
			fmt.Fprintf(s.out, "%-11s %s\n", line[0]+":", line[1])
		}
	}
	return nil
}
