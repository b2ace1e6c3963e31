package loam_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/catalog"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/collection"
)

// applied waits until the rows of an object are in segments.
func applied(t *testing.T, s *loam.Session, object string, rows int64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		plan, err := s.ScanPlan(t.Context(), loam.ScanRequest{Target: loam.Target{Name: object}, Tail: loam.TailNone})
		if err == nil && plan.LiveRows == rows {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is not applied: %+v, %v", object, plan, err)
		}
	}
}

// heard keeps what an engine says of its background tasks.
type heard struct{ text atomic.Value }

func (h *heard) error(task string, err error) { h.text.Store(task + ": " + err.Error()) }

func (h *heard) has(what string) bool {
	text, _ := h.text.Load().(string)
	return strings.Contains(text, what)
}

// TestADamagedObjectStopsNoOther: what cannot be opened is reported, and the others are
// applied.
func TestADamagedObjectStopsNoOther(t *testing.T) {
	dir, errs := t.TempDir(), &heard{}
	open := func() (*loam.Engine, *loam.Session) {
		e := mustOpen(t, loam.Config{Dir: dir, NoSync: true, OnError: errs.error, Collection: collection.Options{BatchInterval: 10 * time.Millisecond}})
		return e, e.NewSession(loam.SessionConfig{})
	}
	e, s := open()
	for _, name := range []string{"bad", "good"} {
		askRows(t, s, "CREATE TABLE "+name+" (a INT)")
		askRows(t, s, "INSERT INTO "+name+" VALUES (1)")
		applied(t, s, name, 1)
	}
	bad, err := e.Catalog().Lookup(t.Context(), catalog.Name{Text: "public"}, catalog.Name{Text: "bad"})
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	manifests, err := filepath.Glob(filepath.Join(dir, collection.Prefix(bad.ID), "manifests", "*"))
	if err != nil || len(manifests) == 0 {
		t.Fatalf("%v, %v", manifests, err)
	}
	for _, m := range manifests {
		if err := os.Remove(m); err != nil {
			t.Fatal(err)
		}
	}
	_, s = open()
	askRows(t, s, "INSERT INTO good VALUES (2)")
	applied(t, s, "good", 2)
	if !errs.has("public.bad") {
		t.Errorf("what is said of bad: %v", errs.text.Load())
	}
}

// unlisted is a metastore that lists no objects when told.
type unlisted struct {
	metastore.Store
	fails atomic.Bool
}

func (u *unlisted) ListObjects(ctx context.Context, namespace string) ([]metastore.Object, error) {
	if u.fails.Load() {
		return nil, errors.New("no list today")
	}
	return u.Store.ListObjects(ctx, namespace)
}

// TestLinksThatCannotBeReadStopNothing: the other tasks of the poll run.
func TestLinksThatCannotBeReadStopNothing(t *testing.T) {
	meta, errs := &unlisted{}, &heard{}
	e := mustOpen(t, loam.Config{OnError: errs.error, Collection: collection.Options{BatchInterval: 10 * time.Millisecond},
		WrapMeta: func(m metastore.Store) metastore.Store {
			meta.Store = m
			return meta
		}})
	s := e.NewSession(loam.SessionConfig{})
	meta.fails.Store(true)
	askRows(t, s, "CREATE TABLE a (a INT)")
	askRows(t, s, "INSERT INTO a VALUES (1)")
	applied(t, s, "a", 1)
	meta.fails.Store(false)
	if !errs.has("no list today") {
		t.Errorf("what is said: %v", errs.text.Load())
	}
}
