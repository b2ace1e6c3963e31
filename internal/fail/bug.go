package fail

import "fmt"

// Bug reports a broken invariant of Loam itself. Built with the tag
// "invariants" it panics, so that tests stop at the place; otherwise it is an
// Internal error that fails one query.
func Bug(format string, args ...any) *Error {
	if invariants {
		panic("bug: " + fmt.Sprintf(format, args...))
	}
	return New(Internal, "bug: "+format, args...)
}

// FromPanic turns a recovered panic value into an Internal error of one query.
func FromPanic(v any) *Error {
	if e, ok := v.(*Error); ok {
		return e
	}
	return New(Internal, "bug: panic: %v", v)
}
