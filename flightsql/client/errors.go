package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/loamdb/loam/internal/fail"
)

// unary turns a failed call's status and trailers into one error.
func unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	var md metadata.MD
	err := invoke(ctx, method, req, reply, cc, append(opts, grpc.Trailer(&md))...)
	return fromStatus(err, md)
}

func stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, cc, method, opts...)
	if err != nil {
		return nil, fromStatus(err, nil)
	}
	return &errorStream{s}, nil
}

// errorStream turns the error that ends a stream.
type errorStream struct{ grpc.ClientStream }

// RecvMsg implements grpc.ClientStream.
func (s *errorStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return fromStatus(err, s.Trailer())
}

// fromStatus rebuilds the server's error from status and trailers.
func fromStatus(err error, md metadata.MD) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	first := func(key string) string {
		if v := md.Get(key); len(v) > 0 {
			return v[0]
		}
		return ""
	}
	code, known := fail.CodeNamed(first("loam-code"))
	if !known {
		return foreign(st)
	}
	e := fail.New(code, "%s", strings.TrimSuffix(st.Message(), " (SQLSTATE "+first("loam-sqlstate")+")"))
	if hint, err := url.PathUnescape(first("loam-hint")); err == nil {
		e.Hint = hint
	}
	e.Message = strings.TrimSuffix(e.Message, ". "+e.Hint)
	if _, err := fmt.Sscanf(first("loam-position"), "%d:%d:%d", &e.Pos.Line, &e.Pos.Column, &e.Pos.Offset); err == nil {
		e.Message = strings.TrimSuffix(e.Message, fmt.Sprintf(" (line %d, column %d)", e.Pos.Line, e.Pos.Column))
	}
	if s, err := strconv.Atoi(first("retry-after")); err == nil {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}

// noAnswer begins the message of an error that no Loam server made.
const noAnswer = "no server answers"

// foreign is an error that no Loam server made: the connection, or another server.
func foreign(st *status.Status) error {
	switch st.Code() {
	case codes.Unavailable:
		return fail.New(fail.Unavailable, noAnswer+": %s", st.Message()).
			WithHint("Start one with: loam serve")
	case codes.Canceled:
		return fail.New(fail.Canceled, "the call was canceled")
	case codes.DeadlineExceeded:
		return fail.New(fail.DeadlineExceeded, "the call's deadline has passed")
	case codes.Unimplemented:
		return fail.New(fail.Unsupported, "the server does not know Flight SQL: %s", st.Message()).
			WithHint("Is the endpoint that of a Loam server?")
	}
	return fail.New(fail.Internal, "%s: %s", st.Code(), st.Message())
}
