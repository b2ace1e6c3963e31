package flightsql

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

func textOption(v string) *pb.SessionOptionValue {
	return &pb.SessionOptionValue{OptionValue: &pb.SessionOptionValue_StringValue{StringValue: v}}
}

// setOptions sets options; the answer has the errors and the header of the call.
func (c *client) setOptions(options map[string]*pb.SessionOptionValue) (map[string]*pb.SetSessionOptionsResult_Error, metadata.MD) {
	c.t.Helper()
	body, err := proto.Marshal(&pb.SetSessionOptionsRequest{SessionOptions: options})
	if err != nil {
		c.t.Fatal(err)
	}
	answer, header, err := c.act("SetSessionOptions", body)
	if err != nil {
		c.t.Fatal(err)
	}
	var result pb.SetSessionOptionsResult
	if err := proto.Unmarshal(answer, &result); err != nil {
		c.t.Fatal(err)
	}
	return result.Errors, header
}

func (c *client) options() map[string]*pb.SessionOptionValue {
	c.t.Helper()
	answer, _, err := c.act("GetSessionOptions", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var result pb.GetSessionOptionsResult
	if err := proto.Unmarshal(answer, &result); err != nil {
		c.t.Fatal(err)
	}
	return result.SessionOptions
}

// cookieOf is the cookie that a header sets, as a client sends it back.
func cookieOf(header metadata.MD) string {
	set := header.Get(headerSetCookie)
	if len(set) == 0 {
		return ""
	}
	pair, _, _ := strings.Cut(set[0], ";")
	return pair
}

func TestASessionKeepsItsOptions(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE NAMESPACE ml", "CREATE TABLE ml.t (a INT)", "INSERT INTO ml.t VALUES (5)")
	if got := c.options(); got["catalog"].GetStringValue() != "loam" || got["schema"].GetStringValue() != "public" || got["loam.max_endpoints"].GetInt64Value() != 1 {
		t.Errorf("options without a session: %v", got)
	}
	if n := c.srv.sessions.Len(); n != 0 {
		t.Fatalf("reading made %d sessions", n)
	}
	errs, header := c.setOptions(map[string]*pb.SessionOptionValue{
		"schema": textOption("ml"), "loam.max_endpoints": {OptionValue: &pb.SessionOptionValue_Int64Value{Int64Value: 4}},
		"loam.no_such_option": textOption("1"), "loam.wire_types": textOption("odd"), "catalog": textOption("other"),
	})
	for name, want := range map[string]pb.SetSessionOptionsResult_ErrorValue{
		"loam.no_such_option": pb.SetSessionOptionsResult_INVALID_NAME,
		"loam.wire_types":     pb.SetSessionOptionsResult_INVALID_VALUE,
		"catalog":             pb.SetSessionOptionsResult_INVALID_VALUE,
	} {
		if errs[name].GetValue() != want {
			t.Errorf("%s: %v, want %v", name, errs[name], want)
		}
	}
	if len(errs) != 3 {
		t.Errorf("errors %v", errs)
	}
	for how, again := range map[string]*client{
		"cookie": c.with("cookie", "other=1; "+cookieOf(header)),
		"bearer": c.with("authorization", header.Get("authorization")[0]),
	} {
		again.want("SELECT a FROM t", "5")
		if got := again.options(); got["schema"].GetStringValue() != "ml" || got["loam.max_endpoints"].GetInt64Value() != 4 {
			t.Errorf("%s: %v", how, got)
		}
		again.with(headerNamespace, "public").want("SELECT current_schema()", "public")
	}
	mine := c.with("cookie", cookieOf(header))
	mine.setOptions(map[string]*pb.SessionOptionValue{"schema": {}})
	mine.want("SELECT current_schema()", "public")
	if _, _, err := mine.act("CloseSession", nil); err != nil {
		t.Error(err)
	}
	if _, _, err := c.act("CloseSession", nil); err != nil {
		t.Error(err)
	}
	if n := c.srv.sessions.Len(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
	if got := mine.options(); got["loam.max_endpoints"].GetInt64Value() != 1 {
		t.Errorf("a closed session's options: %v", got)
	}
}

func TestSetInSQLMakesASession(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE NAMESPACE ml")
	var header metadata.MD
	if _, err := c.GetFlightInfo(c.ctx(), commandOf(t, &pb.CommandStatementQuery{Query: "SET schema = 'ml'"}), headerOf(&header)); err != nil {
		t.Fatal(err)
	}
	mine := c.with("cookie", cookieOf(header))
	mine.want("SELECT current_schema()", "ml")
	p, err := mine.prepare("SET schema = 'public'")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := mine.execute(p.PreparedStatementHandle); err != nil {
		t.Fatal(err)
	}
	mine.want("SELECT current_schema()", "public")
	c.want("SELECT current_schema()", "public")
	if n := c.srv.sessions.Len(); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

func TestNamespaces(t *testing.T) {
	c := real(t, Options{})
	c.run("CREATE NAMESPACE ml", "CREATE NAMESPACE web")
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("ml/ann:x"))
	c.want("SELECT current_schema()", "public")
	c.with("authorization", basic).want("SELECT current_schema(), current_user", "ml|ann")
	c.with("authorization", basic).with("operon-namespace", "web").want("SELECT current_schema()", "web")
	c.with(headerNamespace, "ml").with(headerNamespace, "web").want("SELECT current_schema()", "web")
}

func TestHandshake(t *testing.T) {
	c := real(t, Options{Users: plain(map[string]string{"ann": "s:3"}, map[string]string{"tok": "bot"})})
	shake := func(authorization string) (metadata.MD, metadata.MD, error) {
		stream, err := c.with("authorization", authorization).Handshake(c.with("authorization", authorization).ctx())
		if err != nil {
			return nil, nil, err
		}
		_ = stream.CloseSend()
		if _, err := stream.Recv(); err != nil {
			return nil, nil, err
		}
		header, _ := stream.Header()
		for err == nil {
			_, err = stream.Recv()
		}
		return header, stream.Trailer(), nil
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("ann:s:3"))
	for _, good := range []string{basic, "Bearer tok"} {
		header, trailer, err := shake(good)
		if err != nil || len(header.Get("authorization")) != 1 || header.Get("authorization")[0] != trailer.Get("authorization")[0] {
			t.Errorf("%s: %v, %v, %v", good, header, trailer, err)
			continue
		}
		c.with("authorization", header.Get("authorization")[0]).want("SELECT 1", "1")
	}
	_, _, err := shake("Basic " + base64.StdEncoding.EncodeToString([]byte("ann:wrong")))
	code(t, err, codes.Unauthenticated, "a wrong password")
	_, err = c.info("SELECT 1")
	code(t, err, codes.Unauthenticated, "no credentials")
	_, err = c.ListActions(c.ctx(), &flight.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := healthpb.NewHealthClient(c.conn).Check(context.Background(), &healthpb.HealthCheckRequest{}); err != nil {
		t.Errorf("health needs no credentials: %v", err)
	}
	c.with("authorization", basic).want("SELECT current_user", "ann")
}

func TestSessionsBelongToTheirUser(t *testing.T) {
	c := real(t, Options{Users: plain(map[string]string{"ann": "a", "bob": "b"}, nil)})
	ann := c.with("authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("ann:a")))
	bob := c.with("authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("bob:b")))
	_, header := ann.setOptions(map[string]*pb.SessionOptionValue{"loam.max_endpoints": textOption("4")})
	if got := bob.with("cookie", cookieOf(header)).options(); got["loam.max_endpoints"].GetInt64Value() != 1 {
		t.Error("bob reads ann's session")
	}
	if _, _, err := bob.with("cookie", cookieOf(header)).act("CloseSession", nil); err != nil {
		t.Error(err)
	}
	if got := ann.with("cookie", cookieOf(header)).options(); got["loam.max_endpoints"].GetInt64Value() != 4 {
		t.Error("bob closed ann's session")
	}
}
