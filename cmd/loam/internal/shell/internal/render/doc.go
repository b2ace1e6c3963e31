// Package render prints result sets in the formats of the shell.
//
// In: the columns of a result and chunks of its rows. Out: text on a writer, or
// an Arrow stream. A format for machines keeps every value whole; the table is for
// people: it is fitted to the width of the terminal, cut cells end in "…", and
// what a terminal would obey is escaped. Memory is bounded whatever the number of
// rows. It runs nothing and knows no terminal.
package render
