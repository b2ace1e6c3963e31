package loam_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

func Example() {
	ctx := context.Background()
	db, err := loam.Open(ctx, loam.Config{}) // Dir keeps the data in a directory
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s := db.NewSession(loam.SessionConfig{})
	for _, sql := range []string{
		"CREATE COLLECTION docs (id TEXT PRIMARY KEY, title TEXT FULLTEXT 'english', emb VECTOR(3))",
		"INSERT INTO docs VALUES ('a', 'The quick brown fox', [1, 0, 0]), ('b', 'Lazy dogs sleep', [0, 1, 0])",
	} {
		if _, err := s.Query(ctx, sql); err != nil {
			log.Fatal(err)
		}
	}
	rows, err := s.Query(ctx, "SELECT id, title FROM rrf(text_search(docs, $1), vector_search(docs, $2))", "fox", []float32{1, 0, 0})
	if err != nil {
		log.Fatal(err)
	}
	for batch, err := range rows.Records(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		ids, titles := batch.Column(0).(*array.String), batch.Column(1).(*array.String)
		for i := range int(batch.NumRows()) {
			fmt.Println(ids.Value(i), titles.Value(i))
		}
	}
	// Output:
	// a The quick brown fox
	// b Lazy dogs sleep
}

func open(t *testing.T) *loam.Session {
	t.Helper()
	db, err := loam.Open(t.Context(), loam.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db.NewSession(loam.SessionConfig{})
}

// TestArguments: each kind of Go value arrives as the SQL value that it means.
func TestArguments(t *testing.T) {
	s := open(t)
	at := time.Date(2024, 2, 29, 13, 0, 0, 5000, time.FixedZone("", 3600))
	for _, c := range []struct {
		sql  string
		arg  any
		want string
	}{
		{"SELECT ($1::INT IS NULL)::TEXT", nil, "true"},
		{"SELECT (NOT $1)::TEXT", true, "false"},
		{"SELECT ($1 + 1)::TEXT", 41, "42"},
		{"SELECT ($1::BIGINT)::TEXT", int64(-1 << 63), "-9223372036854775808"},
		{"SELECT ($1::INT)::TEXT", int32(7), "7"},
		{"SELECT ($1::DOUBLE)::TEXT", 1.5, "1.5"},
		{"SELECT ($1::DOUBLE)::TEXT", float32(0.5), "0.5"},
		{"SELECT $1 || '!'", "Zürich", "Zürich!"},
		{"SELECT encode($1::BINARY, 'hex')", []byte{0, 255}, "00ff"},
		{"SELECT ($1::VECTOR(2))::TEXT", []float32{1, 0.5}, "[1, 0.5]"},
		{"SELECT array_to_string($1::TEXT[], '+')", []string{"a", "b"}, "a+b"},
		{"SELECT ($1::TIMESTAMP)::TEXT", at, "2024-02-29 12:00:00.000005"},
	} {
		r, err := s.Query(t.Context(), c.sql, c.arg)
		if err != nil {
			t.Errorf("%s with %v: %v", c.sql, c.arg, err)
			continue
		}
		got := ""
		for rec, err := range r.Records(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got += rec.Column(0).ValueStr(0)
		}
		if got != c.want {
			t.Errorf("%s with %v is %q, want %q", c.sql, c.arg, got, c.want)
		}
	}
	if _, err := s.Query(t.Context(), "SELECT $1", struct{}{}); !fail.Is(err, fail.InvalidParameter) {
		t.Errorf("a struct as argument: %v", err)
	}
}

// TestRecords: all rows come, a batch can be kept, a loop may end early, an error
// comes once and last, and each closes the result.
func TestRecords(t *testing.T) {
	s := open(t)
	query := func(sql string) *loam.Result {
		t.Helper()
		r, err := s.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := query("SELECT n FROM generate_series(1, 5000) g(n) ORDER BY n")
	var kept []arrow.RecordBatch
	for rec, err := range r.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rec.Retain()
		kept = append(kept, rec)
	}
	next := int64(1)
	for _, rec := range kept {
		if !rec.Schema().Equal(r.Schema()) {
			t.Errorf("schema %v, want %v", rec.Schema(), r.Schema())
		}
		for _, n := range rec.Column(0).(*array.Int64).Int64Values() {
			if n != next {
				t.Fatalf("row %d, want %d", n, next)
			}
			next++
		}
		rec.Release()
	}
	if next != 5001 {
		t.Errorf("%d rows", next-1)
	}

	r = query("SELECT n FROM generate_series(1, 1000000) g(n)")
	for range r.Records(t.Context()) {
		break
	}
	if c, err := r.Next(t.Context()); c != nil || err != nil {
		t.Errorf("after the end: %v, %v", c, err)
	}

	var errs []error
	for rec, err := range query("SELECT 10 / (n - 3000) FROM generate_series(1, 5000) g(n)").Records(t.Context()) {
		if errs = append(errs, err); (rec == nil) == (err == nil) {
			t.Errorf("%v, %v", rec, err)
		}
	}
	if len(errs) == 0 || !fail.Is(errs[len(errs)-1], fail.DivisionByZero) || errors.Join(errs[:len(errs)-1]...) != nil {
		t.Errorf("errors %v", errs)
	}
	for range query("CREATE TABLE t (a INT)").Records(t.Context()) {
		t.Error("a statement without rows has a batch")
	}
}
