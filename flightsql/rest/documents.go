package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
)

func (a *api) documentRoutes() []endpoint {
	docs := &content{types: map[string]string{mediaJSON: "Documents", mediaNDJSON: "", mediaJSONL: ""},
		text: "A document, an array of them, {\"documents\": […]}, or a document a line. A document with a key that is there replaces it."}
	return []endpoint{
		{method: http.MethodPost, path: pathDocuments, op: "writeDocuments", tag: "Documents", summary: "Write documents, all or none",
			body: docs, answers: answersJSON("Ack", "They are written.", written...), serve: a.documents},
		{method: http.MethodPut, path: pathDocument, op: "putDocument", tag: "Documents", summary: "Write one document under its key",
			body: jsonBody("Document"), answers: answersJSON("Ack", "It is written.", written...), serve: a.putDocument},
		{method: http.MethodGet, path: pathDocument, op: "getDocument", tag: "Documents", summary: "Read one document",
			params: []param{fieldsParam}, answers: answersJSON("Document", "The document's fields."), serve: a.getDocument},
		{method: http.MethodGet, path: pathDocuments, op: "getDocuments", tag: "Documents", summary: "Read documents by their keys",
			params:  []param{{in: "query", name: "key", text: "A key; may be repeated.", schema: "Keys", required: true}, fieldsParam},
			answers: answersJSON("Found", "Those that are there, and the keys of those that are not."), serve: a.getDocuments},
		{method: http.MethodPatch, path: pathDocument, op: "patchDocument", tag: "Documents", summary: "Change fields of one document",
			body: jsonBody("Document"), answers: answersJSON("Ack", "They are changed.", written...), serve: a.patchDocument},
		{method: http.MethodDelete, path: pathDocument, op: "deleteDocument", tag: "Documents", summary: "Delete one document",
			text: "Deleting a document that is not there deletes no rows.", answers: answersJSON("Ack", "It is gone.", written...), serve: a.deleteDocument},
		{method: http.MethodPost, path: pathDocuments + ":delete", op: "deleteDocuments", tag: "Documents", summary: "Delete documents by keys or by a filter",
			body: jsonBody("Deletion"), answers: answersJSON("Ack", "They are gone.", written...), serve: a.deleteDocuments},
		{method: http.MethodPost, path: pathDocuments + ":bulk", op: "bulkDocuments", tag: "Documents", summary: "Write a stream of documents, a line each",
			text: "Lines that cannot be written are left out and reported; the others are written. A write that cannot go on says where it stands.",
			body: &content{types: map[string]string{mediaNDJSON: "", mediaJSONL: ""}}, answers: answersJSON("BulkReport", "What was written, and what was not.", written...),
			bulk: true, serve: a.bulkDocuments},
	}
}

// mediaJSONL is another name of NDJSON.
const mediaJSONL = "application/jsonl"

func target(r *http.Request) loam.Target {
	return loam.Target{Namespace: r.PathValue("ns"), Name: r.PathValue("c")}
}

// documents writes the documents of one request, all or none.
func (a *api) documents(ctx context.Context, w *answer, r *http.Request) error {
	data, media, err := body(r, mediaJSON, mediaNDJSON, mediaJSONL)
	if err != nil {
		return err
	}
	docs := splitLines(data)
	if media == mediaJSON {
		if docs, err = listOf(data); err != nil {
			return err
		}
	}
	return a.append(ctx, w, target(r), docs)
}

func (a *api) append(ctx context.Context, w *answer, at loam.Target, docs [][]byte) error {
	ack, err := a.session(ctx, at.Namespace).AppendDocuments(ctx, at, docs)
	if err != nil {
		return err
	}
	return writeAck(w, ack)
}

func writeAck(w *answer, ack loam.Ack) error {
	out, err := engine.AckJSON(ack)
	if err != nil {
		return err
	}
	ackHeaders(w.Header(), ack)
	return writeJSON(w, out)
}

func ackHeaders(h http.Header, ack loam.Ack) {
	if text := engine.TokenText(ack.Token); text != "" {
		h.Set(headerToken, text)
	}
	h.Set(headerUnappliedRecords, strconv.FormatInt(ack.UnappliedRecords, 10))
	h.Set(headerUnappliedBytes, strconv.FormatInt(ack.UnappliedBytes, 10))
}

// listOf keeps each document's bytes as they came: of an array, of
// {"documents": […]}, or of one document.
func listOf(data []byte) ([][]byte, error) { return listIn(data, "documents") }

// listIn is listOf for a list of records, say, in the member records.
func listIn(data []byte, what string) ([][]byte, error) {
	data = bytes.TrimSpace(data)
	if !json.Valid(data) {
		var whole json.RawMessage
		return nil, fail.Wrap(fail.BadRequest, json.Unmarshal(data, &whole), "the body is not JSON")
	}
	if data[0] == '{' {
		var in map[string]json.RawMessage
		if err := json.Unmarshal(data, &in); err != nil {
			return nil, fail.Wrap(fail.BadRequest, err, "the body")
		}
		if !bytes.HasPrefix(in[what], []byte("[")) {
			return [][]byte{data}, nil
		}
		if err := scan.Strict(data, &in, []string{what}); err != nil {
			return nil, err
		}
		data = in[what]
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil || data[0] != '[' {
		one := strings.TrimSuffix(what, "s")
		return nil, fail.New(fail.BadRequest, "the body holds no %s", what).
			WithHint("Send a %s, [{…}, …] or {\"%s\": [{…}, …]}; or a %s a line as %s.", one, what, one, mediaNDJSON)
	}
	docs := make([][]byte, len(list))
	for i, d := range list {
		docs[i] = d
	}
	return docs, nil
}

// splitLines cuts a body into its lines without the empty ones.
func splitLines(data []byte) [][]byte {
	var docs [][]byte
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			docs = append(docs, line)
		}
	}
	return docs
}

// putDocument writes one document; the key of the path is that of the document,
// or is given to it.
func (a *api) putDocument(ctx context.Context, w *answer, r *http.Request) error {
	data, _, err := body(r, mediaJSON)
	if err != nil {
		return err
	}
	at := target(r)
	obj, err := a.find(ctx, at, schema.Collection)
	if err != nil {
		return err
	}
	doc, err := keyed(obj, data, r.PathValue("key"))
	if err != nil {
		return err
	}
	return a.append(ctx, w, at, [][]byte{doc})
}

// maxKeys bounds the keys of one request.
const maxKeys = 1000

func (a *api) getDocument(ctx context.Context, w *answer, r *http.Request) error {
	found, missing, err := a.read(ctx, r, []string{r.PathValue("key")})
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fail.New(fail.NoData, "%s has no document with the key %.200q", r.PathValue("c"), missing[0])
	}
	return writeJSON(w, found[0])
}

func (a *api) getDocuments(ctx context.Context, w *answer, r *http.Request) error {
	keys := r.URL.Query()["key"]
	if len(keys) == 0 || len(keys) > maxKeys {
		return fail.New(fail.BadRequest, "%s asked for", fail.Count(len(keys), "key is", "keys are")).
			WithHint("Name from 1 to %d: ?key=a&key=b. All rows are at …/rows.", maxKeys)
	}
	found, missing, err := a.read(ctx, r, keys)
	if err != nil {
		return err
	}
	out := append([]byte(`{"documents":[`), bytes.Join(found, []byte(","))...)
	out = append(out, `],"missing":[`...)
	for i, key := range missing {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendText(out, key)
	}
	return writeJSON(w, append(out, `]}`...))
}

// read reads documents by key, in the order of the keys, each as an object.
func (a *api) read(ctx context.Context, r *http.Request, keys []string) (found [][]byte, missing []string, err error) {
	if _, err := accepted(r, mediaJSON); err != nil {
		return nil, nil, err
	}
	at := target(r)
	obj, err := a.find(ctx, at, schema.Collection)
	if err != nil {
		return nil, nil, err
	}
	q := &query{}
	fields, err := fieldList(obj, listed(r.URL.Query().Get("fields")))
	if err != nil {
		return nil, nil, err
	}
	q.add("SELECT ", strings.Join(append([]string{"_pk"}, fields...), ", "), " FROM ", fullName(obj))
	if err := q.whereKeys(obj, keys); err != nil {
		return nil, nil, err
	}
	res, err := q.run(ctx, a.session(ctx, at.Namespace))
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = res.Close() }()
	byKey, err := objectsByKey(ctx, res)
	if err != nil {
		return nil, nil, err
	}
	for _, key := range keys {
		if doc, ok := byKey[canonicalKey(obj, key)]; ok {
			found = append(found, doc)
		} else {
			missing = append(missing, key)
		}
	}
	return found, missing, nil
}

// objectsByKey renders rows whose first column is _pk.
func objectsByKey(ctx context.Context, res *engine.Result) (map[string][]byte, error) {
	names, err := memberNames(res.Columns[1:])
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for {
		c, err := res.Next(ctx)
		if err != nil || c == nil {
			return out, err
		}
		for i := range c.Rows() {
			row := c.RowAt(i)
			out[c.Cols[0].Value(row).Str] = appendObject(nil, names, c.Cols[1:], row)
		}
	}
}

// patchDocument sets the fields of the body and leaves the others.
func (a *api) patchDocument(ctx context.Context, w *answer, r *http.Request) error {
	data, _, err := body(r, mediaJSON)
	if err != nil {
		return err
	}
	obj, err := a.find(ctx, target(r), schema.Collection)
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || len(members) == 0 {
		return fail.New(fail.BadRequest, "the body is not a JSON object with the fields to set")
	}
	q := &query{}
	q.add("UPDATE ", fullName(obj), " SET ")
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			q.add(", ")
		}
		field, t, err := fieldNamed(obj, name)
		if err != nil {
			return err
		}
		q.add(field, " = ")
		if err := q.value(t, members[name]); err != nil {
			return err
		}
	}
	if err := q.whereKeys(obj, []string{r.PathValue("key")}); err != nil {
		return err
	}
	ack, err := a.change(ctx, target(r), q)
	if err != nil {
		return err
	}
	if ack.Rows == 0 {
		return fail.New(fail.NoData, "%s has no document with the key %.200q", obj.Name, r.PathValue("key"))
	}
	return writeAck(w, ack)
}

func (a *api) deleteDocument(ctx context.Context, w *answer, r *http.Request) error {
	obj, err := a.find(ctx, target(r), schema.Collection)
	if err != nil {
		return err
	}
	q := &query{}
	q.add("DELETE FROM ", fullName(obj))
	if err := q.whereKeys(obj, []string{r.PathValue("key")}); err != nil {
		return err
	}
	ack, err := a.change(ctx, target(r), q)
	if err != nil {
		return err
	}
	return writeAck(w, ack)
}

// deleteDocuments takes {"keys": […]} or {"filter": …}; never neither, which
// would be all.
func (a *api) deleteDocuments(ctx context.Context, w *answer, r *http.Request) error {
	data, _, err := body(r, mediaJSON)
	if err != nil {
		return err
	}
	var in struct {
		Keys   []*string       `json:"keys"`
		Filter json.RawMessage `json:"filter"`
	}
	if err := scan.Strict(data, &in, []string{"keys", "filter"}); err != nil {
		return err
	}
	if (in.Keys == nil) != given(in.Filter) || len(in.Keys) > maxKeys || in.Keys != nil && len(in.Keys) == 0 || slices.Contains(in.Keys, nil) {
		return fail.New(fail.BadRequest, "a deletion names keys (from 1 to %d) or a filter, one of them", maxKeys).
			WithHint("Send {\"keys\": [\"a\"]} or {\"filter\": \"year < 1990\"}; the filter \"true\" is all documents.")
	}
	obj, err := a.find(ctx, target(r), schema.Collection)
	if err != nil {
		return err
	}
	q := &query{}
	q.add("DELETE FROM ", fullName(obj))
	if in.Keys != nil {
		keys := make([]string, len(in.Keys))
		for i, k := range in.Keys {
			keys[i] = *k
		}
		err = q.whereKeys(obj, keys)
	} else {
		q.add(" WHERE ")
		err = q.filter(obj, in.Filter)
	}
	if err != nil {
		return err
	}
	ack, err := a.change(ctx, target(r), q)
	if err != nil {
		return err
	}
	return writeAck(w, ack)
}

// change runs DML over one collection and acknowledges it as an append is.
func (a *api) change(ctx context.Context, at loam.Target, q *query) (loam.Ack, error) {
	sess := a.session(ctx, at.Namespace)
	res, err := q.run(ctx, sess)
	if err != nil {
		return loam.Ack{}, err
	}
	if err := res.Close(); err != nil {
		return loam.Ack{}, err
	}
	ack, err := sess.AppendDocuments(ctx, at, nil) // an append of nothing tells the backlog
	if err != nil {
		return loam.Ack{}, err
	}
	ack.Rows = res.Affected
	if res.Token != nil {
		ack.Token = *res.Token
	}
	return ack, nil
}
