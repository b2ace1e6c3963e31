package access

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

func parse(t *testing.T, text string) (*Users, *clock.Manual) {
	t.Helper()
	c := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	u, err := Parse("users", []byte(text), c, clock.SeededIDs(c, 1))
	if err != nil {
		t.Fatal(err)
	}
	return u, c
}

func seeded() (clock.Clock, clock.IDs) {
	c := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	return c, clock.SeededIDs(c, 7)
}

func TestUsersFiles(t *testing.T) {
	_, ids := seeded()
	token, hash := NewToken(ids)
	u, _ := parse(t, "# people\n\nann:"+Hash("s:ü 3", ids)+"\r\n  ml/bob:"+Hash("b", ids)+"\nci:"+hash+"\n")
	for _, c := range []struct {
		user, password string
		want           bool
	}{
		{"ann", "s:ü 3", true}, {"ann", "s:ü 3", true}, {"ann", "s:ü", false}, {"ann", "", false},
		{"ml/bob", "b", true}, {"bob", "b", false}, {"eve", "b", false}, {"ci", "b", false}, {"", "", false},
		{"ann", strings.Repeat("x", maxPassword+1), false},
	} {
		if got := u.Password(c.user, c.password); got != c.want {
			t.Errorf("%q with %.20q: %v", c.user, c.password, got)
		}
	}
	if user, ok := u.Token(token); user != "ci" || !ok {
		t.Errorf("token of %q, %v", user, ok)
	}
	if _, ok := u.Token(token[1:]); ok {
		t.Error("a cut token is right")
	}
	if u.Open() || !u.Known("ann") || !u.Known("bob") || !u.Known("ci") || u.Known("eve") {
		t.Error("who is known")
	}
}

func TestWrongUsersFiles(t *testing.T) {
	_, ids := seeded()
	good := Hash("x", ids)
	for _, c := range []struct{ text, want string }{
		{"", "names no user"},
		{"# nobody\n", "names no user"},
		{"ann\n", "line 1: the line is not NAME:HASH"},
		{"\n\n:" + good, "line 3: the line is not NAME:HASH"},
		{"ann:secret", "line 1: the hash is neither bcrypt"},
		{"ann:" + good + "\nann:" + good, `line 2: the user "ann" has a second password`},
		{"ann:$2y$99$short", "no bcrypt hash"},
		{"ann:$argon2id$v=19$m=1", "no Argon2id hash"},
		{"ann:$argon2id$v=16$m=64,t=1,p=1$AAAA$AAAA", "no Argon2id hash"},
		{"ann:$argon2id$v=19$m=64,t=1,p=1$AAAA$!!!!", "no Argon2id hash"},
		{"ann:$argon2id$v=19$m=64,t=0,p=1$AAAA$AAAAAAAAAAAAAAAAAAAAAAAA", "asks for"},
		{"ann:$argon2id$v=19$m=4000000,t=1,p=1$AAAA$AAAAAAAAAAAAAAAAAAAAAAAA", "asks for 4000000 KiB"},
		{"ci:$token$abc", "no SHA-256"},
		{"ci:$token$" + strings.Repeat("0", 66), "no SHA-256"},
		{strings.Repeat("x", 1<<20), "users"},
	} {
		cl, ids := seeded()
		_, err := Parse("users", []byte(c.text), cl, ids)
		if !fail.Is(err, fail.InvalidParameter) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v", c.text, err)
		}
	}
}

// TestForeignHashes: what the tools of others write is read. crypt(3), as htpasswd
// uses it, and argon2-cffi made these, of "s:ü 3".
func TestForeignHashes(t *testing.T) {
	for _, line := range []string{
		"ann:$2y$06$DCq7YPn5Rq63x1Lad4cll.wxkUDBjj38vFlXO8QMrElAz7RGd6in.",
		"ann:$argon2id$v=19$m=1024,t=2,p=2$IdlhZ0Pii7+g9Ioeai434g$hiKwcnaC98nl0hE3o4UZEqsSlUbPkoHu2D4ZR365Gk4",
	} {
		u, _ := parse(t, line)
		if !u.Password("ann", "s:ü 3") || u.Password("ann", "s:ü 4") {
			t.Errorf("%s", line)
		}
	}
}

func TestRightPasswordsAreRemembered(t *testing.T) {
	cl, ids := seeded()
	manual := cl.(*clock.Manual)
	u := Plain(map[string]string{"ann": "x"}, nil, cl, ids)
	is := func(want int, what string) {
		t.Helper()
		if got := len(u.right.until); got != want {
			t.Errorf("%s: %d remembered, want %d", what, got, want)
		}
	}
	u.Password("ann", "wrong")
	is(0, "a wrong one")
	for range 3 {
		u.Password("ann", "x")
	}
	is(1, "a right one")
	key := u.right.key(ids, "ann", "x")
	if !u.right.has(key, manual.Mono()) || u.right.has(u.right.key(ids, "an", "nx"), manual.Mono()) {
		t.Error("keys")
	}
	manual.Advance(seenLife + time.Second)
	if u.right.has(key, manual.Mono()) {
		t.Error("remembered for ever")
	}
	u.Replace(Plain(map[string]string{"ann": "y"}, nil, cl, ids))
	if u.Password("ann", "x") || !u.Password("ann", "y") {
		t.Error("the old password is good, or the new one is not")
	}
	for i := range seenLimit + 5 {
		u.right.put(u.right.key(ids, "u", strings.Repeat("p", i)), 0)
	}
	if len(u.right.until) > seenLimit {
		t.Errorf("%d remembered", len(u.right.until))
	}
}

func TestNobodyIsEverybody(t *testing.T) {
	var none *Users
	if _, ok := none.Token("x"); !none.Open() || !(&Users{}).Open() || ok || none.Password("a", "b") || none.Known("a") {
		t.Error("nil users")
	}
}

func TestUsersAreAskedAtOnce(t *testing.T) {
	cl, ids := seeded()
	u := Plain(map[string]string{"ann": "x"}, map[string]string{"t": "bot"}, cl, ids)
	other := Plain(map[string]string{"ann": "x"}, map[string]string{"t": "bot"}, cl, ids)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, ok := u.Token("t"); !ok || !u.Password("ann", "x") || u.Password("ann", "y") {
				t.Error("a wrong answer")
			}
			if i == 0 {
				u.Replace(other)
			}
		})
	}
	all.Wait()
}

func FuzzParse(f *testing.F) {
	f.Add("ann:$2y$04$abc\nbob:$argon2id$v=19$m=64,t=1,p=1$AAAA$AAAAAAAAAAAAAAAAAAAAAAAA\nci:$token$00")
	f.Fuzz(func(t *testing.T, text string) {
		cl, ids := seeded()
		u, err := Parse("users", []byte(text), cl, ids)
		if (err == nil) == u.Open() {
			t.Errorf("%v, open %v", err, u.Open())
		}
	})
}
