package object

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

func TestFileURI(t *testing.T) {
	root := t.TempDir()
	s := openFile(t, root, FileOptions{})
	put(t, s, "a b/c%d", "x")
	if got := s.URI("a b/c%d"); !strings.HasPrefix(got, "file:///") || !strings.HasSuffix(got, "/a%20b/c%25d") {
		t.Fatal(got)
	}
}

func TestFileSweepsTemp(t *testing.T) {
	root := t.TempDir()
	s := openFile(t, root, FileOptions{})
	put(t, s, "keep", "x")
	w, err := s.Create(ctx, "half")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(filepath.Join(root, tmpName)); len(left) != 1 {
		t.Fatalf("%d temporary files", len(left))
	}
	openFile(t, root, FileOptions{})
	if left, _ := os.ReadDir(filepath.Join(root, tmpName)); len(left) != 0 {
		t.Fatalf("%d temporary files after open", len(left))
	}
	if get(t, s, "keep") != "x" {
		t.Fatal("object lost")
	}
	w.Abort()
}

// Nothing stays under .tmp after puts that succeed, lose or fail.
func TestFileLeavesNoTemp(t *testing.T) {
	root := t.TempDir()
	s := openFile(t, root, FileOptions{})
	put(t, s, "a", "x")
	_, _ = s.Put(ctx, "a", []byte("y"), PutOptions{})
	_, _ = s.Put(ctx, "a", []byte("y"), PutOptions{Replace: true})
	if _, err := s.Put(ctx, "a/b", nil, PutOptions{}); err == nil {
		t.Error("an object inside an object was made")
	}
	if left, _ := os.ReadDir(filepath.Join(root, tmpName)); len(left) != 0 {
		t.Fatalf("%d temporary files", len(left))
	}
}

func TestPoison(t *testing.T) {
	cfs := NewCrashFS()
	s := openFile(t, "/", FileOptions{FS: cfs})
	put(t, s, "before", "x")
	cfs.FailSyncs()
	_, err := s.Put(ctx, "during", []byte("x"), PutOptions{})
	if !fail.Is(err, fail.Unavailable) || errors.Is(err, ErrUnknown) {
		t.Fatalf("failed content sync: %v", err) // never linked: a plain failure
	}
	if _, err := s.Head(ctx, "during"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("visible after a failed sync: %v", err)
	}
	steps := cfs.Steps()
	if _, err := s.Put(ctx, "after", nil, PutOptions{}); !fail.Is(err, fail.Unavailable) {
		t.Fatalf("put on a poisoned store: %v", err)
	}
	if cfs.Steps() != steps {
		t.Error("a poisoned store still writes")
	}
	if get(t, s, "before") != "x" {
		t.Error("reads of a poisoned store fail")
	}
}

// dirSyncFails fails the syncs of directories alone.
type dirSyncFails struct{ FS }

func (dirSyncFails) SyncDir(string) error { return errors.New("input/output error") }

func TestUnknownAfterLink(t *testing.T) {
	cfs := NewCrashFS()
	put(t, openFile(t, "/", FileOptions{FS: cfs}), "first", "x")
	s := openFile(t, "/", FileOptions{FS: dirSyncFails{cfs}})
	if _, err := s.Put(ctx, "second", nil, PutOptions{}); !errors.Is(err, ErrUnknown) || !fail.Is(err, fail.CommitUnknown) {
		t.Fatalf("put whose directory sync failed: %v", err)
	}
	if _, err := s.Put(ctx, "third", nil, PutOptions{}); !fail.Is(err, fail.Unavailable) {
		t.Fatalf("put after it: %v", err)
	}
}

// session writes objects until the machine crashes and returns those
// acknowledged and those whose fate the caller was not told.
func session(s Store, seed uint64) (acked, maybe map[string]string) {
	rng := rand.New(rand.NewPCG(seed, 1))
	acked, maybe = map[string]string{}, map[string]string{}
	for i := range 12 {
		key := fmt.Sprintf("d%d/e%d/obj%d", rng.IntN(2), rng.IntN(2), i)
		body := strings.Repeat(fmt.Sprintf("%d,", i), 1+rng.IntN(6000))
		if i%4 == 3 { // the streaming path
			w, err := s.Create(ctx, key)
			if err != nil {
				maybe[key] = body
				return acked, maybe
			}
			for chunk := []byte(body); len(chunk) > 0; chunk = chunk[min(4000, len(chunk)):] {
				_, _ = w.Write(chunk[:min(4000, len(chunk))])
			}
			_, err = w.Commit()
			if err != nil {
				maybe[key] = body
				return acked, maybe
			}
		} else if _, err := s.Put(ctx, key, []byte(body), PutOptions{}); err != nil {
			maybe[key] = body
			return acked, maybe
		}
		acked[key] = body
	}
	return acked, maybe
}

// crashRun crashes a session at every operation and counts the violations in
// several images each: an acknowledged object lost or changed, or any object
// that is there in part.
func crashRun(t *testing.T, noSync bool) (images, violations int) {
	total := 0
	for crash := 0; ; crash++ {
		cfs := NewCrashFS()
		s := openFile(t, "/", FileOptions{FS: cfs, NoSync: noSync})
		cfs.CrashAfter(crash)
		acked, maybe := session(s, uint64(crash%5))
		for seed := range uint64(4) {
			rng := rand.New(rand.NewPCG(seed, uint64(crash)))
			image := cfs.Image(rng.IntN)
			images++
			violations += checkImage(t, image, acked, maybe)
		}
		if len(maybe) == 0 {
			return images, violations
		}
		if total++; total > 2000 {
			t.Fatal("the session never ends")
		}
	}
}

func checkImage(t *testing.T, image *CrashFS, acked, maybe map[string]string) (violations int) {
	s := openFile(t, "/", FileOptions{FS: image})
	for key, body := range acked {
		if b, err := s.Get(ctx, key); err != nil || string(b) != body {
			violations++
		}
	}
	for info, err := range All(ctx, s, "") {
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Get(ctx, info.Key)
		want, known := acked[info.Key], true
		if want == "" {
			want, known = maybe[info.Key], maybe[info.Key] != ""
		}
		if err != nil || !known || string(b) != want {
			violations++
		}
	}
	return violations
}

func TestCrashImages(t *testing.T) {
	images, violations := crashRun(t, false)
	t.Logf("%d crash images, %d violations", images, violations)
	if violations != 0 || images < 100 {
		t.Fatalf("%d images, %d violations", images, violations)
	}
}

// The control: without fsync the same run must find losses.
func TestCrashImagesControl(t *testing.T) {
	images, violations := crashRun(t, true)
	t.Logf("%d crash images, %d violations", images, violations)
	if violations == 0 {
		t.Fatal("the test does not see a store that never syncs")
	}
}

func TestLockDir(t *testing.T) {
	if dir := os.Getenv("LOAM_TEST_LOCK_DIR"); dir != "" {
		_, err := LockDir(dir, "second")
		fmt.Printf("locked=%v %v\n", fail.Is(err, fail.Locked), err)
		return
	}
	dir := filepath.Join(t.TempDir(), "new")
	l, err := LockDir(dir, "127.0.0.1:32010")
	if err != nil {
		t.Fatal(err)
	}
	// Another process, and another open of this one.
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockDir$", "-test.count=1")
	cmd.Env = append(os.Environ(), "LOAM_TEST_LOCK_DIR="+dir)
	out, err := cmd.CombinedOutput()
	want := fmt.Sprintf("in use by process %d at 127.0.0.1:32010", os.Getpid())
	if err != nil || !strings.Contains(string(out), "locked=true") || !strings.Contains(string(out), want) {
		t.Fatalf("second process: %v\n%s", err, out)
	}
	if _, err := LockDir(dir, "x"); !fail.Is(err, fail.Locked) || fail.As(err).Hint == "" {
		t.Fatalf("second lock: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l2, err := LockDir(dir, "")
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	if _, err := LockDir(dir, "x"); !fail.Is(err, fail.Locked) || strings.Contains(err.Error(), "32010") {
		t.Fatalf("the old endpoint is still shown: %v", err)
	}
	_ = l2.Close()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LockDir(filepath.Join(dir, "file"), ""); !fail.Is(err, fail.Unavailable) {
		t.Fatalf("lock of a file: %v", err)
	}
}

func TestLockExisting(t *testing.T) {
	dir := t.TempDir()
	if _, err := LockExisting(dir, ""); !fail.Is(err, fail.Unavailable) {
		t.Errorf("an empty directory: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	l, err := LockDir(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockExisting(dir, ""); !fail.Is(err, fail.Locked) {
		t.Errorf("a locked one: %v", err)
	}
	_ = l.Close()
	if l, err = LockExisting(dir, ""); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

// TestReadOnly: a store that is opened to be read changes nothing, not even its
// own leftovers.
func TestReadOnly(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	clk := clock.Real()
	s, err := OpenFile(dir, clock.RandomIDs(clk), FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, "a", []byte("x"), PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, tmpName, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = OpenFile(dir, clock.RandomIDs(clk), FileOptions{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	_, put := s.Put(ctx, "b", nil, PutOptions{})
	_, create := s.Create(ctx, "c")
	for what, err := range map[string]error{"put": put, "create": create, "delete": s.Delete(ctx, "a")} {
		if !fail.Is(err, fail.Internal) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if b, err := s.Get(ctx, "a"); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(dir, tmpName, "left")); err != nil {
		t.Error(err)
	}
}
