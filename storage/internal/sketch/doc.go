// Package sketch counts distinct values in bounded memory: hashes go in, an
// estimate comes out. Sketches of parts of a set merge to the sketch of the whole,
// in any order. What is hashed, and how, is the caller's.
package sketch
