// Package dense scores dense float32 vectors: three metrics, their validation,
// SIMD kernels and the exact scan.
//
// In: a query vector, rows of vectors as one []float32, bitmaps of allowed and
// excluded documents. Out: scores where higher is closer, exact top-k hits. It
// stores nothing and preprocesses nothing: rows are used as they were written.
// It may import roaring, cpuid, internal/fail and storage/internal/postings.
//
// # Scores
//
// Cosine is the cosine similarity (−1 to 1), L2 the negated euclidean
// distance, Dot the inner product.
//
// Sums are of float32 in one lane structure on every machine: lane j of 64 adds
// the products of the elements i ≡ j (mod 64) in order of i, without fused
// multiply-add; the lanes are then added pairwise, 64 → 16 → 8 → 4 → 2 → 1 (see
// kernel_go.go), and the elements past the last multiple of 64 are added one by
// one at the end. The assembly kernels and the plain-Go twin do just that, so a
// vector has the same score, to the bit, wherever it lies and whatever CPU reads
// it. Where float32 would overflow or vanish the score is computed in float64.
package dense
