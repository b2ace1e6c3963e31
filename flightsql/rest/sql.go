package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/rows"
	"github.com/loamdb/loam/flightsql/internal/scan"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

const mediaArrow = "application/vnd.apache.arrow.stream"

// flushBytes is how much of a JSON answer is held back: an error before that is
// a problem with its status, a later one ends the JSON.
const flushBytes = 256 << 10

// sql runs one statement: {"sql": …, "params": […], "namespace": …}.
func (a *api) sql(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	data, _, err := body(r, mediaJSON)
	if err != nil {
		return err
	}
	var in struct {
		SQL       string            `json:"sql"`
		Params    []json.RawMessage `json:"params"`
		Namespace string            `json:"namespace"`
	}
	if err := scan.Strict(data, &in, []string{"sql", "params", "namespace"}); err != nil {
		return err
	}
	if in.Namespace == "" {
		in.Namespace = r.Header.Get(headerNamespace)
	}
	sess := a.session(ctx, in.Namespace)
	st, err := sess.Prepare(ctx, in.SQL, nil)
	if err != nil {
		return err
	}
	if st, err = bind(ctx, sess, in.SQL, st, in.Params); err != nil {
		return err
	}
	res, err := st.Execute(ctx)
	if err != nil {
		return err
	}
	if res.Token != nil {
		w.Header().Set(headerToken, res.Token.String())
	}
	if strings.Contains(r.Header.Get("Accept"), mediaArrow) {
		err = writeArrow(ctx, w, res)
	} else {
		err = writeRows(ctx, w, res)
	}
	if closed := res.Close(); err == nil {
		err = closed
	}
	return err
}

// bind reads parameters from JSON and binds them.
func bind(ctx context.Context, sess engine.Session, sql string, st engine.Statement, params []json.RawMessage) (engine.Statement, error) {
	if len(params) == 0 && len(st.Params()) == 0 {
		return st, nil
	}
	want := st.Params()
	values, given := make([]vec.Value, len(params)), make([]types.Type, len(params))
	for i, raw := range params {
		t := types.Of(types.Unknown)
		if i < len(want) {
			t = want[i]
		}
		v, err := parseValue(raw, t)
		if err != nil {
			return nil, fail.Wrap(fail.CodeOf(err), err, "parameter %d", i+1)
		}
		values[i], given[i] = v, v.Type
	}
	st, err := engine.Declare(ctx, sess, sql, st, given)
	if err != nil {
		return nil, err
	}
	return st.Bind(ctx, values)
}

// writeArrow streams an Arrow IPC stream that ends with the trailer Loam-Status:
// "ok", or the error. A stream without it was cut.
func writeArrow(ctx context.Context, w http.ResponseWriter, res *engine.Result) error {
	reader := rows.Of(rows.Schema(res.Columns), rows.Types(res.Columns), memory.DefaultAllocator, res)
	first, err := reader.Next(ctx) // an error before the first row is a problem with its status
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaArrow)
	w.Header().Set("Trailer", headerStatus)
	out := ipc.NewWriter(w, ipc.WithSchema(reader.Schema()))
	for rec := first; rec != nil && err == nil; {
		err = out.Write(rec)
		rec.Release()
		if err == nil {
			rec, err = reader.Next(ctx)
		}
	}
	if err == nil {
		err = out.Close()
	}
	w.Header().Set(headerStatus, status(err))
	return err
}

// status is the trailer's text.
func status(err error) string {
	if err == nil {
		return "ok"
	}
	e := failure(err)
	text := strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return '?'
		}
		return r
	}, e.Message)
	return fmt.Sprintf("error; sqlstate=%s; code=%s; detail=%.300q", e.Code.SQLState(), e.Code, text)
}

// writeRows writes {"columns": …, "rows": …, "affected": …, "token": …}. An
// error after the first rows have left adds "error", so that a part is never
// taken for the whole.
func writeRows(ctx context.Context, w http.ResponseWriter, res *engine.Result) error {
	var buf bytes.Buffer
	writeColumns(&buf, res)
	sent := false
	flush := func() error {
		if !sent {
			w.Header().Set("Content-Type", mediaJSON)
		}
		sent = true
		_, err := w.Write(buf.Bytes())
		buf.Reset()
		return err
	}
	count := 0
	for {
		chunk, err := res.Next(ctx)
		if err != nil && !sent {
			return err
		}
		if err != nil {
			buf.WriteString(`],"error":`)
			buf.Write(problemBody(failure(err).Code.HTTP(), failure(err)))
			buf.WriteString("}\n")
			_ = flush()
			return err
		}
		if chunk == nil {
			break
		}
		for i := range chunk.Rows() {
			if count++; count > 1 {
				buf.WriteByte(',')
			}
			writeRow(&buf, chunk, chunk.RowAt(i))
		}
		if buf.Len() >= flushBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	buf.WriteByte(']')
	writeEnd(&buf, res)
	return flush()
}

func writeColumns(buf *bytes.Buffer, res *engine.Result) {
	buf.WriteString(`{"columns":[`)
	for i, c := range res.Columns {
		if i > 0 {
			buf.WriteByte(',')
		}
		fmt.Fprintf(buf, `{"name":%s,"type":%s}`, quoted(c.Name), quoted(c.Type.String()))
	}
	buf.WriteString(`],"rows":[`)
}

func writeRow(buf *bytes.Buffer, chunk *vec.Chunk, row int) {
	buf.WriteByte('[')
	for i, col := range chunk.Cols {
		if i > 0 {
			buf.WriteByte(',')
		}
		writeValue(buf, col.Value(row))
	}
	buf.WriteByte(']')
}

func writeEnd(buf *bytes.Buffer, res *engine.Result) {
	if res.Affected >= 0 {
		fmt.Fprintf(buf, `,"affected":%d`, res.Affected)
	}
	if res.Token != nil {
		fmt.Fprintf(buf, `,"token":%s`, quoted(res.Token.String()))
	}
	if res.Note != "" {
		fmt.Fprintf(buf, `,"note":%s`, quoted(res.Note))
	}
	buf.WriteString("}\n")
}
