package rest

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/flightsql/internal/enginetest"
	"github.com/loamdb/loam/internal/clock"
)

// documentOf is the site's own OpenAPI document as a compiler of its schemas,
// and as JSON.
func documentOf(t *testing.T, a *api) (*jsonschema.Compiler, map[string]any) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.document))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("mem://openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	return c, doc.(map[string]any)
}

// conforms checks an answer against the document: a status and a media type that
// the route names, and a body of their schema. Every test that calls do checks it.
func (s *site) conforms(r *http.Request, g *got) {
	s.t.Helper()
	media, _, _ := mime.ParseMediaType(g.Header.Get("Content-Type"))
	fault := func(text string) {
		s.t.Errorf("%s %s: %d %s is not what the document says: %s\n%.400s", r.Method, r.URL.Path, g.StatusCode, media, text, g.body)
	}
	_, pattern := s.api.mux.Handler(r)
	_, path, _ := strings.Cut(pattern, " ")
	if g.StatusCode >= 400 {
		if media != mediaProblem {
			fault("an error is a problem")
		}
		if r.Method != http.MethodHead {
			s.validate("#/components/schemas/Problem", g.body, fault)
		}
		return
	}
	if r.Method == http.MethodHead {
		return // it is GET without a body
	}
	_, doc := documentOf(s.t, s.api)
	at := []string{"paths", strings.TrimSuffix(path, "{$}"), strings.ToLower(r.Method), "responses", strconv.Itoa(g.StatusCode)}
	var node any = doc
	for _, key := range at {
		m, _ := node.(map[string]any)
		if node = m[key]; node == nil {
			fault("there is no " + strings.Join(at, " / "))
			return
		}
	}
	content, _ := node.(map[string]any)["content"].(map[string]any)
	if g.StatusCode == http.StatusNoContent {
		return
	}
	if content[media] == nil {
		fault("the media type is not named")
		return
	}
	if media == mediaJSON {
		pointer := "#"
		for _, key := range append(at, "content", media, "schema") {
			pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
		}
		s.validate(pointer, g.body, fault)
	}
}

// validate checks a body against a schema of the document.
func (s *site) validate(pointer, body string, fault func(string)) {
	s.t.Helper()
	c, _ := documentOf(s.t, s.api)
	sch, err := c.Compile("mem://openapi.json" + pointer)
	if err != nil {
		fault(err.Error())
		return
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err == nil {
		err = sch.Validate(v)
	}
	if err != nil {
		fault(err.Error())
	}
}

// TestTheDocumentIsTheRoutes: every route is in the document, and the reverse;
// operations have names of their own; every schema that is named is there.
func TestTheDocumentIsTheRoutes(t *testing.T) {
	s := serve(t, &enginetest.Engine{}, Options{})
	r := s.do("GET", pathOpenAPI, "")
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Summary     string
			Parameters  []struct{ In, Name string }
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(r.body), &doc); err != nil || doc.OpenAPI != "3.1.0" {
		t.Fatal(err, doc.OpenAPI)
	}
	routes, ops := map[string]bool{}, map[string]bool{}
	for _, e := range s.api.routes {
		path := strings.TrimSuffix(e.path, "{$}")
		op, ok := doc.Paths[path][strings.ToLower(e.method)]
		if !ok || op.OperationID == "" || op.Summary == "" || ops[op.OperationID] {
			t.Errorf("%s %s: %+v", e.method, path, op)
		}
		ops[op.OperationID] = true
		routes[strings.ToLower(e.method)+" "+path] = true
		inPath := 0
		for _, p := range op.Parameters {
			if p.In == "path" {
				inPath++
			}
		}
		if inPath != strings.Count(path, "{") {
			t.Errorf("%s: %d parameters", path, inPath)
		}
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			if !routes[method+" "+path] {
				t.Errorf("%s %s is described and not served", method, path)
			}
		}
	}
	c, _ := documentOf(t, s.api)
	for name := range doc.Components.Schemas {
		if _, err := c.Compile("mem://openapi.json#/components/schemas/" + name); err != nil {
			t.Error(err)
		}
	}
	for _, part := range strings.Split(r.body, `"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(part, `"`)
		if doc.Components.Schemas[name] == nil {
			t.Errorf("the schema %s is named and not there", name)
		}
	}
}

func TestRoutesThatAreNot(t *testing.T) {
	s := serve(t, &enginetest.Engine{}, Options{Users: access.Plain(map[string]string{"ann": "x"}, nil, clock.Real(), clock.RandomIDs(clock.Real()))})
	for _, c := range []struct {
		method, path  string
		status        int
		allow, phrase string
	}{
		{"GET", "/v1/sql", 405, "POST", "Its methods are POST."},
		{"PUT", "/v1/namespaces", 405, "GET, HEAD, POST", ""},
		{"OPTIONS", "/v1/namespaces/public/collections/docs/documents/a", 405, "GET, HEAD, PUT, PATCH, DELETE", ""},
		{"POST", "/livez", 405, "GET, HEAD", ""},
		{"POST", "/v1/sqll", 404, "", "Did you mean /v1/sql?"},
		{"GET", "/v1/namespaces/ml/collection", 404, "", "Did you mean /v1/namespaces/ml/collections?"},
		{"GET", "/v1/namespaces/ml/collections/docs/document/7", 404, "", "Did you mean /v1/namespaces/ml/collections/docs/documents/7?"},
		{"GET", "/wholly/elsewhere", 404, "", "/v1/openapi.json"},
		{"GET", "/v1/", 404, "", ""},
	} {
		r := s.do(c.method, c.path, "")
		if r.StatusCode != c.status || r.Header.Get("Allow") != c.allow || !strings.Contains(r.body, c.phrase) {
			t.Errorf("%s %s: %d, Allow %q, %s", c.method, c.path, r.StatusCode, r.Header.Get("Allow"), r.body)
		}
	}
}
