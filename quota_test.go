package loam

import (
	"context"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/fail"
)

// noise is text that does not shrink.
func noise(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "%016x", r.Uint64())
	}
	return b.String()[:n]
}

// one is the value of a query of one row and column.
func one(t *testing.T, s *Session, sql string) string {
	t.Helper()
	res, err := s.Query(context.Background(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer func() { _ = res.Close() }()
	c, err := res.Next(context.Background())
	if err != nil || c == nil || c.Rows() != 1 {
		t.Fatalf("%s: %v, %v", sql, c, err)
	}
	return c.Cols[0].Value(c.RowAt(0)).String()
}

// TestTheQuotaCountsWhatIsKept: applied rows, retained versions and tags count; what is
// let go of counts no longer, and then writes go on.
func TestTheQuotaCountsWhatIsKept(t *testing.T) {
	ctx := context.Background()
	e, err := Open(ctx, Config{GCInterval: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	s := e.NewSession(SessionConfig{})
	runSQL(t, s, "CREATE NAMESPACE team WITH (storage_quota = '200 KiB')")
	runSQL(t, s, "CREATE COLLECTION team.docs (id TEXT PRIMARY KEY, body TEXT)")
	obj, err := e.lookup(ctx, "team", "docs")
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.byID(ctx, obj.ID)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewSource(1))
	settle := func() {
		t.Helper()
		if err := c.Settle(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	write := func() error { // ten documents anew
		var rows []string
		for i := range 10 {
			rows = append(rows, fmt.Sprintf("('k%d', '%s')", i, noise(r, 1000)))
		}
		res, err := s.Query(ctx, "INSERT INTO team.docs VALUES "+strings.Join(rows, ", "))
		if err == nil {
			err = res.Close()
		}
		return err
	}
	// Every version holds its ten documents, though ten are all that there are.
	n := 0
	for err = nil; err == nil && n < 100; n++ {
		e.quotas.again() // go by what is stored, not by what was written
		if err = write(); err == nil {
			settle()
		}
		if n == 2 {
			runSQL(t, s, "CREATE TAG first ON team.docs")
		}
	}
	if !fail.Is(err, fail.DiskFull) || n < 4 || n > 20 {
		t.Fatalf("%d writes, then %v", n, err)
	}
	if got := one(t, s, "SELECT used_bytes >= storage_quota FROM system.namespaces WHERE namespace = 'team'"); got != "true" {
		t.Error(got)
	}
	// What makes room goes on.
	runSQL(t, s, "DELETE FROM team.docs WHERE id <> 'k0'")
	settle()
	onlyTheHead(t, e, obj.ID)
	eventually(t, 20*time.Second, "garbage collection counts what is kept", func() bool { e.quotas.again(); return write() == nil })
	// The tag keeps its version, and says so.
	root, err := e.meta.Root(ctx, obj.ID)
	if err != nil || root.Head.TagBytes < 10_000 || root.Head.TagBytes != root.Tags[0].Exclusive || root.Head.Bytes() < root.Head.TagBytes {
		t.Errorf("%+v, %v", root, err)
	}
	if got := one(t, s, "SELECT tag_exclusive_bytes = exclusive_bytes FROM system.namespaces n JOIN system.tags t USING (namespace)"); got != "true" {
		t.Error(got)
	}
}

// TestALinkWaitsAtTheQuota: it says why, loses nothing, and goes on when there is room.
func TestALinkWaitsAtTheQuota(t *testing.T) {
	ctx := context.Background()
	e, err := Open(ctx, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	s := e.NewSession(SessionConfig{})
	runSQL(t, s, "CREATE NAMESPACE small WITH (storage_quota = 100)")
	runSQL(t, s, "CREATE TABLE small.t (k TEXT)")
	runSQL(t, s, "INSERT INTO small.t VALUES ('"+strings.Repeat("x", 200)+"')")
	runSQL(t, s, "CREATE STREAM events (k TEXT) WITH (key = '')")
	runSQL(t, s, "INSERT INTO events VALUES ('a'), ('b')")
	runSQL(t, s, "CREATE LINK pour FROM STREAM events INTO TABLE small.t TRANSFORM (SELECT k)")
	eventually(t, 20*time.Second, "the link says why it waits", func() bool {
		return one(t, s, "SELECT coalesce(error_code, '') = '53100' AND state = 'running' FROM system.links") == "true"
	})
	runSQL(t, s, "ALTER NAMESPACE small SET (storage_quota = '1 MiB')")
	eventually(t, 30*time.Second, "the link goes on", func() bool { return one(t, s, "SELECT count(*) FROM small.t") == "3" })
}

// TestUsageOfObjectsThatGo: an object that is dropped while others are measured hides none.
func TestUsageOfObjectsThatGo(t *testing.T) {
	ctx := context.Background()
	e, err := Open(ctx, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	s := e.NewSession(SessionConfig{})
	var ids []uint64
	u := &Usage{}
	of := map[uint64]*Usage{}
	for i := range 5 {
		runSQL(t, s, fmt.Sprintf("CREATE TABLE t%d (a INT)", i))
		runSQL(t, s, fmt.Sprintf("INSERT INTO t%d VALUES (1)", i))
		obj, err := e.lookup(ctx, "public", fmt.Sprint("t", i))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, obj.ID, obj.ID+1000)
		of[obj.ID], of[obj.ID+1000] = u, u
	}
	if err := e.measure(ctx, ids, of); err != nil {
		t.Fatal(err)
	}
	all, err := e.Usage(ctx)
	if err != nil || len(all) != 1 || all[0].Bytes != u.Bytes || u.Bytes == 0 {
		t.Errorf("%+v, measured %+v: %v", all, u, err)
	}
}

// TestQuotasAreLookedAtNowAndThen: one writer looks, the others go by what is known.
func TestQuotasAreLookedAtNowAndThen(t *testing.T) {
	var q quotas
	if !q.due(time.Minute) || q.due(time.Minute) {
		t.Error("not exactly the first one looks")
	}
	q.looked([]Usage{{Quota: 100, Bytes: 90}}, time.Minute, time.Second)
	for at, want := range map[time.Duration]bool{time.Minute + quotaEvery: false, time.Minute + quotaShare*time.Second - 1: false} {
		if q.due(at) != want {
			t.Errorf("%s after a look that took a second", at-time.Minute)
		}
	}
	if err := q.take("", 50); err != nil {
		t.Error("the write that passes the quota:", err)
	}
	if err := q.take("", 1); !fail.Is(err, fail.DiskFull) {
		t.Error("the one after it:", err)
	}
	if err := q.take("other", 1000); err != nil {
		t.Error("a namespace without a quota:", err)
	}
	if q.again(); !q.due(time.Minute) {
		t.Error("nobody looks again")
	}
}
