package loam_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// TestErrorTexts pins what a user reads after a mistake, for more than a hundred of
// them: the files under testdata/errors hold a statement, and below it the error with
// its SQLSTATE, place, cause and cure.
func TestErrorTexts(t *testing.T) {
	shown := 0
	t.Run("files", func(t *testing.T) {
		datadriven.Walk(t, "testdata/errors", func(t *testing.T, path string) {
			e, err := loam.Open(context.Background(), loam.Config{Files: []string{"testdata"}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = e.Close() }()
			s := e.NewSession(loam.SessionConfig{User: "tester"})
			setUp(t, s)
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				shown++
				err := drained(context.Background(), s, d.Input)
				if err == nil {
					t.Errorf("%s: no error from %s", d.Pos, d.Input)
					return "no error\n"
				}
				return fail.Render(err, d.Input) + "\n"
			})
		})
	})
	if shown < 100 {
		t.Errorf("%d errors are pinned, a hundred should be", shown)
	}
}

// setUp makes the objects that the statements of testdata/errors name.
func setUp(t *testing.T, s *loam.Session) {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", "errors.sql"))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := loam.SplitScript(string(script))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if err := drained(context.Background(), s, strings.TrimSpace(p.Text)); err != nil {
			t.Fatalf("%s: %v", p.Text, err)
		}
	}
}
