package flightsql

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/loamdb/loam/internal/fail"
)

// maxErrorBytes bounds an error's text: gRPC carries it in headers, and several
// clients drop the connection over long ones.
const maxErrorBytes = 1 << 10

// Trailers of a failed call.
const (
	trailerSQLState = "loam-sqlstate"
	trailerCode     = "loam-code"
	trailerPosition = "loam-position"
	trailerHint     = "loam-hint"
	trailerRetry    = "retry-after"
)

// toStatus turns any error into a gRPC status and the trailers that go with it.
// The text ends with the SQLSTATE: JDBC and Grafana show nothing but the text.
// A status that gRPC itself made (a broken stream) stays as it is.
func toStatus(err error) (*status.Status, metadata.MD) {
	var made interface{ GRPCStatus() *status.Status }
	var own *fail.Error
	if !errors.As(err, &own) {
		if errors.As(err, &made) {
			return made.GRPCStatus(), nil
		}
		own = fail.As(err)
	}
	trailers := metadata.Pairs(trailerSQLState, own.Code.SQLState(), trailerCode, own.Code.String())
	if own.Pos.Line > 0 {
		trailers.Set(trailerPosition, fmt.Sprintf("%d:%d:%d", own.Pos.Line, own.Pos.Column, own.Pos.Offset))
	}
	if own.Hint != "" {
		trailers.Set(trailerHint, ascii(cut(own.Hint, maxErrorBytes/2)))
	}
	text := own.Error()
	if own.RetryAfter > 0 {
		seconds := strconv.FormatInt((own.RetryAfter.Milliseconds()+999)/1000, 10)
		trailers.Set(trailerRetry, seconds)
		text += " (retry after " + seconds + " s)"
	}
	state := " (SQLSTATE " + own.Code.SQLState() + ")"
	return status.New(codes.Code(own.Code.GRPC()), cut(text, maxErrorBytes-len(state))+state), trailers
}

// cut shortens text to at most n bytes at the border of a character.
func cut(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	const more = "…"
	end := n - len(more)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}

// ascii percent-encodes what a header value must not hold, as grpc-message does.
func ascii(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c > 0x7e || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
