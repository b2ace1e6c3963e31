package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func (a *api) searchRoutes() []endpoint {
	return []endpoint{{
		method: http.MethodPost, path: pathCollection + "/search", op: "search", tag: "Search", summary: "Search a collection by text, by vector, or by both",
		text: "Text and vector together are fused by reciprocal ranks. With \"explain\" each hit shows its score in each ranking, and the answer the SQL that the search is.",
		body: jsonBody("Search"), rows: true, serve: a.search,
		answers: []reply{{status: http.StatusOK, text: "The best documents, best first.", headers: []string{headerQueryID, headerTiming},
			types: map[string]string{mediaJSON: "Hits", mediaArrow: ""}}},
	}}
}

// defaultHits is how many hits a search without a limit gives.
const defaultHits = 10

// searchBody is the body of a search.
type searchBody struct {
	Text     json.RawMessage `json:"text"`
	Vector   json.RawMessage `json:"vector"`
	Sparse   json.RawMessage `json:"sparse"`
	Filter   json.RawMessage `json:"filter"`
	K        *whole          `json:"k"`
	Limit    *whole          `json:"limit"`
	Offset   whole           `json:"offset"`
	Fields   []string        `json:"fields"`
	Fusion   *fusion         `json:"fusion"`
	MinScore *float64        `json:"min_score"`
	Explain  bool            `json:"explain"`
}

var searchKeys = []string{"text", "vector", "sparse", "filter", "k", "limit", "offset", "fields", "fusion", "min_score", "explain"}

// fusion says how rankings are joined.
type fusion struct {
	Method string   `json:"method"`
	K      *float64 `json:"k"`
}

// check refuses the fusions that are not there yet by their names.
func (f *fusion) check() error {
	switch {
	case f == nil || f.Method == "" || f.Method == "rrf":
		return nil
	case slices.Contains([]string{"linear", "relative", "dbsf", "max"}, f.Method):
		return fail.New(fail.Unsupported, "the fusion %q is not supported", f.Method).WithHint("Use \"rrf\".")
	}
	return fail.New(fail.InvalidParameter, "there is no fusion %.40q", f.Method).WithHint("Use \"rrf\".")
}

// leg is one ranking.
type leg struct {
	name, function string
	query          vec.Value
	arguments      string // SQL
}

func (a *api) search(ctx context.Context, w *answer, r *http.Request) error {
	start := a.opts.Clock.Mono()
	media, err := accepted(r, mediaJSON, mediaArrow)
	if err != nil {
		return err
	}
	data, _, err := body(r, mediaJSON)
	if err != nil {
		return err
	}
	in := &searchBody{}
	if err := scan.Strict(data, in, searchKeys); err != nil {
		return err
	}
	legs, err := in.legs()
	if err != nil {
		return err
	}
	at := target(r)
	obj, err := a.find(ctx, at, schema.Collection)
	if err != nil {
		return err
	}
	q := &query{}
	if err := in.translate(q, obj, legs); err != nil {
		return err
	}
	res, err := q.run(ctx, a.session(ctx, at.Namespace))
	if err != nil {
		return err
	}
	out := &result{Result: res, api: a, start: start, limit: -1}
	if media == mediaArrow {
		return out.send(ctx, w, nil)
	}
	h := &hits{}
	if in.Explain {
		h.sql = q.text.String()
		for _, l := range legs {
			h.legs = append(h.legs, l.name)
		}
	}
	return out.send(ctx, w, h)
}

func (in *searchBody) rows() (int64, error) {
	k := whole(defaultHits)
	switch {
	case in.K != nil && in.Limit != nil:
		return 0, fail.New(fail.BadRequest, "\"k\" is another name of \"limit\": give one of them")
	case in.K != nil:
		k = *in.K
	case in.Limit != nil:
		k = *in.Limit
	}
	if k < 0 || in.Offset < 0 {
		return 0, fail.New(fail.InvalidParameter, "\"limit\" and \"offset\" are 0 or more")
	}
	return int64(k), nil
}

// given reports a member that is there and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// legs reads the rankings of the search.
func (in *searchBody) legs() ([]leg, error) {
	var out []leg
	if given(in.Text) {
		l, err := textLeg(in.Text)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	if given(in.Vector) {
		l, err := vectorLeg(in.Vector)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	if given(in.Sparse) {
		out = append(out, leg{name: "sparse", function: "vector_search", query: vec.Null(types.Of(types.Unknown)), arguments: ", sparse => NULL"})
	}
	if len(out) == 0 {
		return nil, fail.New(fail.BadRequest, "the search has neither \"text\" nor \"vector\"").
			WithHint("Send {\"text\": \"words\"}, {\"vector\": [0.1, …]}, or both.")
	}
	return out, in.Fusion.check()
}

// textLeg reads "words", or {"query", "columns", "mode", "operator", "candidates", "weight"}.
func textLeg(raw json.RawMessage) (leg, error) {
	l := leg{name: "text", function: "text_search"}
	var in struct {
		Query    *string  `json:"query"`
		Columns  []string `json:"columns"`
		Mode     string   `json:"mode"`
		Operator string   `json:"operator"`
		legOptions
	}
	var words string
	if json.Unmarshal(raw, &words) == nil {
		in.Query = &words
	} else if err := scan.Strict(raw, &in, []string{"query", "columns", "mode", "operator", "candidates", "weight"}); err != nil {
		return l, err
	}
	if in.Query == nil {
		return l, fail.New(fail.BadRequest, "\"text\" has no \"query\"")
	}
	l.query = vec.Text(*in.Query)
	if in.Columns != nil {
		list := "["
		for i, c := range in.Columns {
			if i > 0 {
				list += ", "
			}
			list += loam.QuoteText(c)
		}
		l.arguments += ", columns => " + list + "]"
	}
	if in.Mode != "" {
		l.arguments += ", mode => " + loam.QuoteText(in.Mode)
	}
	if in.Operator != "" {
		l.arguments += ", operator => " + loam.QuoteText(in.Operator)
	}
	l.arguments += in.sql()
	return l, nil
}

// legOptions are what every ranking can be told.
type legOptions struct {
	Candidates *whole   `json:"candidates"`
	Weight     *float64 `json:"weight"`
}

func (o legOptions) sql() string {
	out := ""
	if o.Candidates != nil {
		out += ", limit => " + strconv.FormatInt(int64(*o.Candidates), 10)
	}
	if o.Weight != nil {
		out += ", rank_weight => " + strconv.FormatFloat(*o.Weight, 'g', -1, 64)
	}
	return out
}

// vectorLeg reads [0.1, …], or {"values", "column", "metric", "exact", "candidates", "weight"}.
func vectorLeg(raw json.RawMessage) (leg, error) {
	l := leg{name: "vector", function: "vector_search"}
	var in struct {
		Values json.RawMessage `json:"values"`
		Column string          `json:"column"`
		Metric string          `json:"metric"`
		Exact  *bool           `json:"exact"`
		legOptions
	}
	if raw = bytes.TrimSpace(raw); raw[0] == '[' {
		in.Values = raw
	} else if err := scan.Strict(raw, &in, []string{"values", "column", "metric", "exact", "candidates", "weight"}); err != nil {
		return l, err
	}
	if !given(in.Values) {
		return l, fail.New(fail.BadRequest, "\"vector\" has no \"values\"")
	}
	var err error
	if l.query, err = parseVector(in.Values); err != nil {
		return l, err
	}
	if in.Column != "" {
		l.arguments += ", column => " + quoteName(in.Column)
	}
	if in.Metric != "" {
		l.arguments += ", distance_metric => " + loam.QuoteText(in.Metric)
	}
	if in.Exact != nil {
		l.arguments += ", exact => " + strconv.FormatBool(*in.Exact)
	}
	l.arguments += in.sql()
	return l, nil
}

// translate writes the search as SQL: its first columns are _pk, _score and, to
// explain, the score of each ranking.
func (in *searchBody) translate(q *query, o *schema.Object, legs []leg) error {
	rows, err := in.rows()
	if err != nil {
		return err
	}
	fused, score := len(legs) > 1, "_score"
	if fused {
		score = "_fused_score"
	}
	q.add("SELECT s._pk, s.", score, " AS _score")
	if in.Explain {
		for _, l := range legs {
			q.add(", ", l.name, "_leg._score AS _", l.name, "_score")
		}
	}
	fields, err := fieldList(o, in.Fields)
	if err != nil {
		return err
	}
	for _, f := range fields {
		q.add(", s.", f)
	}
	q.add(" FROM ")
	if fused {
		q.add("rrf(")
	}
	for i, l := range legs {
		if i > 0 {
			q.add(", ")
		}
		if err := in.leg(q, o, l, !fused, rows); err != nil {
			return err
		}
	}
	if fused {
		in.bounds(q, rows)
		if f := in.Fusion; f != nil && f.K != nil {
			q.add(", k => ", strconv.FormatFloat(*f.K, 'g', -1, 64))
		}
		q.add(")")
	}
	q.add(" AS s")
	if !in.Explain {
		return nil
	}
	for _, l := range legs {
		q.add(" LEFT JOIN ")
		if err := in.leg(q, o, l, false, rows); err != nil {
			return err
		}
		q.add(" AS ", l.name, "_leg ON ", l.name, "_leg._pk = s._pk")
	}
	q.add(" ORDER BY s.", score, " DESC, s._pk")
	return nil
}

// leg writes one ranking; alone it has the bounds of the search.
func (in *searchBody) leg(q *query, o *schema.Object, l leg, alone bool, rows int64) error {
	q.add(l.function, "(", fullName(o))
	if l.name != "sparse" {
		q.add(", ").param(l.query)
	}
	q.add(l.arguments)
	if given(in.Filter) {
		q.add(", filter => ")
		if err := q.filter(o, in.Filter); err != nil {
			return err
		}
	}
	if alone {
		in.bounds(q, rows)
	}
	q.add(")")
	return nil
}

func (in *searchBody) bounds(q *query, rows int64) {
	q.add(", limit => ", strconv.FormatInt(rows, 10))
	if in.Offset > 0 {
		q.add(", offset => ", strconv.FormatInt(int64(in.Offset), 10))
	}
	if in.MinScore != nil {
		q.add(", min_score => ", strconv.FormatFloat(*in.MinScore, 'g', -1, 64))
	}
}

// hits is the JSON answer of a search: {"hits": [{"_pk", "_score", "_scores",
// "fields"}], "count": …}.
type hits struct {
	legs  []string // to explain
	sql   string
	names []string
	any   bool
}

func (*hits) media() string { return mediaJSON }

func (h *hits) begin(buf []byte, res *engine.Result) (_ []byte, err error) {
	h.names, err = memberNames(res.Columns[2+len(h.legs):])
	return append(buf, `{"hits":[`...), err
}

func (h *hits) row(buf []byte, c *vec.Chunk, row int) []byte {
	if h.any {
		buf = append(buf, ',', '\n')
	}
	h.any = true
	buf = appendCell(append(buf, `{"_pk":`...), c.Cols[0], row)
	buf = appendCell(append(buf, `,"_score":`...), c.Cols[1], row)
	if len(h.legs) > 0 {
		buf = append(buf, `,"_scores":{`...)
		for i, l := range h.legs {
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = appendCell(append(appendText(buf, l), ':'), c.Cols[2+i], row)
		}
		buf = append(buf, '}')
	}
	buf = append(buf, `,"fields":`...)
	return append(appendObject(buf, h.names, c.Cols[2+len(h.legs):], row), '}')
}

func (h *hits) end(buf []byte, res *engine.Result, e ending) []byte {
	buf = strconv.AppendInt(append(buf, `],"count":`...), e.rows, 10)
	if h.sql != "" {
		buf = appendText(append(buf, `,"sql":`...), h.sql)
	}
	return appendTail(buf, res, e)
}

func (*hits) broken(buf []byte, err error) []byte { return (&table{}).broken(buf, err) }
