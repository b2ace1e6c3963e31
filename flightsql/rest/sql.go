package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func (a *api) sqlRoutes() []endpoint {
	return []endpoint{{
		method: http.MethodPost, path: "/v1/sql", op: "sql", tag: "SQL", summary: "Run one SQL statement",
		text:   "Rows are arrays in the order of \"columns\", or objects with \"rows\": \"objects\". Integers and decimals keep all their digits. An error after the first rows cuts the connection: an answer that ends properly is whole.",
		params: sqlHeaders, body: jsonBody("Statement"), answers: answersRows("Table"), rows: true, serve: a.sql,
	}}
}

// statement is the body of /v1/sql.
type statement struct {
	SQL        *string                    `json:"sql"`
	Statement  *string                    `json:"statement"`
	Params     json.RawMessage            `json:"params"`
	Parameters json.RawMessage            `json:"parameters"`
	Namespace  string                     `json:"namespace"`
	Rows       string                     `json:"rows"`
	Limit      *whole                     `json:"limit"`
	TimeoutMS  *whole                     `json:"timeout_ms"`
	Settings   map[string]json.RawMessage `json:"settings"`
}

var statementKeys = []string{"sql", "statement", "params", "parameters", "namespace", "rows", "limit", "timeout_ms", "settings"}

// maxTimeoutMS is an hour.
const maxTimeoutMS = 3_600_000

func (a *api) sql(ctx context.Context, w *answer, r *http.Request) error {
	start := a.opts.Clock.Mono()
	media, err := accepted(r, tables...)
	if err != nil {
		return err
	}
	in, err := readStatement(r)
	if err != nil {
		return err
	}
	if in.TimeoutMS != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*in.TimeoutMS)*time.Millisecond)
		defer cancel()
	}
	sess := a.session(ctx, in.Namespace)
	if err := set(ctx, sess, in.Settings); err != nil {
		return err
	}
	if err := consistency(ctx, sess, r.Header); err != nil {
		return err
	}
	st, err := bind(ctx, sess, *in.SQL, in.Params)
	if err != nil {
		return err
	}
	if media == mediaNDJSON || media == mediaJSON && in.Rows == "objects" {
		if _, err := memberNames(st.Columns()); err != nil {
			return err // before a statement that writes has written
		}
	}
	res, err := execute(ctx, st, r.Header)
	if err != nil {
		return err
	}
	out := &result{Result: res, api: a, start: start, limit: -1}
	if in.Limit != nil {
		out.limit = int64(*in.Limit)
	}
	return out.send(ctx, w, encoderOf(media, in.Rows == "objects"))
}

func readStatement(r *http.Request) (*statement, error) {
	data, _, err := body(r, mediaJSON)
	if err != nil {
		return nil, err
	}
	in := &statement{}
	if err := scan.Strict(data, in, statementKeys); err != nil {
		return nil, err
	}
	if in.SQL == nil {
		in.SQL = in.Statement
	} else if in.Statement != nil {
		return nil, fail.New(fail.BadRequest, "\"statement\" is another name of \"sql\": give one of them")
	}
	if in.SQL == nil {
		return nil, fail.New(fail.BadRequest, "the body has no \"sql\"").WithHint("Send {\"sql\": \"SELECT 1\"}.")
	}
	if in.Params == nil {
		in.Params = in.Parameters
	} else if in.Parameters != nil {
		return nil, fail.New(fail.BadRequest, "\"parameters\" is another name of \"params\": give one of them")
	}
	switch {
	case in.Rows != "" && in.Rows != "arrays" && in.Rows != "objects":
		return nil, fail.New(fail.InvalidParameter, "\"rows\" is %.40q", in.Rows).WithHint("It is \"arrays\" or \"objects\".")
	case in.Limit != nil && *in.Limit < 0:
		return nil, fail.New(fail.InvalidParameter, "\"limit\" is %d", *in.Limit).WithHint("It is 0 or more.")
	case in.TimeoutMS != nil && (*in.TimeoutMS < 1 || *in.TimeoutMS > maxTimeoutMS):
		return nil, fail.New(fail.InvalidParameter, "\"timeout_ms\" is %d", *in.TimeoutMS).WithHint("It is from 1 to %d.", maxTimeoutMS)
	}
	if in.Namespace == "" {
		in.Namespace = r.Header.Get(headerNamespace)
	}
	return in, nil
}

// set changes settings for this request.
func set(ctx context.Context, sess engine.Session, settings map[string]json.RawMessage) error {
	for name, raw := range settings {
		value := strings.TrimSpace(string(raw))
		if strings.HasPrefix(value, `"`) {
			if err := json.Unmarshal(raw, &value); err != nil {
				return fail.Wrap(fail.BadRequest, err, "setting %q", name)
			}
		} else if value == "null" || strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
			return fail.New(fail.InvalidParameter, "setting %.60q is text, a number or a boolean", name)
		}
		if err := sess.Set(ctx, name, value); err != nil {
			return err
		}
	}
	return nil
}

// bind prepares a statement and binds parameters: a JSON array by number, an
// object by name.
func bind(ctx context.Context, sess engine.Session, sql string, params json.RawMessage) (engine.Statement, error) {
	st, err := sess.Prepare(ctx, sql, nil)
	if err != nil {
		return nil, err
	}
	list, err := arguments(st, params)
	if err != nil {
		return nil, err
	}
	want := st.Params()
	values := make([]vec.Value, len(list))
	for i, raw := range list {
		t := types.Of(types.Unknown)
		if i < len(want) {
			t = want[i]
		}
		if values[i], err = parseValue(raw, t); err != nil {
			return nil, fail.Wrap(fail.CodeOf(err), err, "parameter %d", i+1)
		}
	}
	return bindValues(ctx, sess, sql, st, values)
}

// arguments are the parameters in the statement's order.
func arguments(st engine.Statement, params json.RawMessage) ([]json.RawMessage, error) {
	params = bytes.TrimSpace(params)
	switch {
	case len(params) == 0 || string(params) == "null":
		return nil, nil
	case params[0] == '[':
		var list []json.RawMessage
		err := json.Unmarshal(params, &list)
		return list, fail.Wrap(fail.BadRequest, err, "\"params\"")
	case params[0] != '{':
		return nil, fail.New(fail.BadRequest, "\"params\" is neither an array nor an object").
			WithHint("Send [1, \"a\"] for $1 and $2, or {\"year\": 1990} for $year.")
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal(params, &named); err != nil {
		return nil, fail.Wrap(fail.BadRequest, err, "\"params\"")
	}
	names := st.ParamNames()
	list := make([]json.RawMessage, len(names))
	for i, name := range names {
		raw, ok := named[name]
		if name == "" || !ok {
			if name == "" {
				name = strconv.Itoa(i + 1)
			}
			return nil, fail.New(fail.UndefinedParameter, "the parameter $%s is not given", name).WithHint("Add it to \"params\".")
		}
		list[i] = raw
		delete(named, name)
	}
	for name := range named {
		e := fail.New(fail.UndefinedParameter, "the statement has no parameter $%.60s", name)
		if near := fail.Closest(name, names); near != "" {
			return nil, e.WithHint("Did you mean $%s?", near)
		}
		return nil, e
	}
	return list, nil
}

func bindValues(ctx context.Context, sess engine.Session, sql string, st engine.Statement, values []vec.Value) (engine.Statement, error) {
	if len(values) == 0 && len(st.Params()) == 0 {
		return st, nil
	}
	given := make([]types.Type, len(values))
	for i, v := range values {
		given[i] = v.Type
	}
	st, err := engine.Declare(ctx, sess, sql, st, given)
	if err != nil {
		return nil, err
	}
	return st.Bind(ctx, values)
}

// consistency sets what the headers say of what queries see; a pin is made when the
// statement runs.
func consistency(ctx context.Context, sess engine.Session, h http.Header) error {
	level, token := h.Get(headerConsistency), cmp.Or(h.Get(headerToken), h.Get(headerTokenOld))
	if level == "" && token != "" && h.Get(headerPinManifest) == "" {
		level = "token"
	}
	if level != "token" && level != "eventual" {
		return nil
	}
	if err := engine.CheckTokens(token); err != nil {
		return err
	}
	if token != "" {
		if err := sess.Set(ctx, "loam.consistency_token", token); err != nil {
			return err
		}
	}
	return sess.Set(ctx, "loam.consistency", level)
}

// execute runs a statement at the state that the headers name.
func execute(ctx context.Context, st engine.Statement, h http.Header) (*engine.Result, error) {
	level, manifest, text := h.Get(headerConsistency), h.Get(headerPinManifest), h.Get(headerToken)
	if text == "" {
		text = h.Get(headerTokenOld)
	}
	var token *snapshot.Token
	if text != "" && manifest != "" {
		t, err := snapshot.ParseToken(text)
		if err != nil {
			return nil, err
		}
		token = &t
	}
	switch level {
	case "", "strong", "eventual":
	case "token":
		if text == "" {
			return nil, fail.New(fail.InvalidParameter, "%s: token needs the header %s", headerConsistency, headerToken)
		}
	case "pinned":
		if manifest == "" {
			return nil, fail.New(fail.InvalidParameter, "%s: pinned needs the headers %s and %s", headerConsistency, headerPinManifest, headerToken).
				WithHint("A scan plan names both as its pin.")
		}
	default:
		return nil, fail.New(fail.InvalidParameter, "%s is %.40q", headerConsistency, level).WithHint("It is strong, token, eventual or pinned.")
	}
	if manifest == "" {
		return st.Execute(ctx)
	}
	return executePinned(ctx, st, manifest, token)
}

// executePinned reads the one object of a query at a manifest and a token.
func executePinned(ctx context.Context, st engine.Statement, manifest string, token *snapshot.Token) (*engine.Result, error) {
	version, err := strconv.ParseUint(manifest, 10, 63)
	if err != nil || token == nil {
		return nil, fail.New(fail.InvalidParameter, "%s is a manifest version beside the header %s", headerPinManifest, headerToken)
	}
	pin, err := st.Pin(ctx)
	if err != nil {
		return nil, err
	}
	if len(pin.Objects) != 1 || pin.Objects[0].ObjectID != token.ObjectID {
		return nil, fail.New(fail.InvalidParameter, "the pin is of another object than the statement reads, or the statement reads several").
			WithHint("Pin a query over the one collection that the token is of.")
	}
	if at := pin.Objects[0].At; at != "" {
		return nil, fail.New(fail.InvalidParameter, "the statement says itself which state it reads: %s", at).
			WithHint("Leave out the header %s.", headerPinManifest)
	}
	pin.Objects[0] = loam.ObjectPin{
		ObjectID: token.ObjectID, Incarnation: token.Incarnation, SchemaVersion: pin.Objects[0].SchemaVersion,
		Version: version, Bounds: token.Offsets,
	}
	return st.ExecutePinned(ctx, pin)
}
