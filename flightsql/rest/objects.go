package rest

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
)

// kinds are the objects of a namespace by their part of the path.
var kinds = map[string]schema.Kind{"collections": schema.Collection, "tables": schema.Table, "streams": schema.Stream, "views": schema.View}

// objectRoutes are the routes of collections, of tables, of streams or of views.
func (a *api) objectRoutes(plural string) []endpoint {
	kind := kinds[plural]
	name, tag := string(kind), tagOf(kind)
	list := pathNamespace + "/" + plural
	one := list + "/{c}"
	op := strings.ToUpper(name[:1]) + name[1:]
	out := []endpoint{
		{method: http.MethodGet, path: list, op: "list" + tag, tag: tag, summary: "List the " + plural + " of a namespace",
			answers: answersJSON("Objects", "The "+plural+" by name."), serve: a.listObjects(kind)},
		{method: http.MethodGet, path: one, op: "describe" + op, tag: tag, summary: "Describe a " + name,
			answers: answersJSON("Object", "Its fields and options."), serve: a.describe(kind)},
		{method: http.MethodDelete, path: one, op: "drop" + op, tag: tag, summary: "Drop a " + name,
			params: []param{ifExistsParam}, answers: gone, serve: a.dropObject(kind)},
		{method: http.MethodGet, path: one + "/rows", op: "rows" + op, tag: tag, summary: "Read the rows of a " + name,
			params: []param{fieldsParam, filterParam, limitParam}, answers: answersRows("Table"), rows: true, serve: a.rows(kind)},
	}
	if kind == schema.View { // made by CREATE VIEW, and without rows of its own
		return out
	}
	out = append(out, a.tagRoutes(kind, one, op)...)
	return append(out, a.uploadRoute(kind, one, op),
		endpoint{method: http.MethodPost, path: list, op: "create" + op, tag: tag, summary: "Create a " + name,
			body: jsonBody("New" + op), answers: created("Object", "It is there."), serve: a.createObject(kind)},
		endpoint{method: http.MethodGet, path: one + "/stats", op: "stats" + op, tag: tag, summary: "Count the rows and fragments of a " + name,
			answers: answersJSON("Stats", "As of now."), serve: a.stats(kind)})
}

// tagOf is the chapter of a kind.
func tagOf(kind schema.Kind) string {
	return strings.ToUpper(string(kind[:1])) + string(kind[1:]) + "s"
}

// objectJSON describes a collection or table.
type objectJSON struct {
	Namespace     string            `json:"namespace"`
	Name          string            `json:"name"`
	Kind          schema.Kind       `json:"kind"`
	ID            uint64            `json:"id"`
	SchemaVersion uint64            `json:"schema_version"`
	Fields        []fieldJSON       `json:"fields"`
	PrimaryKey    []string          `json:"primary_key"`
	Partitions    int               `json:"partitions"`
	Dynamic       bool              `json:"dynamic"`
	Options       map[string]string `json:"options"`
	Key           string            `json:"key,omitempty"`   // of a stream: the field that says the partition
	Query         string            `json:"query,omitempty"` // of a view
}

// fieldJSON describes a field; a new object is described by the same.
type fieldJSON struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	NotNull    bool   `json:"not_null,omitempty"`
	PrimaryKey bool   `json:"primary_key,omitempty"`
	FullText   string `json:"fulltext,omitempty"`
	Distance   string `json:"distance,omitempty"`
	Modifier   string `json:"modifier,omitempty"`
}

func objectOf(o *schema.Object) objectJSON {
	out := objectJSON{
		Namespace: o.Namespace, Name: o.Name, Kind: o.Kind, ID: o.ID, SchemaVersion: o.SchemaVersion, Fields: []fieldJSON{},
		PrimaryKey: []string{}, Partitions: o.Partitions, Dynamic: o.Dynamic, Options: o.Options,
	}
	for i, f := range o.Fields {
		out.Fields = append(out.Fields, fieldJSON{Name: f.Name, Type: f.Type.String(), NotNull: f.NotNull, PrimaryKey: o.IsKey(i),
			FullText: f.FullText, Distance: string(f.Metric), Modifier: f.Modifier})
	}
	for _, k := range o.Key {
		out.PrimaryKey = append(out.PrimaryKey, o.Fields[k].Name)
	}
	if at := o.Route(); at >= 0 {
		out.Key = o.Fields[at].Name
	}
	if o.Query != nil {
		out.Query = o.Query.Text
	}
	if out.Options == nil {
		out.Options = map[string]string{}
	}
	return out
}

func writeValue(w *answer, status int, v any) error {
	w.Header().Set("Content-Type", mediaJSON)
	w.WriteHeader(status)
	_, err := w.Write(append(encode(v), '\n'))
	return err
}

func (a *api) listObjects(kind schema.Kind) serving {
	return func(ctx context.Context, w *answer, r *http.Request) error {
		ns, err := a.namespaceNamed(ctx, r.PathValue("ns"))
		if err != nil {
			return err
		}
		objects, err := a.engine.Catalog().Objects(ctx, ns)
		if err != nil {
			return err
		}
		out := []objectJSON{}
		for _, o := range objects {
			if o.Kind == kind {
				out = append(out, objectOf(o))
			}
		}
		return writeValue(w, http.StatusOK, object{"objects": out})
	}
}

func (a *api) describe(kind schema.Kind) serving {
	return func(ctx context.Context, w *answer, r *http.Request) error {
		obj, err := a.find(ctx, target(r), kind)
		if err != nil {
			return err
		}
		return writeValue(w, http.StatusOK, objectOf(obj))
	}
}

// newObject is the body that creates a collection or table.
type newObject struct {
	Name        string                     `json:"name"`
	Fields      []fieldJSON                `json:"fields"`
	PrimaryKey  []string                   `json:"primary_key"`
	Dynamic     *bool                      `json:"dynamic"`
	Partitions  *whole                     `json:"partitions"`
	Options     map[string]json.RawMessage `json:"options"`
	IfNotExists bool                       `json:"if_not_exists"`
}

var newObjectKeys = []string{"name", "fields", "primary_key", "dynamic", "partitions", "options", "if_not_exists",
	"type", "not_null", "fulltext", "distance", "modifier"}

func (a *api) createObject(kind schema.Kind) serving {
	return func(ctx context.Context, w *answer, r *http.Request) error {
		data, _, err := body(r, mediaJSON)
		if err != nil {
			return err
		}
		var in newObject
		if err := scan.Strict(data, &in, newObjectKeys); err != nil {
			return err
		}
		q := &query{}
		if err := in.translate(q, kind, r.PathValue("ns")); err != nil {
			return err
		}
		if err := a.ddl(ctx, q); err != nil {
			return err
		}
		obj, err := a.find(ctx, loam.Target{Namespace: r.PathValue("ns"), Name: in.Name}, kind)
		if err != nil {
			return err
		}
		return writeValue(w, http.StatusCreated, objectOf(obj))
	}
}

// ddl runs a statement without rows.
func (a *api) ddl(ctx context.Context, q *query) error {
	res, err := q.run(ctx, a.session(ctx, ""))
	if err != nil {
		return err
	}
	return res.Close()
}

// typeName is what a field's type may be written with: words, numbers in
// parentheses, brackets of a list.
var typeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 ]*(\( *\d+ *(, *\d+ *)?\))?( *\[\])*$`)

// word is what analyzers, distances and modifiers are called.
var word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// translate writes the new object as CREATE.
func (in *newObject) translate(q *query, kind schema.Kind, ns string) error {
	if in.Name == "" {
		return fail.New(fail.BadRequest, "the body has no \"name\"")
	}
	q.add("CREATE ", strings.ToUpper(string(kind)), " ")
	if in.IfNotExists {
		q.add("IF NOT EXISTS ")
	}
	q.add(quoteName(ns), ".", quoteName(in.Name))
	if kind == schema.Stream && len(in.Fields)+len(in.PrimaryKey) == 0 { // a stream has fields of its own
		return in.options(q)
	}
	q.add(" (")
	key := in.PrimaryKey
	for i, f := range in.Fields {
		if i > 0 {
			q.add(", ")
		}
		if err := f.translate(q); err != nil {
			return err
		}
		if f.PrimaryKey && !slices.Contains(key, f.Name) {
			key = append(key, f.Name)
		}
	}
	if len(key) > 0 {
		q.add(", PRIMARY KEY (")
		for i, name := range key {
			if i > 0 {
				q.add(", ")
			}
			q.add(quoteName(name))
		}
		q.add(")")
	}
	q.add(")")
	return in.options(q)
}

func (f *fieldJSON) translate(q *query) error {
	if !typeName.MatchString(f.Type) {
		return fail.New(fail.InvalidParameter, "the type of field %.60q is %.60q", f.Name, f.Type).
			WithHint("Types are TEXT, INT, BIGINT, DOUBLE, BOOLEAN, TIMESTAMP, DATE, DECIMAL(p, s), JSON, VECTOR(n), SPARSE VECTOR, and lists such as TEXT[].")
	}
	q.add(quoteName(f.Name), " ", f.Type)
	for _, option := range []struct{ sql, name, value string }{
		{" FULLTEXT ", "fulltext", f.FullText}, {" DISTANCE ", "distance", f.Distance}, {" MODIFIER ", "modifier", f.Modifier},
	} {
		switch {
		case option.value == "":
		case !word.MatchString(option.value):
			return fail.New(fail.InvalidParameter, "the %s of field %.60q is %.60q", option.name, f.Name, option.value)
		case option.name == "fulltext":
			q.add(option.sql, loam.QuoteText(option.value))
		default:
			q.add(option.sql, option.value)
		}
	}
	if f.NotNull {
		q.add(" NOT NULL")
	}
	return nil
}

// options writes WITH.
func (in *newObject) options(q *query) error {
	list, err := optionList(in.Options)
	if err != nil {
		return err
	}
	if in.Partitions != nil {
		list["partitions"] = strconv.FormatInt(int64(*in.Partitions), 10)
	}
	if in.Dynamic != nil {
		list["dynamic"] = strconv.FormatBool(*in.Dynamic)
	}
	q.with(list)
	return nil
}

// optionList are options as SQL, by name.
func optionList(options map[string]json.RawMessage) (map[string]string, error) {
	list := map[string]string{}
	for name, raw := range options {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		if !word.MatchString(name) {
			return nil, fail.New(fail.InvalidParameter, "there is no option %.60q", name)
		}
		list[name] = loam.QuoteText(text)
	}
	return list, nil
}

// with adds WITH and the options, if there are any.
func (q *query) with(list map[string]string) {
	for i, name := range slices.Sorted(maps.Keys(list)) {
		q.add([]string{" WITH (", ", "}[min(i, 1)], name, " = ", list[name])
	}
	if len(list) > 0 {
		q.add(")")
	}
}

func (a *api) dropObject(kind schema.Kind) serving {
	return func(ctx context.Context, w *answer, r *http.Request) error {
		ifExists, err := flag(r, "if_exists")
		if err != nil {
			return err
		}
		obj, err := a.find(ctx, target(r), kind)
		if fail.Is(err, fail.UndefinedTable) && ifExists {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		if err != nil {
			return err
		}
		q := &query{}
		q.add("DROP ", strings.ToUpper(string(kind)), " ", fullName(obj))
		if err := a.ddl(ctx, q); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// flag reads a parameter that is true or false; false without it.
func flag(r *http.Request, name string) (bool, error) {
	params := r.URL.Query()
	text := params.Get(name)
	switch {
	case !params.Has(name) || text == "false":
		return false, nil
	case text == "true":
		return true, nil
	}
	return false, fail.New(fail.InvalidParameter, "%s is %.40q", name, text).WithHint("It is true or false.")
}

// stats counts what a scan plan of now describes.
func (a *api) stats(kind schema.Kind) serving {
	return func(ctx context.Context, w *answer, r *http.Request) error {
		at := target(r)
		if _, err := a.find(ctx, at, kind); err != nil {
			return err
		}
		plan, err := a.session(ctx, at.Namespace).ScanPlan(ctx, loam.ScanRequest{Target: at, Tail: loam.TailMerge})
		if err != nil {
			return err
		}
		deleted := int64(0)
		for _, f := range plan.Fragments {
			deleted += f.DeletedRows
		}
		return writeValue(w, http.StatusOK, object{
			"rows": plan.LiveRows, "fragments": len(plan.Fragments), "deleted_rows": deleted, "unapplied_records": plan.TailRecords,
			"manifest_version": plan.ManifestVersion, "schema_version": plan.Object.SchemaVersion,
		})
	}
}

// rows streams rows: SELECT fields FROM it WHERE filter LIMIT limit.
func (a *api) rows(kind schema.Kind) serving {
	return func(ctx context.Context, w *answer, r *http.Request) error {
		start := a.opts.Clock.Mono()
		media, err := accepted(r, tables...)
		if err != nil {
			return err
		}
		at := target(r)
		obj, err := a.find(ctx, at, kind)
		if err != nil {
			return err
		}
		params := r.URL.Query()
		fields, err := fieldList(obj, listed(params.Get("fields")))
		if err != nil {
			return err
		}
		q := &query{}
		q.add("SELECT ", strings.Join(fields, ", "), " FROM ", fullName(obj))
		if filter := params.Get("filter"); strings.TrimSpace(filter) != "" {
			q.add(" WHERE ")
			if err := q.sql(filter); err != nil {
				return err
			}
		}
		if text := params.Get("limit"); params.Has("limit") {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 {
				return fail.New(fail.InvalidParameter, "limit is %.40q", text).WithHint("It is a number of 0 or more.")
			}
			q.add(" LIMIT ", strconv.FormatInt(n, 10))
		}
		res, err := q.run(ctx, a.session(ctx, at.Namespace))
		if err != nil {
			return err
		}
		out := &result{Result: res, api: a, start: start, limit: -1}
		return out.send(ctx, w, encoderOf(media, true))
	}
}
