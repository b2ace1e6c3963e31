// Package snapshot holds the values that say what a read sees: consistency
// tokens and pins, and their one text form.
//
// It imports fail only; who waits for a token and who keeps a pin alive is
// decided above.
package snapshot

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

const prefix = "v1:"

// maxPartitions bounds what a token may name.
const maxPartitions = 1024

// Token says up to where a reader must see an object: Offsets[p] is the first
// offset of partition p that it need not see. Incarnation tells the object from
// an earlier one of the same name.
type Token struct {
	ObjectID    uint64
	Incarnation string
	Offsets     []uint64
}

// String is the token's text: "v1:" and base64url of object id, incarnation and offsets.
func (t Token) String() string {
	b := binary.AppendUvarint(nil, t.ObjectID)
	b = binary.AppendUvarint(b, uint64(len(t.Incarnation)))
	b = append(b, t.Incarnation...)
	b = binary.AppendUvarint(b, uint64(len(t.Offsets)))
	for _, o := range t.Offsets {
		b = binary.AppendUvarint(b, o)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(b)
}

// ParseToken reads the text form. Errors: fail.InvalidParameter.
func ParseToken(s string) (Token, error) {
	bad := func() (Token, error) {
		return Token{}, fail.New(fail.InvalidParameter, "%.60q is not a consistency token", s).
			WithHint("Use the token that a write answered, such as \"v1:…\".")
	}
	body, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return bad()
	}
	b, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return bad()
	}
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			ok = false
			return 0
		}
		b = b[n:]
		return v
	}
	t := Token{ObjectID: next()}
	n := next()
	if !ok || n > uint64(len(b)) || n > 64 {
		return bad()
	}
	t.Incarnation, b = string(b[:n]), b[n:]
	count := next()
	if !ok || count > maxPartitions {
		return bad()
	}
	for range count {
		t.Offsets = append(t.Offsets, next())
	}
	if !ok || len(b) != 0 {
		return bad()
	}
	return t, nil
}

// Merge is the token that covers both: the greater offset per partition. Tokens
// of different objects do not merge; the first is returned.
func (t Token) Merge(o Token) Token {
	if t.Incarnation == "" {
		return o
	}
	if t.Incarnation != o.Incarnation || len(t.Offsets) != len(o.Offsets) {
		return t
	}
	out := Token{ObjectID: t.ObjectID, Incarnation: t.Incarnation, Offsets: append([]uint64(nil), t.Offsets...)}
	for i, v := range o.Offsets {
		out.Offsets[i] = max(out.Offsets[i], v)
	}
	return out
}
