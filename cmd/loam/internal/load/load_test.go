package load

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRangesAreASetOfRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ranges
		model := map[int64]bool{}
		for range rapid.IntRange(0, 12).Draw(t, "adds") {
			from := rapid.Int64Range(1, 30).Draw(t, "from")
			to := from + rapid.Int64Range(0, 6).Draw(t, "len")
			r = r.add(from, to)
			for i := from; i < to; i++ {
				model[i] = true
			}
		}
		for i := range int64(40) {
			if r.contains(i) != model[i] {
				t.Fatalf("%v contains %d: %t", r, i, r.contains(i))
			}
		}
		if r.count() != int64(len(model)) {
			t.Fatalf("%v has %d rows, not %d", r, r.count(), len(model))
		}
		for i := 1; i < len(r); i++ {
			if r[i-1][1] >= r[i][0] {
				t.Fatalf("%v is not disjoint and ascending", r)
			}
		}
	})
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*.csv", "a.csv", true}, {"*.csv", "d/a.csv", false}, {"*.csv", ".a.csv", false}, {".*.csv", ".a.csv", true},
		{"**/*.csv", "a.csv", true}, {"**/*.csv", "d/e/a.csv", true}, {"**/*.csv", ".d/a.csv", false},
		{"d/**", "d/a", true}, {"d/**", "d/e/a", true}, {"d/**/a", "d/a", true}, {"d/**/a", "e/a", false},
		{"a?c/[xy]", "abc/y", true}, {"a?c/[xy]", "abc/z", false},
	} {
		if got := matches(strings.Split(c.pattern, "/"), strings.Split(c.name, "/")); got != c.want {
			t.Errorf("%s matches %s: %t", c.pattern, c.name, got)
		}
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ text, ns, name string }{
		{"t", "public", "t"}, {"a.t", "a", "t"}, {"loam.a.t", "a", "t"}, {`"a.b"."c d"`, "a.b", "c d"}, {`a."t"`, "a", "t"},
		{"", "", ""}, {"a.", "", ""}, {".t", "", ""}, {"x.a.t", "", ""}, {`"t`, "", ""},
	} {
		ns, name, err := splitName(c.text, "")
		if ns != c.ns || name != c.name || (err == nil) != (c.name != "") {
			t.Errorf("%q: %q, %q, %v", c.text, ns, name, err)
		}
	}
	for text, want := range map[string]string{"id": "id", "order": `"order"`, "two words": `"two words"`, `a"b`: `"a""b"`, "1st": `"1st"`, "Größe": "Größe", "": `""`} {
		if got := loam.QuoteName(text); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// TestTheLastRowOfAKeyWins with any number of streams, for rows of one key go
// through one stream in their order.
func TestTheLastRowOfAKeyWins(t *testing.T) {
	const rows, distinct = 60_000, 700
	for _, streams := range []int{1, 3, 8} {
		f := newFake(true, nil)
		if _, _, err := run(t.Context(), t, f, Options{Files: []string{numbers(t, "n.csv", rows, distinct)}, Streams: streams}); err != nil {
			t.Fatal(err)
		}
		if len(f.order) != rows {
			t.Errorf("%d streams: %d rows came", streams, len(f.order))
		}
		for k, v := range f.latest {
			if want := int64(rows-distinct) + (k-int64(rows)%distinct+distinct)%distinct; v != want {
				t.Fatalf("%d streams: key %d has %d, not %d", streams, k, v, want)
			}
		}
	}
}

// unavailable is a broken connection: nobody knows whether the batch is in.
func unavailable() error { return fail.New(fail.Unavailable, "the connection broke") }

// TestFaults has a server that breaks connections before and after writing, and
// asks to wait. Nothing is lost; collections have each row; a table has rows
// twice only where the command says so.
func TestFaults(t *testing.T) {
	const rows = 50_000
	full := fail.New(fail.BacklogFull, "the backlog is full")
	full.RetryAfter = 2 * time.Second
	for _, c := range []struct {
		name   string
		script func(int) (error, bool)
		twice  bool
	}{
		{"refusals", func(n int) (error, bool) {
			if n%3 != 0 {
				return full, false
			}
			return nil, true
		}, false},
		{"lost before", func(n int) (error, bool) {
			if n%2 == 1 {
				return unavailable(), false
			}
			return nil, true
		}, true},
		{"lost after", func(n int) (error, bool) {
			if n%2 == 1 {
				return unavailable(), true
			}
			return nil, true
		}, true},
	} {
		for _, collection := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(collection, c.script)
				out, _, err := run(t.Context(), t, f, Options{Files: []string{numbers(t, "n.csv", rows, rows)}, Patience: time.Hour})
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				doubled := 0
				counts := f.counts()
				for _, n := range counts {
					if n > 1 {
						doubled++
					}
				}
				if len(counts) != rows {
					t.Errorf("%s, collection %t: %d rows", c.name, collection, len(counts))
				}
				said := strings.Contains(out, "may be there twice")
				if said != (c.twice && !collection) || doubled > 0 && !collection && !said {
					t.Errorf("%s, collection %t: %d rows twice; it says:\n%s", c.name, collection, doubled, out)
				}
			})
		}
	}
}

func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(true, func(int) (error, bool) { return unavailable(), false })
		began := time.Now()
		_, errs, err := run(t.Context(), t, f, Options{Files: []string{numbers(t, "n.csv", 10, 10)}, Patience: time.Minute})
		if !fail.Is(err, fail.Unavailable) || !strings.Contains(errs, "nothing was loaded") {
			t.Errorf("%v\n%s", err, errs)
		}
		if took := time.Since(began); took < time.Minute || took > 2*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// TestResume stops a load at every batch, by an error and by the user, and goes
// on from the state file: a table has each row exactly once.
func TestResume(t *testing.T) {
	const rows = 40_000
	broken := fail.New(fail.Internal, "the disk is full")
	for stop := 1; stop <= 5; stop++ {
		for _, how := range []string{"error", "user"} {
			for _, collection := range []bool{true, false} {
				path := numbers(t, "n.csv", rows, rows)
				state := filepath.Join(t.TempDir(), "state")
				ctx, cancel := context.WithCancel(t.Context())
				var at atomic.Bool
				f := newFake(collection, func(n int) (error, bool) {
					if n != stop || at.Swap(true) {
						return nil, true
					}
					if how == "user" {
						cancel() // this batch is finished all the same
						return nil, true
					}
					return broken, false
				})
				o := Options{Files: []string{path}, Resume: state, Streams: 2}
				_, errs, err := run(ctx, t, f, o)
				if err == nil || len(f.order) == rows && how == "error" {
					t.Fatalf("%s at batch %d: %v", how, stop, err)
				}
				if len(f.order) > 0 && !strings.Contains(errs, "to go on, run the same command again") {
					t.Errorf("%s at batch %d says:\n%s", how, stop, errs)
				}
				cancel()
				if _, _, err := run(t.Context(), t, f, o); err != nil {
					t.Fatal(err)
				}
				if n := len(f.order); len(f.counts()) != rows || n != rows && !collection {
					t.Errorf("%s at batch %d, collection %t: %d rows, %d of them different", how, stop, collection, n, len(f.counts()))
				}
				before := f.batches
				if _, _, err := run(t.Context(), t, f, o); err != nil || f.batches != before {
					t.Errorf("a load that is complete sends %d batches, %v", f.batches-before, err)
				}
			}
		}
	}
}

func TestAStateFileIsOfItsFiles(t *testing.T) {
	path, state := numbers(t, "n.csv", 100, 100), filepath.Join(t.TempDir(), "state")
	f := newFake(false, nil)
	if _, _, err := run(t.Context(), t, f, Options{Files: []string{path}, Resume: state}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("k,v\n1,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t.Context(), t, f, Options{Files: []string{path}, Resume: state}); err == nil || !strings.Contains(err.Error(), "has changed since") {
		t.Error(err)
	}
	if err := os.WriteFile(state, []byte("k,v\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t.Context(), t, f, Options{Files: []string{path}, Resume: state}); err == nil || !strings.Contains(err.Error(), "not a state file") {
		t.Error(err)
	}
	if err := os.WriteFile(state, []byte(`{"loam_load": 1, "target": "public.u"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t.Context(), t, f, Options{Files: []string{path}, Resume: state}); err == nil || !strings.Contains(err.Error(), "belongs to a load into public.u") {
		t.Error(err)
	}
}

// TestAStoppedTableKeepsItsPositions also when no state file was named.
func TestAStoppedTableKeepsItsPositions(t *testing.T) {
	path := numbers(t, "n.csv", 30_000, 30_000)
	t.Chdir(t.TempDir())
	f := newFake(false, func(n int) (error, bool) {
		if n == 3 {
			return fail.New(fail.Internal, "the disk is full"), false
		}
		return nil, true
	})
	_, errs, err := run(t.Context(), t, f, Options{Files: []string{path}, Streams: 1})
	if err == nil || !strings.Contains(errs, "--resume t.load-state.json") {
		t.Fatalf("%v\n%s", err, errs)
	}
	if _, _, err := run(t.Context(), t, f, Options{Files: []string{path}, Streams: 1, Resume: "t.load-state.json"}); err != nil {
		t.Fatal(err)
	}
	if len(f.order) != 30_000 || len(f.counts()) != 30_000 {
		t.Errorf("%d rows, %d of them different", len(f.order), len(f.counts()))
	}
}

// TestRowsThatTheServerRefuses are found in their batches, told with their
// place, and counted.
func TestRowsThatTheServerRefuses(t *testing.T) {
	f := &picky{fakeServer: newFake(true, nil), bad: []int64{5, 17, 8191}}
	var o Options
	o.Files, o.MaxErrors, o.Errors, o.Streams, o.Target = []string{numbers(t, "n.csv", 9000, 9000)}, 3, filepath.Join(t.TempDir(), "errors"), 2, "t"
	o.Chunk = 400
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	out, _, err := runOn(t, f, o)
	if err != nil || !strings.Contains(out, "loaded 8,997 rows") || !strings.Contains(out, "3 rows were wrong") {
		t.Errorf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(o.Errors)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"row":6,"line":7,`, `"row":18,"line":19,`, `"row":8192,"line":8193,`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if len(f.latest) != 8997 || slices.ContainsFunc(f.bad, func(k int64) bool { _, ok := f.latest[k]; return ok }) {
		t.Errorf("%d rows are in", len(f.latest))
	}
	o.MaxErrors = 2
	if _, _, err := runOn(t, f, o); err == nil || !strings.Contains(err.Error(), "more than 2 rows are wrong") {
		t.Error(err)
	}
}
