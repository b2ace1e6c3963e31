package loam

import (
	"context"
	"strings"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
	"github.com/loamdb/loam/planner"
)

func pgTableRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := relations(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		if o.Kind != schema.View {
			no := vec.Bool(false)
			out = append(out, record{"schemaname": vec.Text(o.Namespace), "tablename": vec.Text(o.Name), "tableowner": vec.Text(s.owner()),
				"hasindexes": vec.Bool(len(o.Key) > 0), "hasrules": no, "hastriggers": no, "rowsecurity": no})
		}
	}
	return out, nil
}

func pgViewRecords(ctx context.Context, s *Session) ([]record, error) {
	views, err := viewRecords(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, v := range views {
		r := record{"schemaname": v["namespace"], "viewname": v["name"], "viewowner": vec.Text(s.owner())}
		if d, ok := v["definition"]; ok {
			r["definition"] = d
		}
		out = append(out, r)
	}
	return out, nil
}

func pgSettingRecords(_ context.Context, s *Session) ([]record, error) {
	opts := s.Options()
	var out []record
	for _, st := range settings {
		source := "default"
		if opts[st.name] != st.def {
			source = "session"
		}
		out = append(out, record{"name": vec.Text(st.name), "setting": vec.Text(opts[st.name]), "category": vec.Text("Loam"), "short_desc": vec.Text(st.help),
			"context": vec.Text("user"), "vartype": vec.Text("string"), "source": vec.Text(source), "boot_val": vec.Text(st.def), "reset_val": vec.Text(st.def)})
	}
	return out, nil
}

func pgDatabaseRecords(context.Context, *Session) ([]record, error) {
	return []record{{"oid": oid(planner.NamespaceOID(catalog.RootCatalog)), "datname": root, "datdba": oid(ownerOID), "encoding": vec.Int32(6),
		"datcollate": vec.Text("C"), "datctype": vec.Text("C"), "datistemplate": vec.Bool(false), "datallowconn": vec.Bool(true), "datconnlimit": vec.Int32(-1)}}, nil
}

func pgRoleRecords(_ context.Context, s *Session) ([]record, error) {
	yes, no := vec.Bool(true), vec.Bool(false)
	return []record{{"oid": oid(ownerOID), "rolname": vec.Text(s.owner()), "rolsuper": yes, "rolinherit": yes, "rolcreaterole": no, "rolcreatedb": no,
		"rolcanlogin": yes, "rolreplication": no, "rolconnlimit": vec.Int32(-1)}}, nil
}

func pgUserRecords(_ context.Context, s *Session) ([]record, error) {
	return []record{{"usename": vec.Text(s.owner()), "usesysid": oid(ownerOID), "usecreatedb": vec.Bool(false), "usesuper": vec.Bool(true)}}, nil
}

// keyed lists the collections: what has a primary key.
func keyed(ctx context.Context, s *Session) ([]*schema.Object, error) {
	objs, err := s.engine.cat.Relations(ctx, "")
	var out []*schema.Object
	for _, o := range objs {
		if len(o.Key) > 0 {
			out = append(out, o)
		}
	}
	return out, err
}

func intList(numbers []int, plus int) vec.Value {
	v := vec.Value{Type: types.ListOf(types.Of(types.Int32))}
	for _, n := range numbers {
		v.List = append(v.List, vec.Int32(int32(n+plus)))
	}
	return v
}

func pgIndexRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := keyed(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		yes, no := vec.Bool(true), vec.Bool(false)
		out = append(out, record{"indexrelid": oid(indexOID(o)), "indrelid": oid(relationOID(o)), "indnatts": vec.Int32(int32(len(o.Key))),
			"indnkeyatts": vec.Int32(int32(len(o.Key))), "indisunique": yes, "indisprimary": yes, "indisclustered": no, "indisvalid": yes, "indisready": yes,
			"indislive": yes, "indkey": intList(o.Key, 1), "indoption": intList(make([]int, len(o.Key)), 0)})
	}
	return out, nil
}

func pgIndexesRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := keyed(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		var cols []string
		for _, k := range o.Key {
			cols = append(cols, o.Fields[k].Name)
		}
		out = append(out, record{"schemaname": vec.Text(o.Namespace), "tablename": vec.Text(o.Name), "indexname": vec.Text(keyName(o)),
			"indexdef": vec.Text("PRIMARY KEY (" + strings.Join(cols, ", ") + ")")})
	}
	return out, nil
}

func pgConstraintRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := keyed(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		no := vec.Bool(false)
		out = append(out, record{"oid": oid(indexOID(o)), "conname": vec.Text(keyName(o)), "connamespace": oid(planner.NamespaceOID(o.Namespace)),
			"contype": vec.Text("p"), "condeferrable": no, "condeferred": no, "convalidated": vec.Bool(true), "conrelid": oid(relationOID(o)),
			"contypid": oid(0), "conindid": oid(indexOID(o)), "confrelid": oid(0), "confupdtype": vec.Text(" "), "confdeltype": vec.Text(" "),
			"confmatchtype": vec.Text(" "), "conkey": intList(o.Key, 1)})
	}
	return out, nil
}

func pgProcRecords(_ context.Context, s *Session) ([]record, error) {
	kinds := map[string]string{"aggregate": "a", "window": "w"}
	var out []record
	for i, f := range s.engine.fns.Names() {
		kind := kinds[f.Kind]
		if kind == "" {
			kind = "f"
		}
		args, _ := signature(f.Signature)
		out = append(out, record{"oid": oid(int64(i) + 1), "proname": vec.Text(f.Name), "pronamespace": oid(planner.NamespaceOID("pg_catalog")),
			"proowner": oid(ownerOID), "prolang": oid(12), "prokind": vec.Text(kind), "proretset": vec.Bool(false), "pronargs": vec.Int32(int32(len(args))),
			"prosrc": vec.Text(f.Name)})
	}
	return out, nil
}

// segmentRecords lists the segments that hold the rows of each object: the splits
// of the manifest, then the tail of each partition that is not applied yet.
func segmentRecords(ctx context.Context, s *Session) ([]record, error) {
	objs, err := s.engine.cat.Relations(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []record
	for _, o := range objs {
		if o.Kind == schema.View {
			continue
		}
		c, err := s.engine.collection(ctx, o)
		if err != nil {
			return nil, err
		}
		snap, err := c.Strong(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range snap.Segments() {
			r := record{"namespace": vec.Text(o.Namespace), "name": vec.Text(o.Name), "object_id": vec.Int64(int64(o.ID)), "kind": vec.Text(g.Kind),
				"rows": vec.Int64(int64(g.Rows)), "deleted": vec.Int64(int64(g.Deleted)), "bytes": vec.Int64(g.Bytes)}
			if g.Kind == "split" {
				r["segment"], r["fragments"] = vec.Int64(int64(g.Fragments[0])), vec.Int32(int32(len(g.Fragments)))
			} else {
				r["partition"], r["first_offset"], r["next_offset"] = vec.Int32(int32(g.Partition)), vec.Int64(int64(g.First)), vec.Int64(int64(g.Next))
			}
			out = append(out, r)
		}
	}
	return out, nil
}
