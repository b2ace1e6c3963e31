package auth

import (
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/flightsql/internal/ticket"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// TokenLife is how long a bearer token is good. Clients such as Spice log in
// once and never again, so it is long.
const TokenLife = 7 * 24 * time.Hour

// Anonymous is the user of a call without credentials where none are needed.
const Anonymous = "anonymous"

// Principal is who a call belongs to.
type Principal struct {
	User string
	// Namespace is the default namespace that a user name "<namespace>/<principal>" carries.
	Namespace string
	// Session is the session that a bearer token carries, or "".
	Session string
}

// Config says who may call. With no users and no certificates everybody may.
type Config struct {
	Users *access.Users
	// Certificates says that a client's certificate names a user.
	Certificates bool
}

// Open reports that nobody needs credentials.
func (c Config) Open() bool { return c.Users.Open() && !c.Certificates }

// Checker checks credentials. Safe for concurrent use.
type Checker struct {
	config Config
	sealer *ticket.Sealer
	clock  clock.Clock
}

// New makes a checker; the sealer makes and opens its tokens. Without one it
// knows only the configured tokens, and Token must not be called.
func New(config Config, sealer *ticket.Sealer, c clock.Clock) *Checker {
	return &Checker{config: config, sealer: sealer, clock: c}
}

// Token is a bearer token for the principal.
func (c *Checker) Token(p Principal) string {
	sealed := c.sealer.Seal(&ticket.Content{
		Kind: ticket.Bearer, User: p.User, Namespace: p.Namespace, Session: p.Session,
		Expires: c.clock.Now().Add(TokenLife),
	})
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// Open reports that nobody needs credentials.
func (c *Checker) Open() bool { return c.config.Open() }

// Check reads an Authorization header; "" is a call without one, which belongs to
// the user that the client's certificate names, "" being none. Errors:
// fail.Unauthenticated.
func (c *Checker) Check(header, certificate string) (Principal, error) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(header), " ")
	rest = strings.TrimSpace(rest)
	switch {
	case header == "":
		if c.config.Certificates && certificate != "" {
			return principalOf(certificate), nil
		}
		if c.config.Open() {
			return Principal{User: Anonymous}, nil
		}
		return Principal{}, fail.New(fail.Unauthenticated, "this server needs a user and a password, or a token")
	case strings.EqualFold(scheme, "Basic"):
		return c.basic(rest)
	case strings.EqualFold(scheme, "Bearer"):
		return c.bearer(rest)
	}
	return Principal{}, fail.New(fail.Unauthenticated, "the Authorization header has scheme %.20q; use Basic or Bearer", scheme)
}

// basic takes base64 with and without padding, and passwords with any character.
func (c *Checker) basic(encoded string) (Principal, error) {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if err != nil || !utf8.Valid(raw) {
		return Principal{}, fail.New(fail.Unauthenticated, "the Basic credentials are not base64 of user:password")
	}
	name, password, ok := strings.Cut(string(raw), ":")
	if !ok {
		return Principal{}, fail.New(fail.Unauthenticated, "the Basic credentials have no ':' between user and password")
	}
	p := principalOf(name)
	if c.config.Open() {
		return p, nil
	}
	// Tools without a box for a token send it as the password of any user.
	if user, ok := c.config.Users.Token(password); ok {
		p.User = principalOf(user).User
		return p, nil
	}
	if c.config.Users.Password(name, password) || p.User != name && c.config.Users.Password(p.User, password) {
		return p, nil
	}
	return Principal{}, fail.New(fail.Unauthenticated, "wrong user or password")
}

func (c *Checker) bearer(token string) (Principal, error) {
	if user, ok := c.config.Users.Token(token); ok {
		return principalOf(user), nil
	}
	if sealed, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(token, "=")); err == nil && c.sealer != nil {
		content, err := c.sealer.Open(sealed, ticket.Bearer)
		if err == nil && (c.config.Open() || c.config.Certificates || c.config.Users.Known(content.User)) {
			return Principal{User: content.User, Namespace: content.Namespace, Session: content.Session}, nil
		}
		if fail.Is(err, fail.TicketExpired) && !c.config.Open() {
			return Principal{}, fail.New(fail.Unauthenticated, "the token has expired; log in again")
		}
	}
	if c.config.Open() {
		return Principal{User: Anonymous}, nil
	}
	return Principal{}, fail.New(fail.Unauthenticated, "unknown token")
}

// principalOf splits "<namespace>/<principal>".
func principalOf(name string) Principal {
	if ns, user, ok := strings.Cut(name, "/"); ok {
		return Principal{User: user, Namespace: ns}
	}
	if name == "" {
		name = Anonymous
	}
	return Principal{User: name}
}
