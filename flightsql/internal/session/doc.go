// Package session keeps clients' sessions: a bounded table by unguessable id,
// each forgotten after a time without use.
//
// In: values to keep. Out: ids, and the values again for the same user. What a
// session holds is the caller's. It imports clock.
package session
