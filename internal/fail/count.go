package fail

import "strconv"

// Count writes n things as people do: "1 column", "3 columns", "0 columns". Words
// that do not take an s give their plural, with the verb where it depends on the
// number: Count(n, "value is", "values are").
func Count[N ~int | ~int32 | ~int64 | ~uint8 | ~uint32 | ~uint64](n N, one string, many ...string) string {
	word := one
	switch {
	case n == 1:
	case len(many) > 0:
		word = many[0]
	default:
		word += "s"
	}
	if n < 0 {
		return strconv.FormatInt(int64(n), 10) + " " + word
	}
	return strconv.FormatUint(uint64(n), 10) + " " + word
}
