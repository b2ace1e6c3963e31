package rest

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/flightsql/internal/rows"
	"github.com/loamdb/loam/internal/vec"
)

// flushBytes is how much of an answer is held back, and flushAfter how long: an
// error before that is a problem with its status, a later one cuts the answer.
const (
	flushBytes = 256 << 10
	flushAfter = 100 * time.Millisecond
)

// headerTiming says how long the statement took up to the first byte.
const headerTiming = "Server-Timing"

// result is a running statement and what its request asked of its rows.
type result struct {
	*engine.Result
	api   *api
	start time.Duration // on the monotonic clock
	limit int64         // rows; < 0 is all

	rows      int64
	truncated bool
}

// Next gives the next chunk and stops at the limit.
func (r *result) Next(ctx context.Context) (*vec.Chunk, error) {
	if r.truncated {
		return nil, nil
	}
	c, err := r.Result.Next(ctx)
	if err != nil || c == nil {
		return nil, err
	}
	if n := int64(c.Rows()); r.limit >= 0 && r.rows+n > r.limit {
		c, r.truncated = head(c, int(r.limit-r.rows)), true
	}
	r.rows += int64(c.Rows())
	return c, nil
}

// head is the first n rows of a chunk.
func head(c *vec.Chunk, n int) *vec.Chunk {
	sel := make([]int32, n)
	for i := range sel {
		sel[i] = int32(c.RowAt(i))
	}
	return &vec.Chunk{Cols: c.Cols, N: c.N, Sel: sel}
}

func (r *result) elapsedMS() float64 {
	return float64((r.api.opts.Clock.Mono() - r.start).Microseconds()) / 1000
}

// headers are those that every answer of a query has.
func (r *result) headers(h http.Header) {
	if r.QueryID != 0 {
		h.Set(headerQueryID, strconv.FormatInt(r.QueryID, 10))
	}
	if r.Token != nil && r.Token.Incarnation != "" {
		h.Set(headerToken, r.Token.String())
	}
	h.Set(headerTiming, "execute;dur="+strconv.FormatFloat(r.elapsedMS(), 'f', 3, 64))
}

// send writes the rows in the media type that was chosen, and closes the result.
// An error that comes when a part has left already cuts the connection, so that
// no reader takes the part for the whole.
func (r *result) send(ctx context.Context, w *answer, enc encoder) (err error) {
	defer func() {
		if closed := r.Close(); err == nil {
			err = closed
		}
	}()
	switch {
	case w.head:
		r.headers(w.Header())
		w.Header().Set("Content-Type", contentType(mediaOf(enc)))
		w.WriteHeader(http.StatusOK)
		return nil
	case enc == nil:
		return r.sendArrow(ctx, w)
	}
	return r.sendText(ctx, w, enc)
}

func (r *result) sendText(ctx context.Context, w *answer, enc encoder) error {
	out := outlet{w: w, result: r, media: enc.media(), flushed: r.api.opts.Clock.Mono()}
	var err error
	if out.buf, err = enc.begin(out.buf, r.Result); err != nil {
		return err
	}
	for {
		chunk, err := r.Next(ctx)
		if err == nil && chunk != nil {
			err = out.rows(enc, chunk)
		}
		if err != nil {
			if w.begun {
				out.buf = enc.broken(out.buf, err)
				_ = out.flush()
			}
			return err
		}
		if chunk == nil {
			break
		}
	}
	out.buf = enc.end(out.buf, r.Result, ending{rows: r.rows, truncated: r.truncated, elapsedMS: r.elapsedMS()})
	return out.flush()
}

// outlet gathers rendered rows and sends them in pieces of flushBytes, whatever
// the size of a chunk.
type outlet struct {
	w       *answer
	result  *result
	media   string
	buf     []byte
	flushed time.Duration
}

func (o *outlet) rows(enc encoder, c *vec.Chunk) error {
	for i := range c.Rows() {
		o.buf = enc.row(o.buf, c, c.RowAt(i))
		if len(o.buf) >= flushBytes {
			if err := o.flush(); err != nil {
				return err
			}
		}
	}
	if len(o.buf) == 0 || o.result.api.opts.Clock.Mono()-o.flushed < flushAfter {
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	return o.w.push()
}

func (o *outlet) flush() error {
	if !o.w.begun {
		o.result.headers(o.w.Header())
		o.w.Header().Set("Content-Type", contentType(o.media))
		o.w.WriteHeader(http.StatusOK)
	}
	_, err := o.w.Write(o.buf)
	o.buf, o.flushed = o.buf[:0], o.result.api.opts.Clock.Mono()
	return err
}

// contentType is a media type with what some readers need to be told.
func contentType(media string) string {
	switch media {
	case mediaCSV:
		return mediaCSV + "; charset=utf-8; header=present"
	case mediaHTML:
		return mediaHTML + "; charset=utf-8"
	}
	return media
}

// sendArrow streams an Arrow IPC stream. A whole one ends with Arrow's end of
// stream and the trailer Loam-Status: ok; one that failed has neither, and its
// connection is cut.
func (r *result) sendArrow(ctx context.Context, w *answer) error {
	reader := rows.Of(rows.Schema(r.Columns), rows.Types(r.Columns), memory.DefaultAllocator, r).Hurry(r.api.opts.Clock)
	defer func() { _ = reader.Close() }()
	rec, err := reader.Next(ctx) // an error before the first row is a problem with its status
	if err != nil {
		return err
	}
	r.headers(w.Header())
	w.Header().Set("Content-Type", mediaArrow)
	w.Header().Set("Trailer", headerStatus)
	out := ipc.NewWriter(w, ipc.WithSchema(reader.Schema()))
	for rec != nil {
		if err := writeBatch(out, rec, w); err != nil {
			return err
		}
		if rec, err = reader.Next(ctx); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	w.Header().Set(headerStatus, "ok")
	return nil
}

// writeBatch takes over the batch.
func writeBatch(out *ipc.Writer, rec arrow.RecordBatch, w *answer) error {
	defer rec.Release()
	if err := out.Write(rec); err != nil {
		return err
	}
	return w.push()
}

// answer is a response that knows whether it has begun, and its status.
type answer struct {
	http.ResponseWriter
	begun bool
	code  int
	// head is an answer to HEAD: rows are not read for it.
	head bool
	// chunked bodies have an end of their own.
	chunked bool
	// stall bounds each write, on the clock now; 0 does not.
	stall time.Duration
	now   func() time.Time
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if !a.begun {
		a.begun, a.code = true, code
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if !a.begun {
		a.WriteHeader(http.StatusOK)
	}
	if a.stall > 0 {
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(a.now().Add(a.stall))
	}
	return a.ResponseWriter.Write(p)
}

// unhurried takes the deadline of the last write off the connection.
func (a *answer) unhurried() {
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Time{})
}

func (a *answer) status() int {
	if a.code == 0 {
		return http.StatusOK
	}
	return a.code
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// push sends what net/http has gathered.
func (a *answer) push() error {
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// cut ends a response that has begun in a way that every client takes for an
// error: the body's end is missing. What was written before still arrives.
func (a *answer) cut() {
	_ = a.push()
	control := http.NewResponseController(a.ResponseWriter)
	conn, _, err := control.Hijack()
	if err != nil { // HTTP/2: a deadline that has passed resets the stream
		_ = control.SetWriteDeadline(time.Unix(1, 0))
		return
	}
	if tcp, ok := conn.(interface{ SetLinger(seconds int) error }); ok && !a.chunked {
		_ = tcp.SetLinger(0) // HTTP/1.0 ends a body by closing: reset instead
	}
	_ = conn.Close()
}

// writeJSON answers with a body of JSON.
func writeJSON(w http.ResponseWriter, body []byte) error {
	w.Header().Set("Content-Type", mediaJSON)
	_, err := w.Write(append(body, '\n'))
	return err
}
