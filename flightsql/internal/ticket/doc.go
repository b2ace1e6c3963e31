// Package ticket seals what the wire hands out and takes back: tickets of
// queries and scan parts, prepared statement handles, bearer tokens. A sealed
// text is self-contained, so that any node that shares the secret serves it, and
// it cannot be read or changed by whoever carries it.
//
// In: a [Content] or sealed bytes. Out: the other of the two. It never looks
// into SQL, pins or parts. It imports fail and clock.
package ticket
