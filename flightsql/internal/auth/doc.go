// Package auth says who calls: it reads Authorization headers, checks passwords
// and tokens against what the operator configured, and makes the bearer tokens
// that carry a user and a session.
//
// In: header texts. Out: a [Principal], or fail.Unauthenticated. It decides
// nothing about what a user may do. It imports fail, clock, access and ticket.
package auth
