package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// The cost of a new hash: 19 MiB and two passes, about 20 ms, as OWASP recommends.
const (
	argonMemoryKiB = 19 << 10
	argonPasses    = 2
	argonThreads   = 1
	argonBytes     = 32
	saltBytes      = 16
)

// Bounds of the cost of a hash that a file may ask for, so that one line cannot
// exhaust the server.
const (
	maxArgonMemoryKiB = 256 << 10
	maxArgonPasses    = 16
	maxArgonThreads   = 16
)

// hashing bounds how many passwords are hashed at once, and with that the memory
// and the cores that strangers can take.
var hashing = make(chan struct{}, 2)

// argon is a parsed Argon2id hash in the PHC form.
type argon struct {
	memory, passes uint32
	threads        uint8
	salt, sum      []byte
}

func (a argon) String() string {
	e := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, a.memory, a.passes, a.threads, e.EncodeToString(a.salt), e.EncodeToString(a.sum))
}

// Hash is a password's Argon2id hash, as a users file has it.
func Hash(password string, ids clock.IDs) string {
	a := argon{memory: argonMemoryKiB, passes: argonPasses, threads: argonThreads, salt: make([]byte, saltBytes)}
	ids.Fill(a.salt)
	a.sum = argon2.IDKey([]byte(password), a.salt, a.passes, a.memory, a.threads, argonBytes)
	return a.String()
}

// NewToken makes a token that nobody can guess, and its hash for a users file.
func NewToken(ids clock.IDs) (token, hash string) {
	var raw [32]byte
	ids.Fill(raw[:])
	token = "loam_" + base64.RawURLEncoding.EncodeToString(raw[:])
	sum := sha256.Sum256([]byte(token))
	return token, tokenMark + hex.EncodeToString(sum[:])
}

func parseArgon(hash string) (argon, error) {
	var a argon
	bad := fail.New(fail.InvalidParameter, "the hash is no Argon2id hash").WithHint("loam passwd NAME makes one.")
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return a, bad
	}
	if n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &a.memory, &a.passes, &a.threads); n != 3 || err != nil {
		return a, bad
	}
	if a.memory > maxArgonMemoryKiB || a.passes > maxArgonPasses || a.threads > maxArgonThreads || a.passes < 1 || a.threads < 1 {
		return a, fail.New(fail.InvalidParameter, "the hash asks for %d KiB, %d passes and %d threads; at most %d, %d and %d are allowed",
			a.memory, a.passes, a.threads, maxArgonMemoryKiB, maxArgonPasses, maxArgonThreads)
	}
	var err error
	if a.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return a, bad
	}
	if a.sum, err = base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(a.sum) < 16 || len(a.sum) > 64 {
		return a, bad
	}
	return a, nil
}

// checkHash refuses what matches could not read.
func checkHash(hash string) error {
	switch {
	case strings.HasPrefix(hash, "$argon2id$"):
		_, err := parseArgon(hash)
		return err
	case strings.HasPrefix(hash, "$2"):
		if _, err := bcrypt.Cost([]byte(hash)); err != nil {
			return fail.Wrap(fail.InvalidParameter, err, "the hash is no bcrypt hash")
		}
		return nil
	}
	return fail.New(fail.InvalidParameter, "the hash is neither bcrypt ($2…) nor Argon2id ($argon2id$…) nor a token's ($token$…)").
		WithHint("loam passwd NAME makes one; a password itself does not belong here.")
}

// matches hashes a password as a hash says and compares in constant time.
func matches(hash, password string) bool {
	hashing <- struct{}{}
	defer func() { <-hashing }()
	if strings.HasPrefix(hash, "$2") {
		return bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil
	}
	a, err := parseArgon(hash)
	if err != nil {
		return false
	}
	sum := argon2.IDKey([]byte(password), a.salt, a.passes, a.memory, a.threads, uint32(len(a.sum)))
	return subtle.ConstantTimeCompare(sum, a.sum) == 1
}
