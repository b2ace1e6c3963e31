package rest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
)

// maxFilterDepth bounds how deep filters nest.
const maxFilterDepth = 64

// filter adds the caller's filter as an SQL condition: a text is an SQL
// predicate, an object is a filter in JSON:
//
//	{"term": {"lang": "en"}}            lang = 'en'
//	{"terms": {"lang": ["en", "de"]}}   lang IN ('en', 'de')
//	{"range": {"year": {"gte": 1990}}}  year >= 1990; also gt, lt, lte
//	{"prefix": {"title": "The "}}       starts_with(title, 'The ')
//	{"exists": "year"}                  year IS NOT NULL
//	{"and": […]}, {"or": […]}, {"not": {…}}
func (q *query) filter(o *schema.Object, raw json.RawMessage) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return fail.Wrap(fail.BadRequest, err, "\"filter\"")
		}
		return q.sql(text)
	}
	return q.condition(o, raw, 1)
}

// node is one condition of a filter; exactly one member is given.
type node struct {
	Term   map[string]json.RawMessage            `json:"term"`
	Terms  map[string][]json.RawMessage          `json:"terms"`
	Range  map[string]map[string]json.RawMessage `json:"range"`
	Prefix map[string]json.RawMessage            `json:"prefix"`
	Exists *string                               `json:"exists"`
	And    *[]json.RawMessage                    `json:"and"`
	Or     *[]json.RawMessage                    `json:"or"`
	Not    json.RawMessage                       `json:"not"`
}

// empty reports a condition whose members are all null.
func (n *node) empty() bool {
	return n.Term == nil && n.Terms == nil && n.Range == nil && n.Prefix == nil && n.Exists == nil && n.And == nil && n.Or == nil && !given(n.Not)
}

var nodeKeys = []string{"term", "terms", "range", "prefix", "exists", "and", "or", "not"}

func (q *query) condition(o *schema.Object, raw json.RawMessage, depth int) error {
	if depth > maxFilterDepth {
		return fail.New(fail.TooDeep, "the filter nests more than %d conditions", maxFilterDepth)
	}
	var n node
	if err := scan.Strict(raw, &n, nodeKeys); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || len(members) != 1 {
		return fail.New(fail.BadRequest, "a condition of the filter has %s", fail.Count(len(members), "member")).
			WithHint("It has one of %s; join several with \"and\".", strings.Join(nodeKeys, ", "))
	}
	if n.empty() {
		return fail.New(fail.BadRequest, "a condition of the filter is null")
	}
	switch {
	case n.And != nil:
		return q.join(o, *n.And, " AND ", "true", depth)
	case n.Or != nil:
		return q.join(o, *n.Or, " OR ", "false", depth)
	case n.Not != nil:
		q.add("NOT (")
		err := q.condition(o, n.Not, depth+1)
		q.add(")")
		return err
	case n.Exists != nil:
		name, _, err := fieldNamed(o, *n.Exists)
		q.add(name, " IS NOT NULL")
		return err
	case n.Terms != nil:
		return eachField(q, o, n.Terms, q.terms)
	case n.Range != nil:
		return eachField(q, o, n.Range, q.ranges)
	case n.Prefix != nil:
		return eachField(q, o, n.Prefix, q.prefix)
	}
	return eachField(q, o, n.Term, q.term)
}

func (q *query) term(name string, t types.Type, raw json.RawMessage) error {
	if string(bytes.TrimSpace(raw)) == "null" {
		q.add(name, " IS NULL")
		return nil
	}
	q.add(name, " = ")
	return q.value(t, raw)
}

func (q *query) prefix(name string, t types.Type, raw json.RawMessage) error {
	q.add("starts_with(", name, ", ")
	err := q.value(t, raw)
	q.add(")")
	return err
}

// join joins conditions; none is what an empty list means.
func (q *query) join(o *schema.Object, list []json.RawMessage, with, none string, depth int) error {
	if len(list) == 0 {
		q.add(none)
		return nil
	}
	q.add("(")
	for i, raw := range list {
		if i > 0 {
			q.add(with)
		}
		if err := q.condition(o, raw, depth+1); err != nil {
			return err
		}
	}
	q.add(")")
	return nil
}

// eachField joins the conditions of fields with AND, in order of their names.
func eachField[T any](q *query, o *schema.Object, fields map[string]T, one func(name string, t types.Type, v T) error) error {
	if len(fields) == 0 {
		return fail.New(fail.BadRequest, "a condition of the filter names no field")
	}
	q.add("(")
	for i, n := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			q.add(" AND ")
		}
		name, t, err := fieldNamed(o, n)
		if err == nil {
			err = one(name, t, fields[n])
		}
		if err != nil {
			return err
		}
	}
	q.add(")")
	return nil
}

func (q *query) terms(name string, t types.Type, list []json.RawMessage) error {
	if len(list) == 0 {
		q.add("false")
		return nil
	}
	q.add(name, " IN (")
	for i, raw := range list {
		if i > 0 {
			q.add(", ")
		}
		if err := q.value(t, raw); err != nil {
			return err
		}
	}
	q.add(")")
	return nil
}

var rangeOps = map[string]string{"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

func (q *query) ranges(name string, t types.Type, bounds map[string]json.RawMessage) error {
	if len(bounds) == 0 {
		return fail.New(fail.BadRequest, "the range of %s has no bound", name).WithHint("Its bounds are gt, gte, lt, lte.")
	}
	for i, b := range slices.Sorted(maps.Keys(bounds)) {
		op := rangeOps[b]
		if op == "" {
			return fail.New(fail.BadRequest, "the range of %s has the unknown bound %.40q", name, b).WithHint("Its bounds are gt, gte, lt, lte.")
		}
		if i > 0 {
			q.add(" AND ")
		}
		q.add(name, " ", op, " ")
		if err := q.value(t, bounds[b]); err != nil {
			return err
		}
	}
	return nil
}

// value adds a parameter of the field's type.
func (q *query) value(t types.Type, raw json.RawMessage) error {
	v, err := parseValue(raw, t)
	if err != nil {
		return err
	}
	q.param(v)
	return nil
}
