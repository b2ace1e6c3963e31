// Package render prints result sets in the formats of the shell.
//
// In: the columns of a result and chunks of its rows. Out: text on a writer, or
// an Arrow stream. A format for machines keeps every value whole; the table is for
// people: on a terminal it is fitted to its width and cut cells end in "…", elsewhere
// only long vectors are abbreviated; what a terminal would obey is escaped. Memory is bounded whatever the number of
// rows. It runs nothing and knows no terminal.
package render
