package rest

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// components are the schemas that routes name, as the OpenAPI document has them.
//
//go:embed schemas.json
var components []byte

const pathOpenAPI = "/v1/openapi.json"

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// pathTexts say what the parameters of paths are.
var pathTexts = map[string]string{
	"ns":  "The namespace.",
	"c":   "The name of the collection, table, stream or view.",
	"key": "The document's key: text as it is, an integer in decimal, a composite key as a JSON array.",
}

// object is a JSON object under construction.
type object = map[string]any

// document writes the OpenAPI document of the routes.
func document(routes []endpoint) []byte {
	paths := object{}
	for _, e := range routes {
		path := strings.TrimSuffix(e.path, "{$}")
		item, _ := paths[path].(object)
		if item == nil {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(e.method)] = operation(e)
	}
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Loam", "version": loam.Version,
			"description": "Loam's HTTP door: SQL, search and documents as JSON or Arrow. Every error is a problem (RFC 9457).",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers": []object{{"url": "/"}},
		"paths":   paths,
		"components": object{
			"schemas": schemas(),
			"securitySchemes": object{
				"basic": object{"type": "http", "scheme": "basic"}, "bearer": object{"type": "http", "scheme": "bearer"},
			},
		},
		"security": []object{{}, {"basic": []string{}}, {"bearer": []string{}}},
	}
	out, err := json.Marshal(doc)
	if err != nil {
		return []byte(fail.Bug("the OpenAPI document: %v", err).Error())
	}
	return out
}

// requests are the schemas of bodies that are read member by member.
var requests = []string{"Statement", "Deletion", "Search", "NewCollection", "NewStream", "NewNamespace", "ScanRequest", "Field"}

// schemas are the components. A member of a request that is null is one that is
// not there, everywhere, so that is not said at each of them.
func schemas() object {
	var out object
	if err := json.Unmarshal(components, &out); err != nil {
		return object{"Problem": fail.Bug("schemas.json: %v", err).Error()}
	}
	for _, name := range requests {
		allowNull(out[name])
	}
	return out
}

// allowNull lets every member that may be absent be null, at any depth.
func allowNull(schema any) {
	switch s := schema.(type) {
	case []any:
		for _, e := range s {
			allowNull(e)
		}
	case object:
		required, _ := s["required"].([]any)
		members, _ := s["properties"].(object)
		for name, m := range members {
			allowNull(m)
			if !slices.Contains(required, any(name)) {
				members[name] = object{"anyOf": []any{m, object{"type": "null"}}}
			}
		}
		allowNull(s["anyOf"])
		allowNull(s["items"])
	}
}

func operation(e endpoint) object {
	params := []object{}
	for _, m := range pathParam.FindAllStringSubmatch(e.path, -1) {
		params = append(params, object{"in": "path", "name": m[1], "required": true, "description": pathTexts[m[1]], "schema": ref("Segment")})
	}
	for _, p := range e.params {
		params = append(params, object{"in": p.in, "name": p.name, "required": p.required, "description": p.text, "schema": ref(p.schema)})
	}
	responses := object{"default": object{
		"description": "A problem: what went wrong, where, and what to do about it.",
		"content":     object{mediaProblem: object{"schema": ref("Problem")}},
	}}
	for _, r := range e.answers {
		responses[strconv.Itoa(r.status)] = response(r)
	}
	op := object{"operationId": e.op, "tags": []string{e.tag}, "summary": e.summary, "parameters": params, "responses": responses}
	if e.text != "" {
		op["description"] = e.text
	}
	if e.public {
		op["security"] = []object{{}}
	}
	if e.body != nil {
		op["requestBody"] = object{"required": true, "description": e.body.text, "content": contents(e.body.types)}
	}
	return op
}

func response(r reply) object {
	out := object{"description": r.text}
	if len(r.types) > 0 {
		out["content"] = contents(r.types)
	}
	headers := object{}
	for _, h := range r.headers {
		headers[h] = object{"schema": ref("Text"), "description": headerTexts[h]}
	}
	if len(headers) > 0 {
		out["headers"] = headers
	}
	return out
}

func contents(types map[string]string) object {
	out := object{}
	for media, schema := range types {
		if schema == "" {
			out[media] = object{}
			continue
		}
		out[media] = object{"schema": ref(schema)}
	}
	return out
}

func ref(schema string) object { return object{"$ref": "#/components/schemas/" + schema} }

// Headers of requests and answers.
const (
	headerToken            = "Loam-Consistency-Token"
	headerTokenOld         = "Operon-Consistency-Token"
	headerConsistency      = "Loam-Consistency"
	headerPinManifest      = "Loam-Pin-Manifest"
	headerUnappliedRecords = "Loam-Unapplied-Records"
	headerUnappliedBytes   = "Loam-Unapplied-Bytes"
	headerStatus           = "Loam-Status"
	headerNamespace        = "Loam-Namespace"
	headerQueryID          = "Loam-Query-Id"
)

var headerTexts = map[string]string{
	headerToken:            "Covers what was written: a read with it sees the write.",
	headerUnappliedRecords: "The backlog after the write, in records.",
	headerUnappliedBytes:   "The backlog after the write, in bytes.",
	headerQueryID:          "The statement's row in system.queries.",
	headerTiming:           "How long the statement took up to the first byte.",
}
