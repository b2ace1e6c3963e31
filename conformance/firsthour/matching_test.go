package firsthour

import (
	"reflect"
	"strings"
	"testing"
)

const small = "# Title\n\n```console\n$ one\nout 1\n\n$ two \\\n> more\n```\n\n```sh\n$ not this\n```\n```console\n$ three &\n```\n"

func TestParsePage(t *testing.T) {
	steps := parsePage(small)
	var got []string
	for _, s := range steps {
		got = append(got, s.String()+" -> "+strings.Join(s.want, "|"))
	}
	want := []string{"line 4: $ one -> out 1|", "line 7: $ two \\\nmore -> ", "line 15: $ three & -> "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if !steps[2].background() || steps[1].background() {
		t.Error("only the last goes on in the background")
	}
}

func TestParseBlocks(t *testing.T) {
	got := parseBlocks("a\n```sh\none\n\ntwo\n```\n```\nnot this\n```\n```go\nnor\n```\n```python\nthree\n```\n")
	want := []block{{3, "sh", "one\n\ntwo"}, {14, "python", "three"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		got, want string
		ok        bool
	}{
		{"a", "a", true},
		{"a  ", "a", true},
		{"a", "b", false},
		{"a\nb", "a", false},
		{"a", "a\nb", false},
		{"took 12 ms", "took … ms", true},
		{"took 12 s", "took … ms", false},
		{"1.5 (x)", "….5 (x)", true},
		{"a\nb\nc", "a\n…\nc", true},
		{"a\nc", "a\n…\nc", true},
		{"a\nb", "a\n…\nc", false},
		{"a\nb", "…", true},
	} {
		if got := matches(strings.Split(c.got, "\n"), strings.Split(c.want, "\n")); got != c.ok {
			t.Errorf("%q against %q: %v", c.got, c.want, got)
		}
	}
	if matches(nil, []string{"a"}) || !matches(nil, nil) || matches([]string{"a"}, nil) {
		t.Error("nothing matches nothing only")
	}
}

func TestReplaced(t *testing.T) {
	steps := parsePage(small)
	got := replaced(small, steps, map[int][]string{4: {"x", "y"}, 15: {"z"}})
	want := strings.Replace(strings.Replace(small, "out 1\n\n", "x\ny\n", 1), "three &\n", "three &\nz\n", 1)
	if got != want {
		t.Errorf("%s", got)
	}
}
