package rest

import (
	"encoding/json"
	"strings"
	"testing"
)

// A tag over HTTP: made, listed, read by, dropped, and refused by name.
func TestTagRoutes(t *testing.T) {
	s := real(t, Options{})
	must := func(method, path, body string, status int) string {
		t.Helper()
		r := s.do(method, path, body)
		if r.StatusCode != status {
			t.Fatalf("%s %s %s: %d %s", method, path, body, r.StatusCode, r.body)
		}
		return r.body
	}
	sql := func(text string) string {
		t.Helper()
		body, err := json.Marshal(map[string]string{"sql": text})
		if err != nil {
			t.Fatal(err)
		}
		return must("POST", "/v1/sql", string(body), 200)
	}
	const tags = "/v1/namespaces/public/collections/docs/tags"
	sql("CREATE COLLECTION docs (id TEXT PRIMARY KEY)")
	sql("INSERT INTO docs VALUES ('a')")
	type tag struct {
		Name            string
		ManifestVersion int64   `json:"manifest_version"`
		LanceVersion    string  `json:"lance_version"`
		ExpiresAt       *string `json:"expires_at"`
		Protect         bool
		Comment         string
		ExclusiveBytes  *int64 `json:"exclusive_bytes"`
	}
	read := func(text string) (out tag) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	made := read(must("POST", tags, `{"name": "v1", "protect": true, "comment": "it's \"one\"", "expires_at": "2999-01-02T03:04:05Z"}`, 201))
	if made.Name != "v1" || made.ManifestVersion != 1 || made.LanceVersion == "" || !made.Protect || made.Comment != `it's "one"` || *made.ExpiresAt != "2999-01-02T03:04:05Z" || made.ExclusiveBytes != nil {
		t.Fatalf("%+v", made)
	}
	sql("INSERT INTO docs VALUES ('b')")
	must("POST", tags, `{"name": "v2"}`, 201)
	if v := read(must("POST", tags, `{"name": "v1-again", "at": {"tag": "V1"}}`, 201)); v.ManifestVersion != 1 || v.ExpiresAt != nil {
		t.Fatalf("%+v", v)
	}
	must("POST", tags, `{"name": "first", "at": {"manifest_version": 1}}`, 201)
	if list := must("GET", tags, "", 200); strings.Count(list, `"name"`) != 4 {
		t.Fatal(list)
	}
	if v := read(must("GET", tags+"/V2", "", 200)); v.Name != "v2" || v.ManifestVersion != 2 {
		t.Fatalf("%+v", v)
	}
	if got := sql("SELECT id FROM docs AT (TAG => 'v1')"); !strings.Contains(got, `"a"`) || strings.Contains(got, `"b"`) {
		t.Fatal(got)
	}
	if plan := must("POST", "/v1/namespaces/public/collections/docs/scan", `{"at": {"tag": "v1"}}`, 200); !strings.Contains(plan, `"live_rows":1`) {
		t.Fatal(plan)
	}
	for body, status := range map[string]int{
		`{"name": "v1"}`:                       409,
		`{"name": "a/b"}`:                      400,
		`{}`:                                   400,
		`{"name": "x", "at": {"tag": "nope"}}`: 404,
		`{"name": "x", "at": {"manifest_version": 9}}`:        400,
		`{"name": "x", "expires_at": "soon"}`:                 400,
		`{"name": "x", "expires_at": "2001-01-01T00:00:00Z"}`: 400,
		`{"name": "x", "protected": true}`:                    400,
	} {
		must("POST", tags, body, status)
	}
	must("POST", tags, `{"name": "v1", "if_not_exists": true}`, 201)
	must("DELETE", "/v1/namespaces/public/collections/docs", "", 409) // v1 is protected
	must("GET", tags+"/nope", "", 404)
	must("DELETE", tags+"/nope", "", 404)
	must("DELETE", tags+"/nope?if_exists=true", "", 204)
	must("DELETE", tags+"/v1", "", 204)
	must("DELETE", "/v1/namespaces/public/collections/docs", "", 204)
	must("GET", tags, "", 404)
	must("GET", "/v1/namespaces/public/tables/docs/tags", "", 404)
}
