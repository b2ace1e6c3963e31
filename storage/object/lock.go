package object

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/loamdb/loam/internal/fail"
	"golang.org/x/sys/unix"
)

const lockName = "LOCK"

// LockDir takes the data directory for this process, making it when absent, and
// returns what gives it back. endpoint is where this process can be reached; it
// is shown to a second process, which gets fail.Locked. The lock belongs to the
// open file and ends with the process, however that ends.
func LockDir(dir, endpoint string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fail.Wrap(fail.Unavailable, err, "data directory %q", dir)
	}
	name := filepath.Join(dir, lockName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fail.Wrap(fail.Unavailable, err, "data directory %q", dir)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = writeHolder(f, endpoint)
	}
	if err != nil {
		defer func() { _ = f.Close() }()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errLocked(f, dir)
		}
		return nil, fail.Wrap(fail.Unavailable, err, "lock of data directory %q", dir)
	}
	return dirLock{f}, nil
}

// LockExisting is LockDir of a data directory that is there, as its lock file shows.
func LockExisting(dir, endpoint string) (io.Closer, error) {
	if _, err := os.Stat(filepath.Join(dir, lockName)); err != nil {
		return nil, fail.New(fail.Unavailable, "%q is no data directory: it has no file %s", dir, lockName).
			WithHint("Name the directory that loam serve --data has.")
	}
	return LockDir(dir, endpoint)
}

// writeHolder records who holds the lock. The text is for people; only the
// flock decides.
func writeHolder(f *os.File, endpoint string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	endpoint = strings.ReplaceAll(endpoint, "\n", " ")
	_, err := f.WriteAt(fmt.Appendf(nil, "pid %d\nendpoint %s\n", os.Getpid(), endpoint), 0)
	return err
}

func errLocked(f *os.File, dir string) error {
	buf := make([]byte, 512)
	n, _ := f.ReadAt(buf, 0)
	var pid, endpoint string
	for line := range strings.SplitSeq(string(buf[:n]), "\n") {
		if v, ok := strings.CutPrefix(line, "pid "); ok {
			pid = v
		}
		if v, ok := strings.CutPrefix(line, "endpoint "); ok {
			endpoint = v
		}
	}
	if pid == "" {
		pid = "unknown"
	}
	if endpoint == "" {
		return fail.New(fail.Locked, "data directory %q is in use by process %s", dir, pid).
			WithHint("Stop that process, or give this one another data directory.")
	}
	return fail.New(fail.Locked, "data directory %q is in use by process %s at %s", dir, pid, endpoint).
		WithHint("Connect to %s, stop that process, or give this one another data directory.", endpoint)
}

type dirLock struct{ f *os.File }

// Close gives the directory back. The file stays: removing it would let two
// processes lock two files of one name.
func (l dirLock) Close() error { return l.f.Close() }
