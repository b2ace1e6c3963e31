package object

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// FS is what the file store needs of a file system. Names are absolute or
// relative to the process, as for package os. Errors satisfy errors.Is with
// fs.ErrExist and fs.ErrNotExist where those apply.
type FS interface {
	// Create makes a new file for writing and fails when the name is taken.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Link gives the file at oldName a second name; it fails when that is taken.
	Link(oldName, newName string) error
	// Rename moves a file atomically over newName.
	Rename(oldName, newName string) error
	// Remove deletes a name of a file; it fails for a directory.
	Remove(name string) error
	// Mkdir makes one directory.
	Mkdir(name string) error
	// SyncDir makes the entries of the directory durable.
	SyncDir(name string) error
	// ReadDir lists a directory in no particular order; sizes may be left 0.
	ReadDir(name string) ([]DirEntry, error)
	// Stat returns the size of a file.
	Stat(name string) (DirEntry, error)
	// FreeBytes is how much a user may still write under the directory.
	FreeBytes(name string) (uint64, error)
}

// File is an open file.
type File interface {
	io.Writer
	io.ReaderAt
	// Sync makes the content durable, not the name.
	Sync() error
	Close() error
	// Size is the length in bytes.
	Size() (int64, error)
}

// DirEntry is one name in a directory.
type DirEntry struct {
	Name string
	Dir  bool
	Size int64 // bytes, of a file
}

// OS is the file system of the machine.
func OS() FS { return osFS{} }

type osFS struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (osFS) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Open(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Link(oldName, newName string) error   { return os.Link(oldName, newName) }
func (osFS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

func (osFS) Remove(name string) error {
	if err := unix.Unlink(name); err != nil {
		return &fs.PathError{Op: "unlink", Path: name, Err: err}
	}
	return nil
}
func (osFS) Mkdir(name string) error { return os.Mkdir(name, 0o755) }

func (osFS) FreeBytes(name string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(name, &st); err != nil {
		return 0, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil //nolint:unconvert // other types elsewhere
}

func (osFS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

func (osFS) ReadDir(name string) ([]DirEntry, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	out := make([]DirEntry, 0, len(entries))
	for _, e := range entries {
		out = append(out, DirEntry{Name: e.Name(), Dir: e.IsDir()})
	}
	return out, nil
}

func (osFS) Stat(name string) (DirEntry, error) {
	st, err := os.Stat(name)
	if err != nil {
		return DirEntry{}, err
	}
	return DirEntry{Name: filepath.Base(name), Dir: st.IsDir(), Size: st.Size()}, nil
}

// isNoFile reports that a path leads through a file, or to a directory: no
// object can have that name.
func isNoFile(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EISDIR)
}
