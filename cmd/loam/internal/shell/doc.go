// Package shell is the work behind `loam sql`: it runs scripts and a session at
// the prompt, with backslash commands.
//
// In: statements and commands, from a script or typed, and a [Conn] on which
// statements run (a server, or an engine in this process). Out: results in the
// formats of internal/render; errors with their place in what was written. It
// knows no SQL but its tokens, and asks the system tables for the rest.
package shell
