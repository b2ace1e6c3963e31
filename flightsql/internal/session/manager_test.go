package session

import (
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
)

func TestSessionsEndUnused(t *testing.T) {
	c := clock.NewManual(time.Unix(0, 0))
	m := NewManager[int](c, clock.SeededIDs(c, 1), time.Minute, 3)
	a, b := m.Add("ann", 1), m.Add("bob", 2)
	if v, ok := m.Get(a, "ann"); !ok || v != 1 {
		t.Fatal(v, ok)
	}
	if _, ok := m.Get(a, "bob"); ok {
		t.Error("another user's session")
	}
	if m.Close(a, "bob") {
		t.Error("another user closed it")
	}
	c.Advance(40 * time.Second)
	m.Get(a, "ann")
	c.Advance(40 * time.Second)
	if _, ok := m.Get(b, "bob"); ok {
		t.Error("unused for 80 s, still there")
	}
	if _, ok := m.Get(a, "ann"); !ok {
		t.Error("used 40 s ago, gone")
	}
	if !m.Close(a, "ann") || m.Close(a, "ann") || m.Len() != 0 {
		t.Error("close counts once")
	}
}

func TestTheOldestMakesRoom(t *testing.T) {
	c := clock.NewManual(time.Unix(0, 0))
	m := NewManager[int](c, clock.SeededIDs(c, 1), 0, 3)
	var ids []string
	for i := range 3 {
		ids = append(ids, m.Add("u", i))
	}
	m.Get(ids[0], "u")
	m.Add("u", 3)
	if _, ok := m.Get(ids[1], "u"); ok || m.Len() != 3 {
		t.Error("the one unused for longest stays")
	}
	if _, ok := m.Get(ids[0], "u"); !ok {
		t.Error("the one just used is gone")
	}
}
