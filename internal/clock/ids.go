package clock

import (
	crand "crypto/rand"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// IDs makes names and random numbers. Implementations are safe for concurrent use.
type IDs interface {
	// ULID is a new 26-character name. Names of one source sort in the order in
	// which they were made, also within a millisecond and when the clock steps back.
	ULID() string
	// Uint64 is a uniformly random number.
	Uint64() uint64
	// Fill overwrites p with random bytes.
	Fill(p []byte)
}

// RandomIDs draws from the system's generator, fit for secrets.
func RandomIDs(c Clock) IDs { return newSource(c, crand.Reader) }

// SeededIDs gives the same numbers for the same seed, for tests and simulation.
// Never use it for secrets.
func SeededIDs(c Clock, seed uint64) IDs {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return newSource(c, rand.NewChaCha8(key))
}

type source struct {
	clock Clock
	mu    sync.Mutex // guards the fields below
	read  io.Reader
	last  ulid.ULID
}

func newSource(c Clock, r io.Reader) *source { return &source{clock: c, read: r} }

func (s *source) ULID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var id ulid.ULID
	ms := ulid.Timestamp(s.clock.Now())
	if ms > s.last.Time() {
		_ = id.SetTime(min(ms, ulid.MaxTime()))
		s.fill(id[6:])
		id[6] &= 0x7f // leaves room to count up within the millisecond
	} else {
		id = s.last
		increment(id[:])
	}
	s.last = id
	return id.String()
}

// increment adds a random-free one to the whole id, so that order is kept even
// when the clock stands still or steps back.
func increment(id []byte) {
	for i := len(id) - 1; i >= 0; i-- {
		id[i]++
		if id[i] != 0 {
			return
		}
	}
}

func (s *source) Uint64() uint64 {
	var b [8]byte
	s.Fill(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

func (s *source) Fill(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fill(p)
}

// fill cannot fail: neither generator returns an error (crypto/rand ends the
// process when the system has no randomness).
func (s *source) fill(p []byte) { _, _ = io.ReadFull(s.read, p) }

// TimeOf is the moment at which a ULID was made, to the millisecond; ok is false
// for a text that is no ULID.
func TimeOf(id string) (t time.Time, ok bool) {
	u, err := ulid.ParseStrict(id)
	if err != nil {
		return time.Time{}, false
	}
	return ulid.Time(u.Time()), true
}
