package flightsql

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/loamdb/loam/flightsql/internal/auth"
	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/fail"
)

// Session options that the wire itself looks at.
const (
	optSchema       = "schema"
	optMaxEndpoints = "loam.max_endpoints"
)

// stored is the call's session, if the client has one.
func (s *Server) stored(c *call) (engine.Session, bool) {
	if c.session == "" {
		return nil, false
	}
	return s.sessions.Get(c.session, c.principal.User)
}

// session is what the call runs in: the client's session, or one for this call
// alone. A namespace header moves this call, never the stored session.
func (s *Server) session(ctx context.Context, c *call) (engine.Session, error) {
	sess, err := s.sessionOf(ctx, c)
	if err != nil || len(c.options) == 0 {
		return sess, err
	}
	options := s.changed(sess)
	delete(options, optSchema)
	maps.Copy(options, c.options)
	return s.sessionWith(ctx, c.principal.User, sess.Namespace(), options)
}

// sessionOf is the session of a call without what its headers say of consistency.
func (s *Server) sessionOf(ctx context.Context, c *call) (engine.Session, error) {
	kept, ok := s.stored(c)
	if !ok && s.sessions.Foreign(c.session) {
		// The cookie goes, so that the next call begins anew.
		_ = grpc.SetHeader(ctx, metadata.Pairs(headerSetCookie, sessionCookie+"=; Path=/; Max-Age=0"))
		return nil, fail.New(fail.BadRequest, "the session %.8s… lives on another node: its settings are not known here", c.session).
			WithHint("Send all calls of a session to the node that began it, or begin a new one here.")
	}
	if !ok {
		return s.engine.NewSession(c.principal.User, firstOf(c.namespace, c.principal.Namespace)), nil
	}
	if c.namespace == "" {
		return kept, nil
	}
	options := s.changed(kept)
	delete(options, optSchema)
	return s.sessionWith(ctx, c.principal.User, c.namespace, options)
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// changed are the options of a session that differ from a fresh one's.
func (s *Server) changed(from engine.Session) map[string]string {
	options := from.Options()
	for name, value := range s.engine.NewSession(from.User(), "").Options() {
		if options[name] == value {
			delete(options, name)
		}
	}
	return options
}

// sessionWith makes a session with these settings, as a ticket or a handle says.
func (s *Server) sessionWith(ctx context.Context, user, namespace string, options map[string]string) (engine.Session, error) {
	made := s.engine.NewSession(user, namespace)
	for name, value := range options {
		if name == optSchema {
			continue // the namespace, which may have been dropped since
		}
		if err := made.Set(ctx, name, value); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// keep stores a session that a call has given settings of its own, and tells
// the client both ways: by cookie, and for clients without cookies by a bearer
// token, which they adopt.
func (s *Server) keep(ctx context.Context, c *call, made engine.Session) {
	id := s.sessions.Add(c.principal.User, made)
	c.session = id
	token := s.auth.Token(auth.Principal{User: c.principal.User, Namespace: c.principal.Namespace, Session: id})
	_ = grpc.SetHeader(ctx, metadata.Pairs(
		headerSetCookie, fmt.Sprintf("%s=%s; Path=/; HttpOnly", sessionCookie, id),
		headerAuth, "Bearer "+token,
	))
}

// keepIfChanged stores the call's own session when a statement (SET) changed it.
func (s *Server) keepIfChanged(ctx context.Context, c *call, used engine.Session, before map[string]string) {
	if _, has := s.stored(c); has || maps.Equal(before, used.Options()) {
		return
	}
	s.keep(ctx, c, used)
}

func (s *Server) setSessionOptions(ctx context.Context, req *pb.SetSessionOptionsRequest) (*pb.SetSessionOptionsResult, error) {
	c := callOf(ctx)
	if s.sessions.Foreign(c.session) {
		_, err := s.session(ctx, c)
		return nil, err
	}
	target, had := s.stored(c)
	if !had {
		target = s.engine.NewSession(c.principal.User, c.principal.Namespace)
	}
	result := &pb.SetSessionOptionsResult{Errors: map[string]*pb.SetSessionOptionsResult_Error{}}
	for name, value := range req.GetSessionOptions() {
		if code := setOption(ctx, target, name, value); code != pb.SetSessionOptionsResult_UNSPECIFIED {
			result.Errors[name] = &pb.SetSessionOptionsResult_Error{Value: code}
		}
	}
	if !had && len(result.Errors) < len(req.GetSessionOptions()) {
		s.keep(ctx, c, target)
	}
	return result, nil
}

// setOption sets one option; a value without content erases it.
func setOption(ctx context.Context, target engine.Session, name string, value *pb.SessionOptionValue) pb.SetSessionOptionsResult_ErrorValue {
	if _, known := target.Option(name); !known {
		return pb.SetSessionOptionsResult_INVALID_NAME
	}
	text, erase := optionText(value)
	var err error
	if erase {
		err = target.Reset(name)
	} else {
		err = target.Set(ctx, name, text)
	}
	switch {
	case err == nil:
		return pb.SetSessionOptionsResult_UNSPECIFIED
	case fail.Is(err, fail.InvalidParameter), fail.Is(err, fail.UndefinedNamespace):
		return pb.SetSessionOptionsResult_INVALID_VALUE
	}
	return pb.SetSessionOptionsResult_ERROR
}

func optionText(value *pb.SessionOptionValue) (text string, erase bool) {
	switch v := value.GetOptionValue().(type) {
	case *pb.SessionOptionValue_StringValue:
		return v.StringValue, false
	case *pb.SessionOptionValue_BoolValue:
		return strconv.FormatBool(v.BoolValue), false
	case *pb.SessionOptionValue_Int64Value:
		return strconv.FormatInt(v.Int64Value, 10), false
	case *pb.SessionOptionValue_DoubleValue:
		return strconv.FormatFloat(v.DoubleValue, 'g', -1, 64), false
	case *pb.SessionOptionValue_StringListValue_:
		return strings.Join(v.StringListValue.GetValues(), ","), false
	}
	return "", true
}

// getSessionOptions is a pure read: it never makes a session.
func (s *Server) getSessionOptions(ctx context.Context) (*pb.GetSessionOptionsResult, error) {
	sess, err := s.session(ctx, callOf(ctx))
	if err != nil {
		return nil, err
	}
	result := &pb.GetSessionOptionsResult{SessionOptions: map[string]*pb.SessionOptionValue{}}
	for name, value := range sess.Options() {
		result.SessionOptions[name] = optionValue(name, value)
	}
	return result, nil
}

// optionValue types an option: Loam's own are numbers and booleans where they
// look so; catalog and schema are names whatever they look like.
func optionValue(name, value string) *pb.SessionOptionValue {
	if strings.HasPrefix(name, "loam.") {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return &pb.SessionOptionValue{OptionValue: &pb.SessionOptionValue_Int64Value{Int64Value: n}}
		}
		if value == "true" || value == "false" {
			return &pb.SessionOptionValue{OptionValue: &pb.SessionOptionValue_BoolValue{BoolValue: value == "true"}}
		}
	}
	return &pb.SessionOptionValue{OptionValue: &pb.SessionOptionValue_StringValue{StringValue: value}}
}

// closeSession succeeds without a session too: drivers close on every exit.
func (s *Server) closeSession(ctx context.Context) (*pb.CloseSessionResult, error) {
	c := callOf(ctx)
	if c.session != "" && s.sessions.Close(c.session, c.principal.User) {
		_ = grpc.SetHeader(ctx, metadata.Pairs(headerSetCookie, sessionCookie+"=; Path=/; Max-Age=0"))
	}
	return &pb.CloseSessionResult{Status: pb.CloseSessionResult_CLOSED}, nil
}

// endpoints is how many endpoints the call's query may have.
func (c *call) endpoints(sess engine.Session) int {
	if c.maxEndpoints > 0 {
		return c.maxEndpoints
	}
	text, _ := sess.Option(optMaxEndpoints)
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 1
	}
	return min(n, maxEndpointsLimit)
}
