//go:build linux || darwin

package shell

import "golang.org/x/sys/unix"

// silence stops the echo of a terminal, so that what is typed ahead does not run
// into what is printed; it stays in the queue. The function brings the echo back.
func silence(fd int) (restore func()) {
	was, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return func() {}
	}
	quiet := *was
	quiet.Lflag &^= unix.ECHO
	if unix.IoctlSetTermios(fd, setTermios, &quiet) != nil {
		return func() {}
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, was) }
}
