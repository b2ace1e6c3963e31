package session

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/loamdb/loam/internal/clock"
)

// Life is how long a session lives without use; Limit is how many there are:
// beyond it the one unused for longest is forgotten.
const (
	Life  = 30 * time.Minute
	Limit = 10_000
)

// Manager keeps sessions of type T. Safe for concurrent use.
type Manager[T any] struct {
	clock clock.Clock
	ids   clock.IDs
	life  time.Duration
	limit int
	tag   string // begins the ids of this table

	mu    sync.Mutex // guards the fields below
	byID  map[string]*list.Element
	order *list.List // of *entry[T], used last in front
}

type entry[T any] struct {
	id, user string
	value    T
	used     time.Duration
}

// tagLen is the length of the tag that an id begins with.
const tagLen = 8

// NewManager makes an empty table; life and limit of zero are the constants.
func NewManager[T any](c clock.Clock, ids clock.IDs, life time.Duration, limit int) *Manager[T] {
	if life <= 0 {
		life = Life
	}
	if limit <= 0 {
		limit = Limit
	}
	return &Manager[T]{clock: c, ids: ids, life: life, limit: limit, byID: map[string]*list.Element{}, order: list.New()}
}

// Tagged makes the ids to come tell where they are from: node names the process, and
// tables of the same node have the same ids' beginning. It returns the table.
func (m *Manager[T]) Tagged(node string) *Manager[T] {
	sum := sha256.Sum256([]byte(node))
	m.tag = hex.EncodeToString(sum[:])[:tagLen] + "-"
	return m
}

// Foreign reports an id that another node's table has given.
func (m *Manager[T]) Foreign(id string) bool {
	return m.tag != "" && len(id) > tagLen && id[tagLen] == '-' && !strings.HasPrefix(id, m.tag)
}

// Add keeps a value for a user and returns the new session's id.
func (m *Manager[T]) Add(user string, value T) string {
	var raw [16]byte
	m.ids.Fill(raw[:])
	id := m.tag + hex.EncodeToString(raw[:])
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	for len(m.byID) >= m.limit {
		m.drop(m.order.Back())
	}
	m.byID[id] = m.order.PushFront(&entry[T]{id: id, user: user, value: value, used: m.clock.Mono()})
	return id
}

// Get finds the session with the id if it is the user's, and counts as a use.
func (m *Manager[T]) Get(id, user string) (value T, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	el, ok := m.byID[id]
	if !ok || el.Value.(*entry[T]).user != user {
		return value, false
	}
	e := el.Value.(*entry[T])
	e.used = m.clock.Mono()
	m.order.MoveToFront(el)
	return e.value, true
}

// Close forgets the session if it is the user's and reports whether there was one.
func (m *Manager[T]) Close(id, user string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	el, ok := m.byID[id]
	if !ok || el.Value.(*entry[T]).user != user {
		return false
	}
	m.drop(el)
	return true
}

// Len is the number of sessions.
func (m *Manager[T]) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	return len(m.byID)
}

func (m *Manager[T]) expire() {
	now := m.clock.Mono()
	for el := m.order.Back(); el != nil && now-el.Value.(*entry[T]).used > m.life; el = m.order.Back() {
		m.drop(el)
	}
}

func (m *Manager[T]) drop(el *list.Element) {
	delete(m.byID, el.Value.(*entry[T]).id)
	m.order.Remove(el)
}
