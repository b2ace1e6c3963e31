package functions

import (
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash/crc32"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/vec"
)

// encodeTable holds checksums and the ways to write bytes as text.
var encodeTable = []def{
	{names: "sha1 sha", help: "SHA-1 as 40 hexadecimal digits", sigs: bytesText(func(s string) string {
		sum := sha1.Sum([]byte(s))
		return hex.EncodeToString(sum[:])
	})},
	{names: "sha384", help: "SHA-384 as 96 hexadecimal digits", sigs: bytesText(func(s string) string {
		sum := sha512.Sum384([]byte(s))
		return hex.EncodeToString(sum[:])
	})},
	{names: "sha512", help: "SHA-512 as 128 hexadecimal digits", sigs: bytesText(func(s string) string {
		sum := sha512.Sum512([]byte(s))
		return hex.EncodeToString(sum[:])
	})},
	{names: "crc32", help: "CRC-32 (IEEE) as a number", sigs: bytesLong(func(s string) int64 { return int64(crc32.ChecksumIEEE([]byte(s))) })},
	{names: "xxh3 xxhash64", help: "XXH3 with 64 bits and seed 0, which also partitions collections, as a BIGINT", sigs: bytesLong(func(s string) int64 { return int64(xxh3.HashString(s)) })},
	{names: "hash", apart: true, help: "a hash of all arguments as a BIGINT, equal for equal values; not the same over versions", nulls: true, sigs: []sig{{in: "any, any...", ret: "bigint", eval: evalHash}}},
	{names: "base64 to_base64", help: "bytes in base64", sigs: bytesText(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) })},
	{names: "from_base64 unbase64", help: "the bytes of a base64 text", sigs: []sig{{in: "text", ret: "binary", eval: text1e(func(s string) (string, error) { return decode(s, "base64") })}}},
	{names: "convert_from", help: "the text that bytes hold in an encoding, 'UTF8'; an error if they do not", sigs: []sig{{in: "binary, text", ret: "text", eval: coded(fromUTF8)}}},
	{names: "convert_to", help: "the bytes of a text in an encoding, 'UTF8'", sigs: []sig{{in: "text, text", ret: "binary", eval: coded(toUTF8)}}},
	{names: "hex", help: "bytes, or a number, in upper-case hexadecimal digits", sigs: append([]sig{{in: "bigint", ret: "text", eval: longText(func(x int64) string {
		return strings.ToUpper(strconv.FormatUint(uint64(x), 16))
	})}}, bytesText(func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) })...)},
	{names: "unhex from_hex", help: "the bytes of hexadecimal digits", sigs: []sig{{in: "text", ret: "binary", eval: text1e(func(s string) (string, error) {
		if len(s)%2 == 1 {
			s = "0" + s
		}
		return decode(s, "hex")
	})}}},
	{names: "to_oct oct", help: "a number in octal digits", sigs: []sig{{in: "bigint", ret: "text", eval: longText(func(x int64) string { return strconv.FormatUint(uint64(x), 8) })}}},
	{names: "bin to_bin", help: "a number in binary digits", sigs: []sig{{in: "bigint", ret: "text", eval: longText(func(x int64) string { return strconv.FormatUint(uint64(x), 2) })}}},
	{names: "to_base", help: "a number that is not negative in digits of base 2 to 36", sigs: []sig{{in: "bigint, bigint", ret: "text", eval: evalToBase}}},
	{names: "url_encode", help: "text for use in a URL, all but unreserved characters escaped", sigs: []sig{{in: "text", ret: "text", eval: text1(func(s string) string {
		return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
	})}}},
	{names: "url_decode", help: "the text of a URL's escapes", sigs: []sig{{in: "text", ret: "text", eval: text1e(func(s string) (string, error) {
		out, err := url.PathUnescape(s)
		if err != nil {
			return "", fail.New(fail.InvalidText, "url_decode: %.60q has a broken escape", s)
		}
		return strings.ToValidUTF8(out, "\uFFFD"), nil
	})}}},
}

func fromUTF8(s, encoding string) (string, error) {
	if _, err := toUTF8(s, encoding); err != nil {
		return "", err
	}
	if !utf8.ValidString(s) {
		return "", fail.New(fail.InvalidEncoding, "convert_from: the bytes are no text in UTF8").WithHint("encode(…, 'base64') writes any bytes as text.")
	}
	return s, nil
}

func toUTF8(s, encoding string) (string, error) {
	if e := strings.ToLower(encoding); e != "utf8" && e != "utf-8" {
		return "", fail.New(fail.InvalidParameter, "there is no encoding %.40q", encoding).WithHint("It is 'UTF8'.")
	}
	return s, nil
}

// text1e adapts text → text that may fail.
func text1e(f func(string) (string, error)) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s := textsOf(args[0])
		return growing(n, out, func(i int) (string, error) { return f(s.at(i)) })
	}
}

// longText adapts bigint → text.
func longText(f func(int64) string) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		x := longs(args[0])
		for i := range n {
			out.Strings.Set(i, f(x.at(i)))
		}
		return nil
	}
}

// bytesText are the overloads of text or binary → text.
func bytesText(f func(string) string) []sig {
	return []sig{{in: "text", ret: "text", eval: text1(f)}, {in: "binary", ret: "text", eval: text1(f)}}
}

// bytesLong are the overloads of text or binary → bigint.
func bytesLong(f func(string) int64) []sig {
	return []sig{{in: "text", ret: "bigint", eval: textLong(f)}, {in: "binary", ret: "bigint", eval: textLong(f)}}
}

func evalHash(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	hashes := make([]uint64, n)
	kernel.HashRows(args, nil, n, hashes)
	for i, h := range hashes {
		out.Int64s[i] = int64(h)
	}
	return nil
}

func evalToBase(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	x, base := longs(args[0]), longs(args[1])
	for i := range n {
		if base.at(i) < 2 || base.at(i) > 36 || x.at(i) < 0 {
			return fail.New(fail.InvalidParameter, "to_base(%d, %d): the number is not negative, the base from 2 to 36", x.at(i), base.at(i))
		}
		out.Strings.Set(i, strconv.FormatInt(x.at(i), int(base.at(i))))
	}
	return nil
}
