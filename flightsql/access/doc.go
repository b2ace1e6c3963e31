// Package access is what the operator says about who may call: users with hashed
// passwords and tokens, and the certificates of TLS. All of it can be replaced
// while the server runs.
//
// In: the text of a users file, of PEM files. Out: a [Users] that answers whether a
// password or a token is right, a [Certificates] that makes TLS configurations. It
// reads no files and opens no sockets, and decides nothing about what a user may
// do. It imports fail and clock.
package access
