package ticket

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

func sealer(t testing.TB, key byte) (*Sealer, *clock.Manual) {
	t.Helper()
	c := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	secret := make([]byte, KeySize)
	secret[0] = key
	s, err := NewSealer(secret, c, clock.SeededIDs(c, 7))
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func content(t *rapid.T) *Content {
	bytes := rapid.SliceOfN(rapid.Byte(), 1, 40)
	return &Content{
		Kind: Kind(rapid.IntRange(1, 5).Draw(t, "kind")), ID: rapid.String().Draw(t, "id"), SQL: rapid.String().Draw(t, "sql"),
		Params: bytes.Draw(t, "params"), ParamRef: rapid.String().Draw(t, "ref"), User: rapid.String().Draw(t, "user"),
		Namespace: rapid.String().Draw(t, "ns"), Session: rapid.String().Draw(t, "session"),
		Options: rapid.MapOfN(rapid.String(), rapid.String(), 1, 4).Draw(t, "options"),
		Pin:     bytes.Draw(t, "pin"), Part: bytes.Draw(t, "part"), Schema: bytes.Draw(t, "schema"),
		Expires: time.UnixMilli(rapid.Int64Range(1_900_000_000_000, 2_000_000_000_000).Draw(t, "expires")),
	}
}

func TestWhatIsSealedIsOpened(t *testing.T) {
	s, _ := sealer(t, 1)
	rapid.Check(t, func(rt *rapid.T) {
		want := content(rt)
		got, err := s.Open(s.Seal(want), want.Kind)
		if err != nil {
			rt.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func TestEveryDamageIsRefused(t *testing.T) {
	s, _ := sealer(t, 1)
	sealed := s.Seal(&Content{Kind: Query, SQL: "SELECT 1", Pin: []byte("{}")})
	for i := range sealed {
		if _, err := s.Open(sealed[:i], Query); !fail.Is(err, fail.InvalidTicket) {
			t.Fatalf("the first %d bytes: %v", i, err)
		}
		for bit := range 8 {
			bad := append([]byte(nil), sealed...)
			bad[i] ^= 1 << bit
			if _, err := s.Open(bad, Query); !fail.Is(err, fail.InvalidTicket) {
				t.Fatalf("bit %d of byte %d: %v", bit, i, err)
			}
		}
	}
	if _, err := s.Open(append(sealed, 0), Query); !fail.Is(err, fail.InvalidTicket) {
		t.Fatalf("a byte more: %v", err)
	}
}

func TestKindsKeysAndTime(t *testing.T) {
	s, c := sealer(t, 1)
	other, _ := sealer(t, 2)
	sealed := s.Seal(&Content{Kind: Prepared, SQL: "SELECT 1", Expires: c.Now().Add(time.Hour)})
	if _, err := s.Open(sealed, Query, Scan); !fail.Is(err, fail.InvalidTicket) {
		t.Errorf("a handle as a ticket: %v", err)
	}
	if _, err := other.Open(sealed, Prepared); !fail.Is(err, fail.InvalidTicket) {
		t.Errorf("another cluster's: %v", err)
	}
	c.Advance(time.Hour)
	if _, err := s.Open(sealed, Prepared); err != nil {
		t.Errorf("at the end of its life: %v", err)
	}
	c.Advance(time.Millisecond)
	if _, err := s.Open(sealed, Prepared); !fail.Is(err, fail.TicketExpired) {
		t.Errorf("after its life: %v", err)
	}
}

func TestTwoSealsDiffer(t *testing.T) {
	s, _ := sealer(t, 1)
	c := &Content{Kind: Query, SQL: "SELECT 1"}
	if one, two := s.Seal(c), s.Seal(c); bytes.Equal(one, two) {
		t.Error("the same bytes twice: a nonce was used again")
	}
}

func FuzzOpen(f *testing.F) {
	s, _ := sealer(f, 1)
	f.Add(s.Seal(&Content{Kind: Query, SQL: "SELECT 1"}))
	f.Add([]byte("LT\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := s.Open(data, Query)
		if err == nil && c.SQL != "SELECT 1" {
			t.Errorf("opened %q", data)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add((&Content{Kind: Query, SQL: "SELECT 1", Options: map[string]string{"a": "b"}}).encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode(data)
		if err != nil {
			return
		}
		again, err := decode(c.encode())
		if err != nil || again.SQL != c.SQL || again.Kind != c.Kind {
			t.Errorf("%+v, then %+v, %v", c, again, err)
		}
	})
}
