package loam_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/snapshot"
	"github.com/loamdb/loam/metastore"
)

// deaf is a metastore whose snapshots cannot be read when told.
type deaf struct {
	metastore.Store
	on bool
}

func (d *deaf) Snapshot(ctx context.Context, ids []uint64) (metastore.Snapshot, error) {
	if d.on {
		return metastore.Snapshot{}, fail.New(fail.Unavailable, "nobody answers")
	}
	return d.Store.Snapshot(ctx, ids)
}

// count runs a count(*) and returns it with the position that the result reports.
func count(t *testing.T, s *loam.Session, from string) (string, *snapshot.Token, error) {
	t.Helper()
	res, err := s.Query(context.Background(), "SELECT count(*) FROM "+from)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = res.Close() }()
	c, err := res.Next(context.Background())
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprint(c.Cols[0].Value(c.RowAt(0)).Int), res.Token, nil
}

// TestConsistency: what a session's options say of its queries.
func TestConsistency(t *testing.T) {
	ctx := context.Background()
	meta := &deaf{}
	e, err := loam.Open(ctx, loam.Config{WrapMeta: func(m metastore.Store) metastore.Store {
		meta.Store = m
		return meta
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	s := e.NewSession(loam.SessionConfig{})
	run := func(sql string) *snapshot.Token {
		t.Helper()
		res, err := s.Query(ctx, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if err := res.Close(); err != nil {
			t.Fatal(err)
		}
		return res.Token
	}
	want := func(n string) *snapshot.Token {
		t.Helper()
		got, at, err := count(t, s, "s")
		if err != nil || got != n {
			t.Fatalf("%s rows, %v; want %s", got, err, n)
		}
		return at
	}
	refused := func(code fail.Code, part string) {
		t.Helper()
		if _, _, err := count(t, s, "s"); !fail.Is(err, code) || !strings.Contains(err.Error(), part) {
			t.Fatalf("%v; want %s with %q", err, code, part)
		}
	}
	run("CREATE STREAM s (n INT) WITH (partitions = 2)")
	first := run("INSERT INTO s VALUES (1), (2)")
	if at := want("2"); at != nil {
		t.Fatalf("a strong read reports %v", at)
	}

	run("SET loam.consistency = 'token'")
	refused(fail.InvalidParameter, "holds none")
	run("SET loam.consistency_token = '" + first.String() + "'")
	if at := want("2"); at == nil || at.Merge(*first).String() != at.String() {
		t.Fatalf("the position is %v, the token %v", at, first)
	}
	ahead := *first
	ahead.Offsets = []uint64{100, 100}
	run("SET loam.consistency_token = '" + first.String() + "," + ahead.String() + "'")
	run("SET loam.consistency_wait = '30ms'")
	start := time.Now()
	refused(fail.ConsistencyTimeout, "it is at v1:")
	if d := time.Since(start); d < 30*time.Millisecond || d > 5*time.Second {
		t.Fatalf("waited %s", d)
	}
	run("INSERT INTO s VALUES (3)") // writes do not wait
	other := *first
	other.Offsets = []uint64{1}
	run("SET loam.consistency_token = '" + other.String() + "'")
	refused(fail.InvalidParameter, "another object")

	run("SET loam.consistency = 'eventual'")
	at := want("3")
	meta.on = true
	if again := want("3"); at == nil || again.String() != at.String() {
		t.Fatalf("eventual reads are at %v and %v", at, again)
	}
	run("SET loam.consistency = 'strong'")
	refused(fail.Unavailable, "nobody answers")
	meta.on = false

	run("SET loam.consistency = 'pinned'")
	run("SET loam.consistency_token = '" + first.String() + "'")
	refused(fail.InvalidParameter, "loam.pin_manifest")
	run("SET loam.pin_manifest = '0'")
	want("2")
	run("RESET ALL")
	want("3")

	run("DROP STREAM s")
	run("CREATE STREAM s (n INT) WITH (partitions = 2)")
	run("SET loam.consistency = 'token'")
	run("SET loam.consistency_token = '" + first.String() + "'")
	refused(fail.InvalidParameter, "was dropped")
	for _, bad := range []string{"loam.consistency = 'now'", "loam.consistency_token = 'v2:x'", "loam.consistency_wait = 'soon'", "loam.pin_manifest = '-1'"} {
		if _, err := s.Query(ctx, "SET "+bad); !fail.Is(err, fail.InvalidParameter) {
			t.Errorf("SET %s: %v", bad, err)
		}
	}
}
