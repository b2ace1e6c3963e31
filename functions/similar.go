package functions

import (
	"math"
	"strings"
	"unicode"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/vec"
)

// similarTable holds the measures of how alike two texts are, in characters.
var similarTable = []def{
	{names: "damerau_levenshtein", help: "edit distance in characters, where exchanged neighbors count once", sigs: similarSigs("bigint", func(a, b []rune) float64 { return float64(damerau(a, b)) })},
	{names: "hamming mismatches", help: "number of places where two texts of one length differ", sigs: []sig{{in: "text, text", ret: "bigint", eval: evalHamming}}},
	{names: "jaccard", help: "share of the characters in either text that are in both, 0 to 1", sigs: similarSigs("double", jaccard)},
	{names: "jaro_similarity", help: "Jaro similarity, 0 to 1", sigs: similarSigs("double", jaro)},
	{names: "jaro_winkler_similarity jaro_winkler", help: "Jaro-Winkler similarity, 0 to 1: Jaro's, raised by a common start", sigs: similarSigs("double", jaroWinkler)},
	{names: "soundex", help: "the Soundex code of a word", sigs: []sig{{in: "text", ret: "text", eval: text1(soundex)}}},
}

// similarSigs adapts a measure of two texts.
func similarSigs(ret string, f func(a, b []rune) float64) []sig {
	return []sig{{in: "text, text", ret: ret, eval: func(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
		a, b := textsOf(args[0]), textsOf(args[1])
		for i := range n {
			x, y := []rune(a.at(i)), []rune(b.at(i))
			if len(x) > maxLevenshtein || len(y) > maxLevenshtein {
				return fail.New(fail.TooLarge, "a text of more than %d characters cannot be compared so", maxLevenshtein)
			}
			if r := f(x, y); ret == "double" {
				out.Float64s[i] = r
			} else {
				out.Int64s[i] = int64(r)
			}
		}
		return nil
	}}}
}

// damerau is the optimal string alignment distance.
func damerau(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func evalHamming(_ *expr.Env, args []*vec.Vector, n int, out *vec.Vector) error {
	a, b := textsOf(args[0]), textsOf(args[1])
	for i := range n {
		x, y := []rune(a.at(i)), []rune(b.at(i))
		if len(x) != len(y) {
			return fail.New(fail.InvalidParameter, "hamming: texts of %d and %d characters", len(x), len(y))
		}
		for k := range x {
			if x[k] != y[k] {
				out.Int64s[i]++
			}
		}
	}
	return nil
}

func jaccard(a, b []rune) float64 {
	seen := map[rune]int{}
	for _, r := range a {
		seen[r] |= 1
	}
	for _, r := range b {
		seen[r] |= 2
	}
	both := 0
	for _, in := range seen {
		if in == 3 {
			both++
		}
	}
	if len(seen) == 0 {
		return 1
	}
	return float64(both) / float64(len(seen))
}

func jaro(a, b []rune) float64 {
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	window := max(len(a), len(b))/2 - 1
	usedA, usedB := make([]bool, len(a)), make([]bool, len(b))
	matches := 0.0
	for i, r := range a {
		for j := max(0, i-window); j < min(len(b), i+window+1); j++ {
			if !usedB[j] && b[j] == r {
				usedA[i], usedB[j] = true, true
				matches++
				break
			}
		}
	}
	if matches == 0 {
		return 0
	}
	swapped, j := 0.0, 0
	for i, used := range usedA {
		if !used {
			continue
		}
		for !usedB[j] {
			j++
		}
		if a[i] != b[j] {
			swapped++
		}
		j++
	}
	return (matches/float64(len(a)) + matches/float64(len(b)) + (matches-math.Floor(swapped/2))/matches) / 3
}

// jaroWinkler raises Jaro's similarity above 0.7 by a tenth of the rest for each
// of up to four characters that both texts begin with.
func jaroWinkler(a, b []rune) float64 {
	sim, prefix := jaro(a, b), 0
	for prefix < min(len(a), len(b), 4) && a[prefix] == b[prefix] {
		prefix++
	}
	if sim > 0.7 {
		sim += float64(prefix) * 0.1 * (1 - sim)
	}
	return sim
}

const soundexCodes = "01230120022455012623010202"

// soundex keeps the first letter and three digits of the consonants that follow.
func soundex(s string) string {
	out := make([]byte, 0, 4)
	last := byte(0)
	for _, r := range strings.ToUpper(s) {
		if r > unicode.MaxASCII || r < 'A' || r > 'Z' {
			continue
		}
		code := soundexCodes[r-'A']
		switch {
		case len(out) == 0:
			out = append(out, byte(r))
		case code != '0' && code != last:
			out = append(out, code)
		}
		if r != 'H' && r != 'W' { // these do not part equal codes
			last = code
		}
		if len(out) == 4 {
			break
		}
	}
	if len(out) == 0 {
		return ""
	}
	return (string(out) + "000")[:4]
}
