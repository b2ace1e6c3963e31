package loam_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fakes3"
	"github.com/loamdb/loam/storage/object"
)

// starts are the records of starts in the bucket.
func starts(server *fakes3.Server) []string {
	var out []string
	for _, key := range server.Keys() {
		if strings.HasPrefix(key, "p/starts/") {
			out = append(out, key)
		}
	}
	return out
}

// TestTwoCopiesOfADirectoryOnOneBucket: the one that started last goes on, the other is
// refused, by start and by fsck, until somebody decides.
func TestTwoCopiesOfADirectoryOnOneBucket(t *testing.T) {
	server, one := bucket(t), t.TempDir()
	cfg := loam.Config{Dir: one, Store: at(server, "p")}
	e := mustOpen(t, cfg)
	askRows(t, e.NewSession(loam.SessionConfig{}), "CREATE TABLE t AS SELECT 1 AS a")
	mustClose(t, e)
	two := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(two, os.DirFS(one)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, cfg))
	mustClose(t, mustOpen(t, cfg))
	if got := starts(server); len(got) != 1 {
		t.Errorf("after three starts: %q", got)
	}
	refused := func(err error) {
		t.Helper()
		got := fail.Render(err, "")
		if err == nil || !fail.Is(err, fail.InvalidParameter) || !strings.Contains(got, "another copy of this data directory has started on s3://"+fakes3.Bucket+"/p") ||
			!strings.Contains(got, "remove s3://"+fakes3.Bucket+"/"+starts(server)[0]) {
			t.Errorf("%s", got)
		}
	}
	_, err := loam.Open(t.Context(), loam.Config{Dir: two})
	refused(err)
	_, err = loam.CheckData(t.Context(), loam.CheckConfig{Dir: two, Repair: true})
	refused(err)
	if rep, err := loam.CheckData(t.Context(), loam.CheckConfig{Dir: one}); err != nil || !rep.Sound() {
		t.Errorf("the copy that goes on: %v, %v", rep, err)
	}
	// Somebody decides for the other one.
	s3, err := object.OpenS3(t.Context(), at(server, "p").Address, clock.Real(), clock.RandomIDs(clock.Real()), object.S3Options{Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := s3.Delete(t.Context(), strings.TrimPrefix(starts(server)[0], "p/")); err != nil {
		t.Fatal(err)
	}
	e = mustOpen(t, loam.Config{Dir: two})
	if got := askRows(t, e.NewSession(loam.SessionConfig{}), "SELECT a FROM t"); len(got) != 1 {
		t.Errorf("%q", got)
	}
	_, err = loam.Open(t.Context(), cfg)
	refused(err)
}

// TestAStartThatIsCutShort: killed at any place between the records, as often as one
// likes, the directory starts again, and leaves one record.
func TestAStartThatIsCutShort(t *testing.T) {
	server, dir := bucket(t), t.TempDir()
	cfg := loam.Config{Dir: dir, Store: at(server, "p")}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "START"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	recorded := func() string {
		t.Helper()
		mustClose(t, mustOpen(t, cfg))
		got := starts(server)
		if len(got) != 1 {
			t.Fatalf("%q", got)
		}
		return strings.TrimPrefix(got[0], "p/starts/")
	}
	const id = "01MCC5RM00HVRQ9YM6S8PV1E0K"
	for range 2 {
		write(`{"format":"loam start","version":0,"id":"` + id + `","before":"` + recorded() + `"}`) // before its record
		if now := recorded(); now == id {
			t.Error("no record of its own")
		}
		before := recorded()
		write(`{"format":"loam start","version":0,"id":"` + id + `","before":"` + before + `"}`)
		server.Store("p/starts/"+id, "{}") // before the removal of the one before
		recorded()
	}
	for name, text := range map[string]string{"torn": `{"for`, "newer": `{"format":"loam start","version":1}`} {
		write(text)
		if _, err := loam.Open(t.Context(), cfg); err == nil {
			t.Errorf("a %s START is taken", name)
		}
	}
}

// TestARunningServerSeesAnotherCopyStart: it deletes nothing any more, and says why.
func TestARunningServerSeesAnotherCopyStart(t *testing.T) {
	server := bucket(t)
	failed := make(chan error, 100)
	e := mustOpen(t, loam.Config{Dir: t.TempDir(), Store: at(server, "p"), GCInterval: time.Second, OnError: func(_ string, err error) {
		select {
		case failed <- err:
		default:
		}
	}})
	server.Store("p/starts/01MCC5RM00HVRQ9YM6S8PV1E0K", "{}")
	askRows(t, e.NewSession(loam.SessionConfig{}), "CREATE TABLE t AS SELECT 1 AS a")
	for end := time.After(20 * time.Second); ; {
		select {
		case err := <-failed:
			if strings.Contains(err.Error(), "another copy of this data directory has started") {
				return
			}
			t.Log(err)
		case <-end:
			t.Fatal("nothing is said")
		}
	}
}
