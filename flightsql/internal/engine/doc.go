// Package engine says what the wire needs of Loam: the engine, its sessions and
// statements as interfaces, so that the wire is tested against answers that are
// slow, huge or broken on purpose.
//
// In: a *loam.Engine. Out: an [Engine]. It decides nothing. It imports loam and
// the values that cross its border.
package engine
