// Package kernel holds the typed loops over vectors: comparison, arithmetic,
// casts, hashing, ordering, gather and scatter.
//
// In: vectors of one chunk. Out: new flat vectors, selections, hashes, bytes.
// It knows no expression, no function name and no plan, keeps no state and does
// no I/O; every function may be called concurrently. A loop never calls an
// operator through a type parameter or a function value: operators are written
// out, generics range over number types only.
//
// Values under a NULL are unspecified. Kernels that can fail (arithmetic) do not
// look at validity; their caller gives them valid rows or retries on those. It
// imports vec, types, fail.
package kernel
