package auth

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/flightsql/internal/ticket"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

func checker(t *testing.T, config Config) (*Checker, *clock.Manual) {
	t.Helper()
	c := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	s, err := ticket.NewSealer(make([]byte, ticket.KeySize), c, clock.SeededIDs(c, 1))
	if err != nil {
		t.Fatal(err)
	}
	return New(config, s, c), c
}

// users are two with passwords and one with a token.
func users(passwords, tokens map[string]string) Config {
	c := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	return Config{Users: access.Plain(passwords, tokens, c, clock.SeededIDs(c, 1))}
}

func basic(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }

func TestCredentials(t *testing.T) {
	closed := users(map[string]string{"ann": "pässwort:1", "empty": ""}, map[string]string{"secret-token": "ml/bot"})
	for _, c := range []struct {
		name, header string
		config       Config
		want         Principal
		code         fail.Code
	}{
		{"none, open", "", Config{}, Principal{User: Anonymous}, fail.OK},
		{"none, closed", "", closed, Principal{}, fail.Unauthenticated},
		{"colon and umlaut", basic("ann:pässwort:1"), closed, Principal{User: "ann"}, fail.OK},
		{"without padding", "Basic " + base64.RawStdEncoding.EncodeToString([]byte("ann:pässwort:1")), closed, Principal{User: "ann"}, fail.OK},
		{"lower-case scheme", "basic " + base64.StdEncoding.EncodeToString([]byte("ann:pässwort:1")), closed, Principal{User: "ann"}, fail.OK},
		{"namespace before the user", basic("ml/ann:pässwort:1"), closed, Principal{User: "ann", Namespace: "ml"}, fail.OK},
		{"empty password", basic("empty:"), closed, Principal{User: "empty"}, fail.OK},
		{"wrong password", basic("ann:no"), closed, Principal{}, fail.Unauthenticated},
		{"unknown user with an empty password", basic("eve:"), closed, Principal{}, fail.Unauthenticated},
		{"token as password", basic("anybody:secret-token"), closed, Principal{User: "bot"}, fail.OK},
		{"static token", "Bearer secret-token", closed, Principal{User: "bot", Namespace: "ml"}, fail.OK},
		{"unknown token", "Bearer nope", closed, Principal{}, fail.Unauthenticated},
		{"unknown token, open", "Bearer nope", Config{}, Principal{User: Anonymous}, fail.OK},
		{"any user, open", basic("ml/ann:x"), Config{}, Principal{User: "ann", Namespace: "ml"}, fail.OK},
		{"no base64", "Basic %%%", Config{}, Principal{}, fail.Unauthenticated},
		{"no colon", basic("ann"), Config{}, Principal{}, fail.Unauthenticated},
		{"invalid UTF-8", "Basic " + base64.StdEncoding.EncodeToString([]byte("\xff:\xfe")), Config{}, Principal{}, fail.Unauthenticated},
		{"another scheme", "Negotiate abc", Config{}, Principal{}, fail.Unauthenticated},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, _ := checker(t, c.config)
			got, err := k.Check(c.header, "")
			if fail.CodeOf(err) != c.code || got != c.want {
				t.Errorf("got %+v, %v; want %+v, %s", got, err, c.want, c.code)
			}
		})
	}
}

func TestTokensOfOurs(t *testing.T) {
	k, c := checker(t, users(map[string]string{"ann": "x"}, nil))
	want := Principal{User: "ann", Namespace: "ml", Session: "s1"}
	token := k.Token(want)
	if got, err := k.Check("Bearer "+token, ""); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := k.Check("Bearer "+token[:len(token)-2], ""); !fail.Is(err, fail.Unauthenticated) {
		t.Errorf("a cut token: %v", err)
	}
	c.Advance(TokenLife + time.Second)
	if _, err := k.Check("Bearer "+token, ""); !fail.Is(err, fail.Unauthenticated) {
		t.Errorf("an old token: %v", err)
	}
}

func TestWithoutASealer(t *testing.T) {
	k := New(users(nil, map[string]string{"t": "u"}), nil, clock.Real())
	if _, err := k.Check("Bearer AAAA", ""); !fail.Is(err, fail.Unauthenticated) {
		t.Error(err)
	}
}

func TestCertificatesNameUsers(t *testing.T) {
	config := users(map[string]string{"ann": "x"}, nil)
	for _, c := range []struct {
		header, certificate string
		asked               bool
		want                Principal
		code                fail.Code
	}{
		{"", "ml/bob", true, Principal{User: "bob", Namespace: "ml"}, fail.OK},
		{basic("ann:x"), "bob", true, Principal{User: "ann"}, fail.OK},
		{basic("ann:y"), "bob", true, Principal{}, fail.Unauthenticated},
		{"", "bob", false, Principal{}, fail.Unauthenticated},
		{"", "", true, Principal{}, fail.Unauthenticated},
	} {
		config.Certificates = c.asked
		k, _ := checker(t, config)
		if got, err := k.Check(c.header, c.certificate); fail.CodeOf(err) != c.code || got != c.want {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	if (Config{Certificates: true}).Open() {
		t.Error("a server that asks for certificates is open")
	}
}
