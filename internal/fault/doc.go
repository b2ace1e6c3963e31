// Package fault names the places between two steps at which a test may end the
// machine: [Point] marks one, and does nothing.
//
// Built with the tag loamfault, a test sets what happens there (Set). The names
// are texts at the calls, "room/what has just happened"; a test lists them out of
// the sources and proves that each is reached (conformance/crash).
//
// It imports nothing.
package fault
