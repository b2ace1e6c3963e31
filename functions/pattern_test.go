package functions_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

func textValue(s string) *expr.Const { return &expr.Const{Value: vec.Text(s)} }

// likeByRegexp is the meaning of LIKE, written as a regular expression.
func likeByRegexp(s, pattern string, fold bool) bool {
	var b strings.Builder
	b.WriteString("(?s)^")
	for _, r := range pattern {
		switch r {
		case '%':
			b.WriteString(".*")
		case '_':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	text, p := s, b.String()+"$"
	if fold {
		text, p = strings.ToLower(text), strings.ToLower(p)
	}
	return regexp.MustCompile(p).MatchString(text)
}

// TestLikeMeansItsRegexp compares the matcher with the regular expression of the
// same meaning, on texts and patterns of few letters, where mistakes show.
func TestLikeMeansItsRegexp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[abéA]{0,8}`).Draw(t, "s")
		pattern := rapid.StringMatching(`[abéA%_]{0,6}`).Draw(t, "pattern")
		for _, op := range []string{"like", "ilike"} {
			e := call(op, []expr.Expr{textValue(s), textValue(pattern)})
			want := likeByRegexp(s, pattern, op == "ilike")
			for how, run := range ways {
				v, err := run(e, false)
				if err != nil || v.Bool != want {
					t.Fatalf("%q %s %q (%s): %s %v, want %t", s, op, pattern, how, v, err, want)
				}
			}
		}
	})
}

// TestRegexPrefilter: the literal that is looked for first never hides a match.
func TestRegexPrefilter(t *testing.T) {
	patterns := []string{"ab+c", "(ab|cd)e", "a?bc", "(abc)+", "(?i)abc", "a{2,3}b", "[ab]c", "^ab.*c$", "(a|)bc", "ab*", "(ab)?c", "x*"}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[abcdeABC]{0,8}`).Draw(t, "s")
		p := rapid.SampledFrom(patterns).Draw(t, "pattern")
		v, err := expr.EvalConst(env, call("~", []expr.Expr{textValue(s), textValue(p)}))
		if want := regexp.MustCompile(p).MatchString(s); err != nil || v.Bool != want {
			t.Fatalf("%q ~ %q: %s %v, want %t", s, p, v, err, want)
		}
	})
}

// FuzzFunctions feeds odd texts to every function of one, two and three texts:
// none panics, none reports a bug, and results are as long as they may be.
func FuzzFunctions(f *testing.F) {
	for _, s := range []string{"", "a", "%_\\", "(", "[0]", "$.a[0]", `{"a": [1, {"b": null}]}`, "\xff\xfe", "year", "hex", "-1", strings.Repeat("é", 40)} {
		f.Add(s, "a", s)
		f.Add(`{"a": 1}`, s, "b")
	}
	names := map[string]bool{}
	for _, h := range registry.Names() {
		names[h.Name] = h.Kind == "scalar"
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		vals := []expr.Expr{textValue(a), textValue(b), textValue(c)}
		for name, scalar := range names {
			for n := 1; scalar && n <= 3; n++ {
				res, err := registry.Scalar(name, ts(types.Unknown, types.Unknown, types.Unknown)[:n])
				if err != nil {
					continue
				}
				args := make([]expr.Expr, n)
				for i := range args {
					args[i] = cast(vals[i], res.Params[i])
				}
				e := &expr.Call{Fn: res.Scalar, Args: args, T: res.Ret, Offset: -1}
				v, err := expr.EvalConst(env, e)
				if fail.Is(err, fail.Internal) {
					t.Errorf("%s(%q, %q, %q): %v", name, a, b, c, err)
				}
				if len(v.Str) > 1<<27 {
					t.Errorf("%s(%q, %q, %q) makes %d bytes", name, a, b, c, len(v.Str))
				}
				_ = fmt.Sprint(v)
			}
		}
	})
}
