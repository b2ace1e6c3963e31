// Package postings holds what the search sections of a part share: the number
// of a document within its part, a hit, and the heap that keeps the best hits
// in the one total order of Loam (score descending, then primary key).
//
// In: scored documents. Out: the best k. It knows no format, no file and no
// key: ties are broken by the caller's function. It imports nothing of Loam.
package postings
