// Package mutation asks whether the tests of storage see what they are for: each file
// of testdata breaks Loam in one place and names the suite that must notice.
//
// A mutant is laid over the sources while its suite is built (go test -overlay): the
// tree is never changed, and the code knows nothing of it. It has test files alone.
package mutation
