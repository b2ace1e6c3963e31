package loam_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam"
)

// unsteady are the parts of EXPLAIN ANALYZE that differ from run to run.
var unsteady = regexp.MustCompile(` (memory|time)=[^ )]+( [KMG]iB)?`)

// TestStatistics runs testdata/statistics: "sql" runs statements and prints the rows
// of each, "apply" takes the tails of objects into splits.
func TestStatistics(t *testing.T) {
	e := mustOpen(t, goldenConfig(t.TempDir()))
	defer mustClose(t, e)
	s := e.NewSession(loam.SessionConfig{})
	datadriven.RunTest(t, "testdata/statistics", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "apply" {
			for _, name := range strings.Fields(d.Input) {
				if _, err := s.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: name}, Tail: loam.TailWait}); err != nil {
					t.Fatal(err)
				}
			}
			return ""
		}
		var out strings.Builder
		for sql := range strings.SplitSeq(d.Input, ";\n") {
			for _, row := range askRows(t, s, strings.TrimSuffix(sql, ";")) {
				out.WriteString(unsteady.ReplaceAllString(row, "") + "\n")
			}
		}
		return out.String()
	})
}
