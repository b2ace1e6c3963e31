package object

import "golang.org/x/sys/unix"

// Prefetch lets the kernel read the range into its page cache, and does not wait.
// That it cannot is no error: the read comes anyway.
func (f osFile) Prefetch(off, size int64) {
	_ = unix.Fadvise(int(f.Fd()), off, size, unix.FADV_WILLNEED)
}
