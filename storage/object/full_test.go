package object

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/loamdb/loam/internal/fail"
)

// fullDisk is a file system with free bytes left, whose files take none of them.
type fullDisk struct {
	FS
	free uint64
}

func (d *fullDisk) FreeBytes(string) (uint64, error) { return d.free, nil }

func (d *fullDisk) Create(name string) (File, error) {
	f, err := d.FS.Create(name)
	return fullFile{f}, err
}

type fullFile struct{ File }

func (fullFile) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
}

func TestAFullDiskIsNamed(t *testing.T) {
	disk := &fullDisk{FS: OS(), free: reserveBytes - 1}
	s := openFile(t, t.TempDir(), FileOptions{FS: disk})
	for _, want := range []string{"15 MiB are free, and 16 MiB stay reserved", `write of object "a/b"`} {
		_, err := s.Put(ctx, "a/b", []byte("x"), PutOptions{})
		if !fail.Is(err, fail.DiskFull) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Free space on the disk") {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, err := s.Head(ctx, "a/b"); !errors.Is(err, ErrNotFound) {
			t.Errorf("after %q the object is there: %v", want, err)
		}
		disk.free = 1 << 40 // from here on the write itself fails
	}
}
