package rest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/fail"
)

// A bulk write appends batches of this size, and reports at most maxReported
// lines that could not be written. A line is at most maxLineBytes long.
const (
	bulkRows     = 5000
	bulkBytes    = 8 << 20
	maxReported  = 100
	maxLineBytes = 64 << 20
)

// bulkReport is how far a bulk write came.
type bulkReport struct {
	Rows   int64       `json:"rows"`
	Failed int64       `json:"failed"`
	Errors []lineError `json:"errors"` // the first of them
	// NextLine is the line to go on with after the write stopped; 0 when it ended.
	NextLine int64  `json:"next_line,omitempty"`
	Token    string `json:"token,omitempty"`
}

// lineError is why a line was not written.
type lineError struct {
	Line     int64  `json:"line"`
	Code     string `json:"code"`
	SQLState string `json:"sqlstate"`
	Detail   string `json:"detail"`
	Hint     string `json:"hint,omitempty"`
}

// bulk is a running bulk write.
type bulk struct {
	sess   engine.Session
	at     loam.Target
	ack    loam.Ack // of all that is written
	report bulkReport

	docs  [][]byte
	lines []int64 // of docs
	size  int
}

// bulkDocuments reads lines as they come and writes them batch by batch.
func (a *api) bulkDocuments(ctx context.Context, w *answer, r *http.Request) error {
	if _, err := bodyType(r, mediaNDJSON, mediaJSONL); err != nil {
		return err
	}
	at := target(r)
	b := &bulk{sess: a.session(ctx, at.Namespace), at: at, report: bulkReport{Errors: []lineError{}}}
	if err := b.write(ctx, nil); err != nil { // tells whether there is such a collection
		return err
	}
	next, err := b.read(ctx, r.Body)
	b.report.Rows, b.report.Token = b.ack.Rows, engine.TokenText(b.ack.Token)
	if err != nil {
		b.report.NextLine = next
		ackHeaders(w.Header(), b.ack)
		return &refusal{err: failure(err), bulk: &b.report}
	}
	ackHeaders(w.Header(), b.ack)
	return writeValue(w, http.StatusOK, b.report)
}

// read writes the lines of the body; next is the first line that is not dealt with.
func (b *bulk) read(ctx context.Context, body io.Reader) (next int64, err error) {
	in := bufio.NewReaderSize(body, 64<<10)
	done := int64(0)
	for line := int64(1); ; line++ {
		text, last, err := readLine(in)
		if err != nil {
			return done + 1, err
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			b.docs, b.lines, b.size = append(b.docs, text), append(b.lines, line), b.size+len(text)
		}
		if last || len(b.docs) >= bulkRows || b.size >= bulkBytes {
			if err := b.flush(ctx, &done); err != nil {
				return done + 1, err
			}
			done = line
		}
		if last {
			return 0, nil
		}
	}
}

// readLine is the next line, and whether it is the last one.
func readLine(in *bufio.Reader) (line []byte, last bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, false, nil
		case errors.Is(err, io.EOF):
			return line, true, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
		if len(line) > maxLineBytes {
			return nil, false, fail.New(fail.TooLarge, "a line is longer than %d bytes", maxLineBytes).WithHint("A document ends with its line.")
		}
	}
}

func (b *bulk) flush(ctx context.Context, done *int64) error {
	docs, lines := b.docs, b.lines
	b.docs, b.lines, b.size = nil, nil, 0
	return b.halves(ctx, docs, lines, done)
}

// halves writes documents as one batch. When one of them is at fault, each half
// is tried, so that only the faulty ones are left out and the order is kept.
func (b *bulk) halves(ctx context.Context, docs [][]byte, lines []int64, done *int64) error {
	if len(docs) == 0 {
		return nil
	}
	err := b.write(ctx, docs)
	switch {
	case err == nil:
		*done = lines[len(lines)-1]
		return nil
	case !ofDocument(err):
		return err
	case len(docs) == 1:
		b.reject(lines[0], failure(err))
		*done = lines[0]
		return nil
	}
	half := len(docs) / 2
	if err := b.halves(ctx, docs[:half], lines[:half], done); err != nil {
		return err
	}
	return b.halves(ctx, docs[half:], lines[half:], done)
}

func (b *bulk) write(ctx context.Context, docs [][]byte) error {
	ack, err := b.sess.AppendDocuments(ctx, b.at, docs)
	if err != nil {
		return err
	}
	b.ack.Rows += ack.Rows
	b.ack.Token = b.ack.Token.Merge(ack.Token)
	b.ack.UnappliedRecords, b.ack.UnappliedBytes = ack.UnappliedRecords, ack.UnappliedBytes
	return nil
}

// ofDocument reports errors that a document causes, which another does not have.
func ofDocument(err error) bool {
	code := fail.CodeOf(err)
	return code.HTTP() == http.StatusBadRequest || code == fail.TooLarge
}

func (b *bulk) reject(line int64, e *fail.Error) {
	b.report.Failed++
	if len(b.report.Errors) < maxReported {
		b.report.Errors = append(b.report.Errors, lineError{Line: line, Code: e.Code.String(), SQLState: e.Code.SQLState(),
			Detail: strings.TrimPrefix(e.Message, "row 1: "), Hint: e.Hint})
	}
}
