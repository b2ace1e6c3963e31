package vec

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/loamdb/loam/internal/types"
)

// A UUID is kept as a 128-bit number with its first bit turned, so that the
// order of signed numbers is the order of its bytes and every loop over
// decimals serves UUIDs too.
const uuidFlip = 1 << 63

// MakeUUID is the vector form of a UUID's 16 bytes.
func MakeUUID(b [16]byte) decimal128.Num {
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	return decimal128.New(int64(hi^uuidFlip), lo)
}

// UUIDBytes are the 16 bytes of a UUID's vector form.
func UUIDBytes(n decimal128.Num) [16]byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(n.HighBits())^uuidFlip)
	binary.BigEndian.PutUint64(b[8:], n.LowBits())
	return b
}

// uuidLen is the length of a UUID's text.
const uuidLen = 36

// AppendUUID appends the text of a UUID: lower case, in groups of 8-4-4-4-12.
func AppendUUID(dst []byte, n decimal128.Num) []byte {
	b := UUIDBytes(n)
	for i, to := range [...]int{4, 6, 8, 10, 16} {
		from := [...]int{0, 4, 6, 8, 10}[i]
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, b[from:to])
	}
	return dst
}

// FormatUUID is the text of a UUID.
func FormatUUID(n decimal128.Num) string {
	var buf [uuidLen]byte
	return string(AppendUUID(buf[:0], n))
}

// ParseUUID reads the text of a UUID: 32 hexadecimal digits of either case, with
// or without braces, and hyphens between groups of four digits.
func ParseUUID(s string) (decimal128.Num, bool) {
	if len(s) >= 2 && s[0] == '{' && s[len(s)-1] == '}' {
		s = s[1 : len(s)-1]
	}
	var b [16]byte
	digits := 0
	for i := range len(s) {
		if s[i] == '-' {
			if digits == 0 || digits%4 != 0 || digits == 32 || s[i-1] == '-' {
				return decimal128.Num{}, false
			}
			continue
		}
		d, ok := hexDigit(s[i])
		if !ok || digits == 32 {
			return decimal128.Num{}, false
		}
		b[digits/2] = b[digits/2]<<4 | d
		digits++
	}
	return MakeUUID(b), digits == 32
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// UUIDValue returns a UUID value of its 16 bytes.
func UUIDValue(b [16]byte) Value {
	return Value{Type: types.Of(types.UUID), Dec: MakeUUID(b)}
}
