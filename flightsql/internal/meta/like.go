package meta

import "unicode/utf8"

// Escape is the character that makes the next one of a pattern literal.
const Escape = '\\'

// like matches a whole name against a pattern of SQL's LIKE; nil matches all.
func like(pattern *string, name string) bool {
	return pattern == nil || matches(*pattern, name)
}

// matches walks pattern and name once and, after a %, goes back at most to the
// last one: its time is their lengths' product at worst.
func matches(pattern, name string) bool {
	p, n := 0, 0
	retryP, retryN := -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '%' {
			p++
			retryP, retryN = p, n
			continue
		}
		if dp, dn, ok := step(pattern[p:], name[n:]); ok {
			p, n = p+dp, n+dn
			continue
		}
		if retryP < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[retryN:])
		retryN += size
		p, n = retryP, retryN
	}
	for p < len(pattern) && pattern[p] == '%' {
		p++
	}
	return p == len(pattern)
}

// step matches one character; the results are how much of each text it took.
func step(pattern, name string) (p, n int, ok bool) {
	if pattern == "" {
		return 0, 0, false
	}
	want, size := utf8.DecodeRuneInString(pattern)
	got, gotSize := utf8.DecodeRuneInString(name)
	switch {
	case want == '_':
		return size, gotSize, true
	case want == Escape && len(pattern) > size:
		next, nextSize := utf8.DecodeRuneInString(pattern[size:])
		return size + nextSize, gotSize, next == got
	}
	return size, gotSize, want == got
}

// literal is the one name that a pattern means when its escapes are taken away.
func literal(pattern string) string {
	out := make([]byte, 0, len(pattern))
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == Escape && i+1 < len(pattern) {
			i++
		}
		out = append(out, pattern[i])
	}
	return string(out)
}
