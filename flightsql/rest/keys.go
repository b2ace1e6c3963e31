package rest

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
)

// keyed is the document with the key.
func keyed(o *schema.Object, doc []byte, key string) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil || members == nil {
		return nil, fail.New(fail.InvalidJSON, "the body is not a JSON object")
	}
	values, err := keyValues(o, key)
	if err != nil {
		return nil, err
	}
	doc = bytes.TrimSpace(doc)
	for i, at := range o.Key {
		name := o.Fields[at].Name
		given, ok := members[name]
		if !ok {
			member := append(append(appendText([]byte{'{'}, name), ':'), values[i]...)
			if len(members) > 0 {
				member = append(member, ',')
			}
			members[name] = values[i]
			doc = append(member, doc[1:]...)
			continue
		}
		if !sameKey(given, values[i]) {
			return nil, fail.New(fail.InvalidParameter, "the document's %s is %.60s, the path says %.60s", name, given, values[i]).
				WithHint("Leave the key out of the document, or write it under its own path.")
		}
	}
	return doc, nil
}

// sameKey compares a key's part in a document with that of a path.
func sameKey(a, b json.RawMessage) bool {
	var x, y any
	d, e := json.NewDecoder(bytes.NewReader(a)), json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	e.UseNumber()
	return d.Decode(&x) == nil && e.Decode(&y) == nil && x == y
}

// keyValues are the parts of a key of the path as JSON.
func keyValues(o *schema.Object, key string) ([]json.RawMessage, error) {
	if len(o.Key) > 1 {
		var parts []json.RawMessage
		if err := json.Unmarshal([]byte(key), &parts); err != nil || len(parts) != len(o.Key) {
			return nil, fail.New(fail.InvalidParameter, "%.60q is no key of %s, whose keys have %s", key, o.Name, fail.Count(len(o.Key), "part")).
				WithHint("Write the key as a JSON array, such as [\"a\",1].")
		}
		return parts, nil
	}
	if o.Fields[o.Key[0]].Type.Integer() {
		if n, err := strconv.ParseInt(key, 10, 64); err != nil || strconv.FormatInt(n, 10) != key {
			return nil, fail.New(fail.InvalidParameter, "%.60q is no key of %s, whose keys are integers", key, o.Name)
		}
		return []json.RawMessage{json.RawMessage(key)}, nil
	}
	return []json.RawMessage{appendText(nil, key)}, nil
}

// whereKeys adds the condition that the key is one of keys.
func (q *query) whereKeys(o *schema.Object, keys []string) error {
	q.add(" WHERE ")
	for i, key := range keys {
		parts, err := keyValues(o, key)
		if err != nil {
			return err
		}
		if len(o.Key) == 1 {
			if i == 0 {
				q.add(quoteName(o.Fields[o.Key[0]].Name), " IN (")
			} else {
				q.add(", ")
			}
			if err := q.value(o.Fields[o.Key[0]].Type, parts[0]); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			q.add(" OR ")
		}
		for k, raw := range parts {
			f := &o.Fields[o.Key[k]]
			q.add([]string{"(", " AND "}[min(k, 1)], quoteName(f.Name), " = ")
			if err := q.value(f.Type, raw); err != nil {
				return err
			}
		}
		q.add(")")
	}
	if len(o.Key) == 1 {
		q.add(")")
	}
	return nil
}

// canonicalKey is a key of a path as _pk spells it.
func canonicalKey(o *schema.Object, key string) string {
	if len(o.Key) > 1 {
		var out bytes.Buffer
		if json.Compact(&out, []byte(key)) == nil {
			return out.String()
		}
	}
	return key
}
