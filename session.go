package loam

import (
	"cmp"
	"context"
	"maps"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/planner"
)

// SessionConfig says who a session belongs to.
type SessionConfig struct {
	// User is what current_user says; "" is loam.
	User string
	// Namespace is the default namespace; "" is public.
	Namespace string
}

// Session holds one client's settings. Safe for concurrent use: statements of
// one session may run at the same time.
type Session struct {
	engine *Engine
	user   string

	mu      sync.Mutex // guards the field below
	options map[string]string
}

// NewSession starts a session; it needs no closing.
func (e *Engine) NewSession(cfg SessionConfig) *Session {
	s := &Session{engine: e, user: cmp.Or(cfg.User, "loam"), options: map[string]string{}}
	if cfg.Namespace != "" {
		s.options[optNamespace] = cfg.Namespace
	}
	return s
}

// Options of a session.
const (
	optNamespace    = "schema"
	optCatalog      = "catalog"
	optMaxEndpoints = "loam.max_endpoints"
	optWireTypes    = "loam.wire_types"
)

// setting describes a session option.
type setting struct {
	name, def, help string
	check           func(ctx context.Context, e *Engine, value string) error
}

var settings = []setting{
	{optCatalog, catalog.RootCatalog, "the catalog; there is one", oneOf(catalog.RootCatalog)},
	{optNamespace, catalog.DefaultNamespace, "the namespace of names without one", nil},
	{planner.OptionDisabledPasses, "", "optimizer passes to switch off, separated by commas", checkPasses},
	{optMaxEndpoints, "1", "how many endpoints a scan query may answer with", positive},
	{"loam.ordered_endpoints", "false", "allow several endpoints for ordered queries", oneOf("true", "false")},
	{optWireTypes, "compat", "compat: types that every driver reads; native: all", oneOf("compat", "native")},
	consistencySettings[0], consistencySettings[1], consistencySettings[2], consistencySettings[3],
	{"sql_dialect", "loam", "the SQL dialect", oneOf("loam")},

	// What clients of PostgreSQL set when they connect. Those with one value say how
	// Loam is; another value is refused, never ignored.
	{"application_name", "", "the name of the client, for whoever looks at the queries", nil},
	{"bytea_output", "hex", "how bytes are written as text", oneOf("hex")},
	{"client_encoding", "UTF8", "the encoding of texts", oneOf("utf8", "utf-8", "unicode")},
	{"client_min_messages", "notice", "the notes that a client is told of", oneOf("debug", "log", "notice", "warning", "error")},
	{"datestyle", "ISO", "how dates are written as text", oneOf("iso", "iso,mdy", "iso, mdy", "iso,dmy", "iso, dmy", "iso,ymd", "iso, ymd")},
	{"default_transaction_isolation", "serializable", "every statement reads one state", oneOf("serializable", "repeatable read", "read committed", "read uncommitted")},
	{"extra_float_digits", "1", "doubles are always written so that they read back", oneOf("-1", "0", "1", "2", "3")},
	{"intervalstyle", "postgres", "how intervals are written as text", oneOf("postgres", "postgres_verbose", "iso_8601")},
	{"server_encoding", "UTF8", "the encoding of stored texts", oneOf("utf8")},
	{"server_version", "16.0", "the version of PostgreSQL whose SQL is understood", oneOf("16.0")},
	{"server_version_num", "160000", "the same as a number", oneOf("160000")},
	{"standard_conforming_strings", "on", "backslashes in strings are plain characters", oneOf("on", "true", "1")},
	{"timezone", "UTC", "the time zone of timestamps", oneOf("utc", "etc/utc", "gmt", "z", "+00:00", "0")},
	{"transaction_isolation", "serializable", "every statement reads one state", oneOf("serializable", "repeatable read", "read committed", "read uncommitted")},
}

func oneOf(values ...string) func(context.Context, *Engine, string) error {
	return func(_ context.Context, _ *Engine, v string) error {
		for _, x := range values {
			if strings.EqualFold(x, v) {
				return nil
			}
		}
		return fail.New(fail.InvalidParameter, "%q is not one of %s", v, strings.Join(values, ", "))
	}
}

func positive(_ context.Context, _ *Engine, v string) error {
	if n, err := strconv.Atoi(v); err != nil || n < 1 || n > 1024 {
		return fail.New(fail.InvalidParameter, "%q is not a number from 1 to 1024", v)
	}
	return nil
}

func checkPasses(_ context.Context, _ *Engine, v string) error {
	known := strings.Join(append(planner.PassNames(), "all"), ",")
	for p := range strings.SplitSeq(v, ",") {
		if p = strings.TrimSpace(p); p != "" && !strings.Contains(","+known+",", ","+strings.ToLower(p)+",") {
			return fail.New(fail.InvalidParameter, "there is no optimizer pass %q", p).WithHint("The passes are %s.", known)
		}
	}
	return nil
}

// findSetting finds an option by name without case; "namespace" and "search_path" are schema.
func findSetting(name string) (setting, error) {
	key := strings.ToLower(name)
	switch key {
	case "namespace", "search_path", "current_schema":
		key = optNamespace
	case "time zone":
		key = "timezone"
	case "names": // SET NAMES
		key = "client_encoding"
	}
	names := make([]string, 0, len(settings))
	for _, s := range settings {
		if s.name == key {
			return s, nil
		}
		names = append(names, s.name)
	}
	e := fail.New(fail.InvalidParameter, "there is no setting %q", name)
	if strings.HasPrefix(key, "loam.producer") {
		return setting{}, e.WithHint("A producer writes over HTTP, DoPut or the Go API, where each call says which batch it is.")
	}
	if near := fail.Closest(key, names); near != "" {
		return setting{}, e.WithHint("Did you mean %q?", near)
	}
	return setting{}, e.WithHint("SHOW ALL lists the settings.")
}

// Set sets an option. Errors: fail.InvalidParameter for an unknown option or a
// bad value, fail.UndefinedNamespace.
func (s *Session) Set(ctx context.Context, name, value string) error {
	st, err := findSetting(name)
	if err != nil {
		return err
	}
	if st.check != nil {
		if err := st.check(ctx, s.engine, value); err != nil {
			return fail.New(fail.CodeOf(err), "%s: %s", st.name, err.Error())
		}
	}
	if st.name == optNamespace {
		value, _, _ = strings.Cut(value, ",") // the first of a search path
		if value, err = s.engine.namespaceNamed(ctx, value); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options[st.name] = value
	return nil
}

// namespaceNamed finds a namespace without case and returns its declared spelling.
func (e *Engine) namespaceNamed(ctx context.Context, name string) (string, error) {
	list, err := e.cat.Namespaces(ctx)
	if err != nil {
		return "", err
	}
	names := catalog.Names(list)
	for _, n := range append(names, catalog.Reserved...) {
		if strings.EqualFold(n, name) {
			return n, nil
		}
	}
	out := fail.New(fail.UndefinedNamespace, "there is no namespace %q", name)
	if near := fail.Closest(name, names); near != "" {
		return "", out.WithHint("Did you mean %q?", near)
	}
	return "", out.WithHint("SHOW NAMESPACES lists them.")
}

// Reset puts an option back to its default.
func (s *Session) Reset(name string) error {
	if strings.EqualFold(name, "all") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.options = map[string]string{}
		return nil
	}
	st, err := findSetting(name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.options, st.name)
	return nil
}

// Option is the value of an option in force; false for an unknown one.
func (s *Session) Option(name string) (string, bool) {
	st, err := findSetting(name)
	if err != nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.options[st.name]; ok {
		return v, true
	}
	return st.def, true
}

// Options are all options in force, by name.
func (s *Session) Options() map[string]string {
	s.mu.Lock()
	set := maps.Clone(s.options)
	s.mu.Unlock()
	out := map[string]string{}
	for _, st := range settings {
		out[st.name] = st.def
		if v, ok := set[st.name]; ok {
			out[st.name] = v
		}
	}
	return out
}

// OptionNames lists the options in order.
func OptionNames() []string {
	out := make([]string, len(settings))
	for i, s := range settings {
		out[i] = s.name
	}
	sort.Strings(out)
	return out
}

// Namespace is the session's default namespace.
func (s *Session) Namespace() string {
	v, _ := s.Option(optNamespace)
	return v
}

// User is who the session belongs to.
func (s *Session) User() string { return s.user }
