package access

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// Users knows who may call. The zero value and nil know nobody: then everybody
// may. Safe for concurrent use.
type Users struct {
	clock clock.Clock
	ids   clock.IDs

	mu        sync.RWMutex // guards the fields below
	passwords map[string]string
	tokens    map[[sha256.Size]byte]string // user by the token's SHA-256
	right     seen                         // passwords that were right a moment ago
}

// tokenMark begins the hash of a token in a users file.
const tokenMark = "$token$"

// Parse reads a users file: a line NAME:HASH for each password and each token,
// empty lines and lines with # apart. A hash is bcrypt or Argon2id as htpasswd and
// loam passwd write them, or $token$ and the SHA-256 of a token in hexadecimal. A
// user may have one password and many tokens. The name is of the file, for errors:
// fail.InvalidParameter with the line.
func Parse(name string, text []byte, c clock.Clock, ids clock.IDs) (*Users, error) {
	u := &Users{clock: c, ids: ids, passwords: map[string]string{}, tokens: map[[sha256.Size]byte]string{}}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := u.add(line); err != nil {
			return nil, fail.Wrap(fail.InvalidParameter, err, "%s, line %d", name, n)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fail.Wrap(fail.InvalidParameter, err, "%s", name)
	}
	if u.Open() {
		return nil, fail.New(fail.InvalidParameter, "%s names no user", name).WithHint("loam passwd NAME makes a line for it.")
	}
	return u, nil
}

func (u *Users) add(line string) error {
	name, hash, ok := strings.Cut(line, ":")
	if !ok || name == "" {
		return fail.New(fail.InvalidParameter, "the line is not NAME:HASH").WithHint("loam passwd NAME makes one.")
	}
	if digest, ok := strings.CutPrefix(hash, tokenMark); ok {
		sum, err := hex.DecodeString(digest)
		if err != nil || len(sum) != sha256.Size {
			return fail.New(fail.InvalidParameter, "the token of %q is no SHA-256 in hexadecimal", name)
		}
		u.tokens[[sha256.Size]byte(sum)] = name
		return nil
	}
	if err := checkHash(hash); err != nil {
		return err
	}
	if _, twice := u.passwords[name]; twice {
		return fail.New(fail.InvalidParameter, "the user %q has a second password", name)
	}
	u.passwords[name] = hash
	return nil
}

// Plain makes users of passwords and tokens that are not hashed; tokens map to
// their users. It hashes them, and keeps nothing else.
func Plain(passwords, tokens map[string]string, c clock.Clock, ids clock.IDs) *Users {
	u := &Users{clock: c, ids: ids, passwords: map[string]string{}, tokens: map[[sha256.Size]byte]string{}}
	for name, password := range passwords {
		u.passwords[name] = Hash(password, ids)
	}
	for token, name := range tokens {
		u.tokens[sha256.Sum256([]byte(token))] = name
	}
	return u
}

// Open reports that everybody may call.
func (u *Users) Open() bool {
	if u == nil {
		return true
	}
	u.mu.RLock()
	defer u.mu.RUnlock()
	return len(u.passwords) == 0 && len(u.tokens) == 0
}

// Known reports whether there is still a user of this name: what was given to one
// that has been taken out is worth nothing. A name in the file may have a namespace
// in front, NAMESPACE/NAME.
func (u *Users) Known(user string) bool {
	if u == nil {
		return false
	}
	u.mu.RLock()
	defer u.mu.RUnlock()
	same := func(name string) bool { return name == user || strings.HasSuffix(name, "/"+user) }
	for name := range u.passwords {
		if same(name) {
			return true
		}
	}
	for _, name := range u.tokens {
		if same(name) {
			return true
		}
	}
	return false
}

// Replace takes over what another list says. Passwords and tokens that it does not
// have are wrong from then on.
func (u *Users) Replace(by *Users) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.passwords, u.tokens, u.right = by.passwords, by.tokens, seen{}
}

// Token finds a token's user. Tokens are looked up by their hash, so that the time
// it takes tells nothing of them.
func (u *Users) Token(token string) (user string, ok bool) {
	if u == nil {
		return "", false
	}
	u.mu.RLock()
	defer u.mu.RUnlock()
	user, ok = u.tokens[sha256.Sum256([]byte(token))]
	return user, ok
}

// stranger is hashed against for users that do not exist, so that they take as
// long as those that do.
const stranger = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// maxPassword bounds what is hashed, in bytes.
const maxPassword = 1 << 10

// Password reports whether a user's password is right. Hashing takes tens of
// milliseconds on purpose, and one that was right is remembered for minutes, since
// HTTP sends it with each request.
func (u *Users) Password(user, password string) bool {
	if u == nil || len(password) > maxPassword {
		return false
	}
	u.mu.Lock()
	hash, known := u.passwords[user]
	key := u.right.key(u.ids, user, password)
	remembered := known && u.right.has(key, u.clock.Mono())
	u.mu.Unlock()
	if remembered {
		return true
	}
	if !known {
		hash = stranger
	}
	if !matches(hash, password) || !known {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.passwords[user] == hash { // not replaced meanwhile
		u.right.put(key, u.clock.Mono())
	}
	return true
}

// seen remembers pairs of user and password under a key that only this process
// has, for a time.
type seen struct {
	secret [32]byte
	until  map[[sha256.Size]byte]time.Duration
}

const (
	seenLife  = 5 * time.Minute
	seenLimit = 1000
)

func (s *seen) key(ids clock.IDs, user, password string) [sha256.Size]byte {
	if s.until == nil {
		s.until = map[[sha256.Size]byte]time.Duration{}
		ids.Fill(s.secret[:])
	}
	h := sha256.New()
	h.Write(s.secret[:])
	h.Write([]byte(user))
	h.Write([]byte{0})
	h.Write([]byte(password))
	return [sha256.Size]byte(h.Sum(nil))
}

func (s *seen) has(key [sha256.Size]byte, now time.Duration) bool {
	until, ok := s.until[key]
	return ok && now < until
}

func (s *seen) put(key [sha256.Size]byte, now time.Duration) {
	if len(s.until) >= seenLimit {
		clear(s.until)
	}
	s.until[key] = now + seenLife
}
