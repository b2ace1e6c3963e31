// Package clock is where time and randomness enter Loam.
//
// In: nothing. Out: a [Clock] (real, or [Manual] for tests and simulation) and
// an [IDs] source of ULIDs and random numbers (from the system's generator, or
// seeded). Every other package takes these through its constructor; none calls
// time.Now or a random generator itself, so that a run can be repeated.
//
// It never reads a setting, never starts a goroutine, and imports nothing of Loam.
package clock
