// Package firsthour runs docs/first-hour.md and the tour of README.md as a new user
// does: the built program, in an empty directory, command by command. A page's
// ```console blocks hold commands behind "$ " and what they print.
package firsthour
