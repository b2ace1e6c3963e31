//go:build loamfault

package fault

import "sync/atomic"

var reached atomic.Pointer[func(name string)]

// Point tells the test, if one listens, that the place was reached.
func Point(name string) {
	if f := reached.Load(); f != nil {
		(*f)(name)
	}
}

// Set makes f hear of every place that any goroutine reaches, until it is called
// again; nil hears nothing. f may wait, and so hold the goroutine up.
func Set(f func(name string)) {
	if f == nil {
		reached.Store(nil)
		return
	}
	reached.Store(&f)
}
