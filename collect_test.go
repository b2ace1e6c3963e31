package loam

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
	"github.com/loamdb/loam/storage/object"
)

func filesOf(t *testing.T, e *Engine, id uint64) []string {
	t.Helper()
	var out []string
	for info, err := range object.All(context.Background(), e.store, collection.Prefix(id)) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, info.Key)
	}
	return out
}

// onlyTheHead releases every version but the head, and returns it.
func onlyTheHead(t *testing.T, e *Engine, id uint64) metastore.Head {
	t.Helper()
	head, _, _, err := e.meta.Heads(context.Background(), id)
	if err == nil {
		err = e.meta.ReleaseManifests(context.Background(), id, head.Version)
	}
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// filesOfVersion are the files that a version refers to, and its manifest.
func filesOfVersion(t *testing.T, e *Engine, head metastore.Head) []string {
	t.Helper()
	m, err := collection.ReadManifest(context.Background(), e.store, collection.ManifestRef{Key: head.ManifestKey, Checksum: head.ManifestChecksum})
	if err != nil {
		t.Fatal(err)
	}
	out := []string{head.ManifestKey}
	for _, o := range m.Objects() {
		out = append(out, o.Key)
	}
	slices.Sort(out)
	return out
}

func runSQL(t *testing.T, s *Session, sql string) {
	t.Helper()
	res, err := s.Query(context.Background(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	_ = res.Close()
}

// eventually waits for a state that background work reaches.
func eventually(t *testing.T, d time.Duration, what string, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(d); !reached(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, d)
		}
	}
}

// TestUnusedFilesGo: released versions, files that no commit named, and dropped
// objects leave the store; what is retained stays and is read.
func TestUnusedFilesGo(t *testing.T) {
	ctx := context.Background()
	failed := make(chan string, 100)
	e, err := Open(ctx, Config{Dir: filepath.Join(t.TempDir(), "d"), GCInterval: time.Second, OnError: func(task string, err error) { failed <- task + ": " + err.Error() }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	s := e.NewSession(SessionConfig{})
	runSQL(t, s, "CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT) WITH (max_splits = 2)")
	runSQL(t, s, "CREATE TABLE gone (n INT)")
	obj, err := e.lookup(ctx, "public", "docs")
	if err != nil {
		t.Fatal(err)
	}
	gone, err := e.lookup(ctx, "public", "gone")
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.byID(ctx, obj.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		runSQL(t, s, "INSERT INTO docs VALUES ('a', 1), ('b"+string(rune('0'+i))+"', 2)")
		if err := c.Settle(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	runSQL(t, s, "INSERT INTO gone VALUES (1)")
	g, err := e.byID(ctx, gone.ID)
	if err == nil {
		err = g.Settle(ctx, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	stray := collection.Prefix(obj.ID) + "splits/stray.lsplit"
	if _, err := e.store.Put(ctx, stray, []byte("x"), object.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	runSQL(t, s, "DROP TABLE gone")
	head := onlyTheHead(t, e, obj.ID)
	eventually(t, 20*time.Second, "the unused files are deleted", func() bool {
		head = onlyTheHead(t, e, obj.ID) // a merge may have made another
		return slices.Equal(filesOf(t, e, obj.ID), filesOfVersion(t, e, head)) && len(filesOf(t, e, gone.ID)) == 0
	})
	snap, err := c.Strong(ctx)
	if err != nil || snap.Count() != 6 {
		t.Errorf("%v, %v", snap, err)
	}
	if _, err := c.Version(ctx, head.Version-1); !fail.Is(err, fail.SnapshotExpired) {
		t.Errorf("a released version: %v", err)
	}
	st := e.garbage.collector.State(obj.ID)
	if st.Deleted == 0 || st.DeletedBytes == 0 || st.LastMS == 0 || st.Err != nil {
		t.Errorf("%+v", st)
	}
	select {
	case f := <-failed:
		t.Error(f)
	default:
	}
}

// TestTagsSayWhatTheyKeep: system.tags has the bytes that a tag alone keeps.
func TestTagsSayWhatTheyKeep(t *testing.T) {
	ctx := context.Background()
	e, err := Open(ctx, Config{GCInterval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	s := e.NewSession(SessionConfig{})
	runSQL(t, s, "CREATE COLLECTION docs (id TEXT PRIMARY KEY, n INT)")
	obj, err := e.lookup(ctx, "public", "docs")
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.byID(ctx, obj.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i, sql := range []string{"INSERT INTO docs VALUES ('a', 1), ('b', 2)", "INSERT INTO docs VALUES ('a', 3), ('b', 4), ('c', 5)"} {
		runSQL(t, s, sql)
		if err := c.Settle(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			runSQL(t, s, "CREATE TAG first ON docs")
		}
	}
	onlyTheHead(t, e, obj.ID) // has not one row of the tagged version
	eventually(t, 20*time.Second, "the bytes of the tag are counted", func() bool {
		res, err := s.Query(ctx, "SELECT exclusive_bytes FROM system.tags WHERE tag = 'first' AND exclusive_bytes > 1000")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Close() }()
		chunk, err := res.Next(ctx)
		return err == nil && chunk != nil && chunk.Rows() == 1
	})
	if snap, err := c.Version(ctx, 1); err != nil || snap.Count() != 2 {
		t.Errorf("the tagged version: %v, %v", snap, err)
	}
}

func TestGCIntervalIsChecked(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, -time.Second, 1000 * time.Hour} {
		if _, err := Open(context.Background(), Config{GCInterval: d}); !fail.Is(err, fail.InvalidParameter) || !strings.Contains(err.Error(), d.String()) {
			t.Errorf("%s: %v", d, err)
		}
	}
}
