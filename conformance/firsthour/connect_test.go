//go:build linux

package firsthour

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

var snippet = regexp.MustCompile(`(?s)<h2>(\w+)</h2>\s*<pre>(.*?)</pre>`)

// connects runs what the page at / of the running server has to copy: the lines of the
// shell and of curl, and where the drivers are installed those of Python, Polars and
// DuckDB, one after the other as the page says.
func (u *user) connects(t *testing.T, python string) {
	t.Helper()
	page, ok := u.block(block{lang: "sh", text: "curl -s -H 'Accept: text/html' http://127.0.0.1:8816/"}, "")
	if !ok {
		t.Fatal(page)
	}
	found := map[string]string{}
	for _, m := range snippet.FindAllStringSubmatch(page, -1) {
		found[m[1]] = html.UnescapeString(m[2])
	}
	blocks := []block{
		{lang: "sh", text: "bin/" + found["Shell"] + " -c 'SELECT 1 + 1 AS two' --format csv"},
		{lang: "sh", text: found["curl"]},
	}
	if python != "" {
		blocks = append(blocks, block{lang: "python", text: strings.Join([]string{found["Python"], found["Polars"], found["DuckDB"]}, "\n")})
	}
	for i, want := range []string{"two\n2\n", `"rows":[[2]]`, "shape: (1, 1)"}[:len(blocks)] {
		if out, ok := u.block(blocks[i], python); !ok || !strings.Contains(out, want) {
			t.Errorf("the page at / has\n%s\nwhich prints\n%s", blocks[i].text, out)
		}
	}
}
