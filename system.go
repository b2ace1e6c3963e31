package loam

import (
	"context"
	"runtime"
	"sort"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
)

// record is one row of a system table by column name; an absent column is NULL.
type record map[string]vec.Value

// systemTables make the rows of each table that the planner knows.
var systemTables = map[string]func(ctx context.Context, s *Session) ([]record, error){
	"namespaces":        namespaceRecords,
	"collections":       collectionRecords,
	"streams":           streamRecords,
	"tables":            tableRecords,
	"views":             viewRecords,
	"links":             linkRecords,
	"columns":           columnRecords,
	"functions":         functionRecords,
	"column_statistics": columnStatisticsRecords,
	"settings":          settingRecords,
	"tags":              tagRecords,
	"partitions":        partitionRecords,
	"segments":          segmentRecords,
	"gc":                gcRecords,
	"queries":           queryRecords,
	"nodes":             nodeRecords,
	"version":           versionRecords,
}

// rowsOf finds the rows of a table by its key.
func rowsOf(key string) func(ctx context.Context, s *Session) ([]record, error) {
	if f := systemTables[key]; f != nil {
		return f
	}
	if f := standardTables[key]; f != nil {
		return f
	}
	return pgTables[key]
}

// systemRows reads a system table.
func (s *Session) systemRows(ctx context.Context, n *plan.SystemScan) (*vec.Chunk, error) {
	f := rowsOf(n.Table)
	if f == nil {
		return nil, fail.Bug("system table %q has no rows", n.Table)
	}
	recs, err := f(ctx, s)
	if err != nil {
		return nil, err
	}
	c := &vec.Chunk{N: len(recs)}
	for _, col := range n.Cols {
		v := vec.New(col.Type, len(recs))
		for _, r := range recs {
			val, ok := r[col.Field]
			if !ok {
				val = vec.Null(col.Type)
			}
			v.Append(val)
		}
		c.Cols = append(c.Cols, v)
	}
	return c, nil
}

func collectionRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		if o.Kind != schema.Collection {
			continue
		}
		keys := make([]string, len(o.Key))
		for i, k := range o.Key {
			keys[i] = o.Fields[k].Name
		}
		r := objectRecord(o)
		r["collection"] = vec.Text(o.Name)
		r["primary_key"] = vec.Text(strings.Join(keys, ", "))
		r["dynamic"] = vec.Bool(o.Dynamic)
		out = append(out, r)
	}
	return out, nil
}

func objectRecord(o *schema.Object) record {
	return record{
		"namespace": vec.Text(o.Namespace), "name": vec.Text(o.Name), "kind": vec.Text(string(o.Kind)), "id": vec.Int64(int64(o.ID)),
		"partitions": vec.Int32(int32(o.Partitions)), "schema_version": vec.Int64(int64(o.SchemaVersion)), "options": vec.Text(optionsText(o.Options)),
	}
}

func optionsText(m map[string]string) string {
	parts := make([]string, 0, len(m))
	for k, v := range m {
		parts = append(parts, k+" = "+v)
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

func tableRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Relations(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		r := objectRecord(o)
		r["table_type"] = vec.Text("BASE TABLE")
		if o.Kind == schema.View {
			r["table_type"] = vec.Text("VIEW")
		}
		out = append(out, r)
	}
	for _, t := range planner.SystemTables() {
		out = append(out, record{"namespace": vec.Text(t.Schema), "name": vec.Text(t.Name), "kind": vec.Text("system table"), "table_type": vec.Text("SYSTEM TABLE")})
	}
	return out, nil
}

// viewRecords lists the views as of one revision of the catalog.
func viewRecords(ctx context.Context, s *Session) ([]record, error) {
	for try := 1; ; try++ {
		before, err := s.engine.cat.Revision(ctx)
		if err != nil {
			return nil, err
		}
		out, err := viewsNow(ctx, s)
		if err != nil {
			return nil, err
		}
		after, err := s.engine.cat.Revision(ctx)
		if err != nil || after == before || try == dmlTries {
			return out, err
		}
	}
}

// viewsNow lists the views. One whose query does not work any more says why.
func viewsNow(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		if o.Kind != schema.View {
			continue
		}
		r := record{"namespace": vec.Text(o.Namespace), "name": vec.Text(o.Name), "id": vec.Int64(int64(o.ID))}
		if text, err := s.engine.planner.ViewText(ctx, o); err == nil {
			r["definition"] = vec.Text(text)
		}
		if err := s.engine.planner.CheckView(ctx, o); err != nil {
			r["error"] = vec.Text(fail.As(err).Message)
		}
		out = append(out, r)
	}
	return out, nil
}

func columnRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Objects(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		for i, f := range o.Fields {
			r := record{
				"namespace": vec.Text(o.Namespace), "table": vec.Text(o.Name), "column": vec.Text(f.Name), "position": vec.Int32(int32(i + 1)),
				"type": vec.Text(f.Type.String()), "nullable": vec.Bool(!f.NotNull && !o.IsKey(i)),
			}
			for k, at := range o.Key {
				if at == i {
					r["key_position"] = vec.Int32(int32(k + 1))
				}
			}
			setText(r, "fulltext", f.FullText)
			setText(r, "distance", string(f.Metric))
			setText(r, "modifier", f.Modifier)
			if f.MaxChars > 0 {
				r["max_chars"] = vec.Int32(f.MaxChars)
			}
			out = append(out, r)
		}
	}
	for _, t := range planner.SystemTables() {
		for i, f := range t.Fields {
			out = append(out, record{"namespace": vec.Text(t.Schema), "table": vec.Text(t.Name), "column": vec.Text(f.Name),
				"position": vec.Int32(int32(i + 1)), "type": vec.Text(f.Type.String()), "nullable": vec.Bool(true)})
		}
	}
	return out, nil
}

func setText(r record, name, value string) {
	if value != "" {
		r[name] = vec.Text(value)
	}
}

func versionRecords(ctx context.Context, s *Session) ([]record, error) {
	info, err := s.engine.meta.Info(ctx)
	if err != nil {
		return nil, err
	}
	rev, err := s.engine.cat.Revision(ctx)
	return []record{{"version": vec.Text(Version), "go": vec.Text(runtime.Version()), "os_arch": vec.Text(runtime.GOOS + "/" + runtime.GOARCH),
		"cluster_id": vec.Text(info.ClusterID), "catalog_revision": vec.Int64(int64(rev))}}, err
}

func functionRecords(_ context.Context, s *Session) ([]record, error) {
	var out []record
	for _, f := range s.engine.Functions() {
		out = append(out, record{"name": vec.Text(f.Name), "kind": vec.Text(f.Kind), "signature": vec.Text(f.Signature), "description": vec.Text(f.Help), "example": vec.Text(f.Example)})
	}
	return out, nil
}

func settingRecords(_ context.Context, s *Session) ([]record, error) {
	opts := s.Options()
	var out []record
	for _, st := range settings {
		out = append(out, record{"name": vec.Text(st.name), "value": vec.Text(opts[st.name]), "default": vec.Text(st.def), "help": vec.Text(st.help)})
	}
	return out, nil
}

// lookup finds an object by names as written without quotes.
func (e *Engine) lookup(ctx context.Context, namespace, name string) (*schema.Object, error) {
	return e.cat.Lookup(ctx, plainName(namespace), plainName(name))
}
