package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fault"
)

const tmpName = ".tmp"

// FileOptions configure [OpenFile].
type FileOptions struct {
	// FS is the file system; nil means [OS].
	FS FS
	// NoSync leaves out every fsync. Only for the control builds of durability
	// tests, which must then find losses.
	NoSync bool
	// ReadOnly refuses every change and leaves unfinished writes where they are.
	ReadOnly bool
}

// FileStore is a store in a directory. An object is a file at its key; it is written
// under .tmp, synced, and linked to its name, so that it appears whole and only once.
type FileStore struct {
	fs       FS
	root     string
	ids      clock.IDs
	noSync   bool
	readOnly bool

	// poisoned is set by the first failed fsync. The kernel may then have dropped
	// pages that a later fsync would call clean, so that nothing more is promised.
	poisoned atomic.Pointer[error]

	// mu guards durable. It is held while directories are made, so that nobody
	// uses one whose entry is not yet durable.
	mu      sync.Mutex
	durable map[string]bool // directories whose entry in their parent is synced
}

// OpenFile opens the store in the directory root, which must exist and be held
// by this process (see [LockDir]). It removes what unfinished writes have left.
func OpenFile(root string, ids clock.IDs, opt FileOptions) (*FileStore, error) {
	if opt.FS == nil {
		opt.FS = OS()
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fail.Wrap(fail.Unavailable, err, "object store %q", root)
	}
	s := &FileStore{fs: opt.FS, root: abs, ids: ids, noSync: opt.NoSync, readOnly: opt.ReadOnly, durable: map[string]bool{abs: true}}
	if opt.ReadOnly {
		return s, nil
	}
	if err := s.sweepTemp(); err != nil {
		return nil, fail.Wrap(fail.Unavailable, err, "object store %q", root)
	}
	return s, nil
}

func (s *FileStore) sweepTemp() error {
	dir := filepath.Join(s.root, tmpName)
	err := s.fs.Mkdir(dir)
	if err == nil {
		return s.syncDir(s.root)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := s.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.fs.Remove(filepath.Join(dir, e.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (s *FileStore) path(key string) string { return filepath.Join(s.root, filepath.FromSlash(key)) }

// Put implements [Store].
func (s *FileStore) Put(ctx context.Context, key string, body []byte, opt PutOptions) (Info, error) {
	w, err := s.create(ctx, key)
	if err != nil {
		return Info{}, err
	}
	w.replace = opt.Replace
	if _, err := w.Write(body); err != nil {
		w.Abort()
		return Info{}, err
	}
	return w.Commit()
}

// Create implements [Store].
func (s *FileStore) Create(ctx context.Context, key string) (Writer, error) {
	w, err := s.create(ctx, key)
	if err != nil {
		return nil, err // a nil *fileWriter must not become a non-nil Writer
	}
	return w, nil
}

func (s *FileStore) create(ctx context.Context, key string) (*fileWriter, error) {
	if err := begin(ctx, key); err != nil {
		return nil, err
	}
	if err := s.poison(nil); err != nil {
		return nil, err
	}
	if s.readOnly {
		return nil, s.errReadOnly(key)
	}
	if err := s.room(key); err != nil {
		return nil, err
	}
	tmp := filepath.Join(s.root, tmpName, s.ids.ULID())
	f, err := s.fs.Create(tmp)
	if err != nil {
		return nil, s.writeErr(err, "object %q", key)
	}
	return &fileWriter{store: s, key: key, tmp: tmp, f: f, sum: xxh3.New()}, nil
}

func (s *FileStore) errReadOnly(key string) error {
	return fail.Bug("object %q: a change of the object store %q, which was opened to be read", key, s.root)
}

// reserveBytes are left free on the disk: the metastore on the same disk must be able
// to go on when no object fits any more.
const reserveBytes = 16 << 20

// room refuses a new object on a disk that is nearly full.
func (s *FileStore) room(key string) error {
	free, err := s.fs.FreeBytes(s.root)
	if err != nil {
		return nil //nolint:nilerr // what cannot be asked is tried
	}
	if free >= reserveBytes {
		return nil
	}
	return s.diskFull("object %q was not written: %d MiB are free, and %d MiB stay reserved", key, free>>20, reserveBytes>>20)
}

func (s *FileStore) diskFull(format string, args ...any) error {
	return fail.New(fail.DiskFull, "the disk is full: "+format, args...).
		WithHint("Free space on the disk of %q; what was acknowledged before is safe.", s.root)
}

// writeErr translates an error of writing.
func (s *FileStore) writeErr(err error, format string, args ...any) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return s.diskFull(format, args...)
	}
	return fail.Wrap(fail.Unavailable, err, format, args...)
}

// poison records a failed fsync, or, given nil, reports an earlier one.
func (s *FileStore) poison(err error) error {
	if err != nil {
		s.poisoned.CompareAndSwap(nil, &err)
	}
	if p := s.poisoned.Load(); p != nil {
		return fail.Wrap(fail.Unavailable, *p, "object store %q takes no more writes after a failed sync", s.root)
	}
	return nil
}

// syncDir makes the entries of the directory durable and poisons the store when it cannot.
func (s *FileStore) syncDir(dir string) error {
	if s.noSync {
		return nil
	}
	if err := s.fs.SyncDir(dir); err != nil {
		return s.poison(fmt.Errorf("sync %s: %w", dir, err))
	}
	return nil
}

// ensureDir makes dir and its parents and their entries durable. A directory
// that was found there is synced too, once: an earlier process may have died
// between making it and syncing its parent.
func (s *FileStore) ensureDir(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ensureDirLocked(dir)
}

func (s *FileStore) ensureDirLocked(dir string) error {
	if s.durable[dir] {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := s.ensureDirLocked(parent); err != nil {
		return err
	}
	if err := s.fs.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := s.syncDir(parent); err != nil {
		return err
	}
	s.durable[dir] = true
	return nil
}

type fileWriter struct {
	store   *FileStore
	key     string
	tmp     string
	f       File // nil after Commit or Abort
	sum     hash.Hash64
	size    int64
	replace bool
	failed  error // the first failed write; Commit then returns it
}

func (w *fileWriter) Write(p []byte) (int, error) {
	if w.f == nil {
		return 0, errEnded(w.key)
	}
	if w.failed != nil {
		return 0, w.failed
	}
	n, err := w.f.Write(p)
	if err != nil {
		w.failed = w.store.writeErr(err, "write of object %q", w.key)
		return n, w.failed
	}
	w.size += int64(n)
	_, _ = w.sum.Write(p)
	return n, nil
}

// Abort closes and removes the temporary file.
func (w *fileWriter) Abort() {
	if w.f == nil {
		return
	}
	_ = w.f.Close()
	w.f = nil
	_ = w.store.fs.Remove(w.tmp) // a leftover is swept at the next open
}

func (w *fileWriter) Commit() (Info, error) {
	if w.f == nil {
		return Info{}, errEnded(w.key)
	}
	if err := w.flush(); err != nil {
		w.Abort()
		return Info{}, err
	}
	w.f = nil
	err := w.publish()
	fault.Point("file/published")
	if !w.replace || err != nil {
		_ = w.store.fs.Remove(w.tmp)
	}
	if err != nil {
		return Info{}, err
	}
	return Info{Key: w.key, Size: w.size, Checksum: w.sum.Sum64()}, nil
}

// flush makes the content durable under its temporary name.
func (w *fileWriter) flush() error {
	if w.failed != nil {
		return w.failed
	}
	if !w.store.noSync {
		if err := w.f.Sync(); err != nil {
			return w.store.poison(fmt.Errorf("sync of object %q: %w", w.key, err))
		}
	}
	if err := w.f.Close(); err != nil {
		return w.store.writeErr(err, "close of object %q", w.key)
	}
	return nil
}

// publish gives the durable content its name. From the moment of the link a
// failure no longer says that the object is absent.
func (w *fileWriter) publish() error {
	s, name := w.store, w.store.path(w.key)
	dir := filepath.Dir(name)
	if err := s.ensureDir(dir); err != nil {
		return s.writeErr(err, "directory of object %q", w.key)
	}
	give := s.fs.Link
	if w.replace {
		give = s.fs.Rename
	}
	fault.Point("file/content synced")
	err := give(w.tmp, name)
	fault.Point("file/named")
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return s.writeErr(err, "naming of object %q", w.key)
	}
	// Also when the name was taken: ErrExists promises that what is there is durable.
	if serr := s.syncDir(dir); serr != nil {
		return errUnknown(w.key, serr)
	}
	if err != nil {
		return errExists(w.key)
	}
	return nil
}

// Get implements [Store].
func (s *FileStore) Get(ctx context.Context, key string) ([]byte, error) {
	return s.read(ctx, key, func(o *fileObject) (int64, int64) { return 0, o.size })
}

// GetRange implements [Store].
func (s *FileStore) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	return s.read(ctx, key, func(*fileObject) (int64, int64) { return off, n })
}

func (s *FileStore) read(ctx context.Context, key string, span func(*fileObject) (off, n int64)) ([]byte, error) {
	o, err := s.open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = o.Close() }()
	off, n := span(o)
	if !inRange(off, n, o.size) {
		return nil, errShort(key, off, n, o.size)
	}
	p := make([]byte, n)
	if err := o.ReadAt(ctx, p, off); err != nil {
		return nil, err
	}
	return p, nil
}

// Open implements [Store].
func (s *FileStore) Open(ctx context.Context, key string) (Object, error) {
	o, err := s.open(ctx, key)
	if err != nil {
		return nil, err
	}
	return o, nil
}

func (s *FileStore) open(ctx context.Context, key string) (*fileObject, error) {
	if err := begin(ctx, key); err != nil {
		return nil, err
	}
	f, err := s.fs.Open(s.path(key))
	if err != nil {
		return nil, readErr(key, err)
	}
	size, err := f.Size()
	if err != nil {
		_ = f.Close()
		return nil, readErr(key, err)
	}
	return &fileObject{key: key, f: f, size: size}, nil
}

// readErr translates an error of opening. A path that leads through a file is
// as absent as one that leads nowhere.
func readErr(key string, err error) error {
	if isNoFile(err) {
		return errNotFound(key)
	}
	return fail.Wrap(fail.Unavailable, err, "object %q", key)
}

type fileObject struct {
	key  string
	f    File
	size int64
}

func (o *fileObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := fail.Ended(ctx, "the call of the object store"); err != nil {
		return err
	}
	if !inRange(off, int64(len(p)), o.size) {
		return errShort(o.key, off, int64(len(p)), o.size)
	}
	n, err := o.f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return errShort(o.key, off, int64(len(p)), off+int64(n))
	}
	return fail.Wrap(fail.Unavailable, err, "read of object %q", o.key)
}

// Prefetch tells the disk of a read to come; see lance.Prefetcher.
func (o *fileObject) Prefetch(off, size int64) {
	if p, ok := o.f.(interface{ Prefetch(off, size int64) }); ok {
		p.Prefetch(off, size)
	}
}

func (o *fileObject) Size() int64  { return o.size }
func (o *fileObject) Close() error { return o.f.Close() }

// Head implements [Store].
func (s *FileStore) Head(ctx context.Context, key string) (Info, error) {
	if err := begin(ctx, key); err != nil {
		return Info{}, err
	}
	st, err := s.fs.Stat(s.path(key))
	if err != nil {
		return Info{}, readErr(key, err)
	}
	if st.Dir {
		return Info{}, errNotFound(key)
	}
	return Info{Key: key, Size: st.Size}, nil
}

// Delete implements [Store].
func (s *FileStore) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := begin(ctx, key); err != nil {
			return err
		}
		if s.readOnly {
			return s.errReadOnly(key)
		}
		err := s.fs.Remove(s.path(key))
		if err != nil && !isNoFile(err) {
			return fail.Wrap(fail.Unavailable, err, "delete of object %q", key)
		}
	}
	return nil
}

// URI implements [Store]: an absolute file address.
func (s *FileStore) URI(key string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(s.path(key))}).String()
}

// List implements [Store].
func (s *FileStore) List(ctx context.Context, prefix, after string) ([]Info, error) {
	l := lister{ctx: ctx, store: s, prefix: prefix, after: after}
	err := l.walk(s.root, "")
	return l.page, err
}

type lister struct {
	ctx           context.Context
	store         *FileStore
	prefix, after string
	page          []Info
}

// walk visits the directory whose keys begin with base (empty, or ending in a
// slash) in key order until the page is full.
func (l *lister) walk(dir, base string) error {
	if err := fail.Ended(l.ctx, "the call of the object store"); err != nil {
		return err
	}
	entries, err := l.store.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fail.Wrap(fail.Unavailable, err, "list of %q", base)
	}
	for i := range entries {
		if entries[i].Dir { // the keys inside begin with the name and a slash, and sort by that
			entries[i].Name += "/"
		}
	}
	slices.SortFunc(entries, func(a, b DirEntry) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	for _, e := range entries {
		if len(l.page) == ListPage {
			return nil
		}
		if err := l.visit(dir, base, e); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) visit(dir, base string, e DirEntry) error {
	key := base + e.Name
	if e.Name[0] == '.' || key == lockName {
		return nil
	}
	if !e.Dir {
		if strings.HasPrefix(key, l.prefix) && key > l.after {
			return l.add(dir, key, e.Name)
		}
		return nil
	}
	if !strings.HasPrefix(key, l.prefix) && !strings.HasPrefix(l.prefix, key) {
		return nil
	}
	if l.after >= key && !strings.HasPrefix(l.after, key) {
		return nil // every key inside sorts before after
	}
	return l.walk(filepath.Join(dir, e.Name), key)
}

// add puts a file on the page. Only what goes there is asked for its size: a
// directory may hold a hundred pages.
func (l *lister) add(dir, key, name string) error {
	st, err := l.store.fs.Stat(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed since the directory was read
	}
	if err != nil {
		return fail.Wrap(fail.Unavailable, err, "list of %q", key)
	}
	l.page = append(l.page, Info{Key: key, Size: st.Size})
	return nil
}
