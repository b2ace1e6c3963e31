package functions

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// Positions and lengths of text count characters (code points) from 1.
var textTable = []def{
	{names: "lower lcase", help: "in lower case", sigs: []sig{{in: "text", ret: "text", eval: asciiOr('A', 'Z', strings.ToLower)}}},
	{names: "upper ucase", help: "in upper case", sigs: []sig{{in: "text", ret: "text", eval: asciiOr('a', 'z', strings.ToUpper)}}},
	{names: "initcap", help: "each word with a capital", sigs: []sig{{in: "text", ret: "text", eval: text1(initcap)}}},
	{names: "trim btrim", help: "without blanks, or any of the given characters, at both ends", sigs: []sig{
		{in: "text", ret: "text", eval: text1(func(s string) string { return strings.Trim(s, " ") })},
		{in: "text, text", ret: "text", eval: text2(strings.Trim)},
	}},
	{names: "ltrim", help: "trim at the left end", sigs: []sig{
		{in: "text", ret: "text", eval: text1(func(s string) string { return strings.TrimLeft(s, " ") })},
		{in: "text, text", ret: "text", eval: text2(strings.TrimLeft)},
	}},
	{names: "rtrim", help: "trim at the right end", sigs: []sig{
		{in: "text", ret: "text", eval: text1(func(s string) string { return strings.TrimRight(s, " ") })},
		{in: "text, text", ret: "text", eval: text2(strings.TrimRight)},
	}},
	{names: "length char_length character_length len", help: "number of characters (of a binary: bytes)", sigs: []sig{
		{in: "text", ret: "bigint", eval: textLong(func(s string) int64 { return int64(utf8.RuneCountInString(s)) })},
		{in: "binary", ret: "bigint", eval: textLong(func(s string) int64 { return int64(len(s)) })},
	}},
	{names: "octet_length strlen", help: "number of bytes", sigs: []sig{
		{in: "text", ret: "bigint", eval: textLong(func(s string) int64 { return int64(len(s)) })},
		{in: "binary", ret: "bigint", eval: textLong(func(s string) int64 { return int64(len(s)) })},
	}},
	{names: "bit_length", help: "number of bits", sigs: []sig{
		{in: "text", ret: "bigint", eval: textLong(func(s string) int64 { return 8 * int64(len(s)) })},
	}},
	{names: "substr substring", help: "from a position on, to the end or of a length", sigs: []sig{
		{in: "text, bigint", ret: "text", eval: textNum(func(s string, k int64) (string, error) { return runesFrom(s, k, 1<<62) })},
		{in: "text, bigint, bigint", ret: "text", eval: evalSubstr},
	}},
	{names: "left", help: "the first k characters; all but the last -k when k < 0", sigs: []sig{{in: "text, bigint", ret: "text", eval: textNum(leftOf)}}},
	{names: "right", help: "the last k characters; all but the first -k when k < 0", sigs: []sig{{in: "text, bigint", ret: "text", eval: textNum(rightOf)}}},
	{names: "lpad", help: "filled up or cut to a length, at the left", sigs: padding(true)},
	{names: "rpad", help: "filled up or cut to a length, at the right", sigs: padding(false)},
	{names: "replace", help: "every occurrence replaced", sigs: []sig{{in: "text, text, text", ret: "text", eval: evalReplace}}},
	{names: "reverse", help: "back to front", sigs: []sig{{in: "text", ret: "text", eval: text1(reverse)}}},
	{names: "repeat", help: "k times", sigs: []sig{{in: "text, bigint", ret: "text", eval: textNum(repeat)}}},
	{names: "split_part", help: "the k-th part between separators; from the end when k < 0", sigs: []sig{{in: "text, text, bigint", ret: "text", eval: evalSplitPart}}},
	{names: "strpos position instr", help: "where the second text begins in the first, 0 if nowhere", sigs: []sig{{in: "text, text", ret: "bigint", eval: evalStrpos}}},
	{names: "starts_with prefix", help: "whether it begins with", sigs: []sig{{in: "text, text", ret: "boolean", eval: textBool(strings.HasPrefix)}}},
	{names: "ends_with suffix", help: "whether it ends with", sigs: []sig{{in: "text, text", ret: "boolean", eval: textBool(strings.HasSuffix)}}},
	{names: "contains", help: "whether the second text is in the first", sigs: []sig{{in: "text, text", ret: "boolean", eval: textBool(strings.Contains)}}},
	{names: "concat", help: "all arguments as one text, NULLs left out", nulls: true, sigs: []sig{{in: "astext...", ret: "text", eval: evalConcat}}},
	{names: "concat_ws", help: "all arguments but the first, separated by it, NULLs left out", nulls: true, sigs: []sig{{in: "text, astext...", ret: "text", eval: evalConcatWS}}},
	{names: "ascii ord unicode", help: "code point of the first character", sigs: []sig{{in: "text", ret: "bigint", eval: textLong(func(s string) int64 {
		if s == "" {
			return 0
		}
		r, _ := utf8.DecodeRuneInString(s)
		return int64(r)
	})}}},
	{names: "chr char", help: "the character of a code point", sigs: []sig{{in: "bigint", ret: "text", eval: evalChr}}},
	{names: "translate", help: "each character of the second text replaced by its counterpart in the third", sigs: []sig{{in: "text, text, text", ret: "text", eval: text3(translate)}}},
	{names: "md5", help: "MD5 as 32 hexadecimal digits", sigs: []sig{
		{in: "text", ret: "text", eval: text1(md5Hex)}, {in: "binary", ret: "text", eval: text1(md5Hex)},
	}},
	{names: "sha256", help: "SHA-256 as 64 hexadecimal digits", sigs: []sig{
		{in: "text", ret: "text", eval: text1(sha256Hex)}, {in: "binary", ret: "text", eval: text1(sha256Hex)},
	}},
	{names: "encode", help: "bytes as 'hex' or 'base64'", sigs: []sig{
		{in: "binary, text", ret: "text", eval: coded(encode)}, {in: "text, text", ret: "text", eval: coded(encode)},
	}},
	{names: "decode", help: "the bytes of a 'hex' or 'base64' text", sigs: []sig{{in: "text, text", ret: "binary", eval: coded(decode)}}},
	{names: "to_hex", help: "a number in hexadecimal digits", sigs: []sig{{in: "bigint", ret: "text", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		x := longs(args[0])
		for i := range n {
			out.Strings.Set(i, strconv.FormatUint(uint64(x.at(i)), 16))
		}
		return nil
	}}}},
	{names: "levenshtein", help: "edit distance in characters", sigs: []sig{{in: "text, text", ret: "bigint", eval: evalLevenshtein}}},
}

// asciiOr changes the case of ASCII letters from to to in place of a copy, and
// leaves a text with other characters to f.
func asciiOr(from, to byte, f func(string) string) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s := textsOf(args[0])
		var buf []byte
		for i := range n {
			str := s.at(i)
			buf = append(buf[:0], str...)
			ascii := byte(0)
			for j, c := range buf {
				ascii |= c
				if c >= from && c <= to {
					buf[j] = c ^ 0x20
				}
			}
			if ascii >= utf8.RuneSelf {
				out.Strings.Set(i, f(str))
			} else {
				out.Strings.Set(i, unsafe.String(unsafe.SliceData(buf), len(buf)))
			}
		}
		return nil
	}
}

func initcap(s string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		defer func() { inWord = letter }()
		if inWord {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

// runesFrom is count characters from position start (from 1; positions before
// the text count, as the standard says).
func runesFrom(s string, start, count int64) (string, error) {
	if count < 0 {
		return "", fail.New(fail.InvalidParameter, "substr with the negative length %d", count)
	}
	end := int64(1 << 62)
	if start < end-count {
		end = start + count
	}
	from, to, pos := len(s), len(s), int64(1)
	for i := range s {
		if pos == max(start, 1) {
			from = i
		}
		if pos >= end {
			to = i
			break
		}
		pos++
	}
	if from >= to {
		return "", nil
	}
	return s[from:to], nil
}

func evalSubstr(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	s, from, count := textsOf(args[0]), longs(args[1]), longs(args[2])
	for i := range n {
		r, err := runesFrom(s.at(i), from.at(i), count.at(i))
		if err != nil {
			return err
		}
		out.Strings.Set(i, r)
	}
	return nil
}

func leftOf(s string, k int64) (string, error) {
	if k < 0 {
		k = max(0, int64(utf8.RuneCountInString(s))+k)
	}
	return runesFrom(s, 1, k)
}

func rightOf(s string, k int64) (string, error) {
	n := int64(utf8.RuneCountInString(s))
	skip := max(0, n-k)
	if k < 0 {
		skip = -max(k, -n)
	}
	return runesFrom(s, skip+1, n)
}

func padding(left bool) []sig {
	pad := func(s string, k int64, fill string) (string, error) {
		n := int64(utf8.RuneCountInString(s))
		if k <= n || fill == "" {
			return runesFrom(s, 1, max(0, min(k, n)))
		}
		if k > maxText/4 {
			return "", tooLong("padding")
		}
		runes := []rune(fill)
		var b strings.Builder
		for i := range k - n {
			b.WriteRune(runes[i%int64(len(runes))])
		}
		if left {
			return b.String() + s, nil
		}
		return s + b.String(), nil
	}
	return []sig{
		{in: "text, bigint", ret: "text", eval: textNum(func(s string, k int64) (string, error) { return pad(s, k, " ") })},
		{in: "text, bigint, text", ret: "text", eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
			s, k, fill := textsOf(args[0]), longs(args[1]), textsOf(args[2])
			return growing(n, out, func(i int) (string, error) { return pad(s.at(i), k.at(i), fill.at(i)) })
		}},
	}
}

func evalReplace(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	s, from, to := textsOf(args[0]), textsOf(args[1]), textsOf(args[2])
	return growing(n, out, func(i int) (string, error) {
		text, old, with := s.at(i), from.at(i), to.at(i)
		if old == "" {
			return text, nil
		}
		if len(with) > len(old) && len(text)/len(old) > maxText/len(with) && strings.Count(text, old) > maxText/len(with) {
			return "", tooLong("replace")
		}
		return strings.ReplaceAll(text, old, with), nil
	})
}

func reverse(s string) string {
	out := make([]byte, len(s))
	at := len(s)
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		at -= size
		copy(out[at:], s[i:i+size])
		i += size
	}
	return string(out)
}

func repeat(s string, k int64) (string, error) {
	if k <= 0 || s == "" {
		return "", nil
	}
	if k > maxText/int64(len(s)) {
		return "", tooLong("repeat")
	}
	return strings.Repeat(s, int(k)), nil
}

func evalSplitPart(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	s, sep, k := textsOf(args[0]), textsOf(args[1]), longs(args[2])
	for i := range n {
		if k.at(i) == 0 {
			return fail.New(fail.InvalidParameter, "split_part: parts count from 1, or from -1 at the end")
		}
		out.Strings.Set(i, splitPart(s.at(i), sep.at(i), k.at(i)))
	}
	return nil
}

func splitPart(s, sep string, k int64) string {
	if sep == "" {
		if k == 1 || k == -1 {
			return s
		}
		return ""
	}
	if k < 0 {
		k = int64(strings.Count(s, sep)) + 2 + k
	}
	for ; k > 1; k-- {
		_, rest, ok := strings.Cut(s, sep)
		if !ok {
			return ""
		}
		s = rest
	}
	if k < 1 {
		return ""
	}
	part, _, _ := strings.Cut(s, sep)
	return part
}

func evalStrpos(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	s, sub := textsOf(args[0]), textsOf(args[1])
	for i := range n {
		if at := strings.Index(s.at(i), sub.at(i)); at >= 0 {
			out.Int64s[i] = int64(utf8.RuneCountInString(s.at(i)[:at])) + 1
		}
	}
	return nil
}

func evalConcat(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	var b []byte
	for i := range n {
		b = b[:0]
		for _, a := range args {
			if !a.IsNull(i) {
				b = append(b, a.Strings.At(a.Row(i))...)
			}
		}
		out.Strings.Set(i, string(b))
	}
	return nil
}

func evalConcatWS(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	var b []byte
	for i := range n {
		if args[0].IsNull(i) {
			out.SetNull(i)
			continue
		}
		sep, first := textsOf(args[0]).at(i), true
		b = b[:0]
		for _, a := range args[1:] {
			if a.IsNull(i) {
				continue
			}
			if !first {
				b = append(b, sep...)
			}
			b, first = append(b, a.Strings.At(a.Row(i))...), false
		}
		out.Strings.Set(i, string(b))
	}
	return nil
}

func evalChr(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	x := longs(args[0])
	for i := range n {
		c := x.at(i)
		if c < 1 || c > unicode.MaxRune || !utf8.ValidRune(rune(c)) {
			return fail.New(fail.OutOfRange, "chr(%d): there is no such character", c)
		}
		out.Strings.Set(i, string(rune(c)))
	}
	return nil
}

func translate(s, from, to string) string {
	f, t := []rune(from), []rune(to)
	return strings.Map(func(r rune) rune {
		for i, x := range f {
			if x == r {
				if i < len(t) {
					return t[i]
				}
				return -1
			}
		}
		return r
	}, s)
}

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

func sha256Hex(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// coded adapts encode and decode.
func coded(f func(s, format string) (string, error)) expr.EvalFunc {
	return func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		s, format := textsOf(args[0]), textsOf(args[1])
		for i := range n {
			r, err := f(s.at(i), format.at(i))
			if err != nil {
				return err
			}
			out.Strings.Set(i, r)
		}
		return nil
	}
}

func badFormat(format string) error {
	return fail.New(fail.InvalidParameter, "unknown encoding %q", format).WithHint("Use 'hex' or 'base64'.")
}

func encode(s, format string) (string, error) {
	switch strings.ToLower(format) {
	case "hex":
		return hex.EncodeToString([]byte(s)), nil
	case "base64":
		return base64.StdEncoding.EncodeToString([]byte(s)), nil
	}
	return "", badFormat(format)
}

func decode(s, format string) (string, error) {
	var b []byte
	var err error
	switch strings.ToLower(format) {
	case "hex":
		b, err = hex.DecodeString(s)
	case "base64":
		b, err = base64.StdEncoding.DecodeString(s)
	default:
		return "", badFormat(format)
	}
	if err != nil {
		return "", fail.New(fail.InvalidText, "decode: the text is not valid %s", format)
	}
	return string(b), nil
}

const maxLevenshtein = 4096

func evalLevenshtein(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	a, b := textsOf(args[0]), textsOf(args[1])
	for i := range n {
		x, y := []rune(a.at(i)), []rune(b.at(i))
		if len(x) > maxLevenshtein || len(y) > maxLevenshtein {
			return fail.New(fail.TooLarge, "levenshtein: a text of more than %d characters", maxLevenshtein)
		}
		out.Int64s[i] = levenshtein(x, y)
	}
	return nil
}

func levenshtein(a, b []rune) int64 {
	row := make([]int64, len(b)+1)
	for j := range row {
		row[j] = int64(j)
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = int64(i + 1)
		for j, y := range b {
			cost := diagonal
			if x != y {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
