package loam

import (
	"sync"
)

// SessionConfig says who a session belongs to.
type SessionConfig struct {
	User string
	// Namespace is the default namespace; "" is public.
	Namespace string
}

// Session holds one client's settings. Safe for concurrent use: statements of
// one session may run at the same time.
type Session struct {
	engine *Engine
	user   string

	mu        sync.Mutex // guards the fields below
	namespace string
	options   map[string]string
}
