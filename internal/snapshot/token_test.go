package snapshot

import (
	"encoding/base64"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/fail"
)

func drawToken(t *rapid.T, incarnation string, partitions int) Token {
	return Token{ObjectID: 7, Incarnation: incarnation, Offsets: rapid.SliceOfN(rapid.Uint64(), partitions, partitions).Draw(t, "offsets")}
}

func TestTokensRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		want := Token{
			ObjectID:    rapid.Uint64().Draw(rt, "object"),
			Incarnation: rapid.StringN(0, 64, 64).Draw(rt, "incarnation"),
			Offsets:     rapid.SliceOfN(rapid.Uint64(), 0, 64).Draw(rt, "offsets"),
		}
		if len(want.Offsets) == 0 {
			want.Offsets = nil
		}
		got, err := ParseToken(want.String())
		if err != nil || !reflect.DeepEqual(got, want) {
			rt.Fatalf("%s reads as %+v, %v; want %+v", want, got, err, want)
		}
	})
}

// TestGolden pins the text: clients keep tokens over upgrades.
func TestGolden(t *testing.T) {
	for want, token := range map[string]Token{
		"v1:BwMwMUoCBawC": {ObjectID: 7, Incarnation: "01J", Offsets: []uint64{5, 300}},
		"v1:AAAA":         {},
	} {
		if got := token.String(); got != want {
			t.Errorf("%+v is %s, want %s", token, got, want)
		}
	}
}

func TestWhatIsNoToken(t *testing.T) {
	text := func(b ...byte) string { return prefix + base64.RawURLEncoding.EncodeToString(b) }
	good := Token{ObjectID: 7, Incarnation: "01J", Offsets: []uint64{5, 300}}.String()
	for name, s := range map[string]string{
		"empty": "", "prefix alone": "v1:", "another version": "v2:" + good[3:], "no prefix": good[3:], "padding": good + "=",
		"standard alphabet": "v1:++++", "spaces": " " + good, "cut": good[:len(good)-2], "longer": good + "AA",
		"a long incarnation":      text(append([]byte{7, 65}, make([]byte, 70)...)...),
		"an incarnation past end": text(7, 9, 'a'),
		"many partitions":         text(binary.AppendUvarint([]byte{7, 0}, 1<<40)...),
		"a number of 11 bytes":    text([]byte(strings.Repeat("\xff", 11))...),
		"an offset that is cut":   text(7, 0, 1, 0x80),
	} {
		if _, err := ParseToken(s); !fail.Is(err, fail.InvalidParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseToken(strings.Repeat("x", 5000)); len(err.Error()) > 300 {
		t.Errorf("the error repeats %d bytes of the input", len(err.Error()))
	}
}

// TestMerge: the order in which a client sees tokens does not matter, nor how
// often it sees one, and the merged token covers both.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(rt, "partitions")
		a, b, c := drawToken(rt, "i", n), drawToken(rt, "i", n), drawToken(rt, "i", n)
		before := a.String() + b.String()
		ab := a.Merge(b)
		if !reflect.DeepEqual(ab, b.Merge(a)) || !reflect.DeepEqual(ab.Merge(c), a.Merge(b.Merge(c))) {
			rt.Fatalf("%+v, %+v, %+v: the order matters", a, b, c)
		}
		if !reflect.DeepEqual(a.Merge(a), a) || !reflect.DeepEqual(ab.Merge(b), ab) {
			rt.Fatalf("%+v, %+v: twice is more than once", a, b)
		}
		if !reflect.DeepEqual(Token{}.Merge(a), a) {
			rt.Fatalf("the zero token is not neutral: %+v", a)
		}
		for p := range ab.Offsets {
			if ab.Offsets[p] < a.Offsets[p] || ab.Offsets[p] < b.Offsets[p] {
				rt.Fatalf("%+v does not cover %+v and %+v", ab, a, b)
			}
		}
		if a.String()+b.String() != before {
			rt.Fatal("Merge changed its operands")
		}
		other := drawToken(rt, "j", n)
		if !reflect.DeepEqual(a.Merge(other), a) {
			rt.Fatalf("a token of another object got in: %+v", a.Merge(other))
		}
	})
}

func FuzzParseToken(f *testing.F) {
	f.Add(Token{ObjectID: 7, Incarnation: "01J", Offsets: []uint64{5, 300}}.String())
	f.Add("v1:AAAA")
	f.Fuzz(func(t *testing.T, s string) {
		token, err := ParseToken(s)
		if err != nil {
			if !fail.Is(err, fail.InvalidParameter) {
				t.Fatal(err)
			}
			return
		}
		again, err := ParseToken(token.String())
		if err != nil || !reflect.DeepEqual(again, token) {
			t.Fatalf("%q: %+v, then %+v, %v", s, token, again, err)
		}
	})
}
