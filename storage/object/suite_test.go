package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/versitygw"
	"github.com/zeebo/xxh3"
)

var ctx = context.Background()

func testIDs(seed uint64) clock.IDs {
	return clock.SeededIDs(clock.NewManual(time.Unix(1_700_000_000, 0)), seed)
}

func openFile(t *testing.T, root string, opt FileOptions) *FileStore {
	t.Helper()
	s, err := OpenFile(root, testIDs(1), opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// each runs a test over every store.
func each(t *testing.T, run func(t *testing.T, s Store)) {
	stores := map[string]func(t *testing.T) Store{
		"mem":    func(*testing.T) Store { return NewMem() },
		"file":   func(t *testing.T) Store { return openFile(t, t.TempDir(), FileOptions{}) },
		"nosync": func(t *testing.T) Store { return openFile(t, t.TempDir(), FileOptions{NoSync: true}) },
		"crash":  func(t *testing.T) Store { return openFile(t, "/", FileOptions{FS: NewCrashFS()}) },
		"faulty": func(*testing.T) Store { return NewFaulty(NewMem(), clock.Real()) },
		"s3":     func(t *testing.T) Store { s, _ := openFake(t, S3Options{}); return s },
	}
	if versitygw.Program() != "" {
		stores["versitygw"] = openGateway
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { run(t, open(t)) })
	}
}

// caught turns the panic of a bug under the invariants tag into its error.
func caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fail.FromPanic(p)
		}
	}()
	return f()
}

func put(t *testing.T, s Store, key, body string) {
	t.Helper()
	if _, err := s.Put(ctx, key, []byte(body), PutOptions{}); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func get(t *testing.T, s Store, key string) string {
	t.Helper()
	b, err := s.Get(ctx, key)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	return string(b)
}

func TestPutGet(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		body := []byte("hello")
		info, err := s.Put(ctx, "a/b/c", body, PutOptions{})
		if err != nil || info != (Info{Key: "a/b/c", Size: 5, Checksum: xxh3.Hash([]byte("hello"))}) {
			t.Fatalf("put: %+v %v", info, err)
		}
		body[0] = 'X' // the store keeps its own copy
		if got := get(t, s, "a/b/c"); got != "hello" {
			t.Fatalf("got %q", got)
		}
		_, err = s.Put(ctx, "a/b/c", []byte("other"), PutOptions{})
		if !errors.Is(err, ErrExists) || !fail.Is(err, fail.Conflict) {
			t.Fatalf("second put: %v", err)
		}
		if got := get(t, s, "a/b/c"); got != "hello" {
			t.Fatalf("after the second put: %q", got)
		}
		put(t, s, "empty", "")
		if got := get(t, s, "empty"); got != "" {
			t.Fatalf("empty object: %q", got)
		}
		if head, err := s.Head(ctx, "a/b/c"); err != nil || head != (Info{Key: "a/b/c", Size: 5}) {
			t.Fatalf("head: %+v %v", head, err)
		}
	})
}

func TestReplace(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		for _, body := range []string{"one", "two, longer", "3"} {
			if _, err := s.Put(ctx, "mirror/tag.json", []byte(body), PutOptions{Replace: true}); err != nil {
				t.Fatal(err)
			}
			if got := get(t, s, "mirror/tag.json"); got != body {
				t.Fatalf("got %q, want %q", got, body)
			}
		}
	})
}

func TestAbsent(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		put(t, s, "a/b", "x")
		for _, key := range []string{"nope", "a", "a/c", "a/b/c"} {
			_, gerr := s.Get(ctx, key)
			_, rerr := s.GetRange(ctx, key, 0, 1)
			_, oerr := s.Open(ctx, key)
			_, herr := s.Head(ctx, key)
			for op, err := range map[string]error{"get": gerr, "range": rerr, "open": oerr, "head": herr} {
				if !errors.Is(err, ErrNotFound) {
					t.Errorf("%s %q: %v", op, key, err)
				}
			}
		}
		if err := s.Delete(ctx, "nope", "a", "a/b/c"); err != nil {
			t.Fatalf("delete of absent objects: %v", err)
		}
		put(t, s, "a/d", "still works")
	})
}

func TestRanges(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		put(t, s, "k", "0123456789")
		o, err := s.Open(ctx, "k")
		if err != nil || o.Size() != 10 {
			t.Fatalf("open: %v", err)
		}
		defer func() { _ = o.Close() }()
		cases := []struct {
			off, n int64
			want   string
			ok     bool
		}{
			{0, 10, "0123456789", true}, {3, 4, "3456", true}, {10, 0, "", true}, {0, 0, "", true},
			{0, 11, "", false}, {10, 1, "", false}, {11, 0, "", false}, {-1, 2, "", false}, {1 << 62, 1 << 62, "", false},
		}
		for _, c := range cases {
			got, err := s.GetRange(ctx, "k", c.off, c.n)
			if (err == nil) != c.ok || string(got) != c.want || (err != nil && !fail.Is(err, fail.Corrupt)) {
				t.Errorf("range %d+%d: %q %v", c.off, c.n, got, err)
			}
			if c.n > 100 {
				continue
			}
			p := make([]byte, c.n)
			if err := o.ReadAt(ctx, p, c.off); (err == nil) != c.ok || (c.ok && string(p) != c.want) {
				t.Errorf("read at %d+%d: %q %v", c.off, c.n, p, err)
			}
		}
		if err := s.Delete(ctx, "k"); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 3)
		err = o.ReadAt(ctx, p, 1)
		if _, remote := s.(*S3); remote && errors.Is(err, ErrNotFound) {
			return // a bucket keeps nothing open
		}
		if err != nil || string(p) != "123" {
			t.Fatalf("open handle after delete: %q %v", p, err)
		}
	})
}

func TestList(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		keys := []string{"a", "a.b", "a-b", "a0", "ab/c", "b/1", "b/10", "b/2", "b!/x", "b0/x", "b/sub/deep/er", "é/ü"}
		// "a" and "a/..." cannot both be in a directory, so that no key is a folder of another.
		for _, k := range keys {
			put(t, s, k, k)
		}
		slices.Sort(keys)
		for _, prefix := range []string{"", "a", "a.", "ab/", "b", "b/", "b/1", "b/s", "b/sub/deep/er", "b/sub/deep/er/", "zz", "é"} {
			for _, after := range append([]string{"", "a", "b/", "b/1", "b/zzz", "b0", "zzz"}, keys...) {
				var want []string
				for _, k := range keys {
					if strings.HasPrefix(k, prefix) && k > after {
						want = append(want, k)
					}
				}
				page, err := s.List(ctx, prefix, after)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, i := range page {
					got = append(got, i.Key)
					if i.Size != int64(len(i.Key)) {
						t.Errorf("size of %q: %d", i.Key, i.Size)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("list %q after %q:\n got %q\nwant %q", prefix, after, got, want)
				}
			}
		}
	})
}

func TestListPages(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		const n = ListPage + 7
		for i := range n {
			put(t, s, fmt.Sprintf("p/%02d/%05d", i%3, i), "")
		}
		page, err := s.List(ctx, "p/", "")
		if err != nil || len(page) != ListPage {
			t.Fatalf("first page: %d %v", len(page), err)
		}
		last, count := "", 0
		for info, err := range All(ctx, s, "p/") {
			if err != nil || info.Key <= last {
				t.Fatalf("%q after %q: %v", info.Key, last, err)
			}
			last = info.Key
			count++
		}
		if count != n {
			t.Fatalf("%d objects, want %d", count, n)
		}
	})
}

func TestWriter(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		w, err := s.Create(ctx, "big/one")
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		for i := range 1000 {
			p := fmt.Appendf(nil, "piece %d;", i)
			want.Write(p)
			if _, err := w.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Head(ctx, "big/one"); !errors.Is(err, ErrNotFound) {
			t.Fatalf("visible before commit: %v", err)
		}
		info, err := w.Commit()
		if err != nil || info.Size != int64(want.Len()) || info.Checksum != xxh3.Hash(want.Bytes()) {
			t.Fatalf("commit: %+v %v", info, err)
		}
		w.Abort()
		if got := get(t, s, "big/one"); got != want.String() {
			t.Fatal("content differs")
		}
		if err := caught(func() error { _, err := w.Write([]byte("x")); return err }); !fail.Is(err, fail.Internal) {
			t.Errorf("write after commit: %v", err)
		}
		if err := caught(func() error { _, err := w.Commit(); return err }); !fail.Is(err, fail.Internal) {
			t.Errorf("second commit: %v", err)
		}
		w2, err := s.Create(ctx, "big/one")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w2.Commit(); !errors.Is(err, ErrExists) {
			t.Fatalf("commit of a taken name: %v", err)
		}
		w3, err := s.Create(ctx, "big/three")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w3.Write([]byte("x"))
		w3.Abort()
		if _, err := s.Head(ctx, "big/three"); !errors.Is(err, ErrNotFound) {
			t.Fatalf("visible after abort: %v", err)
		}
	})
}

func TestKeys(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		long := strings.Repeat("d/", MaxKeyLen/2)
		bad := []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "../x", ".tmp/x", "a/.hidden", "a\x00b", "a\nb",
			"a\\b", "\xff", "LOCK", long + "x", strings.Repeat("n", 256)}
		for _, key := range bad {
			if _, err := s.Put(ctx, key, nil, PutOptions{}); !fail.Is(err, fail.InvalidParameter) {
				t.Errorf("put %q: %v", key, err)
			}
			if _, err := s.Get(ctx, key); !fail.Is(err, fail.InvalidParameter) {
				t.Errorf("get %q: %v", key, err)
			}
			if _, err := s.Create(ctx, key); !fail.Is(err, fail.InvalidParameter) {
				t.Errorf("create %q: %v", key, err)
			}
		}
		for _, key := range []string{"a b", "x=1/y", "ü", "a..b", "LOCK/x", "x/LOCK"} {
			put(t, s, key, key)
		}
	})
}

func TestContext(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		put(t, s, "k", "v")
		o, err := s.Open(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = o.Close() }()
		gone, cancel := context.WithCancel(ctx)
		cancel()
		_, perr := s.Put(gone, "k2", nil, PutOptions{})
		_, gerr := s.Get(gone, "k")
		_, lerr := s.List(gone, "", "")
		for op, err := range map[string]error{"put": perr, "get": gerr, "list": lerr,
			"read": o.ReadAt(gone, make([]byte, 1), 0), "delete": s.Delete(gone, "k")} {
			if !fail.Is(err, fail.Canceled) || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", op, err)
			}
		}
		if get(t, s, "k") != "v" {
			t.Error("a canceled delete deleted")
		}
	})
}

// Of many writers of one name exactly one wins, and what is read is what it wrote.
func TestCreateRace(t *testing.T) {
	each(t, func(t *testing.T, s Store) {
		for round := range 20 {
			key := fmt.Sprintf("race/%d/obj", round)
			var wins atomic.Int64
			var winner atomic.Value
			var wg sync.WaitGroup
			for w := range 16 {
				wg.Go(func() {
					body := fmt.Sprintf("writer %d", w)
					_, err := s.Put(ctx, key, []byte(body), PutOptions{})
					switch {
					case err == nil:
						wins.Add(1)
						winner.Store(body)
					case !errors.Is(err, ErrExists):
						t.Errorf("writer %d: %v", w, err)
					}
				})
			}
			wg.Wait()
			if wins.Load() != 1 || get(t, s, key) != winner.Load() {
				t.Fatalf("round %d: %d winners", round, wins.Load())
			}
		}
	})
}
