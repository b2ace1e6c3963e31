package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loamdb/loam/flightsql/access"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// authMode says who may call.
type authMode string

// The modes. Given is also the zero value.
const (
	authGiven    authMode = "given"
	authNone     authMode = "none"
	authGenerate authMode = "generate"
)

// imageUser is the user of the container image.
const imageUser = "loam"

// String is the mode's name.
func (m *authMode) String() string {
	if m == nil || *m == "" {
		return string(authGiven)
	}
	return string(*m)
}

// Set takes one of the three names.
func (m *authMode) Set(v string) error {
	switch authMode(v) {
	case authGiven, authNone, authGenerate:
		*m = authMode(v)
		return nil
	}
	return errors.New("it takes given, none or generate")
}

// newPassword is one that nobody guesses: 120 random bits in 20 characters.
func newPassword(ids clock.IDs) string {
	var raw [15]byte
	ids.Fill(raw[:])
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// unguarded says that addresses beyond this machine may be served though something is
// missing: users, or TLS.
func (c accessConfig) unguarded(tls bool) bool {
	return c.insecure || c.auth == authNone && (c.plaintext || tls)
}

// generate completes the settings in the mode generate: a password without a user is
// that of imageUser; without either, the file users of the data directory holds the
// hash of a password that is made when the file is not there, and returned.
func (c *accessConfig) generate(data string) (made string, err error) {
	if c.auth != authGenerate || c.users != "" {
		return "", nil
	}
	if c.password != "" || c.passwordFile != "" || c.user != "" {
		if c.user == "" {
			c.user = imageUser
		}
		return "", nil
	}
	c.users = filepath.Join(data, "users")
	if _, err := os.Stat(c.users); !errors.Is(err, fs.ErrNotExist) {
		return "", fail.Wrap(fail.InvalidParameter, err, "--auth generate")
	}
	ids := clock.RandomIDs(clock.Real())
	made = newPassword(ids)
	if err := os.MkdirAll(data, 0o755); err != nil {
		return "", fail.Wrap(fail.InvalidParameter, err, "--auth generate")
	}
	line := fmt.Sprintf("%s:%s\n", imageUser, access.Hash(made, ids))
	// Nobody reads half a file: the name comes last, and the first one wins.
	tmp := c.users + ".new"
	if err := os.WriteFile(tmp, []byte(line), 0o600); err != nil {
		return "", fail.Wrap(fail.InvalidParameter, err, "--auth generate")
	}
	if err := os.Rename(tmp, c.users); err != nil {
		return "", fail.Wrap(fail.InvalidParameter, err, "--auth generate")
	}
	return made, nil
}
