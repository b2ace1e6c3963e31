package rest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// masks hide what differs from run to run.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`"(query_id|elapsed_ms|id|unapplied_records|unapplied_bytes|used_bytes)":[0-9.]+`), `"$1":0`},
	{regexp.MustCompile(`v1:[A-Za-z0-9_-]+`), `v1:…`},
	{regexp.MustCompile(`Loam-Unapplied-Records: [0-9]+`), `Loam-Unapplied-Records: 0`},
	{regexp.MustCompile(`(\.\d{6})\d{2,}`), `$1`}, // the last digits of scores are the processor's
	{regexp.MustCompile(`"(_ingest_ts|timestamp)":"20[^"]*\.[0-9]+Z"`), `"$1":"…"`},
	{regexp.MustCompile(`"build":\{[^}]*\}`), `"build":{}`},
}

// shownHeaders are those that an answer is shown with.
var shownHeaders = []string{"Allow", "Loam-Consistency-Token", "Loam-Unapplied-Records", "Retry-After", "Access-Control-Allow-Origin"}

// TestRequests sends requests that are written as on the wire: "METHOD path",
// headers, an empty line, a body. Each file has a server of its own. A body gets
// Content-Type: application/json unless it says otherwise. Every answer is held
// against the OpenAPI document too.
func TestRequests(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := real(t, Options{Hosts: []string{"loam.example"}})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "run" {
				for _, sql := range strings.Split(strings.TrimSpace(d.Input), ";\n") {
					s.run(strings.TrimSuffix(sql, ";"))
				}
				return ""
			}
			head, body, _ := strings.Cut(d.Input, "\n\n")
			lines := strings.Split(head, "\n")
			method, target, _ := strings.Cut(lines[0], " ")
			var headers []string
			for _, h := range lines[1:] {
				name, value, _ := strings.Cut(h, ":")
				headers = append(headers, name, strings.TrimSpace(value))
			}
			return show(s.do(method, target, strings.TrimSuffix(body, "\n"), headers...))
		})
	})
}

func show(r *got) string {
	out := fmt.Sprintf("%d %s\n", r.StatusCode, r.Header.Get("Content-Type"))
	for _, h := range shownHeaders {
		if v := r.Header.Get(h); v != "" {
			out += h + ": " + v + "\n"
		}
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), mediaArrow) {
		return out + fmt.Sprintf("trailer: %s\n", r.Trailer.Get(headerStatus))
	}
	return masked(out+r.body) + "\n"
}
