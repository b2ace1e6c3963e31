// Package cache keeps pieces of immutable objects in memory, up to a budget that
// all collections of a node share.
//
// In: a key, and a function that loads what is missing, or a claim to load several.
// Out: the piece, which nobody else loads meanwhile. It never reads an object itself
// and knows nothing of what the pieces are: verified blocks of 256 KiB, decoded
// columns, opened indexes. It imports nothing of Loam.
package cache
