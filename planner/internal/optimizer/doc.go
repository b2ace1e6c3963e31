// Package optimizer rewrites bound plans into faster ones with the same answer.
//
// In: a plan of the binder. Out: an equivalent plan. It is a list of named
// passes ([PassNames]) that run once each, in order; each lives in one file and
// can be switched off by its name, which tests use: a plan with any set of passes
// must give the same rows. Rules that keep a rewrite safe stand as comments at
// the pass that obeys them.
//
// It imports the ground floor only. It never resolves names, never reads rows.
package optimizer
