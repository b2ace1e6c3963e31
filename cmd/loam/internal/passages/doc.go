// Package passages splits texts into passages that are searched one by one.
//
// In: a file's name and its text. Out: passages in the order of the text, each
// with the heading that it stands under. Markdown, HTML, reStructuredText, Org
// and TeX are split at their headings, source code at its declarations, then all
// by a number of words, with an overlap, rather at the end of a paragraph or
// sentence than in the middle. The same text gives the same passages; every word
// of the text is in one. HTML is read as its text, without scripts and
// navigation. It opens no files and imports x/net/html only.
package passages
