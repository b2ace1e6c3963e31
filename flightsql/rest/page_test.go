package rest

import (
	"crypto/tls"
	"errors"
	"html"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/flightsql/internal/enginetest"
	"github.com/loamdb/loam/internal/clock"
)

// TestThePage: browsers get a page that loads nothing, all others JSON.
func TestThePage(t *testing.T) {
	s := serve(t, &enginetest.Engine{}, Options{Flight: "127.0.0.1:8815"})
	r := s.do("GET", "/", "", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(r.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", r.StatusCode, r.Header)
	}
	for _, want := range []string{"grpc://127.0.0.1:8815", "jdbc:arrow-flight-sql://127.0.0.1:8815/?useEncryption=false", r.Request.Host + "/v1/sql", loam.Version} {
		if !strings.Contains(r.body, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	for _, never := range []string{"<script", "src=", "@import", "url(", "NAME", "not ready"} {
		if strings.Contains(r.body, never) {
			t.Errorf("%q in the page", never)
		}
	}
	if r := s.do("GET", "/", "", "Accept", "*/*"); !strings.Contains(r.body, `"flight_sql":"127.0.0.1:8815"`) {
		t.Error(r.body)
	}
	if r := s.do("HEAD", "/", ""); r.StatusCode != 200 || r.body != "" {
		t.Errorf("%d %q", r.StatusCode, r.body)
	}
}

// TestThePageWithUsers: what one copies says where the login goes, and speaks TLS.
func TestThePageWithUsers(t *testing.T) {
	users := access.Plain(map[string]string{"ann": "x"}, nil, clock.Real(), clock.RandomIDs(clock.Real()))
	a := newAPI(&enginetest.Engine{Unready: errors.New("/secret/path")}, Options{Flight: "[::]:8815", Users: users, Hosts: []string{"db.example"}})
	r := httptest.NewRequest("GET", "https://db.example:8816/", nil)
	r.TLS = &tls.ConnectionState{}
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	a.handler().ServeHTTP(w, r)
	body := html.UnescapeString(w.Body.String())
	for _, want := range []string{
		"loam sql --endpoint grpc+tls://db.example:8815 --user NAME",
		`connect("grpc+tls://db.example:8815", db_kwargs={"username": "NAME", "password": "PASSWORD"}, autocommit=True)`,
		"jdbc:arrow-flight-sql://db.example:8815/?useEncryption=true&user=NAME&password=PASSWORD",
		"\n    \"username\": \"NAME\", \"password\": \"PASSWORD\",\n})",
		"curl -u NAME:PASSWORD https://db.example:8816/v1/sql",
		"not ready: the metastore does not answer",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in %s", want, body)
		}
	}
	if strings.Contains(body, "secret") {
		t.Error("the page is public and shows an inner error")
	}
}

func TestReachable(t *testing.T) {
	for _, c := range []struct{ address, host, want string }{
		{"127.0.0.1:8815", "localhost:8816", "127.0.0.1:8815"},
		{"db:8815", "other:8816", "db:8815"},
		{"0.0.0.0:8815", "db.example:8816", "db.example:8815"},
		{"[::]:8815", "db.example", "db.example:8815"},
		{":8815", "[fd00::1]:8816", "[fd00::1]:8815"},
		{":8815", "[fd00::1]", "[fd00::1]:8815"},
		{"", "db.example", ""},
	} {
		if got := reachable(c.address, c.host); got != c.want {
			t.Errorf("reachable(%q, %q) is %q, want %q", c.address, c.host, got, c.want)
		}
	}
}
