package vec

import "github.com/tidwall/gjson"

// MaxJSONDepth is how deep arrays and objects may be nested in JSON.
const MaxJSONDepth = 1000

// ValidJSON reports whether s is JSON nested at most MaxJSONDepth deep. The
// depth is looked at first: a validator that recurses must not be led to the end
// of its stack by a text of brackets.
func ValidJSON(s string) bool {
	return shallow(s) && gjson.Valid(s)
}

// shallow counts brackets outside of strings; a text with fewer bytes than the
// limit cannot exceed it.
func shallow(s string) bool {
	if len(s) <= MaxJSONDepth {
		return true
	}
	depth, inString := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[' || c == '{':
			if depth++; depth > MaxJSONDepth {
				return false
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return true
}
