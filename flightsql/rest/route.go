package rest

import (
	"context"
	"net/http"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// endpoint is one route: what serves it and what the OpenAPI document says of
// it, side by side, so that they cannot differ.
type endpoint struct {
	method, path string
	// op is the operation's name in generated clients, tag its chapter.
	op, tag, summary, text string
	params                 []param
	body                   *content
	answers                []reply
	public                 bool // no credentials: probes and scrapers have none
	bulk                   bool // the body is read as a stream
	rows                   bool // the answer is written as a stream
	serve                  serving
}

func (e endpoint) pattern() string { return strings.TrimSpace(e.method + " " + e.path) }

// param is a parameter of the query string or a header. Those of the path are
// found in the path.
type param struct {
	in, name, text, schema string
	required               bool
}

// content is a body: by media type the name of its schema; "" is binary.
type content struct {
	types map[string]string
	text  string
}

// reply is one answer of an endpoint. Problems need none: every route has them.
type reply struct {
	status  int
	text    string
	types   map[string]string
	headers []string
}

func jsonBody(schema string) *content {
	return &content{types: map[string]string{mediaJSON: schema}}
}

func answersJSON(schema, text string, headers ...string) []reply {
	return []reply{{status: http.StatusOK, text: text, types: map[string]string{mediaJSON: schema}, headers: headers}}
}

// answersRows are the forms of rows.
func answersRows(schema string) []reply {
	return []reply{{status: http.StatusOK, text: "Rows, in the form that Accept names.", headers: []string{headerQueryID, headerToken, headerTiming},
		types: map[string]string{mediaJSON: schema, mediaNDJSON: "", mediaCSV: "", mediaArrow: ""}}}
}

func created(schema, text string) []reply {
	return []reply{{status: http.StatusCreated, text: text, types: map[string]string{mediaJSON: schema}}}
}

var gone = []reply{{status: http.StatusNoContent, text: "It is gone."}}

// written are the headers of a write.
var written = []string{headerToken, headerUnappliedRecords, headerUnappliedBytes}

// Parameters that several routes have.
var (
	fieldsParam   = param{in: "query", name: "fields", text: "The fields to answer, separated by commas; all but vectors by default.", schema: "Text"}
	filterParam   = param{in: "query", name: "filter", text: "An SQL predicate, such as year > 1990.", schema: "Text"}
	limitParam    = param{in: "query", name: "limit", text: "The most rows to answer; all by default.", schema: "Limit"}
	ifExistsParam = param{in: "query", name: "if_exists", text: "true: nothing to drop is no error.", schema: "Flag"}
	sqlHeaders    = []param{
		{in: "header", name: headerNamespace, text: "The namespace of names without one.", schema: "Text"},
		{in: "header", name: headerConsistency, text: "What the statement sees: strong (the default, every acknowledged write), token, eventual, or pinned.", schema: "Consistency"},
		{in: "header", name: headerToken, text: "The token of a write that the statement must see, or of the pin.", schema: "Text"},
		{in: "header", name: headerPinManifest, text: "With pinned: the manifest version to read.", schema: "Limit"},
	}
)

const (
	pathNamespaces  = "/v1/namespaces"
	pathNamespace   = pathNamespaces + "/{ns}"
	pathCollections = pathNamespace + "/collections"
	pathCollection  = pathCollections + "/{c}"
	pathDocuments   = pathCollection + "/documents"
	pathDocument    = pathDocuments + "/{key}"
	pathTables      = pathNamespace + "/tables"
	pathTable       = pathTables + "/{c}"
)

// table is all routes, in the order in which the document shows them.
func (a *api) table() []endpoint {
	var out []endpoint
	for _, list := range [][]endpoint{
		a.sqlRoutes(), a.searchRoutes(), a.documentRoutes(),
		a.objectRoutes("collections"), a.objectRoutes("tables"), a.objectRoutes("streams"), a.recordRoutes(), a.objectRoutes("views"), a.namespaceRoutes(), a.scanRoutes(), a.serverRoutes(),
	} {
		out = append(out, list...)
	}
	return out
}

// unknown answers what no route serves: 405 with the methods that there are, or
// 404 with the nearest route.
func (a *api) unknown(_ context.Context, _ *answer, r *http.Request) error {
	var methods []string
	if !clean(r.URL.EscapedPath()) {
		return refuse(http.StatusNotFound, "there is no %.20s %.200q", r.Method, r.URL.Path).
			hint("A path has no empty part and no dots; write a key that is one with %%2E.")
	}
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = m
		if _, pattern := a.mux.Handler(other); pattern != "" {
			methods = append(methods, m)
		}
	}
	if len(methods) > 0 {
		allow := strings.Join(methods, ", ")
		out := refuse(http.StatusMethodNotAllowed, "%.20s is no method of %.200q", r.Method, r.URL.Path).hint("Its methods are %s.", allow)
		out.allow = allow
		return out
	}
	out := refuse(http.StatusNotFound, "there is no %.20s %.200q", r.Method, r.URL.Path)
	if near := a.nearest(r.URL.Path); near != "" {
		return out.hint("Did you mean %s?", near)
	}
	return out.hint("The routes are described at %s.", pathOpenAPI)
}

// nearest is the route whose path is most like a wrong one: its parameters are
// taken from it.
func (a *api) nearest(path string) string {
	given := strings.Split(path, "/")
	var candidates []string
	for _, e := range a.routes {
		parts := strings.Split(strings.TrimSuffix(e.path, "{$}"), "/")
		if len(parts) != len(given) {
			continue
		}
		for i, p := range parts {
			if strings.HasPrefix(p, "{") {
				parts[i] = given[i]
			}
		}
		candidates = append(candidates, strings.Join(parts, "/"))
	}
	return fail.Closest(path, candidates)
}
