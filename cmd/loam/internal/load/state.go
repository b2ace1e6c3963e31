package load

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/snapshot"
)

// identity tells a file from another one, or from its later self.
type identity struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	// Head is the XXH3 of the first 64 KiB in hex.
	Head string `json:"head"`
}

func (a identity) same(b identity) bool {
	return a.Size == b.Size && a.Head == b.Head && a.Modified.Equal(b.Modified)
}

const headBytes = 64 << 10

func identify(path string) (identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return identity{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return identity{}, err
	}
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return identity{}, err
	}
	sum := xxh3.Hash128(head[:n]).Bytes()
	return identity{Size: info.Size(), Modified: info.ModTime(), Head: hex.EncodeToString(sum[:])}, nil
}

// stateFile is what --resume keeps, as JSON.
type stateFile struct {
	// Version is 1.
	Version int         `json:"loam_load"`
	Target  string      `json:"target"`
	Files   []fileState `json:"files"`
}

type fileState struct {
	Path string `json:"path"`
	identity
	// Done are the numbers of the rows that are in, as [from, to) from 1.
	Done ranges `json:"done"`
	// Complete says that the file was read to its end and all of it is in.
	Complete bool `json:"complete"`
}

// readState reads a state file; nil when it is not there yet.
func readState(path, target string) (*stateFile, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fail.Wrap(fail.InvalidParameter, err, "state file")
	}
	var s stateFile
	if err := json.Unmarshal(text, &s); err != nil || s.Version != 1 {
		return nil, fail.New(fail.InvalidParameter, "%s is not a state file of loam load", path).
			WithHint("Name a file that is not there yet to start from the beginning.")
	}
	if s.Target != target {
		return nil, fail.New(fail.InvalidParameter, "the state file %s belongs to a load into %s, not %s", path, s.Target, target).
			WithHint("Use one state file for each target.")
	}
	return &s, nil
}

// resume gives an item the positions that the state file has for it.
func (s *stateFile) resume(it *item) error {
	if s == nil {
		return nil
	}
	for _, f := range s.Files {
		if f.Path != it.path {
			continue
		}
		if !f.same(it.id) {
			return fail.New(fail.InvalidParameter, "%s has changed since the state file was written (size, time or content differ)", it.name).
				WithHint("Its positions say nothing any more: put the file back, or start over with another state file.")
		}
		it.done, it.complete = f.Done, f.Complete
	}
	return nil
}

// unit is a run of a file's rows that is in, or is not.
type unit struct {
	it       *item
	from, to int64
	left     int // rows that are not acknowledged
}

// tracker knows which rows are in. Safe for concurrent use.
type tracker struct {
	path   string // of the state file, or ""
	target string
	clock  clock.Clock

	mu     sync.Mutex // guards the fields below and done, complete, open of items
	items  []*item
	rows   int64 // acknowledged in this run
	token  snapshot.Token
	saved  time.Duration
	failed error // of the state file
}

// begin counts a unit of n rows that are going to be sent.
func (t *tracker) begin(u *unit, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	u.left = n
	u.it.open++
	if n == 0 {
		t.finish(u)
	}
}

func (t *tracker) finish(u *unit) {
	u.it.done = u.it.done.add(u.from, u.to)
	u.it.open--
}

// acked takes n rows of a unit as written.
func (t *tracker) acked(parts []part, token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range parts {
		t.rows += int64(p.n - p.bad)
		if p.u.left -= p.n; p.u.left == 0 {
			t.finish(p.u)
		}
	}
	if tok, err := snapshot.ParseToken(token); err == nil {
		t.token = t.token.Merge(tok)
	}
	if now := t.clock.Mono(); now-t.saved > time.Second {
		t.saved = now
		t.save()
	}
}

// in is what of an item is in.
func (t *tracker) in(it *item) (done ranges, complete bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return it.done, it.complete
}

// ended says that a file was read to its end.
func (t *tracker) ended(it *item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	it.ended = true
}

// loaded is what is in by this run, and the token from which it is seen, or "".
func (t *tracker) loaded() (rows int64, token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token.Incarnation != "" {
		token = t.token.String()
	}
	return t.rows, token
}

// close writes the state for the last time.
func (t *tracker) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.save()
	return t.failed
}

// save writes the state file: a new one, moved over the old.
func (t *tracker) save() {
	if t.path == "" || t.failed != nil {
		return
	}
	s := stateFile{Version: 1, Target: t.target}
	for _, it := range t.items {
		it.complete = it.complete || it.ended && it.open == 0
		if it.path != "" && (len(it.done) > 0 || it.complete) {
			s.Files = append(s.Files, fileState{Path: it.path, identity: it.id, Done: it.done, Complete: it.complete})
		}
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = replaceFile(t.path, append(text, '\n'))
	}
	t.failed = fail.Wrap(fail.InvalidParameter, err, "state file")
}

func replaceFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if e := f.Sync(); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
